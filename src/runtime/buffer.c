/* Buffers: host memory that kernels use in place. */
#include "runtime/object.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LARGE                                                                                                \
    ((size_t)1 << 20) /* from here on a mapping of its own: page-aligned, and zeroed by the kernel only when \
                         touched */
enum { ALIGNMENT = 64 };

static bool allocate(tombac_buffer *buffer, size_t size, bool zeroed)
{
    if (size >= LARGE) {
        void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) return false;
        buffer->contents = memory;
        buffer->mapped = size;
        return true;
    }
    size_t rounded = size ? (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT : ALIGNMENT;
    buffer->contents = aligned_alloc(ALIGNMENT, rounded);
    if (buffer->contents && zeroed) memset(buffer->contents, 0, rounded);
    return buffer->contents != NULL;
}

tombac_status tombac_buffer_create(
    tombac_device *device, size_t size, const void *data, tombac_buffer **buffer, tombac_error **error)
{
    if (!device) return rt_missing(__func__, "device", error);
    if (!buffer) return rt_missing(__func__, "buffer", error);
    if (size > device->max_buffer_size)
        return tb_fail(error, TOMBAC_ERROR_MEMORY,
            "a buffer of %zu bytes is larger than the device's limit of %zu bytes", size,
            device->max_buffer_size);
    tombac_buffer *made = calloc(1, sizeof *made);
    if (!made) return tb_fail_memory(error);
    if (!allocate(made, size, !data)) {
        free(made);
        return tb_fail(error, TOMBAC_ERROR_MEMORY, "no memory for a buffer of %zu bytes", size);
    }
    atomic_init(&made->references, 1);
    made->device = tombac_device_retain(device);
    made->size = size;
    if (data && size) memcpy(made->contents, data, size);
    *buffer = made;
    return TOMBAC_OK;
}

tombac_buffer *tombac_buffer_retain(tombac_buffer *buffer)
{
    if (buffer) rt_retain(&buffer->references);
    return buffer;
}

void tombac_buffer_release(tombac_buffer *buffer)
{
    if (!buffer || !rt_release(&buffer->references)) return;
    if (buffer->mapped)
        munmap(buffer->contents, buffer->mapped);
    else
        free(buffer->contents);
    tombac_device_release(buffer->device);
    free(buffer);
}

size_t tombac_buffer_size(const tombac_buffer *buffer)
{
    return buffer ? buffer->size : 0;
}

void *tombac_buffer_contents(tombac_buffer *buffer)
{
    return buffer ? buffer->contents : NULL;
}
