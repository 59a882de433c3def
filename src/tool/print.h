/* Buffers for eyes and for machines. */
#ifndef TB_TOOL_PRINT_H
#define TB_TOOL_PRINT_H

#include "tool/array.h"

#include <jansson.h>
#include <stdio.h>

/* "c  f32[1000]  0 1 2 ...": at most `limit` elements; arrays of more dimensions as rows, at most `limit` by
 * `limit`. */
void tool_print_array(FILE *stream, const char *name, const tool_array *array, size_t limit);
/* An array of bytes as structs of `size` bytes, one a line. */
void tool_print_structs(FILE *stream, const char *name, const char *type_name, const json_t *members,
    size_t size, const tool_array *array, size_t limit);
/* Appends "[3][17]", the position of a scalar. */
void tool_index_text(const tool_array *array, size_t scalar, tb_text *text);

/* {"type", "vector_length", "shape", "values": the first `limit` elements, scalars of vectors one after the
 * other}. */
json_t *tool_json_array(const tool_array *array, size_t limit);
/* A number; what JSON has no number for (nan, inf, integers beyond 64 bits signed) as a string. */
json_t *tool_json_scalar(tombac_type type, const void *bytes);

#endif
