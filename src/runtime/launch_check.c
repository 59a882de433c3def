/* Validation of a launch: everything that Metal's debug layer would check, before any kernel code runs. Each
 * message names the kernel, the argument and both numbers. */
#include "runtime/launch.h"

#include "runtime/contract.h"
#include "runtime/launch_element.h"

#include <string.h>

ptrdiff_t rt_launch_find(const tombac_launch *launch, bool threadgroup, uint32_t index)
{
    const rt_manifest *manifest = &launch->kernel->manifest;
    ptrdiff_t found = -1;
    for (size_t i = 0; i < manifest->argument_count; i++) {
        const rt_argument *a = &manifest->arguments[i];
        if (a->is_layout || (a->kind == TOMBAC_ARGUMENT_THREADGROUP) != threadgroup || a->index != index) continue;
        if (a->active) return (ptrdiff_t)i;
        found = (ptrdiff_t)i;
    }
    return found;
}

/* "kernel 'add': argument 'a' [[buffer(0)]] ..." */
static tombac_status fail(const tombac_launch *launch, const rt_argument *a, tombac_error **error,
    const char *format, ...) __attribute__((format(printf, 4, 5)));

static tombac_status fail(
    const tombac_launch *launch, const rt_argument *a, tombac_error **error, const char *format, ...)
{
    tb_text what = {0};
    va_list values;
    va_start(values, format);
    tb_text_vprintf(&what, format, values);
    va_end(values);
    tombac_status status =
        what.bad
            ? tb_fail_memory(error)
            : tb_fail(error, TOMBAC_ERROR_BINDING, "kernel '%s': argument '%s' [[%s(%u)]] %s",
                  launch->kernel->manifest.kernel, a->name,
                  a->kind == TOMBAC_ARGUMENT_THREADGROUP ? "threadgroup" : "buffer", a->index, what.data);
    tb_text_free(&what);
    return status;
}

/* ---- Buffers and bytes ---- */

static tombac_status check_memory(const tombac_launch *launch, const rt_argument *a, const rt_slot *slot,
    rt_binding *binding, tombac_error **error)
{
    const tombac_buffer *buffer = slot->buffer;
    *binding = (rt_binding){
        .buffer = buffer ? (char *)buffer->storage->memory.contents + buffer->offset : (char *)slot->bytes->data,
        .buffer_size = buffer ? buffer->size : slot->size,
        .memory = buffer ? &buffer->storage->memory : NULL};
    if (slot->offset > binding->buffer_size)
        return fail(launch, a, error, "starts at offset %zu, beyond the end of its buffer of %zu bytes",
            slot->offset, binding->buffer_size);
    binding->address = (char *)binding->buffer + slot->offset;
    binding->size = binding->buffer_size - slot->offset;
    if (slot->offset % a->alignment != 0)
        return fail(launch, a, error,
            "starts at offset %zu, which is not a multiple of %zu, the alignment of '%s'", slot->offset,
            a->alignment, a->type_name);
    if ((uintptr_t)binding->address % a->alignment != 0)
        return fail(launch, a, error, "needs an alignment of %zu bytes for '%s'", a->alignment, a->type_name);
    /* A pointer to nothing is fine, a vector may be empty; the kernel has no business there. */
    if (binding->size < a->size && (binding->size || a->reference))
        return fail(launch, a, error, "has %zu bytes, but one element of type '%s' takes %zu", binding->size,
            a->type_name, a->size);
    tb_text why = {0};
    if (buffer && !rt_element_matches(a, buffer, &why)) {
        tombac_status status =
            fail(launch, a, error, "has a buffer of another type: %s", tb_text_string(&why));
        tb_text_free(&why);
        return status;
    }
    if (slot->bytes && a->writable)
        return fail(launch, a, error, "is written by the kernel, so it needs a buffer, not bytes");
    return TOMBAC_OK;
}

/* ---- Threadgroup memory ---- */

static tombac_status check_threadgroup(const tombac_launch *launch, const rt_argument *a, const rt_slot *slot,
    rt_binding *binding, size_t *total, tombac_error **error)
{
    *binding = (rt_binding){.size = slot->size};
    if (slot->size < a->size)
        return fail(launch, a, error,
            "has %zu bytes of threadgroup memory, but one element of type '%s' takes %zu", slot->size,
            a->type_name, a->size);
    if (slot->size > TB_MAX_THREADGROUP_MEMORY)
        return fail(launch, a, error, "has %zu bytes of threadgroup memory; at most %d are available",
            slot->size, TB_MAX_THREADGROUP_MEMORY);
    *total = ((*total + 15) & ~(size_t)15) + slot->size;
    return TOMBAC_OK;
}

bool rt_argument_is_seed(const rt_argument *a)
{
    return a->kind == TOMBAC_ARGUMENT_CONSTANT && a->reference && a->type == TOMBAC_TYPE_U64 &&
           a->vector_length == 1 && strcmp(a->name, "random_seed") == 0;
}

/* A seed that was not given is new at every run. */
static tombac_status bind_fresh_seed(rt_binding *binding, rt_bytes **bytes, tombac_error **error)
{
    uint64_t seed = tombac_fresh_seed();
    *bytes = rt_bytes_create(&seed, sizeof seed);
    if (!*bytes) return tb_fail_memory(error);
    void *data = (*bytes)->data;
    *binding = (rt_binding){.buffer = data, .buffer_size = sizeof seed, .address = data, .size = sizeof seed};
    return TOMBAC_OK;
}

