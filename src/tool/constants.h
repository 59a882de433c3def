/* Function constants of the command line: --set NAME=VALUE or --set INDEX=VALUE, typed as the source declares them. */
#ifndef TB_TOOL_CONSTANTS_H
#define TB_TOOL_CONSTANTS_H

#include "tool/compiler.h"

typedef struct tool_constants {
    tombac_constant *items; /* names borrowed from the words, data owned */
    size_t count;
} tool_constants;

/* `words` are what --set got. Asks the compiler for the constants' types where there are any words. */
tombac_status tool_constants_read(const tool_words *words, const tool_compile *compile, const char *source,
    tool_constants *constants, tombac_error **error);
void tool_constants_free(tool_constants *constants);

#endif
