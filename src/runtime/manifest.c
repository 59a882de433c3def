/* Manifests and listings; see manifest.h. Fields that a reader does not know are ignored; what it knows must
 * be right. */
#include "runtime/manifest.h"

#include "artifact/abi.h"
#include "runtime/json.h"
#include "runtime/type.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_MEMBER_DEPTH = 32, MAX_ELEMENT_SIZE = 1 << 30, MAX_CONTEXT_SIZE = 1 << 28, MANIFEST_FORMAT = 1 };

/* The three fields that say what an element is; see tombac_argument. */
static tombac_type read_type(rt_json *json, const json_t *object, uint32_t *vector_length)
{
    const char *scalar = json_string_value(json_object_get(object, "scalar"));
    tombac_type type = TOMBAC_TYPE_OTHER;
    if (!scalar || !rt_type_from_name(scalar, &type)) rt_json_fail(json, "scalar", "is not a known type");
    *vector_length = (uint32_t)rt_json_unsigned_or_0(json, object, "vector_length", 4);
    if (type == TOMBAC_TYPE_OTHER)
        *vector_length = 0;
    else if (*vector_length == 0)
        rt_json_fail(json, "vector_length", "is zero");
    return type;
}

static void read_members(rt_json *json, const json_t *parent, size_t parent_size, unsigned depth,
    rt_member **members, size_t *count)
{
    const json_t *array = rt_json_array(json, parent, "members");
    if (depth > MAX_MEMBER_DEPTH) {
        if (array) rt_json_fail(json, "members", "is nested too deeply");
        return;
    }
    *members = rt_json_elements(json, array, "members", sizeof **members, count);
    for (size_t i = 0; i < *count; i++) {
        const json_t *object = json_array_get(array, i);
        rt_member *member = &(*members)[i];
        member->name = rt_json_string(json, object, "name");
        member->type_name = rt_json_string(json, object, "type");
        member->offset = rt_json_unsigned(json, object, "offset", parent_size);
        member->size = rt_json_unsigned(json, object, "size", parent_size - member->offset);
        member->count = rt_json_unsigned(json, object, "count", MAX_ELEMENT_SIZE);
        member->type = read_type(json, object, &member->vector_length);
        member->packed = rt_json_bool(json, object, "packed");
        read_members(json, object, parent_size, depth + 1, &member->members, &member->member_count);
    }
}

static void free_members(rt_member *members, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(members[i].name);
        free(members[i].type_name);
        free_members(members[i].members, members[i].member_count);
    }
    free(members);
}

static tombac_argument_kind read_kind(rt_json *json, const json_t *object)
{
    const char *kind = json_string_value(json_object_get(object, "kind"));
    if (kind && strcmp(kind, "buffer") == 0) return TOMBAC_ARGUMENT_BUFFER;
    if (kind && strcmp(kind, "constant") == 0) return TOMBAC_ARGUMENT_CONSTANT;
    if (kind && strcmp(kind, "tensor") == 0) return TOMBAC_ARGUMENT_TENSOR;
    if (kind && strcmp(kind, "layout") == 0) return TOMBAC_ARGUMENT_CONSTANT;
    if (!kind || strcmp(kind, "threadgroup") != 0)
        rt_json_fail(json, "kind", "is not a known kind of argument");
    return TOMBAC_ARGUMENT_THREADGROUP;
}

/* Extents of a tensor, and the type in which they are counted. */
static void read_tensor(rt_json *json, const json_t *parent, rt_argument *argument)
{
    const json_t *object = json_object_get(parent, "tensor"), *array = json_object_get(object, "extents");
    const char *index = json_string_value(json_object_get(object, "index"));
    tombac_type type = TOMBAC_TYPE_OTHER;
    size_t rank = json_array_size(array), bits;
    if (!rank || rank > TOMBAC_MAX_TENSOR_RANK || !index || !rt_type_from_name(index, &type) ||
        type < TOMBAC_TYPE_I8 || type > TOMBAC_TYPE_U64 || argument->vector_length != 1) {
        rt_json_fail(json, "tensor", "does not describe a tensor");
        return;
    }
    bits = 8 * tombac_type_size(type) - (index[0] == 'i');
    argument->most = UINT64_MAX >> (64 - bits);
    argument->extents = calloc(rank, sizeof *argument->extents);
    if (!argument->extents) {
        if (json->status == TOMBAC_OK) json->status = tb_fail_memory(json->error);
        return;
    }
    argument->rank = (uint32_t)rank;
    for (size_t i = 0; i < rank; i++) {
        const json_t *extent = json_array_get(array, i);
        argument->extents[i] = json_is_null(extent) ? SIZE_MAX : (size_t)json_integer_value(extent);
        if (!json_is_null(extent) && (!json_is_integer(extent) || json_integer_value(extent) < 0))
            rt_json_fail(json, "extents", "has an extent that is no number");
    }
}

