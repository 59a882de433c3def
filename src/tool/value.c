/* Values of the command line; see value.h. */
#include "tool/value.h"

#include "tool/cursor.h"
#include "tool/fill.h"
#include "tool/npy.h"
#include "tool/structure.h"

#include <string.h>

typedef struct parser {
    const tool_slot *slot;
    const char *text;
    tool_cursor cursor;
    tombac_error **error;
} parser;

static tombac_status bad_value(parser *p, const char *why)
{
    return tb_fail(p->error, TOMBAC_ERROR_ARGUMENT, "%s: '%.80s': %s", p->slot->what, p->text, why);
}

static const char *slot_type_name(const tool_slot *slot)
{
    return slot->type_name && *slot->type_name ? slot->type_name : tool_type_name(slot->type);
}

/* ---- Types and shapes ---- */

/* "f32" or "f32x4"; takes nothing and returns false where the text does not begin so. */
static bool take_type(tool_cursor *c, tombac_type *type, uint32_t *vector_length)
{
    tool_cursor ahead = *c;
    const char *word;
    size_t length = tool_cursor_word(&ahead, &word), base = 0;
    while (base < length && word[base] != 'x') base++;
    *type = tool_type_from_name(word, base);
    *vector_length = 1;
    if (*type == TOMBAC_TYPE_OTHER || *type == TOOL_TYPE_F64) return false;
    if (base < length) {
        if (length != base + 2 || word[base + 1] < '2' || word[base + 1] > '4') return false;
        *vector_length = (uint32_t)(word[base + 1] - '0');
    }
    *c = ahead;
    return true;
}

bool tool_value_is_expression(const char *text)
{
    tool_cursor c = {text, text + strlen(text)};
    tombac_type type;
    uint32_t length;
    char first = tool_cursor_peek(&c);
    if (first == '@' || first == '{' || first == '[') return true;
    return take_type(&c, &type, &length) && c.at < c.end && (*c.at == '[' || *c.at == ':');
}

static tombac_status take_shape(parser *p, tool_array *array)
{
    tool_cursor_take(&p->cursor, '[');
    do {
        if (array->dimension_count == TOOL_MAX_DIMENSIONS)
            return bad_value(p, "the shape has too many dimensions");
        if (!tool_cursor_size(&p->cursor, &array->shape[array->dimension_count])) {
            return bad_value(p, "a size is expected in [...], as in f32[1000] or f32[64x128]");
        }
        array->dimension_count++;
    } while (tool_cursor_take(&p->cursor, 'x') || tool_cursor_take(&p->cursor, ','));
    return tool_cursor_take(&p->cursor, ']') ? TOMBAC_OK : bad_value(p, "']' is expected behind the shape");
}

/* ---- Lists and numbers ---- */

static tombac_status store(parser *p, tool_array *array, size_t index, const char *word, size_t length)
{
    tool_number number;
    if (!tool_number_parse(word, length, &number)) {
        return tb_fail(
            p->error, TOMBAC_ERROR_ARGUMENT, "%s: '%.*s' is not a number", p->slot->what, (int)length, word);
    }
    if (!tool_scalar_store(array->type, number, array->data + index * tool_type_size(array->type))) {
        return tb_fail(p->error, TOMBAC_ERROR_ARGUMENT, "%s: %.*s does not fit into %s", p->slot->what,
            (int)length, word, tool_type_name(array->type));
    }
    return TOMBAC_OK;
}

/* Walks `{1, {2, 3}}`; counts the numbers, and stores them where `array` is not NULL. Inner braces are for
 * the eye. */
static tombac_status walk_list(parser *p, tool_array *array, size_t *count)
{
    size_t depth = 0;
    bool expect_value = true;
    *count = 0;
    do {
        if (expect_value && tool_cursor_take(&p->cursor, '{')) {
            depth++;
        } else if (tool_cursor_take(&p->cursor, '}')) {
            depth--;
            expect_value = false;
        } else if (!expect_value) {
            if (!tool_cursor_take(&p->cursor, ',')) return bad_value(p, "',' or '}' is expected in the list");
            expect_value = true;
        } else {
            const char *word;
            size_t length = tool_cursor_number(&p->cursor, &word);
            if (!length) return bad_value(p, "a number is expected in the list");
            tombac_status status = array ? store(p, array, *count, word, length) : TOMBAC_OK;
            if (status != TOMBAC_OK) return status;
            ++*count;
            expect_value = false;
        }
    } while (depth);
    return TOMBAC_OK;
}

