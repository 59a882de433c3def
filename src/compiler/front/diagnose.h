/* Clang's diagnostics about the rewritten text, brought back to the user's source and to Metal's words. */
#ifndef TB_FRONT_DIAGNOSE_H
#define TB_FRONT_DIAGNOSE_H

#include "compiler/front/rewrite.h"

typedef enum diagnostic_kind { DIAGNOSTIC_ERROR, DIAGNOSTIC_WARNING, DIAGNOSTIC_NOTE } diagnostic_kind;

typedef struct diagnostic {
    diagnostic_kind kind;
    uint32_t token;      /* where, or NO_TOKEN if it is in Metal's headers */
    uint32_t inside;     /* bytes into the token */
    const char *message; /* in clang's output, not zero-terminated */
    size_t length;
} diagnostic;

typedef struct diagnostic_list {
    diagnostic *items;
    size_t count;
} diagnostic_list;

/* In what clang says inside metal::__tc, which stands for ?: (R10). */
#define FRONT_TERNARY_SIGN "__conditional_type"

/* Parses clang's standard error. `text` is what clang read, `offsets` where the tokens begin in it. Lines
 * that are no diagnostics are skipped. False if memory is short. */
bool front_parse_diagnostics(const rewriter *r, const tb_text *errors, const tb_text *text,
    const uint32_t *offsets, diagnostic_list *list);
/* Where to show the i-th diagnostic: if it is in Metal's headers, at the first of its notes that is in the
 * user's source. */
uint32_t front_diagnostic_token(const diagnostic_list *list, size_t i);
bool front_diagnostic_says(const diagnostic *d, const char *words);
/* Appends reports. `first`, if not NULL, receives the position of the first error. Returns SOURCE, or
 * UNSUPPORTED if an error says that something is not supported. */
tombac_status front_show_diagnostics(
    const rewriter *r, const diagnostic_list *list, tb_text *out, front_position *first);
/* Appends a message with clang's spellings replaced by Metal's (words.c). `original` is the user's token. */
void front_metal_words(
    const char *message, size_t length, const char *original, size_t original_length, tb_text *out);

#endif
