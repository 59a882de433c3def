/* The portable layer; see tombac/portable.h.
 *
 * A stream's launches are a chain of operations, each put behind the one before. What has ended well is
 * dropped when the next is launched; what failed stays until it was reported. */
#include "call.h"
#include "tombac/portable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tombac_status missing(const char *call_name, const char *what, tombac_error **error)
{
    char message[128];
    snprintf(message, sizeof message, "%s: '%s' is NULL", call_name, what);
    return tombac_error_create(TOMBAC_ERROR_ARGUMENT, message, error);
}

/* ---- Backends and memory ---- */

tombac_backend_info tombac_backend_get_info(const tombac_device *device)
{
    tombac_device_limits limits = tombac_device_get_limits(device);
    return (tombac_backend_info){.float64 = tombac_device_capability(device, "double") != 0,
        .float16 = tombac_device_capability(device, "half") != 0,
        .atomics =
            tombac_device_capability(device, "atomics") && tombac_device_capability(device, "atomic_float"),
        .unified_memory = tombac_device_capability(device, "shared_memory") != 0,
        .largest_group = limits.max_threads_per_threadgroup,
        .subgroup_width = limits.simd_width,
        .local_memory = limits.max_threadgroup_memory};
}

static tombac_element element_of(tombac_type type)
{
    size_t size = tombac_type_size(type);
    return (tombac_element){
        .type = type, .vector_length = 1, .size = size, .alignment = size, .name = tombac_type_name(type)};
}

tombac_status tombac_zeros(
    tombac_device *device, tombac_type type, size_t count, tombac_buffer **buffer, tombac_error **error)
{
    tombac_element element = element_of(type);
    if (!element.size)
        return tombac_error_create(TOMBAC_ERROR_ARGUMENT, "tombac_zeros: the type is no scalar", error);
    return tombac_buffer_create_elements(device, &element, count, NULL, buffer, error);
}

tombac_status tombac_filled(tombac_device *device, tombac_type type, size_t count, const void *value,
    tombac_buffer **buffer, tombac_error **error)
{
    if (!value) return missing(__func__, "value", error);
    if (!buffer) return missing(__func__, "buffer", error);
    tombac_buffer *made = NULL;
    void *data;
    size_t size = tombac_type_size(type);
    tombac_status status = tombac_zeros(device, type, count, &made, error);
    if (status == TOMBAC_OK) status = tombac_buffer_begin_write(made, &data, error);
    if (status == TOMBAC_OK) {
        for (size_t i = 0; i < count; i++) memcpy((char *)data + i * size, value, size);
        status = tombac_buffer_end_write(made, error);
    }
    if (status == TOMBAC_OK)
        *buffer = made;
    else
        tombac_buffer_release(made);
    return status;
}

tombac_status tombac_ones(
    tombac_device *device, tombac_type type, size_t count, tombac_buffer **buffer, tombac_error **error)
{
    static const float one_float = 1;
    static const uint16_t one_half = 0x3c00, one_bfloat = 0x3f80;
    static const uint64_t one = 1; /* little endian: of any width */
    const void *value = type == TOMBAC_TYPE_F32    ? (const void *)&one_float
                        : type == TOMBAC_TYPE_F16  ? &one_half
                        : type == TOMBAC_TYPE_BF16 ? &one_bfloat
                                                   : (const void *)&one;
    return tombac_filled(device, type, count, value, buffer, error);
}

/* ---- Ranges ---- */

tombac_status tombac_range_of(const size_t *sizes, size_t dimensions, tombac_nd *range, tombac_error **error)
{
    if (!sizes) return missing(__func__, "sizes", error);
    if (!range) return missing(__func__, "range", error);
    bool fits = dimensions >= 1 && dimensions <= 3;
    uint32_t size[3] = {1, 1, 1};
    for (size_t i = 0; i < dimensions && fits; i++) {
        fits = sizes[i] <= UINT32_MAX;
        size[i] = (uint32_t)sizes[i];
    }
    if (!fits)
        return tombac_error_create(TOMBAC_ERROR_GEOMETRY,
            "tombac_range_of: a range has one to three dimensions, each of less than 2^32 items", error);
    *range = (tombac_nd){size[0], size[1], size[2]};
    return TOMBAC_OK;
}