static void read_argument(rt_json *json, const json_t *object, rt_argument *argument)
{
    argument->name = rt_json_string(json, object, "name");
    argument->type_name = rt_json_string(json, object, "type");
    argument->kind = read_kind(json, object);
    const char *kind = json_string_value(json_object_get(object, "kind"));
    argument->is_layout = kind && strcmp(kind, "layout") == 0;
    argument->index = (uint32_t)rt_json_unsigned(json, object, "index", UINT32_MAX);
    argument->writable = rt_json_bool(json, object, "writable");
    argument->reference = rt_json_bool(json, object, "reference");
    argument->active = rt_json_bool(json, object, "active");
    argument->packed = rt_json_bool(json, object, "packed");
    argument->type = read_type(json, object, &argument->vector_length);
    argument->size = rt_json_unsigned(json, object, "size", MAX_ELEMENT_SIZE);
    argument->alignment = rt_json_unsigned(json, object, "alignment", 4096);
    if (argument->alignment == 0) argument->alignment = 1; /* void */
    if (argument->alignment & (argument->alignment - 1))
        rt_json_fail(json, "alignment", "is no power of two");
    if (argument->reference && argument->size == 0) rt_json_fail(json, "size", "of a reference is zero");
    read_members(json, object, argument->size, 0, &argument->members, &argument->member_count);
    if (argument->kind == TOMBAC_ARGUMENT_TENSOR) read_tensor(json, object, argument);
}

/* Buffers and constants share their indices, threadgroup memory has its own. */
static bool same_slot(const rt_argument *a, const rt_argument *b)
{
    return (a->kind == TOMBAC_ARGUMENT_THREADGROUP) == (b->kind == TOMBAC_ARGUMENT_THREADGROUP) &&
           a->index == b->index && !a->is_layout && !b->is_layout;
}

/* The layouts come last, one for each tensor, in the same order. */
static void find_layouts(rt_json *json, rt_manifest *manifest)
{
    size_t count = manifest->argument_count, next = 0;
    while (next < count && !manifest->arguments[next].is_layout) next++;
    manifest->visible_count = next;
    for (size_t i = 0; i < manifest->visible_count; i++) {
        rt_argument *tensor = &manifest->arguments[i];
        if (tensor->kind != TOMBAC_ARGUMENT_TENSOR) continue;
        const rt_argument *layout = next < count ? &manifest->arguments[next] : NULL;
        if (!layout || !layout->is_layout || layout->active != tensor->active || layout->size != 16 * tensor->rank)
            rt_json_fail(json, "arguments", "has a tensor without its layout");
        tensor->layout = next++;
    }
    if (next != count) rt_json_fail(json, "arguments", "has a layout without its tensor");
}

static void read_arguments(rt_json *json, const json_t *kernel, rt_manifest *manifest)
{
    const json_t *array = rt_json_array(json, kernel, "arguments");
    manifest->arguments =
        rt_json_elements(json, array, "arguments", sizeof *manifest->arguments, &manifest->argument_count);
    for (size_t i = 0; i < manifest->argument_count; i++) {
        rt_argument *argument = &manifest->arguments[i];
        read_argument(json, json_array_get(array, i), argument);
        for (size_t k = 0; k < i && argument->active; k++) {
            if (manifest->arguments[k].active && same_slot(argument, &manifest->arguments[k]))
                rt_json_fail(json, "arguments", "has two arguments of one index");
        }
    }
    find_layouts(json, manifest);
}

