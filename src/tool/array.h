/* Arrays as the command handles them: elements of one scalar or vector type, a shape, and the bytes.
 *
 * Scalars are packed without gaps, also those of three-component vectors; the way to and from a kernel's
 * layout, where float3 takes 16 bytes, is tool_array_to_layout and tool_array_from_layout. */
#ifndef TB_TOOL_ARRAY_H
#define TB_TOOL_ARRAY_H

#include "base/text.h"
#include "tool/scalar.h"

enum { TOOL_MAX_DIMENSIONS = 32 };

typedef struct tool_array {
    tombac_type type;
    uint32_t vector_length; /* 1 for scalars */
    size_t dimension_count; /* 0: a single element */
    size_t shape[TOOL_MAX_DIMENSIONS];
    size_t count;        /* elements: the product of the shape */
    size_t size;         /* bytes of data */
    unsigned char *data; /* never NULL in a made array, until its owner is done with it */
} tool_array;

/* Fills in count and size from type, vector length and shape, and allocates zeros. Overflow is
 * TOMBAC_ERROR_MEMORY. */
tombac_status tool_array_allocate(tool_array *array, tombac_error **error);
void tool_array_free(tool_array *array);
size_t tool_array_scalar_count(const tool_array *array);
const void *tool_array_at(const tool_array *array, size_t scalar);
/* Converts every scalar; what does not fit is refused with its index. `name` stands for the value in
 * messages. */
tombac_status tool_array_convert(tool_array *array, tombac_type type, const char *name, tombac_error **error);
/* Appends "f32x4[10x20]" to `text`. */
void tool_array_describe(const tool_array *array, tb_text *text);
/* Bytes of one vector in a kernel's memory. */
size_t tool_vector_stride(tombac_type type, uint32_t vector_length, bool packed);
/* Appends the elements as a kernel sees them: every `stride` bytes a vector, zeros between. */
void tool_array_to_layout(const tool_array *array, size_t stride, tb_text *bytes);
/* The inverse; `size` must be a multiple of `stride`. Shape: taken from `like` where its count fits, else
 * flat. */
tombac_status tool_array_from_layout(const void *bytes, size_t size, size_t stride, const tool_array *like,
    tool_array *array, tombac_error **error);

#endif
