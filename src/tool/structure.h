/* Struct arguments: `{n: 4, scale: 0.5, ne: {1, 2, 3}, inner: {x: 1}}` laid out as the kernel's reflection
 * says, and back.
 *
 * Members are the JSON arrays of docs/architecture.md, "Manifest". A member that is not named is zero, as in
 * C. */
#ifndef TB_TOOL_STRUCTURE_H
#define TB_TOOL_STRUCTURE_H

#include "base/error.h"
#include "base/text.h"
#include "tool/cursor.h"

#include <jansson.h>

/* Reads one struct into `size` zeroed bytes. `what` stands for it in messages: "argument 'p'". */
tombac_status tool_struct_parse(const char *what, const json_t *members, tool_cursor *cursor,
    unsigned char *bytes, size_t size, tombac_error **error);
/* Appends the struct in the same notation. */
void tool_struct_format(const json_t *members, const unsigned char *bytes, size_t size, tb_text *text);

#endif