/* What the kernel's author fixed; from the reflection, which is JSON that Tombac wrote. */
static bool required_group(const tombac_kernel *kernel, tombac_nd *group)
{
    static const char key[] = "\"required_threads_per_threadgroup\":";
    const char *found = strstr(tombac_kernel_reflection_json(kernel), key);
    if (!found) return false;
    found += sizeof key - 1;
    return sscanf(found, " [ %u , %u , %u", &group->x, &group->y, &group->z) == 3;
}

/* The least power of two that is at least n, but at most `most`, a power of two. */
static uint32_t power_for(uint32_t n, uint32_t most)
{
    uint32_t power = 1;
    while (power < n && power < most) power *= 2;
    return power;
}

tombac_nd tombac_choose_group(const tombac_kernel *kernel, tombac_nd range)
{
    tombac_nd group = {1, 1, 1};
    if (required_group(kernel, &group)) return group;
    uint32_t most = tombac_kernel_max_threads_per_threadgroup(kernel), room = 1;
    while (room * 2 <= most && room < 256) room *= 2;
    bool flat = range.y <= 1 && range.z <= 1;
    group.x = power_for(range.x, flat || room < 32 ? room : 32);
    room /= group.x;
    group.y = power_for(range.y, range.z <= 1 || room < 4 ? room : 4);
    room /= group.y;
    group.z = power_for(range.z, room);
    return group;
}

/* ---- Streams ---- */

struct tombac_stream {
    tombac_device *device;
    tombac_algorithms *ready; /* for fill and copy; NULL until needed */
    tombac_operation **pending;
    size_t count, room;
    tombac_operation *last; /* of the chain; one of the pending, or NULL */
};

tombac_status tombac_stream_create(tombac_device *device, tombac_stream **stream, tombac_error **error)
{
    if (!device) return missing(__func__, "device", error);
    if (!stream) return missing(__func__, "stream", error);
    tombac_stream *made = calloc(1, sizeof *made);
    if (!made) return tombac_error_create(TOMBAC_ERROR_MEMORY, "out of memory", error);
    made->device = tombac_device_retain(device);
    *stream = made;
    return TOMBAC_OK;
}

tombac_device *tombac_stream_device(const tombac_stream *stream)
{
    return stream ? stream->device : NULL;
}

void tombac_stream_release(tombac_stream *stream)
{
    if (!stream) return;
    for (size_t i = 0; i < stream->count; i++) tombac_operation_release(stream->pending[i]);
    free(stream->pending);
    tombac_algorithms_release(stream->ready);
    tombac_device_release(stream->device);
    free(stream);
}

/* Drops the oldest that have ended well. */
static void drop_ended(tombac_stream *stream)
{
    size_t ended = 0;
    bool done = false;
    while (ended < stream->count && stream->pending[ended] != stream->last) {
        if (tombac_operation_poll(stream->pending[ended], &done, NULL) != TOMBAC_OK || !done) break;
        tombac_operation_release(stream->pending[ended++]);
    }
    memmove(stream->pending, stream->pending + ended, (stream->count - ended) * sizeof *stream->pending);
    stream->count -= ended;
}

/* Room for one more operation. */
static tombac_status make_room(tombac_stream *stream, tombac_error **error)
{
    if (stream->count >= 64) drop_ended(stream);
    if (stream->count < stream->room) return TOMBAC_OK;
    size_t room = stream->room ? 2 * stream->room : 64;
    tombac_operation **grown = realloc(stream->pending, room * sizeof(tombac_operation *));
    if (!grown) return tombac_error_create(TOMBAC_ERROR_MEMORY, "out of memory", error);
    stream->pending = grown;
    stream->room = room;
    return TOMBAC_OK;
}

