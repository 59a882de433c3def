/* The operation that runs a kernel: a snapshot of a launch; see launch.h. */
#include "runtime/hazard.h"
#include "runtime/launch.h"
#include "runtime/rest.h"

#include <stdlib.h>

#define LOG_LIMIT ((size_t)16 << 20)

static void write_log(void *context, const char *text, size_t size)
{
    rt_launch_run *launch = context;
    pthread_mutex_lock(&launch->operation.mutex);
    if (launch->log.size + size <= LOG_LIMIT) {
        tb_text_append(&launch->log, text, size);
    } else if (!launch->log_full) {
        launch->log_full = true;
        tb_text_puts(&launch->log, "(more was printed, but is not kept)\n");
    }
    pthread_mutex_unlock(&launch->operation.mutex);
}

rt_code *rt_launch_code(const rt_launch_run *launch)
{
    return launch->special ? rt_special_code(launch->special) : launch->kernel->code;
}

static bool run(tombac_operation *operation, tombac_status *status, tombac_error **error)
{
    rt_launch_run *launch = (rt_launch_run *)operation;
    if (launch->empty) return true;
    double seconds = -1;
    launch->run.seconds = &seconds;
    *status = operation->device->driver->run(rt_launch_code(launch), &launch->run, error);
    launch->run.seconds = NULL;
    operation->kernel_seconds = seconds;
    return true;
}

static void release_bytes(rt_launch_run *launch, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        rt_bytes_release(launch->bytes[i]);
        launch->bytes[i] = NULL;
    }
    rt_special_release(launch->special);
    launch->special = NULL;
}

static void release(tombac_operation *operation)
{
    rt_launch_run *launch = (rt_launch_run *)operation;
    release_bytes(launch, launch->kernel->manifest.argument_count);
}

static void destroy(tombac_operation *operation)
{
    rt_launch_run *launch = (rt_launch_run *)operation;
    tb_text_free(&launch->log);
    tombac_kernel_release(launch->kernel); /* its name is the operation's too */
}

static const rt_operation_type type = {
    .children_carry = true, .anywhere = true, .category = "launch", .run = run, .release = release, .destroy = destroy};

/* One block for the operation and its arrays. */
static rt_launch_run *allocate(size_t arguments)
{
    size_t each = sizeof(rt_binding) + sizeof(rt_access) + sizeof(rt_bytes *);
    rt_launch_run *made =
        calloc(1, sizeof *made + arguments * each); /* arguments come from a file in memory */
    if (!made) return NULL;
    made->bindings = (rt_binding *)(made + 1);
    made->operation.accesses = (rt_access *)(made->bindings + arguments);
    made->bytes = (rt_bytes **)(made->operation.accesses + arguments);
    return made;
}

static void take(rt_launch_run *made, const tombac_launch *launch)
{
    const rt_manifest *manifest = &launch->kernel->manifest;
    for (size_t i = 0; i < manifest->argument_count; i++) {
        const rt_slot *slot = &launch->slots[i];
        if (slot->bytes) {
            rt_retain(&slot->bytes->references);
            made->bytes[i] = slot->bytes;
        } else if (slot->buffer && manifest->arguments[i].active) {
            rt_access_add(made->operation.accesses, &made->operation.access_count, &made->operation,
                slot->buffer->storage, manifest->arguments[i].writable);
        }
    }
}

tombac_status tombac_launch_operation(
    const tombac_launch *launch, tombac_operation **operation, tombac_error **error)
{
    if (!launch) return rt_missing(__func__, "launch", error);
    if (!operation) return rt_missing(__func__, "operation", error);
    tombac_device *device = launch->kernel->library->device;
    rt_launch_run *made = allocate(launch->kernel->manifest.argument_count);
    if (!made) return tb_fail_memory(error);
    tombac_status status = rt_launch_check(launch, made->bindings, made->bytes, &made->run, &made->empty, error);
    if (status == TOMBAC_OK && !made->empty) status = rt_rest_provide(launch->kernel, &made->run.dispatch, error);
    if (status == TOMBAC_OK)
        status = rt_operation_init(&made->operation, &type, device, launch->name, NULL, 0, error);
    if (status != TOMBAC_OK) {
        release_bytes(made, launch->kernel->manifest.argument_count);
        free(made);
        return status;
    }
    made->kernel = tombac_kernel_retain(launch->kernel);
    made->operation.kernel = launch->kernel->manifest.kernel;
    made->operation.compile_seconds = launch->kernel->compile_seconds;
    made->run.time_limit = launch->time_limit >= 0 ? launch->time_limit : device->time_limit;
    made->run.log = (rt_log){write_log, made};
    take(made, launch);
    if (!made->empty) made->special = rt_special_take(launch->kernel->specials, launch, &made->run);
    made->operation.specialised = made->special != NULL;
    *operation = &made->operation;
    return TOMBAC_OK;
}

const char *tombac_operation_log(const tombac_operation *operation)
{
    if (!operation || operation->type != &type || atomic_load(&operation->state) != RT_OPERATION_ENDED)
        return "";
    return tb_text_string(&((const rt_launch_run *)operation)->log);
}
