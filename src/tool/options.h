/* What the verbs' command lines have in common: lists of words, sizes in three dimensions, the compiler's
 * options, and clear words for a wrong option. */
#ifndef TB_TOOL_OPTIONS_H
#define TB_TOOL_OPTIONS_H

#include "base/error.h"

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>

/* Borrowed strings in order. */
typedef struct tool_words {
    const char **items;
    size_t count, capacity;
} tool_words;

tombac_status tool_words_add(tool_words *words, const char *word, tombac_error **error);
void tool_words_free(tool_words *words);

/* Options that say how a source is compiled. */
typedef struct tool_compile {
    const char *standard;
    tombac_math math;
    tool_words defines, include_folders;
    bool no_cache;
} tool_compile;

enum { TOOL_OPTION_STANDARD = 1000, TOOL_OPTION_MATH, TOOL_OPTION_FAMILY, TOOL_OPTION_OWN };
#define TOOL_COMPILE_SHORT "D:I:h"
#define TOOL_COMPILE_LONG                                                                                    \
    {"std", required_argument, NULL, TOOL_OPTION_STANDARD},                                                  \
        {"math", required_argument, NULL, TOOL_OPTION_MATH},                                                 \
        {"gpu-family", required_argument, NULL, TOOL_OPTION_FAMILY}, {"help", no_argument, NULL, 'h'}

/* Takes -D, -I, --std, --math, --gpu-family; *taken says whether it was one of these. */
tombac_status tool_compile_option(
    tool_compile *compile, int option, const char *value, bool *taken, tombac_error **error);
void tool_compile_free(tool_compile *compile);
tombac_compile_options tool_compile_options(const tool_compile *compile);

/* The error for getopt_long's '?' and ':' (with opterr 0 and a short string that begins with ':'). */
tombac_status tool_option_error(
    const char *verb, int code, char *const *arguments, const struct option *known, tombac_error **error);

/* "X", "X,Y" or "X,Y,Z"; what is left out is 1. `option` is its name for messages. */
tombac_status tool_size3_parse(
    const char *option, const char *text, tombac_size3 *size, tombac_error **error);
/* A decimal number up to `limit`. */
tombac_status tool_size_parse(
    const char *option, const char *text, size_t limit, size_t *size, tombac_error **error);
/* The '=' of NAME=VALUE where NAME is an identifier or a number, else NULL. */
const char *tool_assignment(const char *word);

#endif
