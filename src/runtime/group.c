/* Groups of devices and their collective operations.
 *
 * A collective is one operation with the memory of all members. It asks the members' driver first, where the
 * group is one of NCCL's; what that leaves, and all that other groups do, is done on the host: the newest
 * content is brought there, combined, and marked as the host's. */
#include "runtime/copy.h"
#include "runtime/operation.h"
#include "runtime/reduce.h"

#include <stdlib.h>
#include <string.h>

struct tombac_group {
    rt_references references;
    const rt_driver *driver; /* with `open`; NULL: the host moves everything */
    void *open;              /* what driver->group_open made */
    char *note;
    size_t count;
    tombac_device *devices[]; /* retained */
};

/* ---- Groups ---- */

static tombac_status open_transport(tombac_group *group, tombac_error **error)
{
    const rt_driver *driver = group->devices[0]->driver;
    void **states = calloc(group->count, sizeof *states);
    if (!states) return tb_fail_memory(error);
    tombac_status status = TOMBAC_OK;
    for (size_t i = 0; i < group->count && status == TOMBAC_OK; i++) {
        const tombac_device *device = group->devices[i];
        states[i] = device->driver_state;
        if (device->driver != driver || !driver->group_open)
            status = tb_fail(
                error, TOMBAC_ERROR_UNSUPPORTED, "no NCCL: it does not serve the device '%s'", device->name);
    }
    if (status == TOMBAC_OK) status = driver->group_open(states, group->count, &group->open, error);
    if (status == TOMBAC_OK) group->driver = driver;
    free(states);
    return status;
}

/* For any transport: NCCL if it can be had, else the reason why not. */
static tombac_status choose_transport(tombac_group *group, tombac_transport transport, tombac_error **error)
{
    if (transport == TOMBAC_TRANSPORT_HOST) return TOMBAC_OK;
    if (transport == TOMBAC_TRANSPORT_NCCL) return open_transport(group, error);
    if (transport != TOMBAC_TRANSPORT_ANY)
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "there is no transport %d", (int)transport);
    tombac_error *why = NULL;
    if (open_transport(group, &why) == TOMBAC_OK) return TOMBAC_OK;
    group->note = strdup(tombac_error_message(why));
    tombac_error_release(why);
    return group->note ? TOMBAC_OK : tb_fail_memory(error);
}

tombac_status tombac_group_create(tombac_device *const *devices, size_t count, tombac_transport transport,
    tombac_group **group, tombac_error **error)
{
    enum { MOST = 1024 };
    if (!devices) return rt_missing(__func__, "devices", error);
    if (!group) return rt_missing(__func__, "group", error);
    if (count == 0 || count > MOST)
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "a group has 1 to %d devices, not %zu", MOST, count);
    for (size_t i = 0; i < count; i++)
        if (!devices[i]) return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "device %zu of %zu is NULL", i, count);
    tombac_group *made = calloc(1, sizeof *made + count * sizeof *devices);
    if (!made) return tb_fail_memory(error);
    atomic_init(&made->references, 1);
    for (; made->count < count; made->count++)
        made->devices[made->count] = tombac_device_retain(devices[made->count]);
    tombac_status status = choose_transport(made, transport, error);
    if (status == TOMBAC_OK)
        *group = made;
    else
        tombac_group_release(made);
    return status;
}

tombac_group *tombac_group_retain(tombac_group *group)
{
    if (group) rt_retain(&group->references);
    return group;
}

void tombac_group_release(tombac_group *group)
{
    if (!group || !rt_release(&group->references)) return;
    if (group->open) group->driver->group_close(group->open);
    for (size_t i = 0; i < group->count; i++) tombac_device_release(group->devices[i]);
    free(group->note);
    free(group);
}

size_t tombac_group_size(const tombac_group *group)
{
    return group ? group->count : 0;
}

tombac_transport tombac_group_transport(const tombac_group *group)
{
    return group && group->driver ? TOMBAC_TRANSPORT_NCCL : TOMBAC_TRANSPORT_HOST;
}

const char *tombac_group_note(const tombac_group *group)
{
    return group && group->note ? group->note : "";
}

/* ---- On the host ---- */

static void reduce_on_host(
    const tombac_group *g, const rt_collective *what, const void *const *from, void *const *to)
{
    rt_reduce(what->type, what->reduction, from, g->count, to[0], what->count);
    for (size_t i = 1; i < g->count; i++) memcpy(to[i], to[0], what->to[i].size);
}

static void gather_on_host(
    const tombac_group *g, const rt_collective *what, const void *const *from, void *const *to)
{
    for (size_t i = 0; i < g->count; i++)
        for (size_t k = 0; k < g->count; k++) {
            char *at = (char *)to[i] + k * what->from[k].size;
            if (at != from[k]) memcpy(at, from[k], what->from[k].size);
        }
}

