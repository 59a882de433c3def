/* The JSON manifest of a kernel (docs/architecture.md "Manifest"), written with jansson. */
#include "compiler/ir/steps.h"

#include "artifact/abi.h"
#include "compiler/ir/type.h"

#include <jansson.h>
#include <llvm-c/BitReader.h>
#include <stdlib.h>
#include <string.h>

#ifndef TOMBAC_VERSION
#define TOMBAC_VERSION "0.1.0"
#endif

static const char *math_name(tombac_math math)
{
    return math == TOMBAC_MATH_SAFE ? "safe" : math == TOMBAC_MATH_RELAXED ? "relaxed" : "fast";
}

/* Adds to a list; NULL where either is missing, so that a failure travels up to write_json. */
static json_t *append(json_t *list, json_t *value)
{
    if (list && value && !json_array_append_new(list, value)) return list;
    if (!list) json_decref(value);
    json_decref(list);
    return NULL;
}

static json_t *members_json(const ir_type *type);

static json_t *member_json(const ir_member *member)
{
    const ir_type *t = &member->type;
    return json_pack("{s:s, s:I, s:I, s:s, s:s, s:i, s:b, s:I, s:o}", "name", member->name, "offset",
        (json_int_t)member->offset, "size", (json_int_t)(t->size * member->count), "type", t->name, "scalar",
        ir_scalar_name(t->scalar), "vector_length", (int)t->vector_length, "packed", t->packed, "count",
        (json_int_t)member->count, "members", members_json(t));
}

static json_t *members_json(const ir_type *type)
{
    json_t *list = json_array();
    for (size_t i = 0; i < type->member_count; i++) list = append(list, member_json(&type->members[i]));
    return list;
}

/* Of tensors: the fixed extents, null where the host chooses, and the type in which they are counted. */
static json_t *tensor_json(const ir_argument *argument)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < argument->rank; i++)
        list = append(list, argument->extents[i] == UINT64_MAX ? json_null()
                                                               : json_integer((json_int_t)argument->extents[i]));
    return json_pack("{s:o, s:s}", "extents", list, "index", ir_scalar_name(argument->index_type));
}

static json_t *argument_json(const ir_argument *argument)
{
    const front_parameter *p = argument->parameter;
    const ir_type *t = &argument->type;
    const char *kind = p->binding == FRONT_THREADGROUP ? "threadgroup"
                       : argument->is_layout           ? "layout"
                       : argument->rank                ? "tensor"
                       : p->space == FRONT_CONSTANT    ? "constant"
                                                       : "buffer";
    bool writable = p->binding == FRONT_BUFFER && p->space == FRONT_DEVICE && !p->is_const;
    json_t *object = json_pack("{s:s, s:s, s:i, s:b, s:b, s:b, s:s, s:s, s:i, s:b, s:I, s:I, s:o}", "name", p->name,
        "kind", kind, "index", (int)p->index, "writable", writable, "reference", p->is_reference, "active",
        argument->active, "type", t->name, "scalar", ir_scalar_name(t->scalar), "vector_length",
        (int)t->vector_length, "packed", t->packed, "size", (json_int_t)t->size, "alignment",
        (json_int_t)(t->alignment ? t->alignment : 1), "members", members_json(t));
    if (!object || !argument->rank || !json_object_set_new(object, "tensor", tensor_json(argument))) return object;
    json_decref(object);
    return NULL;
}

static json_t *required_json(const front_kernel *kernel)
{
    const uint32_t *r = kernel->required_threads;
    return r[0] ? json_pack("[i, i, i]", (int)r[0], (int)r[1], (int)r[2]) : json_null();
}

static json_t *requirements_json(const front_kernel *kernel)
{
    json_t *list = json_array();
    const char *line = tb_text_string(&kernel->requirements);
    for (size_t length; *line; line += length + 1) {
        length = strcspn(line, "\n");
        list = append(list, json_stringn(line, length));
    }
    return list;
}

static json_t *kernel_json(
    const front_kernel *kernel, uint32_t most, const ir_argument *arguments, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) list = append(list, argument_json(&arguments[i]));
    if (!most || most > TB_MAX_THREADS_PER_THREADGROUP) most = TB_MAX_THREADS_PER_THREADGROUP;
    return json_pack("{s:s, s:s, s:s, s:i, s:i, s:o, s:o, s:o}", "name", kernel->name, "function", kernel->function, "file",
        kernel->file ? kernel->file : "", "line", (int)kernel->line, "max_total_threads_per_threadgroup", (int)most,
        "required_threads_per_threadgroup", required_json(kernel), "requires",
        requirements_json(kernel), "arguments", list);
}

