/* The C header of a bundle: for each kernel a function that makes a lazy operation of typed arguments;
 * structs with Metal's layout; and the bundle's bytes, so that a program needs no other file. */
#include "tool/build.h"

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

static bool is_true(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

/* ---- Arguments ---- */

static void argument_name(const json_t *argument, tb_text *out)
{
    static const char *const taken[] = {"kernel", "grid", "operation", "error", "launch", "status", "auto",
        "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern",
        "float", "for", "goto", "if", "inline", "int", "long", "register", "return", "short", "signed",
        "sizeof", "static", "struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while",
        "bool", "class", "new", "delete", "this", "template", "private"};
    const char *name = string(argument, "name");
    build_identifier(out, *name ? name : "argument");
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (strcmp(name, taken[i]) == 0) tb_text_putc(out, '_');
}

static bool is_threadgroup(const json_t *argument)
{
    return strcmp(string(argument, "kind"), "threadgroup") == 0;
}

static bool is_tensor(const json_t *argument)
{
    return strcmp(string(argument, "kind"), "tensor") == 0;
}

/* An argument that the caller gives: function constants remove some, the layout comes with its tensor. */
static bool is_given(const json_t *argument)
{
    return is_true(argument, "active") && strcmp(string(argument, "kind"), "layout") != 0;
}

/* Passed by value: one element of constant memory. */
static bool is_value(const json_t *argument)
{
    return strcmp(string(argument, "kind"), "constant") == 0 && is_true(argument, "reference");
}

static bool has_struct(const json_t *argument)
{
    return !*string(argument, "scalar") && json_array_size(json_object_get(argument, "members")) > 0;
}

static void write_parameter(build_writer *writer, const json_t *argument)
{
    tb_text *out = writer->out, name = {0};
    argument_name(argument, &name);
    const char *scalar = build_scalar(string(argument, "scalar"));
    size_t length = number(argument, "vector_length");
    tb_text_puts(out, ",\n    ");
    if (is_threadgroup(argument)) {
        tb_text_printf(out, "size_t %s_size /* bytes */", tb_text_string(&name));
    } else if (is_tensor(argument)) {
        tb_text_printf(out, "tombac_buffer *%s, const tombac_tensor *%s_tensor", tb_text_string(&name),
            tb_text_string(&name));
    } else if (!is_value(argument)) {
        tb_text_printf(out, "tombac_buffer *%s", tb_text_string(&name));
    } else if (scalar && length == 1) {
        tb_text_printf(out, "%s %s", scalar, tb_text_string(&name));
    } else if (scalar) {
        tb_text_printf(out, "const %s %s[%zu]", scalar, tb_text_string(&name),
            length == 3 && !is_true(argument, "packed") ? 4 : length);
    } else if (has_struct(argument)) {
        tb_text_puts(out, "const ");
        build_struct_name(writer, argument, out);
        tb_text_printf(out, " *%s", tb_text_string(&name));
    } else {
        tb_text_printf(
            out, "const void *%s /* %zu bytes */", tb_text_string(&name), number(argument, "size"));
    }
    if (name.bad) out->bad = true;
    tb_text_free(&name);
}

static void write_binding(build_writer *writer, const json_t *argument)
{
    tb_text *out = writer->out, name = {0};
    argument_name(argument, &name);
    size_t index = number(argument, "index");
    const char *n = tb_text_string(&name);
    if (is_threadgroup(argument)) {
        tb_text_printf(out,
            "    if (status == TOMBAC_OK) status = tombac_launch_set_threadgroup_memory(launch, %zu, "
            "%s_size, error);\n",
            index, n);
    } else if (is_tensor(argument)) {
        tb_text_printf(out,
            "    if (status == TOMBAC_OK)\n"
            "        status = tombac_launch_set_tensor(launch, %zu, %s, 0, %s_tensor, error);\n",
            index, n, n);
    } else if (is_value(argument)) {
        bool by_value = build_scalar(string(argument, "scalar")) && number(argument, "vector_length") == 1;
        tb_text_printf(out,
            "    if (status == TOMBAC_OK) status = tombac_launch_set_bytes(launch, %zu, %s%s, %zu, error);\n",
            index, by_value ? "&" : "", n, number(argument, "size"));
    } else {
        tb_text_printf(out,
            "    if (status == TOMBAC_OK) status = tombac_launch_set_buffer(launch, %zu, %s, 0, error);\n",
            index, n);
    }
    if (name.bad) out->bad = true;
    tb_text_free(&name);
}

/* ---- Kernels ---- */

static void describe_arguments(tb_text *out, const json_t *kernel)
{
    size_t i;
    json_t *argument, *requirement;
    json_array_foreach(json_object_get(kernel, "arguments"), i, argument)
    {
        if (!is_given(argument)) continue;
        tb_text_printf(out, " *   %-12s %s%s%s, [[%s(%zu)]]\n", string(argument, "name"),
            string(argument, "type"),
            is_value(argument)    ? ""
            : is_tensor(argument) ? " elements of a tensor"
                                  : " elements",
            is_true(argument, "writable") ? ", written" : "",
            is_threadgroup(argument) ? "threadgroup" : "buffer", number(argument, "index"));
    }
    json_array_foreach(json_object_get(kernel, "requires"), i, requirement)
        tb_text_printf(out, " * Requires %s.\n", json_string_value(requirement));
    const json_t *required = json_object_get(kernel, "required_threads_per_threadgroup");
    if (json_array_size(required) == 3)
        tb_text_printf(out, " * Requires threadgroups of %lld x %lld x %lld threads.\n",
            (long long)json_integer_value(json_array_get(required, 0)),
            (long long)json_integer_value(json_array_get(required, 1)),
            (long long)json_integer_value(json_array_get(required, 2)));
}

/* A tombac_element of each struct that buffers consist of. */
static void write_element(build_writer *writer, const json_t *argument)
{
    tb_text name = {0}, key = {0};
    build_struct_name(writer, argument, &name);
    tb_text_printf(&key, "%s_element", tb_text_string(&name));
    const char *n = tb_text_string(&name);
    if (!json_object_get(writer->structs, tb_text_string(&key))) {
        size_t i;
        json_t *member;
        tb_text_printf(writer->out,
            "/* For typed buffers of %s. */\nstatic inline tombac_element %s_element(void)\n{\n"
            "    static const tombac_member members[] = {",
            string(argument, "type"), n);
        json_array_foreach(json_object_get(argument, "members"), i, member)
            tb_text_printf(writer->out, "%s{\"%s\", %zu, %zu}", i ? ", " : "", string(member, "name"),
                number(member, "offset"), number(member, "size"));
        tb_text_printf(writer->out,
            "};\n    const tombac_element element = {TOMBAC_TYPE_OTHER, 0, false, %zu, %zu, \"%s\", members, "
            "%zu};\n"
            "    return element;\n}\n\n",
            number(argument, "size"), number(argument, "alignment"), string(argument, "type"),
            json_array_size(json_object_get(argument, "members")));
        json_object_set_new(writer->structs, tb_text_string(&key), json_true());
    }
    tb_text_free(&name);
    tb_text_free(&key);
}

static void write_kernel(build_writer *writer, const json_t *kernel)
{
    tb_text *out = writer->out, name = {0};
    size_t i;
    json_t *argument;
    json_array_foreach(json_object_get(kernel, "arguments"), i, argument)
    {
        if (!is_true(argument, "active") || !has_struct(argument)) continue;
        build_declare_struct(writer, argument, number(argument, "alignment"));
        if (!is_value(argument)) write_element(writer, argument);
    }
    build_identifier(&name, string(kernel, "name"));
    if (strcmp(tb_text_string(&name), "open") == 0 || strcmp(tb_text_string(&name), "artifact") == 0)
        tb_text_putc(&name, '_'); /* these are the header's own */
    tb_text key = {0};
    tb_text_printf(&key, "function %s", tb_text_string(&name));
    if (json_object_get(writer->structs, tb_text_string(&key))) writer->conflict = true;
    json_object_set_new(writer->structs, tb_text_string(&key), json_true());
    if (key.bad) out->bad = true;
    tb_text_free(&key);
    tb_text_printf(out,
        "/* Makes an operation of kernel %s (%s:%zu), a tombac_kernel of %s_open's library; see "
        "tombac_operation.\n",
        string(kernel, "name"), string(kernel, "file"), number(kernel, "line"), writer->prefix);
    describe_arguments(out, kernel);
    tb_text_printf(out, " */\nstatic inline tombac_status %s_%s(tombac_kernel *kernel, tombac_grid grid",
        writer->prefix, tb_text_string(&name));
    json_array_foreach(json_object_get(kernel, "arguments"), i, argument) if (is_given(argument))
        write_parameter(writer, argument);
    tb_text_puts(out,
        ",\n    tombac_operation **operation, tombac_error **error)\n{\n    tombac_launch *launch = NULL;\n"
        "    tombac_status status = tombac_launch_create(kernel, &launch, error);\n");
    json_array_foreach(json_object_get(kernel, "arguments"), i, argument) if (is_given(argument))
        write_binding(writer, argument);
    tb_text_puts(out,
        "    if (status == TOMBAC_OK) status = tombac_launch_set_grid(launch, grid, error);\n"
        "    if (status == TOMBAC_OK) status = tombac_launch_operation(launch, operation, error);\n"
        "    tombac_launch_release(launch);\n    return status;\n}\n\n");
    if (name.bad) out->bad = true;
    tb_text_free(&name);
}

static tombac_status write_kernels(
    build_writer *writer, const tb_artifact *bundle, const json_t *index, tombac_error **error)
{
    size_t i;
    json_t *entry, *seen = json_object();
    tombac_status status = seen ? TOMBAC_OK : tb_fail_memory(error);
    json_array_foreach(json_object_get(index, "kernels"), i, entry)
    {
        if (status != TOMBAC_OK || json_object_get(seen, string(entry, "name"))) continue;
        json_object_set_new(seen, string(entry, "name"), json_true());
        tb_artifact one;
        const tb_section *section = &bundle->sections[i + 1];
        status = tb_artifact_parse(string(entry, "name"), section->data, section->size, &one, error);
        const tb_section *text = status == TOMBAC_OK ? tb_artifact_find(&one, TB_SECTION_MANIFEST) : NULL;
        json_t *manifest = text ? json_loadb(text->data, text->size, 0, NULL) : NULL;
        if (manifest)
            write_kernel(writer, json_object_get(manifest, "kernel"));
        else if (status == TOMBAC_OK)
            status = tb_fail(
                error, TOMBAC_ERROR_ARTIFACT, "the manifest of '%s' cannot be read", string(entry, "name"));
        json_decref(manifest);
    }
    json_decref(seen);
    return status;
}

/* ---- The whole ---- */

static void write_bytes(build_writer *writer, const tb_text *bundle)
{
    static const char digits[] = "0123456789abcdef";
    tb_text *out = writer->out;
    tb_text_printf(out,
        "/* The artifact. */\n__attribute__((unused, aligned(64))) static const unsigned char "
        "%s_artifact[%zu] = {",
        writer->prefix, bundle->size);
    for (size_t i = 0; i < bundle->size; i++) {
        unsigned char byte = (unsigned char)bundle->data[i];
        if (i % 24 == 0) tb_text_puts(out, "\n    ");
        const char text[] = {'0', 'x', digits[byte >> 4], digits[byte & 15], ','};
        tb_text_append(out, text, sizeof text);
    }
    tb_text_printf(out,
        "\n};\n\n/* Opens it; needs no compiler and no file. */\n"
        "static inline tombac_status %s_open(tombac_device *device, tombac_library **library, tombac_error "
        "**error)\n{\n"
        "    return tombac_library_open_artifact_memory(device, \"%s\", %s_artifact, sizeof %s_artifact, "
        "library, error);\n}\n\n",
        writer->prefix, writer->prefix, writer->prefix, writer->prefix);
}

tombac_status build_header(
    const build_options *options, const tb_text *bundle, tb_text *out, tombac_error **error)
{
    tb_artifact artifact;
    json_t *index = NULL;
    tombac_status status = build_read(options->output, bundle, &artifact, &index, error);
    if (status != TOMBAC_OK) return status;
    tb_text guard = {0};
    build_identifier(&guard, options->name);
    build_writer writer = {.out = out, .prefix = tb_text_string(&guard), .structs = json_object()};
    if (!writer.structs || guard.bad) status = tb_fail_memory(error);
    tb_text_printf(out,
        "/* Made by `tombac build` %s from %s; do not edit. */\n#ifndef TOMBAC_KERNELS_%s\n#define "
        "TOMBAC_KERNELS_%s\n"
        "#pragma GCC system_header /* no warnings of yours for what is made */\n\n"
        "#include <tombac/tombac.h>\n\n#ifdef __cplusplus\n#define TOMBAC_STATIC_ASSERT "
        "static_assert\nextern \"C\" {\n#else\n"
        "#define TOMBAC_STATIC_ASSERT _Static_assert\n#endif\n\n",
        tombac_version(), string(index, "source"), writer.prefix, writer.prefix);
    if (status == TOMBAC_OK) write_bytes(&writer, bundle);
    if (status == TOMBAC_OK) status = write_kernels(&writer, &artifact, index, error);
    tb_text_puts(out, "#undef TOMBAC_STATIC_ASSERT\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
    if (status == TOMBAC_OK && writer.conflict)
        status = tb_fail(error, TOMBAC_ERROR_UNSUPPORTED,
            "two different kernels or structs of '%s' have one name in C; build several headers with "
            "--kernel",
            options->source);
    if (status == TOMBAC_OK && out->bad) status = tb_fail_memory(error);
    json_decref(writer.structs);
    json_decref(index);
    tb_text_free(&guard);
    return status;
}