static tombac_status broadcast(const tombac_group *g, const rt_collective *what, tombac_error **error)
{
    tombac_status status = TOMBAC_OK;
    for (size_t i = 0; i < g->count && status == TOMBAC_OK; i++)
        if (i != what->root)
            status =
                rt_copy(g->devices[what->root], &what->from[what->root], g->devices[i], &what->to[i], error);
    return status;
}

static bool same_part(const rt_part *a, const rt_part *b)
{
    return a->memory == b->memory && a->offset == b->offset && a->size == b->size;
}

static tombac_status collect_on_host(const tombac_group *g, const rt_collective *what, tombac_error **error)
{
    if (what->kind == RT_BROADCAST) return broadcast(g, what, error);
    if (g->count == 1)
        return same_part(&what->from[0], &what->to[0])
                   ? TOMBAC_OK
                   : rt_copy(g->devices[0], &what->from[0], g->devices[0], &what->to[0], error);
    const void **from = calloc(g->count, sizeof *from);
    void **to = calloc(g->count, sizeof *to), *bytes = NULL;
    tombac_status status = from && to ? TOMBAC_OK : tb_fail_memory(error);
    for (size_t i = 0; i < g->count && status == TOMBAC_OK; i++) {
        status = rt_part_open(g->devices[i], &what->from[i], false, &bytes, error);
        from[i] = bytes;
        if (status == TOMBAC_OK) status = rt_part_open(g->devices[i], &what->to[i], true, &to[i], error);
    }
    if (status == TOMBAC_OK && what->kind == RT_ALL_REDUCE)
        reduce_on_host(g, what, from, to);
    else if (status == TOMBAC_OK)
        gather_on_host(g, what, from, to);
    for (size_t i = 0; i < g->count && status == TOMBAC_OK; i++) rt_part_written(g->devices[i], &what->to[i]);
    free((void *)from);
    free(to);
    return status;
}

/* ---- The operation ---- */

typedef struct collective {
    tombac_operation operation; /* first */
    tombac_group *group;
    rt_collective what;
    rt_part parts[]; /* count of `from`, then of `to`, then the accesses */
} collective;

static bool run(tombac_operation *operation, tombac_status *status, tombac_error **error)
{
    const collective *c = (const collective *)operation;
    bool done = false;
    if (!c->what.count) return true;
    if (c->group->driver) *status = c->group->driver->collect(c->group->open, &c->what, &done, error);
    if (*status == TOMBAC_OK && !done) *status = collect_on_host(c->group, &c->what, error);
    return true;
}

static void release(tombac_operation *operation)
{
    tombac_group_release(((collective *)operation)->group);
}

static const rt_operation_type type = {
    .children_carry = true, .category = "collective", .run = run, .release = release};

static tombac_status check_buffer(const tombac_group *group, size_t i, const tombac_buffer *buffer,
    tombac_type type_, size_t size, tombac_error **error)
{
    if (!buffer) return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "buffer %zu of %zu is NULL", i, group->count);
    if (buffer->storage->device != group->devices[i])
        return tb_fail(error, TOMBAC_ERROR_BINDING,
            "buffer %zu is one of the device '%s', not of the group's member %zu, '%s'", i,
            buffer->storage->device->name, i, group->devices[i]->name);
    if (buffer->typed && buffer->element.type != type_)
        return tb_fail(error, TOMBAC_ERROR_BINDING, "buffer %zu holds %s, not %s", i,
            tombac_type_name(buffer->element.type), tombac_type_name(type_));
    if (buffer->size >= size) return TOMBAC_OK;
    return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "buffer %zu has %zu bytes, the operation needs %zu", i,
        buffer->size, size);
}

/* No `to` may touch another member's memory, nor its own `from` but in place. */
static tombac_status check_overlaps(const collective *c, tombac_error **error)
{
    size_t n = c->group->count;
    const rt_part *from = c->what.from, *to = c->what.to;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++) {
            rt_part own = to[i];
            if (c->what.kind == RT_ALL_GATHER) own.offset += i * from[i].size, own.size = from[i].size;
            bool wrong = i != k && rt_parts_overlap(&to[i], &to[k]);
            if (!(i == k && same_part(&own, &from[i]))) wrong = wrong || rt_parts_overlap(&to[i], &from[k]);
            if (wrong)
                return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "buffers of members %zu and %zu overlap", i, k);
        }
    return TOMBAC_OK;
}

/* Elements are aligned as the host, which adds them, needs it. */
static tombac_status check_alignment(const collective *c, tombac_error **error)
{
    for (size_t i = 0; i < 2 * c->group->count; i++)
        if (c->parts[i].offset % tombac_type_size(c->what.type))
            return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "buffer %zu begins at offset %zu, which no %s does",
                i % c->group->count, c->parts[i].offset, tombac_type_name(c->what.type));
    return TOMBAC_OK;
}

