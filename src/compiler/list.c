/* Verbs that need the front end only: list, check, emit --what source. */
#include "base/file.h"
#include "compiler/verbs.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

tombac_status cc_open(const cc_request *request, front_unit **unit, tombac_error **error)
{
    return front_open(request->path, request->source, request->source_size, &request->options, unit, error);
}

tombac_status cc_find_kernel(
    const cc_request *request, front_unit *unit, const front_kernel **kernel, tombac_error **error)
{
    if (!request->kernel) return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "no kernel given (--kernel NAME)");
    *kernel = front_kernel_find(unit, request->kernel);
    if (!*kernel)
        return tb_fail(
            error, TOMBAC_ERROR_NOT_FOUND, "'%s' has no kernel named '%s'", request->path, request->kernel);
    return TOMBAC_OK;
}

/* As tombac_type_name: that one belongs to the runtime library. */
static const char *scalar_name(tombac_type type)
{
    static const char *const names[] = {
        "", "bool", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32"};
    return type < sizeof names / sizeof *names ? names[type] : "";
}

static json_t *list_kernels(const front_unit *unit)
{
    json_t *list = json_array();
    for (size_t i = 0; i < front_kernel_count(unit); i++) {
        const front_kernel *k = front_kernel_at(unit, i);
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:i}", "name", k->name, "function",
                                        k->function, "file", k->file, "line", (int)k->line));
    }
    return list;
}

static json_t *list_constants(const front_unit *unit)
{
    json_t *list = json_array();
    for (size_t i = 0; i < front_constant_count(unit); i++) {
        const front_constant *c = front_constant_at(unit, i);
        json_array_append_new(list,
            json_pack("{s:s, s:I, s:s, s:s, s:I}", "name", c->name, "index", (json_int_t)c->index, "type",
                c->type_text, "scalar", scalar_name(c->type), "vector_length", (json_int_t)c->vector_length));
    }
    return list;
}

static json_t *list_dependencies(const front_unit *unit)
{
    json_t *list = json_array();
    for (size_t i = 0; i < front_dependency_count(unit); i++) {
        const front_dependency *d = front_dependency_at(unit, i);
        char hash[17];
        snprintf(hash, sizeof hash, "%016" PRIx64, d->hash);
        json_array_append_new(list,
            d->absent ? json_pack("{s:s, s:b}", "path", d->path, "absent", 1)
                      : json_pack("{s:s, s:I, s:s}", "path", d->path, "size", (json_int_t)d->size, "hash", hash));
    }
    return list;
}

static int append(const char *data, size_t size, void *text)
{
    tb_text_append(text, data, size);
    return 0;
}

tombac_status cc_list(const cc_request *request, tb_text *output, tb_text *diagnostics, tombac_error **error)
{
    front_unit *unit = NULL;
    tombac_status status = cc_open(request, &unit, error);
    if (status != TOMBAC_OK) return status;
    json_t *root = json_pack("{s:o, s:o, s:o}", "kernels", list_kernels(unit), "constants",
        list_constants(unit), "dependencies", list_dependencies(unit));
    if (!root || json_dump_callback(root, append, output, JSON_INDENT(1)) != 0)
        status = tb_fail_memory(error);
    tb_text_putc(output, '\n');
    json_decref(root);
    front_close(unit);
    return status;
}

static tombac_status write_file(const char *path, const tb_text *text, void *context, tombac_error **error)
{
    return tb_file_write_atomic(path, tb_text_string(text), text->size, error);
}

tombac_status cc_check(const cc_request *request, tb_text *output, tb_text *diagnostics, tombac_error **error)
{
    front_unit *unit = NULL;
    const front_kernel *kernel = NULL;
    front_result result = {0};
    tombac_status status = cc_open(request, &unit, error);
    if (status == TOMBAC_OK && request->kernel) status = cc_find_kernel(request, unit, &kernel, error);
    if (status == TOMBAC_OK) status = front_compile(unit, kernel, true, &result, error);
    if (status == TOMBAC_OK) tb_text_append(diagnostics, result.diagnostics.data, result.diagnostics.size);
    if (status == TOMBAC_OK && request->fix) status = front_fix(unit, write_file, NULL, error);
    front_result_free(&result);
    front_close(unit);
    return status;
}

tombac_status cc_emit_msl(const cc_request *request, tb_text *output, tb_text *diagnostics, tombac_error **error)
{
    front_unit *unit = NULL;
    cc_request in_c = *request; /* the standard is that of what is written */
    in_c.options.standard = NULL;
    tombac_status status = cc_open(&in_c, &unit, error);
    if (status == TOMBAC_OK) status = front_emit_msl(unit, request->options.standard, output, error);
    front_close(unit);
    return status;
}

tombac_status cc_emit_source(
    const cc_request *request, tb_text *output, tb_text *diagnostics, tombac_error **error)
{
    front_unit *unit = NULL;
    const front_kernel *kernel = NULL;
    tombac_status status = cc_open(request, &unit, error);
    if (status == TOMBAC_OK && request->kernel) status = cc_find_kernel(request, unit, &kernel, error);
    if (status == TOMBAC_OK) status = front_rewrite(unit, kernel, output, error);
    front_close(unit);
    return status;
}