static json_t *constants_json(const ir_kernel *kernel)
{
    json_t *list = json_array();
    for (size_t i = 0; i < kernel->constant_count; i++) {
        const ir_constant_state *state = &kernel->constants[i];
        const front_constant *c = state->constant;
        list =
            append(list, json_pack("{s:s, s:i, s:s, s:s, s:i, s:b, s:b}", "name", c->name, "index",
                             (int)c->index, "type", c->type_text, "scalar", ir_scalar_name(c->type),
                             "vector_length", (int)c->vector_length, "used", state->used, "set", state->set));
    }
    return list;
}

static json_t *dependencies_json(const front_unit *unit)
{
    json_t *list = json_array();
    for (size_t i = 0; i < front_dependency_count(unit); i++) {
        const front_dependency *d = front_dependency_at(unit, i);
        char hash[17];
        snprintf(hash, sizeof hash, "%016llx", (unsigned long long)d->hash);
        list = append(list,
            d->absent ? json_pack("{s:s, s:b}", "path", d->path, "absent", 1)
                      : json_pack("{s:s, s:I, s:s}", "path", d->path, "size", (json_int_t)d->size, "hash", hash));
    }
    return list;
}

static tombac_status write_json(json_t *value, tb_text *json, tombac_error **error)
{
    char *text = value ? json_dumps(value, JSON_INDENT(1) | JSON_ENSURE_ASCII) : NULL;
    json_decref(value);
    if (!text) return tb_fail_memory(error);
    tb_text_puts(json, text);
    tb_text_putc(json, '\n');
    free(text);
    return json->bad ? tb_fail_memory(error) : TOMBAC_OK;
}

tombac_status ir_manifest(const ir_kernel *kernel, const char *engine, const char *standard,
    size_t context_size, tb_text *json, tombac_error **error)
{
    json_t *facts =
        kernel_json(kernel->kernel, kernel->max_total_threads, kernel->arguments, kernel->argument_count);
    json_t *more = json_pack("{s:I, s:b, s:b, s:I}", "static_threadgroup_memory",
        (json_int_t)kernel->static_threadgroup_memory, "threadgroup_barriers",
        (int)kernel->threadgroup_barriers, "simdgroup_operations", (int)kernel->simdgroup_operations,
        "context_size", (json_int_t)context_size);
    if (!facts || !more || json_object_update(facts, more)) {
        json_decref(facts);
        json_decref(more);
        return tb_fail_memory(error);
    }
    json_decref(more);
    bool is_c = front_language_of(kernel->unit) == FRONT_C;
    json_t *manifest = json_pack("{s:i, s:i, s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o}", "format", 1, "abi",
        TB_ABI_VERSION, "tombac", TOMBAC_VERSION, "engine", engine ? engine : "", "target", kernel->target,
        "standard", standard ? standard : is_c ? "c23" : "metal3.2", "math", math_name(kernel->math), "kernel", facts,
        "constants", constants_json(kernel), "dependencies", dependencies_json(kernel->unit));
    return write_json(manifest, json, error);
}

/* One entry of the reflection of a whole file. */
static tombac_status reflect_kernel(LLVMContextRef context, const ir_annotation *annotations, size_t count,
    const front_kernel *kernel, json_t *list, tombac_error **error)
{
    LLVMValueRef function = ir_annotations_kernel(annotations, count, kernel);
    if (!function) return ir_internal_error(kernel, error, "the bitcode does not define the kernel");
    ir_argument *arguments;
    size_t n;
    tombac_status status = ir_arguments_reflect(context, function, kernel, &arguments, &n, error);
    if (status != TOMBAC_OK) return status;
    int failed = json_array_append_new(list, kernel_json(kernel, kernel->max_total_threads, arguments, n));
    ir_arguments_free(arguments, n);
    return failed ? tb_fail_memory(error) : TOMBAC_OK;
}

tombac_status ir_reflect_unit(
    const front_unit *unit, const void *bitcode, size_t size, tb_text *json, tombac_error **error)
{
    LLVMContextRef context = LLVMContextCreate();
    LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRange(bitcode, size, "source", false);
    LLVMModuleRef module = NULL;
    tombac_status status = TOMBAC_OK;
    if (LLVMParseBitcodeInContext2(context, buffer, &module))
        status = ir_internal_error(NULL, error, "damaged bitcode");
    LLVMDisposeMemoryBuffer(buffer);
    ir_annotation *annotations = NULL;
    size_t count = 0;
    if (status == TOMBAC_OK) status = ir_annotations_read(module, &annotations, &count, error);
    json_t *list = json_array();
    for (size_t i = 0; i < front_kernel_count(unit) && status == TOMBAC_OK; i++) {
        status = reflect_kernel(context, annotations, count, front_kernel_at(unit, i), list, error);
    }
    if (status == TOMBAC_OK) status = write_json(json_pack("{s:O}", "kernels", list), json, error);
    json_decref(list);
    free(annotations);
    if (module) LLVMDisposeModule(module);
    LLVMContextDispose(context);
    return status;
}