static tombac_status fill(
    collective *c, tombac_buffer *const *from, tombac_buffer *const *to, tombac_error **error)
{
    size_t n = c->group->count, size = 0, whole = 0;
    if (__builtin_mul_overflow(c->what.count, tombac_type_size(c->what.type), &size) ||
        __builtin_mul_overflow(size, c->what.kind == RT_ALL_GATHER ? n : 1, &whole))
        return tb_fail(
            error, TOMBAC_ERROR_MEMORY, "%zu elements are more than memory can have", c->what.count);
    tombac_status status = TOMBAC_OK;
    for (size_t i = 0; i < n && status == TOMBAC_OK; i++) {
        status = check_buffer(c->group, i, from[i], c->what.type, size, error);
        if (status == TOMBAC_OK) status = check_buffer(c->group, i, to[i], c->what.type, whole, error);
        if (status != TOMBAC_OK) break;
        c->parts[i] = rt_part_of(from[i], 0, size);
        c->parts[n + i] = rt_part_of(to[i], 0, whole);
    }
    c->what.from = c->parts;
    c->what.to = c->parts + n;
    if (status == TOMBAC_OK) status = check_alignment(c, error);
    return status == TOMBAC_OK ? check_overlaps(c, error) : status;
}

static tombac_status make(tombac_group *group, rt_collective what, tombac_buffer *const *from,
    tombac_buffer *const *to, tombac_operation **operation, tombac_error **error)
{
    if (!tombac_type_size(what.type))
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "a collective needs a scalar type");
    size_t n = group->count;
    collective *made = calloc(1, sizeof *made + 2 * n * (sizeof(rt_part) + sizeof(rt_access)));
    if (!made) return tb_fail_memory(error);
    made->group = group;
    made->what = what;
    tombac_status status = fill(made, from, to, error);
    if (status == TOMBAC_OK)
        status = rt_operation_init(&made->operation, &type, group->devices[0], NULL, NULL, 0, error);
    if (status != TOMBAC_OK) {
        free(made);
        return status;
    }
    tombac_group_retain(group);
    tombac_operation *o = &made->operation;
    o->accesses = (rt_access *)(made->parts + 2 * n);
    for (size_t i = 0; i < n; i++) {
        bool read = what.kind != RT_BROADCAST || i == what.root,
             written = what.kind != RT_BROADCAST || i != what.root;
        if (read) rt_access_add(o->accesses, &o->access_count, o, from[i]->storage, false);
        if (written) rt_access_add(o->accesses, &o->access_count, o, to[i]->storage, true);
    }
    *operation = o;
    return TOMBAC_OK;
}

tombac_status tombac_group_all_reduce(tombac_group *group, tombac_reduction reduction, tombac_type type_,
    size_t count, tombac_buffer *const *from, tombac_buffer *const *to, tombac_operation **operation,
    tombac_error **error)
{
    if (!group) return rt_missing(__func__, "group", error);
    if (!from) return rt_missing(__func__, "from", error);
    if (!to) return rt_missing(__func__, "to", error);
    if (!operation) return rt_missing(__func__, "operation", error);
    if ((unsigned)reduction > TOMBAC_REDUCE_MAX)
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "there is no reduction %d", (int)reduction);
    if (type_ == TOMBAC_TYPE_BOOL) return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "bools cannot be reduced");
    return make(group,
        (rt_collective){.kind = RT_ALL_REDUCE, .type = type_, .reduction = reduction, .count = count}, from,
        to, operation, error);
}

tombac_status tombac_group_all_gather(tombac_group *group, tombac_type type_, size_t count,
    tombac_buffer *const *from, tombac_buffer *const *to, tombac_operation **operation, tombac_error **error)
{
    if (!group) return rt_missing(__func__, "group", error);
    if (!from) return rt_missing(__func__, "from", error);
    if (!to) return rt_missing(__func__, "to", error);
    if (!operation) return rt_missing(__func__, "operation", error);
    return make(group, (rt_collective){.kind = RT_ALL_GATHER, .type = type_, .count = count}, from, to,
        operation, error);
}

tombac_status tombac_group_broadcast(tombac_group *group, size_t root, tombac_type type_, size_t count,
    tombac_buffer *const *buffers, tombac_operation **operation, tombac_error **error)
{
    if (!group) return rt_missing(__func__, "group", error);
    if (!buffers) return rt_missing(__func__, "buffers", error);
    if (!operation) return rt_missing(__func__, "operation", error);
    if (root >= group->count)
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "a group of %zu has no member %zu", group->count, root);
    return make(group, (rt_collective){.kind = RT_BROADCAST, .type = type_, .count = count, .root = root},
        buffers, buffers, operation, error);
}
