/* Ready kernels: common algorithms as calls. Their kernels are files in C that are meant to be read and
 * copied (share/tombac/kernels/NAME.c); they are compiled into this library, which needs no compiler.
 *
 *     tombac_algorithms *ready = NULL;
 *     tombac_status status = tombac_algorithms_create(device, &ready, &error);
 *     if (status == TOMBAC_OK) status = tombac_sort(ready, TOMBAC_TYPE_F32, keys, NULL, n, NULL, &error);
 *
 * Link with Tombac::kernels (CMake) or -ltombac-kernels -ltombac.
 *
 * Every call submits an operation of all its launches, which the caller may wait for and releases; where
 * `operation` is NULL the call waits for the end itself. Buffers order operations as always, so calls can
 * follow each other without a wait. n counts elements, at most 2^31 - 1; 0 is allowed everywhere. Buffers may
 * be typed or not; one that is too short is TOMBAC_ERROR_CONTRACT, a type that an algorithm has no kernel for
 * TOMBAC_ERROR_UNSUPPORTED. Results do not depend on the number of processors: sums of floats have one order.
 */
#ifndef TOMBAC_ALGORITHMS_H
#define TOMBAC_ALGORITHMS_H

#include <tombac/tombac.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The kernels for a device, each loaded when it is first needed. May be used by several threads at once. */
typedef struct tombac_algorithms tombac_algorithms;

TOMBAC_API tombac_status tombac_algorithms_create(
    tombac_device *device, tombac_algorithms **algorithms, tombac_error **error);
TOMBAC_API tombac_algorithms *tombac_algorithms_retain(tombac_algorithms *algorithms);
TOMBAC_API void tombac_algorithms_release(tombac_algorithms *algorithms);

/* ---- Element by element (map.c, fill.c) ---- */

typedef enum tombac_map {
    TOMBAC_MAP_ABS,
    TOMBAC_MAP_NEGATE,
    TOMBAC_MAP_SQUARE,
    TOMBAC_MAP_SQRT,
    TOMBAC_MAP_RECIPROCAL,
    TOMBAC_MAP_EXP,
    TOMBAC_MAP_LOG,
    TOMBAC_MAP_SIN,
    TOMBAC_MAP_COS,
    TOMBAC_MAP_TANH
} tombac_map;

/* out[i] = f(in[i]), of F32; in may be out. */
TOMBAC_API tombac_status tombac_map_apply(tombac_algorithms *algorithms, tombac_map function,
    tombac_type type, tombac_buffer *in, tombac_buffer *out, size_t n, tombac_operation **operation,
    tombac_error **error);
/* out[i] = a in[i] + b, floats, rounded once; in may be out. */
TOMBAC_API tombac_status tombac_map_affine(tombac_algorithms *algorithms, float a, float b, tombac_buffer *in,
    tombac_buffer *out, size_t n, tombac_operation **operation, tombac_error **error);
/* The first n elements of `size` bytes (1, 2, 4, 8, 16) become copies of *value. The buffer has no type, or
 * one of that size. */
TOMBAC_API tombac_status tombac_fill(tombac_algorithms *algorithms, tombac_buffer *out, const void *value,
    size_t size, size_t n, tombac_operation **operation, tombac_error **error);

/* ---- Reductions and prefix sums (reduce.c, scan.c) ---- */

/* out[0] = all n elements of F32, I32 or U32 together; for n = 0 it is 0, or the type's largest or smallest
 * value. Sums of whole numbers wrap; a NaN is left out of min and max. */
TOMBAC_API tombac_status tombac_reduce(tombac_algorithms *algorithms, tombac_reduction what, tombac_type type,
    tombac_buffer *in, tombac_buffer *out, size_t n, tombac_operation **operation, tombac_error **error);
/* out[i] = in[0] + ... + in[i] (inclusive), or + in[i - 1]; F32, I32, U32; in may be out. */
TOMBAC_API tombac_status tombac_scan(tombac_algorithms *algorithms, tombac_type type, bool inclusive,
    tombac_buffer *in, tombac_buffer *out, size_t n, tombac_operation **operation, tombac_error **error);