static tombac_status check_bindings(const tombac_launch *launch, rt_binding *bindings, rt_bytes **own, rt_run *run,
    tombac_error **error)
{
    const rt_manifest *manifest = &launch->kernel->manifest;
    size_t total = manifest->static_threadgroup_memory;
    for (size_t i = 0; i < manifest->argument_count; i++) {
        const rt_argument *a = &manifest->arguments[i];
        const rt_slot *slot = &launch->slots[i];
        bindings[i] = (rt_binding){0};
        if (!a->active) continue;
        bool seed = !slot->set && rt_argument_is_seed(a);
        if (!slot->set && !seed) return fail(launch, a, error, "is missing");
        tombac_status status = seed ? bind_fresh_seed(&bindings[i], &own[i], error)
                               : a->kind == TOMBAC_ARGUMENT_THREADGROUP
                                   ? check_threadgroup(launch, a, slot, &bindings[i], &total, error)
                                   : check_memory(launch, a, slot, &bindings[i], error);
        if (status != TOMBAC_OK) return status;
    }
    if (total > TB_MAX_THREADGROUP_MEMORY)
        return tb_fail(error, TOMBAC_ERROR_BINDING,
            "kernel '%s': needs %zu bytes of threadgroup memory (%zu of them its own); at most %d are "
            "available",
            manifest->kernel, total, manifest->static_threadgroup_memory, TB_MAX_THREADGROUP_MEMORY);
    run->threadgroup_memory = total;
    return TOMBAC_OK;
}

/* ---- Geometry ---- */

static tombac_status check_threadgroup_size(const tombac_launch *launch, tombac_error **error)
{
    const rt_manifest *manifest = &launch->kernel->manifest;
    const uint32_t *required = manifest->required_threads;
    tombac_size3 t = launch->threadgroup;
    if (t.x == 0 || t.y == 0 || t.z == 0)
        return tb_fail(error, TOMBAC_ERROR_GEOMETRY,
            "kernel '%s': a threadgroup of %u x %u x %u threads is empty", manifest->kernel, t.x, t.y, t.z);
    uint64_t limit = manifest->max_threads;
    /* Each factor is at most the limit before it is multiplied, so 64 bits are enough. */
    bool fits = t.x <= limit && t.y <= limit && t.z <= limit && (uint64_t)t.x * t.y * t.z <= limit;
    if (!fits)
        return tb_fail(error, TOMBAC_ERROR_GEOMETRY,
            "kernel '%s': a threadgroup of %u x %u x %u threads is larger than %s %u", manifest->kernel, t.x,
            t.y, t.z,
            limit < TB_MAX_THREADS_PER_THREADGROUP ? "the kernel's maximum of" : "the device's maximum of",
            manifest->max_threads);
    if (required[0] && (required[0] != t.x || required[1] != t.y || required[2] != t.z))
        return tb_fail(error, TOMBAC_ERROR_GEOMETRY,
            "kernel '%s': a threadgroup has %u x %u x %u threads, but the kernel requires %u x %u x %u",
            manifest->kernel, t.x, t.y, t.z, required[0], required[1], required[2]);
    return TOMBAC_OK;
}

static tombac_status fill_dispatch(
    const tombac_launch *launch, tb_dispatch *out, bool *empty, tombac_error **error)
{
    const uint32_t grid[3] = {launch->grid_size.x, launch->grid_size.y, launch->grid_size.z};
    const uint32_t group[3] = {launch->threadgroup.x, launch->threadgroup.y, launch->threadgroup.z};
    tb_dispatch dispatch = {0};
    *empty = false;
    for (int i = 0; i < 3; i++) {
        *empty = *empty || grid[i] == 0;
        uint64_t threads = launch->grid == RT_GRID_THREADS ? grid[i] : (uint64_t)grid[i] * group[i];
        if (threads > UINT32_MAX)
            return tb_fail(error, TOMBAC_ERROR_GEOMETRY,
                "kernel '%s': %u threadgroups of %u threads in %c are more than %u threads",
                launch->kernel->manifest.kernel, grid[i], group[i], "xyz"[i], UINT32_MAX);
        dispatch.threads_per_grid[i] = (uint32_t)threads;
        dispatch.threadgroups_per_grid[i] = (uint32_t)((threads + group[i] - 1) / group[i]);
        dispatch.dispatch_threads_per_threadgroup[i] = group[i];
    }
    dispatch.dispatch_simdgroups_per_threadgroup =
        (group[0] * group[1] * group[2] + TB_SIMD_WIDTH - 1) / TB_SIMD_WIDTH;
    *out = dispatch;
    return TOMBAC_OK;
}

/* A copy of the caller's bytes, so that the value is known now. */
static bool is_bytes(const void *context, size_t argument)
{
    return ((const tombac_launch *)context)->slots[argument].bytes != NULL;
}

tombac_status rt_launch_check(const tombac_launch *launch, rt_binding *bindings, rt_bytes **own, rt_run *run,
    bool *empty, tombac_error **error)
{
    const char *kernel = launch->kernel->manifest.kernel;
    tombac_status status = check_bindings(launch, bindings, own, run, error);
    if (status == TOMBAC_OK && launch->grid == RT_GRID_NONE)
        status = tb_fail(error, TOMBAC_ERROR_GEOMETRY, "kernel '%s': the launch has no grid", kernel);
    if (status == TOMBAC_OK) status = check_threadgroup_size(launch, error);
    if (status == TOMBAC_OK) status = fill_dispatch(launch, &run->dispatch, empty, error);
    run->bindings = bindings;
    if (status == TOMBAC_OK)
        status = rt_contract_verify(&launch->kernel->manifest, run, is_bytes, launch, error);
    if (status != TOMBAC_OK) tb_error_set_kernel(error, kernel);
    return status;
}
