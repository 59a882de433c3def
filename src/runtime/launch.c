/* Launches: descriptions of what to run, which operations are made of; see launch.h. */
#include "runtime/launch.h"

#include <stdlib.h>
#include <string.h>

/* ---- Life ---- */

tombac_status tombac_launch_create(tombac_kernel *kernel, tombac_launch **launch, tombac_error **error)
{
    if (!kernel) return rt_missing(__func__, "kernel", error);
    if (!launch) return rt_missing(__func__, "launch", error);
    tombac_launch *made = calloc(1, sizeof *made);
    if (made) made->slots = calloc(kernel->manifest.argument_count + 1, sizeof *made->slots);
    if (!made || !made->slots) {
        free(made);
        return tb_fail_memory(error);
    }
    made->time_limit = -1;
    made->kernel = tombac_kernel_retain(kernel);
    *launch = made;
    return TOMBAC_OK;
}

rt_bytes *rt_bytes_create(const void *data, size_t size)
{
    if (size > SIZE_MAX - sizeof(rt_bytes) - 64) return NULL;
    rt_bytes *copy = aligned_alloc(64, (sizeof *copy + size + 63) / 64 * 64);
    if (!copy) return NULL;
    atomic_init(&copy->references, 1);
    copy->size = size;
    memcpy(copy->data, data, size);
    return copy;
}

void rt_bytes_release(rt_bytes *bytes)
{
    if (bytes && rt_release(&bytes->references)) free(bytes);
}

void rt_slot_clear(rt_slot *slot)
{
    tombac_buffer_release(slot->buffer);
    rt_bytes_release(slot->bytes);
    *slot = (rt_slot){0};
}

void tombac_launch_release(tombac_launch *launch)
{
    if (!launch) return;
    for (size_t i = 0; i < launch->kernel->manifest.argument_count; i++) rt_slot_clear(&launch->slots[i]);
    free(launch->slots);
    free(launch->name);
    tombac_operation_release(launch->last);
    tombac_kernel_release(launch->kernel);
    free(launch);
}

/* ---- Bindings ---- */

/* What was submitted has not ended. */
static bool is_pending(const tombac_launch *launch)
{
    return launch->last && atomic_load(&launch->last->state) != RT_OPERATION_ENDED;
}

/* The results of a pending launch are still to come, so it cannot become another. */
tombac_status rt_launch_check_changeable(const tombac_launch *launch, const char *call, tombac_error **error)
{
    if (!launch) return rt_missing(call, "launch", error);
    if (!is_pending(launch)) return TOMBAC_OK;
    tombac_status status = tb_fail(error, TOMBAC_ERROR_ARGUMENT,
        "%s: the launch of kernel '%s' has not ended yet", call, launch->kernel->manifest.kernel);
    tb_error_set_kernel(error, launch->kernel->manifest.kernel);
    return status;
}

static tombac_status no_argument(
    const tombac_launch *launch, bool threadgroup, uint32_t index, tombac_error **error)
{
    const char *kernel = launch->kernel->manifest.kernel;
    tombac_status status = tb_fail(error, TOMBAC_ERROR_BINDING, "kernel '%s' has no argument [[%s(%u)]]", kernel,
        threadgroup ? "threadgroup" : "buffer", index);
    tb_error_set_kernel(error, kernel);
    return status;
}

tombac_status rt_launch_find_bindable(
    const tombac_launch *launch, uint32_t index, const rt_slot *slot, ptrdiff_t *found, tombac_error **error)
{
    const rt_manifest *manifest = &launch->kernel->manifest;
    *found = rt_launch_find(launch, false, index);
    if (*found < 0) return no_argument(launch, false, index, error);
    const rt_argument *a = &manifest->arguments[*found];
    tombac_status status = TOMBAC_OK;
    if (slot->is_tensor != (a->kind == TOMBAC_ARGUMENT_TENSOR))
        status = tb_fail(error, TOMBAC_ERROR_BINDING,
            slot->is_tensor ? "kernel '%s': argument '%s' [[buffer(%u)]] is no tensor"
                            : "kernel '%s': argument '%s' [[buffer(%u)]] is a tensor, which tombac_launch_set_tensor "
                              "binds",
            manifest->kernel, a->name, index);
    else if (slot->buffer && slot->buffer->storage->device != launch->kernel->library->device)
        status = tb_fail(error, TOMBAC_ERROR_BINDING,
            "kernel '%s': the buffer for [[buffer(%u)]] belongs to another device", manifest->kernel, index);
    if (status != TOMBAC_OK) tb_error_set_kernel(error, manifest->kernel);
    return status;
}

/* Puts `slot` in the place of what the index had. What is bound to an argument that a function constant
 * removed is dropped: the same host code serves all variants of a kernel. */
