/* Launches: bindings, submission to the device's queue, results. */
#include "runtime/launch.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LOG_LIMIT ((size_t)16 << 20)
enum { BYTES_ALIGNMENT = 64 };

/* ---- Life ---- */

tombac_status tombac_launch_create(tombac_kernel *kernel, tombac_launch **launch, tombac_error **error)
{
    if (!kernel) return rt_missing(__func__, "kernel", error);
    if (!launch) return rt_missing(__func__, "launch", error);
    size_t count = kernel->manifest.argument_count;
    tombac_launch *made = calloc(1, sizeof *made);
    if (made) {
        made->slots = calloc(count + 1, sizeof *made->slots);
        made->bindings = calloc(count + 1, sizeof *made->bindings);
    }
    if (!made || !made->slots || !made->bindings) {
        if (made) free(made->slots), free(made->bindings);
        free(made);
        return tb_fail_memory(error);
    }
    atomic_init(&made->references, 1);
    pthread_mutex_init(&made->mutex, NULL);
    pthread_cond_init(&made->ended, NULL);
    made->kernel = tombac_kernel_retain(kernel);
    *launch = made;
    return TOMBAC_OK;
}

static void clear_slot(rt_slot *slot)
{
    tombac_buffer_release(slot->buffer);
    free(slot->bytes);
    *slot = (rt_slot){0};
}

static void destroy(tombac_launch *launch)
{
    for (size_t i = 0; i < launch->kernel->manifest.argument_count; i++) clear_slot(&launch->slots[i]);
    free(launch->slots);
    free(launch->bindings);
    tombac_error_release(launch->failure);
    tb_text_free(&launch->log);
    pthread_cond_destroy(&launch->ended);
    pthread_mutex_destroy(&launch->mutex);
    tombac_kernel_release(launch->kernel);
    free(launch);
}

void tombac_launch_release(tombac_launch *launch)
{
    if (launch && rt_release(&launch->references)) destroy(launch);
}

/* ---- Bindings ---- */

static rt_launch_state state_of(const tombac_launch *launch)
{
    pthread_mutex_t *mutex = &((tombac_launch *)launch)->mutex;
    pthread_mutex_lock(mutex);
    rt_launch_state state = launch->state;
    pthread_mutex_unlock(mutex);
    return state;
}

/* A pending launch is the device's. */
static tombac_status check_changeable(const tombac_launch *launch, const char *call, tombac_error **error)
{
    if (!launch) return rt_missing(call, "launch", error);
    if (state_of(launch) != RT_LAUNCH_PENDING) return TOMBAC_OK;
    tombac_status status = tb_fail(error, TOMBAC_ERROR_ARGUMENT,
        "%s: the launch of kernel '%s' has not ended yet", call, launch->kernel->manifest.kernel);
    tb_error_set_kernel(error, launch->kernel->manifest.kernel);
    return status;
}

/* Puts `slot` in the place of what the index had. What is bound to an argument that a function constant
 * removed is dropped: the same host code serves all variants of a kernel. */
static tombac_status bind(
    tombac_launch *launch, bool threadgroup, uint32_t index, rt_slot *slot, tombac_error **error)
{
    const rt_manifest *manifest = &launch->kernel->manifest;
    ptrdiff_t found = rt_launch_find(launch, threadgroup, index);
    if (found < 0) {
        clear_slot(slot);
        tombac_status status = tb_fail(error, TOMBAC_ERROR_BINDING, "kernel '%s' has no argument [[%s(%u)]]",
            manifest->kernel, threadgroup ? "threadgroup" : "buffer", index);
        tb_error_set_kernel(error, manifest->kernel);
        return status;
    }
    clear_slot(&launch->slots[found]);
    if (manifest->arguments[found].active)
        launch->slots[found] = *slot;
    else
        clear_slot(slot);
    return TOMBAC_OK;
}

tombac_status tombac_launch_set_buffer(
    tombac_launch *launch, uint32_t index, tombac_buffer *buffer, size_t offset, tombac_error **error)
{
    tombac_status status = check_changeable(launch, __func__, error);
    if (status != TOMBAC_OK) return status;
    if (!buffer) return rt_missing(__func__, "buffer", error);
    if (buffer->device != launch->kernel->library->device)
        return tb_fail(error, TOMBAC_ERROR_BINDING,
            "kernel '%s': the buffer for [[buffer(%u)]] belongs to another device",
            launch->kernel->manifest.kernel, index);
    rt_slot slot = {.set = true, .buffer = tombac_buffer_retain(buffer), .offset = offset};
    return bind(launch, false, index, &slot, error);
}

tombac_status tombac_launch_set_bytes(
    tombac_launch *launch, uint32_t index, const void *data, size_t size, tombac_error **error)
{
    tombac_status status = check_changeable(launch, __func__, error);
    if (status != TOMBAC_OK) return status;
    if (!data) return rt_missing(__func__, "data", error);
    if (size > SIZE_MAX - BYTES_ALIGNMENT) return tb_fail_memory(error);
    void *copy = aligned_alloc(BYTES_ALIGNMENT, (size / BYTES_ALIGNMENT + 1) * BYTES_ALIGNMENT);
    if (!copy) return tb_fail_memory(error);
    memcpy(copy, data, size);
    rt_slot slot = {.set = true, .bytes = copy, .size = size};
    return bind(launch, false, index, &slot, error);
}