tombac_status tombac_stream_synchronize(tombac_stream *stream, tombac_error **error)
{
    if (!stream) return missing(__func__, "stream", error);
    tombac_status result = TOMBAC_OK;
    for (size_t i = 0; i < stream->count; i++) {
        tombac_status status =
            tombac_operation_wait(stream->pending[i], -1, result == TOMBAC_OK ? error : NULL);
        if (result == TOMBAC_OK) result = status;
        tombac_operation_release(stream->pending[i]);
    }
    stream->count = 0;
    stream->last = NULL;
    return result;
}

/* ---- Launches ---- */

static bool is_range(const tombac_argument *a)
{
    return a->kind == TOMBAC_ARGUMENT_CONSTANT && a->type_name && strcmp(a->type_name, "ndrange") == 0;
}

static bool is_seed(const tombac_argument *a)
{
    return a->kind == TOMBAC_ARGUMENT_CONSTANT && a->type == TOMBAC_TYPE_U64 &&
           strcmp(a->name, "random_seed") == 0;
}

static tombac_status bind_value(
    tombac_launch *launch, const tombac_argument *a, const tombac_argument_value *value, tombac_error **error)
{
    char message[160];
    if (value->buffer) return tombac_launch_set_buffer(launch, a->index, value->buffer, 0, error);
    if (a->kind == TOMBAC_ARGUMENT_THREADGROUP && !value->data)
        return tombac_launch_set_threadgroup_memory(launch, a->index, value->size, error);
    if (!value->data || a->kind == TOMBAC_ARGUMENT_THREADGROUP) {
        snprintf(message, sizeof message, "argument '%s' %s", a->name,
            value->data ? "is local memory: it takes tombac_local"
                        : "is no local memory: it takes an array or a value");
        return tombac_error_create(TOMBAC_ERROR_BINDING, message, error);
    }
    return tombac_launch_set_bytes(launch, a->index, value->data, value->size, error);
}

static tombac_status bind_all(tombac_launch *launch, const tombac_kernel *kernel, tombac_nd range,
    const tombac_argument_value *values, size_t count, tombac_error **error)
{
    size_t arguments = tombac_kernel_argument_count(kernel), wanted = 0, seeds = 0, next = 0;
    tombac_status status = TOMBAC_OK;
    tombac_argument a;
    for (size_t i = 0; i < arguments; i++) {
        status = tombac_kernel_get_argument(kernel, i, &a, error);
        if (status != TOMBAC_OK) return status;
        seeds += is_seed(&a);
        wanted += !is_range(&a);
    }
    bool seeded = count == wanted;
    if (!seeded && count != wanted - seeds) {
        char message[160];
        snprintf(message, sizeof message, "kernel '%s' takes %zu values, not %zu", tombac_kernel_name(kernel),
            wanted - seeds, count);
        return tombac_error_create(TOMBAC_ERROR_BINDING, message, error);
    }
    for (size_t i = 0; i < arguments && status == TOMBAC_OK; i++) {
        status = tombac_kernel_get_argument(kernel, i, &a, error);
        if (status != TOMBAC_OK || (is_seed(&a) && !seeded)) continue;
        if (is_range(&a))
            status = tombac_launch_set_bytes(launch, a.index, &range, sizeof range, error);
        else
            status = bind_value(launch, &a, &values[next++], error);
    }
    return status;
}

static uint32_t groups_for(uint32_t items, uint32_t group)
{
    return group ? items / group + (items % group != 0) : 0;
}

/* Takes over the operation: puts it behind the last, and submits it. */
static tombac_status enqueue(tombac_stream *stream, tombac_operation *operation, tombac_error **error)
{
    tombac_status status = make_room(stream, error);
    if (status == TOMBAC_OK && stream->last) status = tombac_operation_then(stream->last, operation, error);
    if (status == TOMBAC_OK) status = tombac_operation_submit(operation, error);
    if (status != TOMBAC_OK) {
        tombac_operation_release(operation);
        return status;
    }
    stream->pending[stream->count++] = stream->last = operation;
    return TOMBAC_OK;
}

