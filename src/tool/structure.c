/* Struct values; see structure.h. */
#include "tool/structure.h"

#include "tool/array.h"
#include "tool/suggest.h"

#include <string.h>

enum { DEEPEST = 32 };

/* One member, from its JSON. */
typedef struct member {
    const char *name, *type_name;
    size_t offset, count, stride; /* stride: bytes from one element of an array to the next */
    tombac_type type;
    size_t vector_length, scalar_size;
    size_t columns; /* of a matrix, whose vector_length is that of a column; else 0 */
    const json_t *members;
} member;

typedef struct parser {
    const char *what;
    tool_cursor *cursor;
    tombac_error **error;
} parser;

static size_t number_of(const json_t *object, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(object, key));
    return value > 0 ? (size_t)value : 0;
}

static const char *string_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* A matrix is known by its type's name: "float3x2" is 3 columns of 2. */
static void matrix_read(member *m)
{
    static const struct {
        const char *name;
        tombac_type type;
    } scalars[] = {{"float", TOMBAC_TYPE_F32}, {"half", TOMBAC_TYPE_F16}, {"bfloat", TOMBAC_TYPE_BF16}};
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++) {
        size_t length = strlen(scalars[i].name);
        const char *rest = m->type_name + length;
        if (strncmp(m->type_name, scalars[i].name, length) != 0 || strlen(rest) != 3 || rest[1] != 'x') continue;
        if (rest[0] < '2' || rest[0] > '4' || rest[2] < '2' || rest[2] > '4') continue;
        m->type = scalars[i].type;
        m->columns = (size_t)(rest[0] - '0');
        m->vector_length = (size_t)(rest[2] - '0');
    }
}

/* False where the description does not fit into `limit` bytes: a defect of the reflection, never trusted. */
static bool member_read(const json_t *json, size_t limit, member *m)
{
    const char *scalar = string_of(json, "scalar");
    size_t size = number_of(json, "size");
    m->name = string_of(json, "name");
    m->type_name = string_of(json, "type");
    m->offset = number_of(json, "offset");
    m->count = number_of(json, "count");
    m->type = tool_type_from_name(scalar, strlen(scalar));
    m->vector_length = number_of(json, "vector_length");
    m->members = json_object_get(json, "members");
    if (!json_array_size(m->members)) m->members = NULL;
    if (m->count == 0) m->count = 1;
    if (m->vector_length == 0) m->vector_length = 1;
    m->columns = 0;
    if (m->type == TOMBAC_TYPE_OTHER && !m->members) matrix_read(m);
    if (m->offset > limit || size > limit - m->offset || size % m->count) return false;
    m->stride = size / m->count;
    m->scalar_size = tool_type_size(m->type);
    size_t room = m->columns ? m->stride / m->columns : m->stride;
    return m->vector_length <= 4 && m->scalar_size * m->vector_length <= room;
}

static tombac_status wrong(parser *p, const member *m, const char *expected)
{
    char found = tool_cursor_peek(p->cursor);
    if (!found) {
        return tb_fail(
            p->error, TOMBAC_ERROR_ARGUMENT, "%s: the value ends where %s was expected", p->what, expected);
    }
    return tb_fail(p->error, TOMBAC_ERROR_ARGUMENT, "%s: %s%s%s expected at '%.20s'", p->what,
        m ? m->name : "", m ? ": " : "", expected, p->cursor->at);
}

static tombac_status parse_scalar(parser *p, const member *m, unsigned char *bytes)
{
    const char *word;
    tool_number number;
    size_t length = tool_cursor_number(p->cursor, &word);
    if (!length) return wrong(p, m, "a number");
    if (!tool_number_parse(word, length, &number) || !tool_scalar_store(m->type, number, bytes)) {
        return tb_fail(p->error, TOMBAC_ERROR_ARGUMENT, "%s: member '%s' is a %s, which cannot be '%.*s'",
            p->what, m->name, m->type_name, (int)length, word);
    }
    return TOMBAC_OK;
}

static tombac_status parse_struct(
    parser *p, const json_t *members, unsigned char *bytes, size_t size, unsigned depth);