static rt_constant *read_constants(rt_json *json, const json_t *root, bool listing, size_t *count)
{
    const json_t *array = rt_json_array(json, root, "constants");
    rt_constant *constants = rt_json_elements(json, array, "constants", sizeof *constants, count);
    for (size_t i = 0; i < *count; i++) {
        const json_t *object = json_array_get(array, i);
        constants[i].name = rt_json_string(json, object, "name");
        constants[i].type_name = rt_json_string(json, object, "type");
        constants[i].index = (uint32_t)rt_json_unsigned(json, object, "index", UINT32_MAX);
        constants[i].type = read_type(json, object, &constants[i].vector_length);
        if (listing) continue;
        constants[i].used = rt_json_bool(json, object, "used");
        constants[i].set = rt_json_bool(json, object, "set");
    }
    return constants;
}

static void free_constants(rt_constant *constants, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(constants[i].name);
        free(constants[i].type_name);
    }
    free(constants);
}

static rt_dependency *read_dependencies(rt_json *json, const json_t *root, size_t *count)
{
    const json_t *array = rt_json_array(json, root, "dependencies");
    rt_dependency *dependencies = rt_json_elements(json, array, "dependencies", sizeof *dependencies, count);
    for (size_t i = 0; i < *count; i++) {
        const json_t *object = json_array_get(array, i);
        dependencies[i].path = rt_json_string(json, object, "path");
        dependencies[i].absent = json_object_get(object, "absent") && rt_json_bool(json, object, "absent");
        if (dependencies[i].absent) continue;
        dependencies[i].size = rt_json_unsigned(json, object, "size", INT64_MAX);
        dependencies[i].hash = rt_json_hash(json, object, "hash");
    }
    return dependencies;
}

static void free_dependencies(rt_dependency *dependencies, size_t count)
{
    for (size_t i = 0; i < count; i++) free(dependencies[i].path);
    free(dependencies);
}

static void read_required_threads(rt_json *json, const json_t *kernel, rt_manifest *manifest)
{
    static const char key[] = "required_threads_per_threadgroup";
    const json_t *array = rt_json_array(json, kernel, key);
    if (!array) return;
    uint64_t product = 1;
    for (size_t i = 0; i < 3; i++) {
        json_int_t n = json_integer_value(json_array_get(array, i));
        if (n < 1 || n > TB_MAX_THREADS_PER_THREADGROUP) n = TB_MAX_THREADS_PER_THREADGROUP + 1;
        manifest->required_threads[i] = (uint32_t)n;
        product *= (uint64_t)n;
    }
    if (json_array_size(array) != 3 || product > manifest->max_threads)
        rt_json_fail(json, key, "is no threadgroup size");
}

/* Artifacts of versions that had no contracts lack the list. */
static void read_requirements(rt_json *json, const json_t *kernel, rt_manifest *manifest)
{
    static const char key[] = "requires";
    const json_t *array = rt_json_array(json, kernel, key);
    size_t count = json_array_size(array);
    if (!count || json->status != TOMBAC_OK) return;
    manifest->requirements = calloc(count, sizeof *manifest->requirements);
    if (!manifest->requirements) {
        json->status = tb_fail_memory(json->error);
        return;
    }
    manifest->requirement_count = count;
    for (size_t i = 0; i < count; i++) {
        const char *text = json_string_value(json_array_get(array, i));
        if (!text) {
            rt_json_fail(json, key, "is not a list of strings");
            return;
        }
        manifest->requirements[i] = strdup(text);
        if (!manifest->requirements[i] && json->status == TOMBAC_OK) json->status = tb_fail_memory(json->error);
    }
}

static void read_kernel(rt_json *json, const json_t *root, rt_manifest *manifest)
{
    const json_t *kernel = json_object_get(root, "kernel");
    if (!json_is_object(kernel)) {
        rt_json_fail(json, "kernel", "is not an object");
        return;
    }
    manifest->kernel = rt_json_string(json, kernel, "name");
    manifest->function = rt_json_string(json, kernel, "function");
    manifest->file = rt_json_string(json, kernel, "file");
    manifest->line = (unsigned)rt_json_unsigned(json, kernel, "line", INT32_MAX);
    manifest->max_threads = (uint32_t)rt_json_unsigned(
        json, kernel, "max_total_threads_per_threadgroup", TB_MAX_THREADS_PER_THREADGROUP);
    if (manifest->max_threads == 0) rt_json_fail(json, "max_total_threads_per_threadgroup", "is zero");
    read_required_threads(json, kernel, manifest);
    manifest->static_threadgroup_memory =
        rt_json_unsigned(json, kernel, "static_threadgroup_memory", TB_MAX_THREADGROUP_MEMORY);
    manifest->threadgroup_barriers = rt_json_bool(json, kernel, "threadgroup_barriers");
    manifest->simdgroup_operations = rt_json_bool(json, kernel, "simdgroup_operations");
    manifest->context_size = rt_json_unsigned_or_0(json, kernel, "context_size", MAX_CONTEXT_SIZE);
    read_requirements(json, kernel, manifest);
    read_arguments(json, kernel, manifest);
}