tombac_status tombac_stream_launch(tombac_stream *stream, tombac_kernel *kernel, tombac_nd range,
    tombac_nd group, const tombac_argument_value *values, size_t count, tombac_error **error)
{
    if (!stream) return missing(__func__, "stream", error);
    if (!kernel) return missing(__func__, "kernel", error);
    if (count && !values) return missing(__func__, "values", error);
    if (!group.x && !group.y && !group.z) group = tombac_choose_group(kernel, range);
    tombac_size3 size = {group.x, group.y, group.z},
                 groups = {
                     groups_for(range.x, size.x), groups_for(range.y, size.y), groups_for(range.z, size.z)};
    tombac_launch *launch = NULL;
    tombac_operation *operation = NULL;
    tombac_status status = tombac_launch_create(kernel, &launch, error);
    if (status == TOMBAC_OK) status = bind_all(launch, kernel, range, values, count, error);
    if (status == TOMBAC_OK) status = tombac_launch_set_threadgroups(launch, groups, size, error);
    if (status == TOMBAC_OK) status = tombac_launch_operation(launch, &operation, error);
    tombac_launch_release(launch);
    return status == TOMBAC_OK ? enqueue(stream, operation, error) : status;
}

/* ---- Fill and copy: ordered by their buffers ---- */

static tombac_status need_ready(tombac_stream *stream, tombac_error **error)
{
    return stream->ready ? TOMBAC_OK : tombac_algorithms_create(stream->device, &stream->ready, error);
}

tombac_status tombac_stream_fill(
    tombac_stream *stream, tombac_buffer *buffer, const void *value, size_t size, tombac_error **error)
{
    if (!stream) return missing(__func__, "stream", error);
    if (!buffer) return missing(__func__, "buffer", error);
    if (size && tombac_buffer_size(buffer) % size)
        return tombac_error_create(TOMBAC_ERROR_ARGUMENT,
            "tombac_stream_fill: the buffer's size is no multiple of the value's", error);
    tombac_operation *operation = NULL;
    tombac_status status = need_ready(stream, error);
    if (status == TOMBAC_OK) status = make_room(stream, error);
    if (status == TOMBAC_OK)
        status = tombac_fill(stream->ready, buffer, value, size, size ? tombac_buffer_size(buffer) / size : 0,
            &operation, error);
    if (status == TOMBAC_OK) stream->pending[stream->count++] = operation;
    return status;
}

static tombac_status copy_between(tombac_buffer *to, tombac_buffer *from, tombac_error **error)
{
    const void *source;
    void *destination;
    tombac_status status = tombac_buffer_begin_read(from, &source, error);
    if (status != TOMBAC_OK) return status;
    status = tombac_buffer_begin_write(to, &destination, error);
    if (status == TOMBAC_OK) {
        memcpy(destination, source, tombac_buffer_size(from));
        status = tombac_buffer_end_write(to, error);
    }
    tombac_status end = tombac_buffer_end_read(from, status == TOMBAC_OK ? error : NULL);
    return status == TOMBAC_OK ? end : status;
}

tombac_status tombac_stream_copy(
    tombac_stream *stream, tombac_buffer *to, tombac_buffer *from, tombac_error **error)
{
    if (!stream) return missing(__func__, "stream", error);
    if (!to || !from) return missing(__func__, to ? "from" : "to", error);
    if (to == from || tombac_buffer_size(to) != tombac_buffer_size(from))
        return tombac_error_create(TOMBAC_ERROR_ARGUMENT,
            to == from ? "tombac_stream_copy: both buffers are the same"
                       : "tombac_stream_copy: the sizes differ",
            error);
    bool here = tombac_buffer_device(to) == stream->device && tombac_buffer_device(from) == stream->device;
    if (!here) return copy_between(to, from, error);
    tombac_operation *operation = NULL;
    tombac_status status = need_ready(stream, error);
    if (status == TOMBAC_OK) status = make_room(stream, error);
    if (status == TOMBAC_OK) status = call_copy(stream->ready, to, from, &operation, error);
    if (status == TOMBAC_OK) stream->pending[stream->count++] = operation;
    return status;
}
