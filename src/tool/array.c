/* Arrays; see array.h. */
#include "tool/array.h"

#include <stdlib.h>
#include <string.h>

tombac_status tool_array_allocate(tool_array *array, tombac_error **error)
{
    size_t count = 1, size;
    bool zero = false;
    for (size_t i = 0; i < array->dimension_count; i++) {
        if (array->shape[i] == 0)
            zero = true;
        else if (__builtin_mul_overflow(count, array->shape[i], &count))
            return tb_fail(error, TOMBAC_ERROR_MEMORY, "the shape has more elements than a size can hold");
    }
    array->count = zero ? 0 : count;
    if (__builtin_mul_overflow(array->count, tool_type_size(array->type) * array->vector_length, &size))
        return tb_fail(error, TOMBAC_ERROR_MEMORY, "the shape has more bytes than a size can hold");
    array->size = size;
    array->data = calloc(size ? size : 1, 1);
    if (!array->data)
        return tb_fail(error, TOMBAC_ERROR_MEMORY, "out of memory: an array of %zu bytes", size);
    return TOMBAC_OK;
}

void tool_array_free(tool_array *array)
{
    free(array->data);
    *array = (tool_array){0};
}

size_t tool_array_scalar_count(const tool_array *array)
{
    return array->count * array->vector_length;
}

const void *tool_array_at(const tool_array *array, size_t scalar)
{
    return array->data + scalar * tool_type_size(array->type);
}

tombac_status tool_array_convert(tool_array *array, tombac_type type, const char *name, tombac_error **error)
{
    if (array->type == type) return TOMBAC_OK;
    tool_array made = *array;
    made.type = type;
    made.data = NULL;
    tombac_status status = tool_array_allocate(&made, error);
    if (status != TOMBAC_OK) return status;
    size_t count = tool_array_scalar_count(array), size = tool_type_size(type);
    for (size_t i = 0; i < count; i++) {
        const void *from = tool_array_at(array, i);
        if (tool_scalar_store(type, tool_scalar_load(array->type, from), made.data + i * size)) continue;
        char text[TOOL_SCALAR_TEXT];
        status = tb_fail(error, TOMBAC_ERROR_ARGUMENT, "%s: element %zu is %s, which %s cannot hold", name, i,
            tool_scalar_format(array->type, from, text), tool_type_name(type));
        tool_array_free(&made);
        return status;
    }
    tool_array_free(array);
    *array = made;
    return TOMBAC_OK;
}

void tool_array_describe(const tool_array *array, tb_text *text)
{
    tb_text_puts(text, tool_type_name(array->type));
    if (array->vector_length > 1) tb_text_printf(text, "x%u", array->vector_length);
    if (array->dimension_count == 0) return;
    tb_text_putc(text, '[');
    for (size_t i = 0; i < array->dimension_count; i++)
        tb_text_printf(text, "%s%zu", i ? "x" : "", array->shape[i]);
    tb_text_putc(text, ']');
}

size_t tool_vector_stride(tombac_type type, uint32_t vector_length, bool packed)
{
    return tool_type_size(type) * (vector_length == 3 && !packed ? 4 : vector_length);
}

void tool_array_to_layout(const tool_array *array, size_t stride, tb_text *bytes)
{
    static const char zeros[64];
    size_t element = tool_type_size(array->type) * array->vector_length;
    if (stride == element) {
        tb_text_append(bytes, array->data, array->size);
        return;
    }
    for (size_t i = 0; i < array->count; i++) {
        tb_text_append(bytes, array->data + i * element, element);
        for (size_t gap = stride - element; gap;) {
            size_t part = gap < sizeof zeros ? gap : sizeof zeros;
            tb_text_append(bytes, zeros, part);
            gap -= part;
        }
    }
}

tombac_status tool_array_from_layout(const void *bytes, size_t size, size_t stride, const tool_array *like,
    tool_array *array, tombac_error **error)
{
    tool_array made = {.type = like->type, .vector_length = like->vector_length, .dimension_count = 1};
    size_t count = stride ? size / stride : 0, element = tool_type_size(made.type) * made.vector_length;
    made.shape[0] = count;
    if (like->dimension_count && like->count == count) {
        made.dimension_count = like->dimension_count;
        memcpy(made.shape, like->shape, sizeof made.shape);
    }
    tombac_status status = tool_array_allocate(&made, error);
    if (status != TOMBAC_OK) return status;
    for (size_t i = 0; i < count; i++)
        memcpy(made.data + i * element, (const unsigned char *)bytes + i * stride, element);
    *array = made;
    return TOMBAC_OK;
}
