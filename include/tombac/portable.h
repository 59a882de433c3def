/* The portable layer: host code that does not know its device, after OpenCL's and KernelAbstractions' model.
 * A device is the backend; a kernel is launched for a range of work-items; a stream runs what it is given in
 * order, while the host goes on. Kernels are written with <tombac/ndrange.h> or without.
 *
 *     tombac_stream *stream = NULL;
 *     tombac_status status = tombac_stream_create(device, &stream, &error);
 *     tombac_argument_value values[] = {tombac_value(a), tombac_array(x), tombac_array(y)};
 *     if (status == TOMBAC_OK)
 *         status = tombac_stream_launch(stream, axpy, tombac_range(n), tombac_any_group, values, 3, &error);
 *     if (status == TOMBAC_OK) status = tombac_stream_synchronize(stream, &error);
 *
 * Link with Tombac::kernels (CMake) or -ltombac-kernels -ltombac. */
#ifndef TOMBAC_PORTABLE_H
#define TOMBAC_PORTABLE_H

#include <tombac/tombac.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- What a backend can do: the more common of the device's capabilities (tombac.h) ---- */

typedef struct tombac_backend_info {
    bool float64; /* never: Metal has no double */
    bool float16;
    bool atomics;           /* of 32-bit integers and floats in device memory, with memory orders */
    bool unified_memory;    /* host and kernels use the same memory; else buffers are copied when needed */
    uint32_t largest_group; /* work-items */
    uint32_t subgroup_width;
    size_t local_memory; /* bytes for a workgroup */
} tombac_backend_info;
TOMBAC_API tombac_backend_info tombac_backend_get_info(const tombac_device *device);

/* ---- Memory: typed buffers, to be released by tombac_buffer_release ---- */

/* The buffer's device is tombac_buffer_device (tombac.h). */
/* count elements of a scalar type, of zeros, of ones, or of copies of *value. */
TOMBAC_API tombac_status tombac_zeros(
    tombac_device *device, tombac_type type, size_t count, tombac_buffer **buffer, tombac_error **error);
TOMBAC_API tombac_status tombac_ones(
    tombac_device *device, tombac_type type, size_t count, tombac_buffer **buffer, tombac_error **error);
TOMBAC_API tombac_status tombac_filled(tombac_device *device, tombac_type type, size_t count,
    const void *value, tombac_buffer **buffer, tombac_error **error);

/* ---- Ranges ---- */

typedef struct tombac_nd {
    uint32_t x, y, z;
} tombac_nd;
static inline tombac_nd tombac_range(uint32_t x)
{
    tombac_nd range = {x, 1, 1};
    return range;
}
static inline tombac_nd tombac_range_2d(uint32_t x, uint32_t y)
{
    tombac_nd range = {x, y, 1};
    return range;
}
static inline tombac_nd tombac_range_3d(uint32_t x, uint32_t y, uint32_t z)
{
    tombac_nd range = {x, y, z};
    return range;
}
/* Of an array of sizes: one to three, each below 2^32; else TOMBAC_ERROR_GEOMETRY. */
TOMBAC_API tombac_status tombac_range_of(
    const size_t *sizes, size_t dimensions, tombac_nd *range, tombac_error **error);
/* As a workgroup: let the layer choose. */
#define tombac_any_group tombac_range_3d(0, 0, 0)
/* What it chooses: what the kernel requires, else 256 items or less if the kernel or the range is smaller. */
TOMBAC_API tombac_nd tombac_choose_group(const tombac_kernel *kernel, tombac_nd range);

/* ---- Streams ---- */

/* A stream belongs to one thread at a time. Streams do not wait for each other, but for buffers that both
 * use. */
typedef struct tombac_stream tombac_stream;

TOMBAC_API tombac_status tombac_stream_create(
    tombac_device *device, tombac_stream **stream, tombac_error **error);
/* What was launched runs to its end. */
TOMBAC_API void tombac_stream_release(tombac_stream *stream);
TOMBAC_API tombac_device *tombac_stream_device(const tombac_stream *stream);

typedef struct tombac_argument_value {
    tombac_buffer *buffer; /* or NULL: a value, or local memory where `data` is NULL too */
    const void *data;
    size_t size;
} tombac_argument_value;
static inline tombac_argument_value tombac_array(tombac_buffer *buffer)
{
    tombac_argument_value value = {buffer, NULL, 0};
    return value;
}
static inline tombac_argument_value tombac_bytes(const void *data, size_t size)
{
    tombac_argument_value value = {NULL, data, size};
    return value;
}
/* A variable's value, at the time of the launch. */
#define tombac_value(variable) tombac_bytes(&(variable), sizeof(variable))
/* `size` bytes for a parameter in threadgroup memory. */
static inline tombac_argument_value tombac_local(size_t size)
{
    tombac_argument_value value = {NULL, NULL, size};
    return value;
}

/* Launches `kernel` for every item of `range`, in whole workgroups; an empty range runs nothing. The values
 * are those of the kernel's parameters in their order, without the ndrange, and without `random_seed` unless
 * it has a value too: then it is fresh. Returns at once. */
TOMBAC_API tombac_status tombac_stream_launch(tombac_stream *stream, tombac_kernel *kernel, tombac_nd range,
    tombac_nd group, const tombac_argument_value *values, size_t count, tombac_error **error);
/* Fills the whole buffer with copies of *value, of 1, 2, 4, 8 or 16 bytes. */
TOMBAC_API tombac_status tombac_stream_fill(
    tombac_stream *stream, tombac_buffer *buffer, const void *value, size_t size, tombac_error **error);
/* Copies all of `from`, which has the size of `to`. Between devices it waits for both buffers, and has ended
 * when it returns; on the stream's device it runs in the stream. */
TOMBAC_API tombac_status tombac_stream_copy(
    tombac_stream *stream, tombac_buffer *to, tombac_buffer *from, tombac_error **error);
/* Waits for all that was launched; the failure, if something failed. The stream can be used again then. */
TOMBAC_API tombac_status tombac_stream_synchronize(tombac_stream *stream, tombac_error **error);

#ifdef __cplusplus
}
#endif
#endif
