/* Copies from buffer to buffer: by the driver where both are its devices', else on the host, where the newest
 * content is brought first; see copy.h. */
#include "runtime/copy.h"

#include "runtime/operation.h"

#include <stdlib.h>
#include <string.h>

/* ---- Parts ---- */

rt_part rt_part_of(const tombac_buffer *buffer, size_t offset, size_t size)
{
    return (rt_part){&buffer->storage->memory, buffer->offset + offset, size};
}

bool rt_parts_overlap(const rt_part *a, const rt_part *b)
{
    return a->memory == b->memory && a->size && b->size && a->offset < b->offset + b->size &&
           b->offset < a->offset + a->size;
}

tombac_status rt_part_open(
    tombac_device *device, const rt_part *part, bool overwritten, void **bytes, tombac_error **error)
{
    const rt_driver *driver = device->driver;
    bool whole = overwritten && part->size == part->memory->size;
    tombac_status status = TOMBAC_OK;
    if (driver->to_host && !whole) status = driver->to_host(device->driver_state, part->memory, error);
    if (status == TOMBAC_OK) *bytes = (char *)part->memory->contents + part->offset;
    return status;
}

void rt_part_written(tombac_device *device, const rt_part *part)
{
    if (device->driver->host_wrote) device->driver->host_wrote(device->driver_state, part->memory);
}

tombac_status rt_copy(tombac_device *from_device, const rt_part *from, tombac_device *to_device,
    const rt_part *to, tombac_error **error)
{
    const rt_driver *driver = from_device->driver;
    bool done = false;
    void *source = NULL, *target = NULL;
    tombac_status status = TOMBAC_OK;
    if (!from->size) return TOMBAC_OK;
    if (driver->copy && driver == to_device->driver)
        status = driver->copy(from_device->driver_state, from, to_device->driver_state, to, &done, error);
    if (status != TOMBAC_OK || done) return status;
    status = rt_part_open(from_device, from, false, &source, error);
    if (status == TOMBAC_OK) status = rt_part_open(to_device, to, true, &target, error);
    if (status != TOMBAC_OK) return status;
    memcpy(target, source, from->size);
    rt_part_written(to_device, to);
    return TOMBAC_OK;
}

/* ---- The operation ---- */

typedef struct copy {
    tombac_operation operation; /* first */
    rt_access accesses[2];
    tombac_device *from_device, *to_device; /* alive through the storages */
    rt_part from, to;
} copy;

static bool run(tombac_operation *operation, tombac_status *status, tombac_error **error)
{
    const copy *c = (const copy *)operation;
    *status = rt_copy(c->from_device, &c->from, c->to_device, &c->to, error);
    return true;
}

static const rt_operation_type type = {.children_carry = true, .category = "copy", .run = run};

static tombac_status check_range(
    const tombac_buffer *buffer, const char *which, size_t offset, size_t size, tombac_error **error)
{
    if (offset <= buffer->size && size <= buffer->size - offset) return TOMBAC_OK;
    return tb_fail(error, TOMBAC_ERROR_ARGUMENT,
        "%zu bytes at offset %zu are not in the buffer of %zu bytes to copy %s", size, offset, buffer->size,
        which);
}

tombac_status tombac_buffer_copy(tombac_buffer *from, size_t from_offset, tombac_buffer *to, size_t to_offset,
    size_t size, tombac_operation **operation, tombac_error **error)
{
    if (!from) return rt_missing(__func__, "from", error);
    if (!to) return rt_missing(__func__, "to", error);
    if (!operation) return rt_missing(__func__, "operation", error);
    tombac_status status = check_range(from, "from", from_offset, size, error);
    if (status == TOMBAC_OK) status = check_range(to, "to", to_offset, size, error);
    if (status != TOMBAC_OK) return status;
    copy *made = calloc(1, sizeof *made);
    if (!made) return tb_fail_memory(error);
    made->from = rt_part_of(from, from_offset, size);
    made->to = rt_part_of(to, to_offset, size);
    made->from_device = from->storage->device;
    made->to_device = to->storage->device;
    status = rt_parts_overlap(&made->from, &made->to)
                 ? tb_fail(error, TOMBAC_ERROR_ARGUMENT, "what is copied and where it is copied to overlap")
                 : rt_operation_init(&made->operation, &type, to->storage->device, NULL, NULL, 0, error);
    if (status != TOMBAC_OK) {
        free(made);
        return status;
    }
    tombac_operation *o = &made->operation;
    o->accesses = made->accesses;
    rt_access_add(o->accesses, &o->access_count, o, from->storage, false);
    rt_access_add(o->accesses, &o->access_count, o, to->storage, true);
    *operation = o;
    return TOMBAC_OK;
}