tombac_status tombac_launch_set_threadgroup_memory(
    tombac_launch *launch, uint32_t index, size_t size, tombac_error **error)
{
    tombac_status status = check_changeable(launch, __func__, error);
    if (status != TOMBAC_OK) return status;
    rt_slot slot = {.set = true, .size = size};
    return bind(launch, true, index, &slot, error);
}

static tombac_status set_grid(tombac_launch *launch, rt_grid grid, tombac_size3 size,
    tombac_size3 threadgroup, const char *call, tombac_error **error)
{
    tombac_status status = check_changeable(launch, call, error);
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

/* ---- Execution ---- */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void write_log(void *context, const char *text, size_t size)
{
    tombac_launch *launch = context;
    pthread_mutex_lock(&launch->mutex);
    if (launch->log.size + size <= LOG_LIMIT) {
        tb_text_append(&launch->log, text, size);
    } else if (!launch->log_full) {
        launch->log_full = true;
        tb_text_puts(&launch->log, "(more was printed, but is not kept)\n");
    }
    pthread_mutex_unlock(&launch->mutex);
}

static void execute(rt_queue_item *item)
{
    tombac_launch *launch = (tombac_launch *)item;
    tombac_error *failure = NULL;
    double begin = now(), seconds = -1;
    launch->run.seconds = &seconds;
    tombac_status status =
        launch->kernel->library->device->driver->run(launch->kernel->code, &launch->run, &failure);
    if (seconds < 0) seconds = now() - begin;
    launch->run.seconds = NULL;
    if (status != TOMBAC_OK) tb_error_set_kernel(&failure, launch->kernel->manifest.kernel);
    pthread_mutex_lock(&launch->mutex);
    launch->seconds = seconds;
    launch->status = status;
    launch->failure = failure;
    launch->state = RT_LAUNCH_ENDED;
    pthread_cond_broadcast(&launch->ended);
    /* The queue's reference goes before anybody can know of the end, so that who waits and then releases
     * everything has freed everything. POSIX lets a mutex be destroyed as soon as another thread could lock
     * it. */
    bool last = rt_release(&launch->references);
    pthread_mutex_unlock(&launch->mutex);
    if (last) destroy(launch);
}

/* Forgets the last run. Only one thread may use a launch to submit, so what is checked here still holds
 * later. */
static void reset(tombac_launch *launch, rt_launch_state state)
{
    pthread_mutex_lock(&launch->mutex);
    tombac_error_release(launch->failure);
    tb_text_free(&launch->log);
    launch->failure = NULL;
    launch->log_full = false;
    launch->status = TOMBAC_OK;
    launch->seconds = 0;
    launch->state = state;
    pthread_mutex_unlock(&launch->mutex);
}

tombac_status tombac_launch_submit(tombac_launch *launch, tombac_error **error)
{
    tombac_status status = check_changeable(launch, __func__, error);
    if (status != TOMBAC_OK) return status;
    bool empty;
    status = rt_launch_check(launch, &empty, error);
    if (status != TOMBAC_OK) return status;
    reset(launch, empty ? RT_LAUNCH_ENDED : RT_LAUNCH_PENDING);
    if (empty) return TOMBAC_OK;
    tombac_device *device = launch->kernel->library->device;
    launch->run.bindings = launch->bindings;
    launch->run.time_limit = device->time_limit;
    launch->run.log = (rt_log){write_log, launch};
    launch->item.run = execute;
    rt_retain(&launch->references);
    status = rt_queue_push(device->queue, &launch->item, error);
    if (status == TOMBAC_OK) return TOMBAC_OK;
    reset(launch, RT_LAUNCH_NEW);
    tombac_launch_release(launch);
    return status;
}

/* Each wait gets an error object of its own. */
static void copy_error(const tombac_error *from, tombac_error **to)
{
    if (!to) return;
    tb_fail(to, tombac_error_status(from), "%s", tombac_error_message(from));
    tb_error_set_kernel(to, tombac_error_kernel(from));
    tb_error_set_location(to, tombac_error_file(from), tombac_error_line(from), tombac_error_column(from));
}

tombac_status tombac_launch_wait(tombac_launch *launch, tombac_error **error)
{
    if (!launch) return rt_missing(__func__, "launch", error);
    pthread_mutex_lock(&launch->mutex);
    while (launch->state == RT_LAUNCH_PENDING) pthread_cond_wait(&launch->ended, &launch->mutex);
    tombac_status status = launch->status;
    if (launch->state == RT_LAUNCH_NEW)
        status = tb_fail(error, TOMBAC_ERROR_ARGUMENT, "%s: the launch of kernel '%s' was not submitted",
            __func__, launch->kernel->manifest.kernel);
    else if (status != TOMBAC_OK)
        copy_error(launch->failure, error);
    pthread_mutex_unlock(&launch->mutex);
    return status;
}

double tombac_launch_seconds(const tombac_launch *launch)
{
    if (!launch) return 0;
    pthread_mutex_t *mutex = &((tombac_launch *)launch)->mutex;
    pthread_mutex_lock(mutex);
    double seconds = launch->seconds;
    pthread_mutex_unlock(mutex);
    return seconds;
}

const char *tombac_launch_log(const tombac_launch *launch)
{
    return launch && state_of(launch) != RT_LAUNCH_PENDING ? tb_text_string(&launch->log) : "";
}