static tombac_status parse_list(parser *p, tool_array *array, bool has_shape)
{
    tool_cursor start = p->cursor;
    size_t count;
    tombac_status status = walk_list(p, NULL, &count);
    if (status != TOMBAC_OK) return status;
    if (!has_shape) {
        if (count % array->vector_length) return bad_value(p, "the list does not fill its last vector");
        array->dimension_count = 1;
        array->shape[0] = count / array->vector_length;
    }
    status = tool_array_allocate(array, p->error);
    if (status != TOMBAC_OK) return status;
    if (tool_array_scalar_count(array) != count) {
        return tb_fail(p->error, TOMBAC_ERROR_ARGUMENT, "%s: the shape has %zu numbers and the list %zu",
            p->slot->what, tool_array_scalar_count(array), count);
    }
    p->cursor = start;
    return walk_list(p, array, &count);
}

static tombac_status parse_scalar(parser *p, tool_array *array)
{
    const char *word;
    size_t length = tool_cursor_number(&p->cursor, &word);
    if (!length) return bad_value(p, "this is no value; see 'tombac run --help'");
    if (array->vector_length > 1) {
        return tb_fail(p->error, TOMBAC_ERROR_ARGUMENT, "%s is a vector; give its %u components as {...}",
            p->slot->what, array->vector_length);
    }
    tombac_status status = tool_array_allocate(array, p->error);
    return status == TOMBAC_OK ? store(p, array, 0, word, length) : status;
}

/* ---- Initial values of shaped arrays ---- */

/* `(a, b, c)` or nothing. */
static tombac_status take_parameters(parser *p, tool_fill *fill)
{
    if (!tool_cursor_take(&p->cursor, '(')) return TOMBAC_OK;
    if (tool_cursor_take(&p->cursor, ')')) return TOMBAC_OK;
    do {
        const char *word;
        size_t length = tool_cursor_number(&p->cursor, &word);
        if (fill->parameter_count == 3) return bad_value(p, "too many numbers in (...)");
        if (!length || !tool_number_parse(word, length, &fill->parameters[fill->parameter_count]))
            return bad_value(p, "a number is expected in (...)");
        fill->parameter_count++;
    } while (tool_cursor_take(&p->cursor, ','));
    return tool_cursor_take(&p->cursor, ')') ? TOMBAC_OK : bad_value(p, "')' is expected");
}

static tombac_status parse_initial(parser *p, tool_array *array)
{
    const char *word;
    tool_fill fill = {.what = p->slot->what};
    if (tool_cursor_peek(&p->cursor) == '{') return parse_list(p, array, true);
    size_t length = tool_cursor_word(&p->cursor, &word);
    if (!tool_fill_kind_from_name(word, length, &fill.kind)) {
        return bad_value(p, "behind ':' is expected iota, fill(V), rand(SEED), zeros or a list {...}");
    }
    tombac_status status = take_parameters(p, &fill);
    if (status == TOMBAC_OK) status = tool_array_allocate(array, p->error);
    return status == TOMBAC_OK ? tool_fill_array(&fill, array, p->error) : status;
}

/* ---- Files ---- */

/* Where the kernel has vectors and the file one dimension more, the last dimension becomes the vector. */
static void fold_vector(const tool_slot *slot, tool_array *array)
{
    size_t last = array->dimension_count ? array->shape[array->dimension_count - 1] : 0;
    if (slot->vector_length < 2 || array->vector_length != 1 || last != slot->vector_length) return;
    array->vector_length = slot->vector_length;
    array->dimension_count--;
    array->count /= slot->vector_length;
}

tombac_status tool_value_read(
    const tool_slot *slot, const char *path, tool_array *array, tombac_error **error)
{
    tombac_status status = tool_npy_read(path, array, error);
    if (status != TOMBAC_OK) return status;
    if (array->type == TOMBAC_TYPE_U16 && slot->type == TOMBAC_TYPE_BF16) array->type = TOMBAC_TYPE_BF16;
    if (array->type == TOMBAC_TYPE_U8 && slot->type == TOMBAC_TYPE_BOOL) array->type = TOMBAC_TYPE_BOOL;
    fold_vector(slot, array);
    return TOMBAC_OK;
}

