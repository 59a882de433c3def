/* Function constants of the command line: --set NAME=VALUE or --set INDEX=VALUE, typed as the source declares
 * them. */
#ifndef TB_TOOL_CONSTANTS_H
#define TB_TOOL_CONSTANTS_H

#include "tool/options.h"

typedef struct tool_constants {
    tombac_constant *items; /* by index; data owned */
    size_t count;
} tool_constants;

/* `words` are what --set got. */
tombac_status tool_constants_read(
    const tool_words *words, const tombac_library *library, tool_constants *constants, tombac_error **error);
void tool_constants_free(tool_constants *constants);

#endif
