/* "Did you mean": the candidate that differs least from a misspelt name. */
#ifndef TB_TOOL_SUGGEST_H
#define TB_TOOL_SUGGEST_H

#include "base/text.h"

typedef struct tool_suggestion {
    const char *name; /* what was asked for */
    const char *best; /* nearest candidate so far, or NULL; borrowed */
    size_t distance;
} tool_suggestion;

void tool_suggest_consider(tool_suggestion *suggestion, const char *candidate);
/* Appends "; did you mean 'x'?" where a candidate is near enough. */
void tool_suggest_append(const tool_suggestion *suggestion, tb_text *text);

#endif