static tombac_status parse_file(parser *p, tool_array *array, const tool_array *wanted)
{
    const char *path = p->cursor.at;
    if (!*path) return bad_value(p, "a file's name is expected behind '@'");
    tool_slot slot = *p->slot;
    if (wanted) {
        slot.type = wanted->type;
        slot.vector_length = wanted->vector_length;
    }
    tombac_status status = tool_value_read(&slot, path, array, p->error);
    p->cursor.at = p->cursor.end;
    if (status != TOMBAC_OK) return status;
    if (!wanted && array->type == TOOL_TYPE_F64) {
        return tb_fail(p->error, TOMBAC_ERROR_ARGUMENT,
            "'%s' holds 64-bit floats (f8), which Metal does not have; write f32:@%s to convert them", path,
            path);
    }
    if (wanted && wanted->vector_length > 1 && array->vector_length != wanted->vector_length) {
        return tb_fail(p->error, TOMBAC_ERROR_ARGUMENT, "%s: the last dimension of '%s' is not %u",
            p->slot->what, path, wanted->vector_length);
    }
    return wanted ? tool_array_convert(array, wanted->type, path, p->error) : TOMBAC_OK;
}

/* ---- Structs ---- */

static tombac_status parse_structs(parser *p, tool_array *array)
{
    const tool_slot *slot = p->slot;
    tool_cursor ahead = p->cursor;
    tool_cursor_take(&ahead, '{');
    bool list = tool_cursor_peek(&ahead) == '{';
    tb_text bytes = {0};
    tombac_status status = TOMBAC_OK;
    if (list) p->cursor = ahead;
    do {
        size_t at = bytes.size;
        for (size_t i = 0; i < slot->element_size; i++) tb_text_putc(&bytes, 0);
        if (bytes.bad)
            status = tb_fail_memory(p->error);
        else
            status = tool_struct_parse(slot->what, slot->members, &p->cursor,
                (unsigned char *)bytes.data + at, slot->element_size, p->error);
    } while (status == TOMBAC_OK && list && tool_cursor_take(&p->cursor, ','));
    if (status == TOMBAC_OK && list && !tool_cursor_take(&p->cursor, '}'))
        status = bad_value(p, "',' or '}' is expected in the list of structs");
    array->type = TOMBAC_TYPE_U8;
    array->vector_length = 1;
    array->dimension_count = 1;
    array->shape[0] = bytes.size;
    if (status == TOMBAC_OK) status = tool_array_allocate(array, p->error);
    if (status == TOMBAC_OK && bytes.size) memcpy(array->data, bytes.data, bytes.size);
    tb_text_free(&bytes);
    return status;
}

/* ---- The whole ---- */

static tombac_status parse_typed(parser *p, tool_array *array)
{
    bool has_shape = tool_cursor_peek(&p->cursor) == '[';
    if (has_shape) {
        tombac_status status = take_shape(p, array);
        if (status != TOMBAC_OK) return status;
        if (tool_cursor_done(&p->cursor)) return tool_array_allocate(array, p->error);
        if (!tool_cursor_take(&p->cursor, ':')) return bad_value(p, "':' is expected behind the shape");
        return parse_initial(p, array);
    }
    if (!tool_cursor_take(&p->cursor, ':')) return bad_value(p, "[SHAPE] or ':' is expected behind the type");
    if (tool_cursor_take(&p->cursor, '@')) {
        tool_array wanted = *array;
        return parse_file(p, array, &wanted);
    }
    if (tool_cursor_peek(&p->cursor) == '{') return parse_list(p, array, false);
    return parse_scalar(p, array);
}

static tombac_status parse_untyped(parser *p, tool_array *array)
{
    const tool_slot *slot = p->slot;
    char first = tool_cursor_peek(&p->cursor);
    if (first == '{' && slot->members && slot->element_size) return parse_structs(p, array);
    array->type = slot->type;
    array->vector_length = slot->vector_length ? slot->vector_length : 1;
    if (slot->type == TOMBAC_TYPE_OTHER) {
        return tb_fail(p->error, TOMBAC_ERROR_ARGUMENT, "%s is a %s, so the value needs a type, as in u8[16]",
            slot->what, slot_type_name(slot));
    }
    if (first == '[') return parse_typed(p, array);
    return first == '{' ? parse_list(p, array, false) : parse_scalar(p, array);
}

tombac_status tool_value_parse(
    const tool_slot *slot, const char *text, tool_array *array, tombac_error **error)
{
    parser p = {slot, text, {text, text + strlen(text)}, error};
    tool_array made = {.vector_length = 1};
    tombac_status status;
    if (tool_cursor_take(&p.cursor, '@'))
        status = parse_file(&p, &made, NULL);
    else if (take_type(&p.cursor, &made.type, &made.vector_length))
        status = parse_typed(&p, &made);
    else
        status = parse_untyped(&p, &made);
    if (status == TOMBAC_OK && !tool_cursor_done(&p.cursor))
        status = bad_value(&p, "there is text behind the value");
    if (status == TOMBAC_OK)
        *array = made;
    else
        tool_array_free(&made);
    return status;
}
