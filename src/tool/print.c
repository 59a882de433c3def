/* Printing buffers; see print.h. */
#include "tool/print.h"

#include "tool/message.h"
#include "tool/structure.h"

#include <math.h>
#include <string.h>

static void print_element(FILE *stream, const tool_array *array, size_t index)
{
    char text[TOOL_SCALAR_TEXT];
    if (array->vector_length > 1) fputc('(', stream);
    for (size_t i = 0; i < array->vector_length; i++) {
        const void *scalar = tool_array_at(array, index * array->vector_length + i);
        fprintf(stream, "%s%s", i ? ", " : "", tool_scalar_format(array->type, scalar, text));
    }
    if (array->vector_length > 1) fputc(')', stream);
}

static void print_row(FILE *stream, const tool_array *array, size_t first, size_t count, size_t limit)
{
    for (size_t i = 0; i < count && i < limit; i++) {
        if (i) fputc(' ', stream);
        print_element(stream, array, first + i);
    }
    if (count > limit) fputs(limit ? " ..." : "...", stream);
    fputc('\n', stream);
}

void tool_print_array(FILE *stream, const char *name, const tool_array *array, size_t limit)
{
    tb_text type = {0};
    tool_array_describe(array, &type);
    fprintf(stream, "%s%s%s  %s", tool_colour(stream, TOOL_BOLD), name, tool_colour(stream, TOOL_PLAIN),
        tb_text_string(&type));
    tb_text_free(&type);
    size_t row = array->dimension_count ? array->shape[array->dimension_count - 1] : 1;
    if (array->dimension_count < 2 || array->count == 0) {
        if (array->count) fputs("  ", stream);
        print_row(stream, array, 0, array->count, limit);
        return;
    }
    size_t rows = array->count / row;
    fputc('\n', stream);
    for (size_t i = 0; i < rows && i < limit; i++) {
        fputs("  ", stream);
        print_row(stream, array, i * row, row, limit);
    }
    if (rows > limit) fputs("  ...\n", stream);
}

void tool_print_structs(FILE *stream, const char *name, const char *type_name, const json_t *members,
    size_t size, const tool_array *array, size_t limit)
{
    size_t count = array->size / size;
    fprintf(stream, "%s%s%s  %s[%zu]\n", tool_colour(stream, TOOL_BOLD), name,
        tool_colour(stream, TOOL_PLAIN), type_name ? type_name : "struct", count);
    for (size_t i = 0; i < count && i < limit; i++) {
        tb_text text = {0};
        tool_struct_format(members, array->data + i * size, size, &text);
        fprintf(stream, "  %s\n", tb_text_string(&text));
        tb_text_free(&text);
    }
    if (count > limit) fputs("  ...\n", stream);
}

void tool_index_text(const tool_array *array, size_t scalar, tb_text *text)
{
    size_t element = scalar / array->vector_length, block = array->count;
    for (size_t i = 0; i < array->dimension_count; i++) {
        block /= array->shape[i];
        tb_text_printf(text, "[%zu]", element / block);
        element %= block;
    }
    if (array->vector_length > 1) tb_text_printf(text, ".%c", "xyzw"[scalar % array->vector_length]);
    if (!array->dimension_count && array->vector_length == 1) tb_text_puts(text, "[0]");
}

json_t *tool_json_scalar(tombac_type type, const void *bytes)
{
    tool_number number = tool_scalar_load(type, bytes);
    char text[TOOL_SCALAR_TEXT];
    if (type == TOMBAC_TYPE_BOOL && number.magnitude <= 1) return json_boolean(number.magnitude);
    if (number.is_float && isfinite(number.real)) return json_real(number.real);
    if (!number.is_float && number.magnitude <= INT64_MAX) {
        return json_integer(number.negative ? -(json_int_t)number.magnitude : (json_int_t)number.magnitude);
    }
    return json_string(tool_scalar_format(type, bytes, text));
}

json_t *tool_json_array(const tool_array *array, size_t limit)
{
    json_t *shape = json_array(), *values = json_array();
    size_t count = array->count < limit ? array->count : limit;
    for (size_t i = 0; i < array->dimension_count; i++)
        json_array_append_new(shape, json_integer((json_int_t)array->shape[i]));
    for (size_t i = 0; i < count * array->vector_length; i++)
        json_array_append_new(values, tool_json_scalar(array->type, tool_array_at(array, i)));
    return json_pack("{s:s, s:I, s:o, s:o}", "type", tool_type_name(array->type), "vector_length",
        (json_int_t)array->vector_length, "shape", shape, "values", values);
}