static tombac_status bind(
    tombac_launch *launch, bool threadgroup, uint32_t index, rt_slot *slot, tombac_error **error)
{
    ptrdiff_t found = rt_launch_find(launch, threadgroup, index);
    tombac_status status = TOMBAC_OK;
    if (!threadgroup)
        status = rt_launch_find_bindable(launch, index, slot, &found, error);
    else if (found < 0)
        status = no_argument(launch, true, index, error);
    if (status != TOMBAC_OK) {
        rt_slot_clear(slot);
        return status;
    }
    rt_slot_clear(&launch->slots[found]);
    if (launch->kernel->manifest.arguments[found].active)
        launch->slots[found] = *slot;
    else
        rt_slot_clear(slot);
    return TOMBAC_OK;
}

tombac_status tombac_launch_set_buffer(
    tombac_launch *launch, uint32_t index, tombac_buffer *buffer, size_t offset, tombac_error **error)
{
    tombac_status status = rt_launch_check_changeable(launch, __func__, error);
    if (status != TOMBAC_OK) return status;
    if (!buffer) return rt_missing(__func__, "buffer", error);
    rt_slot slot = {.set = true, .buffer = tombac_buffer_retain(buffer), .offset = offset};
    return bind(launch, false, index, &slot, error);
}

tombac_status tombac_launch_set_bytes(
    tombac_launch *launch, uint32_t index, const void *data, size_t size, tombac_error **error)
{
    tombac_status status = rt_launch_check_changeable(launch, __func__, error);
    if (status != TOMBAC_OK) return status;
    if (!data) return rt_missing(__func__, "data", error);
    rt_bytes *copy = rt_bytes_create(data, size);
    if (!copy) return tb_fail_memory(error);
    rt_slot slot = {.set = true, .bytes = copy, .size = size};
    return bind(launch, false, index, &slot, error);
}

tombac_status tombac_launch_set_threadgroup_memory(
    tombac_launch *launch, uint32_t index, size_t size, tombac_error **error)
{
    tombac_status status = rt_launch_check_changeable(launch, __func__, error);
    if (status != TOMBAC_OK) return status;
    rt_slot slot = {.set = true, .size = size};
    return bind(launch, true, index, &slot, error);
}

static tombac_status set_grid(tombac_launch *launch, rt_grid grid, tombac_size3 size,
    tombac_size3 threadgroup, const char *call, tombac_error **error)
{
    tombac_status status = rt_launch_check_changeable(launch, call, error);
    if (status != TOMBAC_OK) return status;
    launch->grid = grid;
    launch->grid_size = size;
    launch->threadgroup = threadgroup;
    return TOMBAC_OK;
}

tombac_status tombac_launch_set_threads(
    tombac_launch *launch, tombac_size3 threads, tombac_size3 threadgroup, tombac_error **error)
{
    return set_grid(launch, RT_GRID_THREADS, threads, threadgroup, __func__, error);
}

tombac_status tombac_launch_set_threadgroups(
    tombac_launch *launch, tombac_size3 threadgroups, tombac_size3 threadgroup, tombac_error **error)
{
    return set_grid(launch, RT_GRID_THREADGROUPS, threadgroups, threadgroup, __func__, error);
}

tombac_status tombac_launch_set_time_limit(tombac_launch *launch, double seconds, tombac_error **error)
{
    tombac_status status = rt_launch_check_changeable(launch, __func__, error);
    if (status != TOMBAC_OK) return status;
    if (!(seconds >= 0 && seconds < 1e9))
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "%g is no time limit in seconds", seconds);
    launch->time_limit = seconds;
    return TOMBAC_OK;
}

tombac_status tombac_launch_set_name(tombac_launch *launch, const char *name, tombac_error **error)
{
    tombac_status status = rt_launch_check_changeable(launch, __func__, error);
    if (status != TOMBAC_OK) return status;
    char *copy = name ? strdup(name) : NULL;
    if (name && !copy) return tb_fail_memory(error);
    free(launch->name);
    launch->name = copy;
    return TOMBAC_OK;
}

/* ---- The submit-and-wait form ---- */

tombac_status tombac_launch_submit(tombac_launch *launch, tombac_error **error)
{
    tombac_status status = rt_launch_check_changeable(launch, __func__, error);
    if (status != TOMBAC_OK) return status;
    tombac_operation *operation = NULL;
    status = tombac_launch_operation(launch, &operation, error);
    if (status == TOMBAC_OK) status = tombac_operation_submit(operation, error);
    if (status != TOMBAC_OK) {
        tombac_operation_release(operation);
        return status;
    }
    tombac_operation_release(launch->last);
    launch->last = operation;
    return TOMBAC_OK;
}

tombac_status tombac_launch_wait(tombac_launch *launch, tombac_error **error)
{
    if (!launch) return rt_missing(__func__, "launch", error);
    if (launch->last) return rt_operation_result(launch->last, -1, error);
    return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "%s: the launch of kernel '%s' was not submitted", __func__,
        launch->kernel->manifest.kernel);
}

double tombac_launch_seconds(const tombac_launch *launch)
{
    return launch ? tombac_operation_get_times(launch->last).device_seconds : 0;
}

const char *tombac_launch_log(const tombac_launch *launch)
{
    return launch ? tombac_operation_log(launch->last) : "";
}