static void check_version(rt_json *json, const json_t *root, const char *key, uint64_t expected)
{
    uint64_t version = rt_json_unsigned(json, root, key, UINT32_MAX);
    if (json->status == TOMBAC_OK && version != expected)
        json->status =
            tb_fail(json->error, TOMBAC_ERROR_ARTIFACT, "%s: %s version %llu, this Tombac needs %llu",
                json->name, key, (unsigned long long)version, (unsigned long long)expected);
}

tombac_status rt_manifest_parse(
    const char *name, const void *text, size_t size, rt_manifest *manifest, tombac_error **error)
{
    rt_json json = {.name = name, .error = error};
    rt_manifest made = {0};
    json_t *root = rt_json_parse(&json, text, size);
    if (!root) return json.status;
    check_version(&json, root, "format", MANIFEST_FORMAT);
    check_version(&json, root, "abi", TB_ABI_VERSION);
    made.engine = rt_json_string(&json, root, "engine");
    made.target = rt_json_string(&json, root, "target");
    made.standard = rt_json_string(&json, root, "standard");
    made.math = rt_json_string(&json, root, "math");
    read_kernel(&json, root, &made);
    made.constants = read_constants(&json, root, false, &made.constant_count);
    made.dependencies = read_dependencies(&json, root, &made.dependency_count);
    json_decref(root);
    if (json.status == TOMBAC_OK)
        *manifest = made;
    else
        rt_manifest_free(&made);
    return json.status;
}

void rt_manifest_free(rt_manifest *manifest)
{
    free(manifest->engine);
    free(manifest->target);
    free(manifest->standard);
    free(manifest->math);
    free(manifest->kernel);
    free(manifest->function);
    free(manifest->file);
    for (size_t i = 0; i < manifest->argument_count; i++) {
        free(manifest->arguments[i].name);
        free(manifest->arguments[i].type_name);
        free_members(manifest->arguments[i].members, manifest->arguments[i].member_count);
        free(manifest->arguments[i].extents);
    }
    free(manifest->arguments);
    for (size_t i = 0; i < manifest->requirement_count; i++) free(manifest->requirements[i]);
    free(manifest->requirements);
    free_constants(manifest->constants, manifest->constant_count);
    free_dependencies(manifest->dependencies, manifest->dependency_count);
    *manifest = (rt_manifest){0};
}

tombac_status rt_listing_parse(
    const char *name, const void *text, size_t size, rt_listing *listing, tombac_error **error)
{
    rt_json json = {.name = name, .error = error};
    rt_listing made = {0};
    json_t *root = rt_json_parse(&json, text, size);
    if (!root) return json.status;
    const json_t *kernels = rt_json_array(&json, root, "kernels");
    made.kernels = rt_json_elements(&json, kernels, "kernels", sizeof *made.kernels, &made.kernel_count);
    for (size_t i = 0; i < made.kernel_count; i++) {
        const json_t *object = json_array_get(kernels, i);
        made.kernels[i].name = rt_json_string(&json, object, "name");
        made.kernels[i].function = rt_json_string(&json, object, "function");
        made.kernels[i].file = rt_json_string(&json, object, "file");
        made.kernels[i].line = (unsigned)rt_json_unsigned(&json, object, "line", INT32_MAX);
    }
    made.constants = read_constants(&json, root, true, &made.constant_count);
    made.dependencies = read_dependencies(&json, root, &made.dependency_count);
    json_decref(root);
    if (json.status == TOMBAC_OK)
        *listing = made;
    else
        rt_listing_free(&made);
    return json.status;
}

void rt_listing_free(rt_listing *listing)
{
    for (size_t i = 0; i < listing->kernel_count; i++) {
        free(listing->kernels[i].name);
        free(listing->kernels[i].function);
        free(listing->kernels[i].file);
    }
    free(listing->kernels);
    free_constants(listing->constants, listing->constant_count);
    free_dependencies(listing->dependencies, listing->dependency_count);
    *listing = (rt_listing){0};
}
