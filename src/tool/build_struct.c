/* C names and C structs for Metal's types. A struct is written packed, with its padding as members of its
 * own, so that its layout is Metal's whatever the C compiler's rules are; assertions in the header confirm
 * it. */
#include "tool/build.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *string(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static size_t number(const json_t *object, const char *key)
{
    return (size_t)json_integer_value(json_object_get(object, key));
}

void build_identifier(tb_text *out, const char *name)
{
    if (isdigit((unsigned char)*name)) tb_text_putc(out, '_');
    for (; *name; name++) tb_text_putc(out, isalnum((unsigned char)*name) ? *name : '_');
}

const char *build_scalar(const char *scalar)
{
    static const char *const types[][2] = {{"bool", "bool"}, {"i8", "int8_t"}, {"u8", "uint8_t"},
        {"i16", "int16_t"}, {"u16", "uint16_t"}, {"i32", "int32_t"}, {"u32", "uint32_t"}, {"i64", "int64_t"},
        {"u64", "uint64_t"}, {"f16", "uint16_t"}, {"bf16", "uint16_t"}, {"f32", "float"}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i][0], scalar) == 0) return types[i][1];
    return NULL;
}

void build_struct_name(const build_writer *writer, const json_t *type, tb_text *out)
{
    tb_text_printf(out, "%s_", writer->prefix);
    build_identifier(out, string(type, "type"));
}

/* One member, `size` bytes in all. */
static void write_member(build_writer *writer, const json_t *member, tb_text *body)
{
    const char *scalar = build_scalar(string(member, "scalar"));
    size_t size = number(member, "size"), count = number(member, "count"),
           length = number(member, "vector_length");
    tb_text name = {0};
    build_identifier(&name, string(member, "name"));
    if (scalar) {
        size_t each = length == 3 && !json_is_true(json_object_get(member, "packed")) ? 4 : length;
        tb_text_printf(body, "    %s %s", scalar, tb_text_string(&name));
        if (count > 1) tb_text_printf(body, "[%zu]", count);
        if (each > 1) tb_text_printf(body, "[%zu]", each);
        tb_text_puts(body, ";");
        if (strcmp(string(member, "scalar"), "f16") == 0 || strcmp(string(member, "scalar"), "bf16") == 0)
            tb_text_printf(body, " /* the bits of %s */", string(member, "type"));
        else if (each > 1)
            tb_text_printf(body, " /* %s */", string(member, "type"));
        tb_text_putc(body, '\n');
    } else if (json_array_size(json_object_get(member, "members"))) {
        build_declare_struct(writer, member, 1);
        tb_text_puts(body, "    ");
        build_struct_name(writer, member, body);
        tb_text_printf(body, " %s", tb_text_string(&name));
        if (count > 1) tb_text_printf(body, "[%zu]", count);
        tb_text_puts(body, ";\n");
    } else {
        tb_text_printf(
            body, "    uint8_t %s[%zu]; /* %s */\n", tb_text_string(&name), size, string(member, "type"));
    }
    tb_text_free(&name);
}

static void write_padding(tb_text *body, size_t from, size_t to, int *paddings)
{
    if (to > from) tb_text_printf(body, "    uint8_t padding_%d[%zu];\n", (*paddings)++, to - from);
}

/* Overlapping members (unions) have no such form. */
static bool is_plain(const json_t *type)
{
    size_t i, at = 0;
    json_t *member;
    json_array_foreach(json_object_get(type, "members"), i, member)
    {
        if (number(member, "offset") < at) return false;
        at = number(member, "offset") + number(member, "size");
    }
    return at <= number(type, "size") / (number(type, "count") ? number(type, "count") : 1);
}

static void write_struct(
    build_writer *writer, const json_t *type, size_t size, size_t alignment, const char *name)
{
    tb_text body = {0}, checks = {0};
    size_t i, at = 0;
    int paddings = 0;
    json_t *member;
    if (!is_plain(type)) {
        tb_text_printf(&body, "    uint8_t bytes[%zu]; /* its members overlap */\n", size);
        at = size;
    } else {
        json_array_foreach(json_object_get(type, "members"), i, member)
        {
            size_t offset = number(member, "offset");
            write_padding(&body, at, offset, &paddings);
            write_member(writer, member, &body);
            at = offset + number(member, "size");
            tb_text id = {0};
            build_identifier(&id, string(member, "name"));
            tb_text_printf(&checks, "TOMBAC_STATIC_ASSERT(offsetof(%s, %s) == %zu, \"the layout of %s\");\n",
                name, tb_text_string(&id), offset, name);
            tb_text_free(&id);
        }
    }
    write_padding(&body, at, size, &paddings);
    tb_text_printf(writer->out,
        "/* %s */\ntypedef struct %s {\n%s} __attribute__((packed, aligned(%zu))) %s;\n",
        string(type, "type"), name, tb_text_string(&body), alignment, name);
    tb_text_printf(writer->out, "TOMBAC_STATIC_ASSERT(sizeof(%s) == %zu, \"the layout of %s\");\n%s\n", name,
        size, name, tb_text_string(&checks));
    if (body.bad || checks.bad) writer->out->bad = true;
    tb_text_free(&body);
    tb_text_free(&checks);
}

void build_declare_struct(build_writer *writer, const json_t *type, size_t alignment)
{
    tb_text name = {0};
    build_struct_name(writer, type, &name);
    const char *key = tb_text_string(&name);
    size_t count = number(type, "count");
    size_t size = number(type, "size") / (count ? count : 1);
    const json_t *before = json_object_get(writer->structs, key);
    if (!before) {
        write_struct(writer, type, size, alignment, key);
        json_object_set_new(writer->structs, key,
            json_pack("{s:O, s:I}", "members", json_object_get(type, "members"), "size", (json_int_t)size));
    } else if (!json_equal(json_object_get(before, "members"), json_object_get(type, "members")) ||
               number(before, "size") != size) {
        writer->conflict = true;
    }
    tb_text_free(&name);
}