static tombac_status parse_vector(parser *p, const member *m, unsigned char *bytes)
{
    if (!tool_cursor_take(p->cursor, '{')) return wrong(p, m, "'{' of a vector");
    for (size_t i = 0; i < m->vector_length; i++) {
        if (i && !tool_cursor_take(p->cursor, ',')) return wrong(p, m, "one more component of the vector");
        tombac_status status = parse_scalar(p, m, bytes + i * m->scalar_size);
        if (status != TOMBAC_OK) return status;
    }
    return tool_cursor_take(p->cursor, '}') ? TOMBAC_OK : wrong(p, m, "'}' of a vector");
}

/* Its columns, in braces. */
static tombac_status parse_matrix(parser *p, const member *m, unsigned char *bytes)
{
    if (!tool_cursor_take(p->cursor, '{')) return wrong(p, m, "'{' of a matrix");
    for (size_t i = 0; i < m->columns; i++) {
        if (i && !tool_cursor_take(p->cursor, ',')) return wrong(p, m, "one more column of the matrix");
        tombac_status status = parse_vector(p, m, bytes + i * (m->stride / m->columns));
        if (status != TOMBAC_OK) return status;
    }
    return tool_cursor_take(p->cursor, '}') ? TOMBAC_OK : wrong(p, m, "'}' of a matrix");
}

/* One element of a member: a scalar, a vector in braces, a matrix, or a struct. */
static tombac_status parse_element(parser *p, const member *m, unsigned char *bytes, unsigned depth)
{
    if (m->members) return parse_struct(p, m->members, bytes, m->stride, depth + 1);
    if (m->type == TOMBAC_TYPE_OTHER) {
        return tb_fail(p->error, TOMBAC_ERROR_ARGUMENT,
            "%s: member '%s' is a %s, which has no notation; give the struct as bytes", p->what, m->name,
            m->type_name);
    }
    if (m->columns) return parse_matrix(p, m, bytes);
    return m->vector_length == 1 ? parse_scalar(p, m, bytes) : parse_vector(p, m, bytes);
}

static tombac_status parse_member(parser *p, const member *m, unsigned char *bytes, unsigned depth)
{
    if (m->count == 1) return parse_element(p, m, bytes, depth);
    if (!tool_cursor_take(p->cursor, '{')) return wrong(p, m, "'{' of an array");
    for (size_t i = 0; !tool_cursor_take(p->cursor, '}'); i++) {
        if (i && !tool_cursor_take(p->cursor, ',')) return wrong(p, m, "',' or '}'");
        if (i == m->count) {
            return tb_fail(p->error, TOMBAC_ERROR_ARGUMENT,
                "%s: member '%s' has %zu elements and more are given", p->what, m->name, m->count);
        }
        tombac_status status = parse_element(p, m, bytes + i * m->stride, depth);
        if (status != TOMBAC_OK) return status;
    }
    return TOMBAC_OK;
}

static tombac_status unknown_member(parser *p, const json_t *members, const char *name)
{
    tool_suggestion suggestion = {.name = name};
    tb_text text = {0};
    size_t i;
    const json_t *json;
    json_array_foreach(members, i, json) tool_suggest_consider(&suggestion, string_of(json, "name"));
    tool_suggest_append(&suggestion, &text);
    if (!suggestion.best) {
        tb_text_puts(&text, "; it has");
        json_array_foreach(members, i, json)
            tb_text_printf(&text, "%s %s", i ? "," : "", string_of(json, "name"));
    }
    tombac_status status = tb_fail(p->error, TOMBAC_ERROR_NOT_FOUND, "%s: the struct has no member '%s'%s",
        p->what, name, tb_text_string(&text));
    tb_text_free(&text);
    return status;
}

