/* Arrays filled by rule: iota, fill, rand, zeros (value.h has the definitions). */
#ifndef TB_TOOL_FILL_H
#define TB_TOOL_FILL_H

#include "tool/array.h"

typedef enum tool_fill_kind {
    TOOL_FILL_ZEROS,
    TOOL_FILL_IOTA,
    TOOL_FILL_VALUE,
    TOOL_FILL_RANDOM
} tool_fill_kind;

typedef struct tool_fill {
    const char *what; /* for messages: "argument 'a'" */
    tool_fill_kind kind;
    size_t parameter_count;
    tool_number parameters[3];
} tool_fill;

bool tool_fill_kind_from_name(const char *name, size_t length, tool_fill_kind *kind);
/* Fills an allocated array of zeros. A value that its type cannot hold is refused. */
tombac_status tool_fill_array(const tool_fill *fill, tool_array *array, tombac_error **error);
/* The next output of SplitMix64. */
uint64_t tool_random_next(uint64_t *state);

#endif