/* ---- Counting, sorting, choosing (histogram.c, sort.c, compact.c) ---- */

/* bins[v] (U32) = how often v occurs in `in`, of U8, U16 or U32; values of bin_count (at most 4096) and more
 * are not counted. */
TOMBAC_API tombac_status tombac_histogram(tombac_algorithms *algorithms, tombac_type type, tombac_buffer *in,
    tombac_buffer *bins, size_t n, size_t bin_count, tombac_operation **operation, tombac_error **error);
/* Sorts F32, I32 or U32 in place, and `values` (U32; may be NULL) alike; stable. -0 comes before +0, a NaN at
 * the end (at the beginning if its sign is set). */
TOMBAC_API tombac_status tombac_sort(tombac_algorithms *algorithms, tombac_type type, tombac_buffer *keys,
    tombac_buffer *values, size_t n, tombac_operation **operation, tombac_error **error);
/* out = the elements of `in` (F32, I32, U32) whose flag (U8) is not 0, in their order; count[0] (U32) = how
 * many. `out` has room for them; in must not be out. */
TOMBAC_API tombac_status tombac_compact(tombac_algorithms *algorithms, tombac_type type, tombac_buffer *in,
    tombac_buffer *flags, tombac_buffer *out, tombac_buffer *count, size_t n, tombac_operation **operation,
    tombac_error **error);

/* ---- Matrices, images, signals (transpose.c, matmul.c, convolve.c, fft.c): outputs must not overlap inputs
 * ---- */

/* out (columns x rows) = in (rows x columns) turned, F32 or F16; rows lie one after the other. */
TOMBAC_API tombac_status tombac_transpose(tombac_algorithms *algorithms, tombac_type type, tombac_buffer *in,
    tombac_buffer *out, size_t rows, size_t columns, tombac_operation **operation, tombac_error **error);
/* c (m x n, F32) = a (m x k) times b (k x n), of F32 or F16; sums are float's. */
TOMBAC_API tombac_status tombac_matmul(tombac_algorithms *algorithms, tombac_type type, tombac_buffer *a,
    tombac_buffer *b, tombac_buffer *c, size_t m, size_t n, size_t k, tombac_operation **operation,
    tombac_error **error);

typedef struct tombac_convolution {
    uint32_t width, height, filter_width, filter_height;
} tombac_convolution;
/* Convolution of an image of floats (a signal: height 1) with a filter, zeros around it; `out` has the size
 * of `in`, and the filter's element (width / 2, height / 2) lies on the result's. */
TOMBAC_API tombac_status tombac_convolve(tombac_algorithms *algorithms, tombac_buffer *in,
    tombac_buffer *filter, tombac_buffer *out, tombac_convolution size, tombac_operation **operation,
    tombac_error **error);
/* Discrete Fourier transform of n complex numbers (two floats each); backward divides by n. Any n up to 2^23,
 * powers of two up to 2^27; the error grows with log n, from 1e-7 of the result's root mean square on. */
TOMBAC_API tombac_status tombac_fft(tombac_algorithms *algorithms, bool backward, tombac_buffer *in,
    tombac_buffer *out, size_t n, tombac_operation **operation, tombac_error **error);

/* ---- Simulations (stencil.c, nbody.c) ---- */

/* `steps` steps of the heat equation on a grid of floats, in place; rate at most 1/4. */
TOMBAC_API tombac_status tombac_stencil_heat(tombac_algorithms *algorithms, tombac_buffer *grid, size_t width,
    size_t height, float rate, size_t steps, tombac_operation **operation, tombac_error **error);
/* `steps` steps of `time` each for n bodies (four floats: place and mass) with velocities (four floats), both
 * in place; softening, above 0, is added to the square of every distance. */
TOMBAC_API tombac_status tombac_nbody(tombac_algorithms *algorithms, tombac_buffer *bodies,
    tombac_buffer *velocities, size_t n, float softening, float time, size_t steps,
    tombac_operation **operation, tombac_error **error);

#ifdef __cplusplus
}
#endif
#endif