/* `name: value` */
static tombac_status parse_field(
    parser *p, const json_t *members, unsigned char *bytes, size_t size, unsigned depth)
{
    const char *word;
    char name[128];
    size_t length = tool_cursor_word(p->cursor, &word), i;
    if (!length || length >= sizeof name) return wrong(p, NULL, "a member's name");
    memcpy(name, word, length);
    name[length] = 0;
    if (!tool_cursor_take(p->cursor, ':')) return wrong(p, NULL, "':' behind a member's name");
    const json_t *json;
    json_array_foreach(members, i, json)
    {
        member m;
        if (strcmp(string_of(json, "name"), name) != 0) continue;
        if (!member_read(json, size, &m)) {
            return tb_fail(p->error, TOMBAC_ERROR_ARTIFACT,
                "%s: the kernel's reflection of member '%s' is inconsistent", p->what, name);
        }
        return parse_member(p, &m, bytes + m.offset, depth);
    }
    return unknown_member(p, members, name);
}

static tombac_status parse_struct(
    parser *p, const json_t *members, unsigned char *bytes, size_t size, unsigned depth)
{
    if (depth > DEEPEST)
        return tb_fail(p->error, TOMBAC_ERROR_ARGUMENT, "%s: structs are nested too deeply", p->what);
    if (!tool_cursor_take(p->cursor, '{')) return wrong(p, NULL, "'{' of a struct");
    while (!tool_cursor_take(p->cursor, '}')) {
        tombac_status status = parse_field(p, members, bytes, size, depth);
        if (status != TOMBAC_OK) return status;
        if (tool_cursor_peek(p->cursor) == '}') continue;
        if (!tool_cursor_take(p->cursor, ',')) return wrong(p, NULL, "',' or '}'");
    }
    return TOMBAC_OK;
}

tombac_status tool_struct_parse(const char *what, const json_t *members, tool_cursor *cursor,
    unsigned char *bytes, size_t size, tombac_error **error)
{
    parser p = {what, cursor, error};
    return parse_struct(&p, members, bytes, size, 0);
}

/* ---- The way back ---- */

static void format_struct(
    const json_t *members, const unsigned char *bytes, size_t size, tb_text *text, unsigned depth);

static void format_vector(const member *m, const unsigned char *bytes, tb_text *text)
{
    char scalar[TOOL_SCALAR_TEXT];
    if (m->vector_length > 1) tb_text_putc(text, '{');
    for (size_t i = 0; i < m->vector_length; i++) {
        tool_scalar_format(m->type, bytes + i * m->scalar_size, scalar);
        tb_text_printf(text, "%s%s", i ? ", " : "", scalar);
    }
    if (m->vector_length > 1) tb_text_putc(text, '}');
}

static void format_element(const member *m, const unsigned char *bytes, tb_text *text, unsigned depth)
{
    if (m->members) {
        format_struct(m->members, bytes, m->stride, text, depth + 1);
        return;
    }
    if (m->type == TOMBAC_TYPE_OTHER) {
        tb_text_puts(text, "?");
        return;
    }
    if (m->columns) tb_text_putc(text, '{');
    for (size_t i = 0; i < m->columns; i++) {
        if (i) tb_text_puts(text, ", ");
        format_vector(m, bytes + i * (m->stride / m->columns), text);
    }
    if (m->columns)
        tb_text_putc(text, '}');
    else
        format_vector(m, bytes, text);
}

static void format_struct(
    const json_t *members, const unsigned char *bytes, size_t size, tb_text *text, unsigned depth)
{
    size_t i;
    const json_t *json;
    if (depth > DEEPEST) return;
    tb_text_putc(text, '{');
    json_array_foreach(members, i, json)
    {
        member m;
        if (!member_read(json, size, &m)) continue;
        tb_text_printf(text, "%s%s: ", i ? ", " : "", m.name);
        if (m.count > 1) tb_text_putc(text, '{');
        for (size_t k = 0; k < m.count; k++) {
            if (k) tb_text_puts(text, ", ");
            format_element(&m, bytes + m.offset + k * m.stride, text, depth);
        }
        if (m.count > 1) tb_text_putc(text, '}');
    }
    tb_text_putc(text, '}');
}

void tool_struct_format(const json_t *members, const unsigned char *bytes, size_t size, tb_text *text)
{
    format_struct(members, bytes, size, text, 0);
}
