/* Reduction: one value of many.
 *
 * Each thread combines every (number of threads)-th element, so that the threads of a SIMD-group read side by
 * side; a SIMD-group combines its 32 values in registers, the threadgroup its SIMD-groups' through
 * threadgroup memory. The same kernel, run by one threadgroup on the threadgroups' results, finishes. The
 * order depends on the number of threadgroups alone: sums of floats are the same bits at every run. After M.
 * Harris, "Optimizing parallel reduction in CUDA", 2007.
 *
 * Nothing at all reduces to the identity: 0, or the smallest or largest value that there is. */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <tombac/kernel.h>

enum { GROUP = 256, SIMDGROUPS = GROUP / 32 };

#define ADD(a, b) ((a) + (b))
#define REDUCE(T, NAME, IDENTITY, COMBINE, TOGETHER)                                                         \
    kernel threads_required(GROUP)                                                                           \
        requires(len(in) >= n, len(out) > 0) void reduce_##NAME##_##T(const T *in, T *out, uint n)           \
    {                                                                                                        \
        threadgroup T partial[SIMDGROUPS];                                                                   \
        uint lane = thread_index_in_simdgroup(), simdgroup = simdgroup_index_in_threadgroup();               \
        T value = IDENTITY;                                                                                  \
        for (uint i = thread_position_in_grid().x; i < n; i += threads_per_grid().x)                         \
            value = COMBINE(value, in[i]);                                                                   \
        value = TOGETHER(value);                                                                             \
        if (lane == 0) partial[simdgroup] = value;                                                           \
        threadgroup_barrier(mem_threadgroup);                                                                \
        if (simdgroup > 0) return;                                                                           \
        value = TOGETHER(lane < SIMDGROUPS ? partial[lane] : IDENTITY);                                      \
        if (lane == 0) out[threadgroup_position_in_grid().x] = value;                                        \
    }
REDUCE(float, sum, 0.0f, ADD, simd_sum)
REDUCE(float, min, INFINITY, fmin, simd_min)
REDUCE(float, max, -INFINITY, fmax, simd_max)
REDUCE(int, sum, 0, ADD, simd_sum)
REDUCE(int, min, INT_MAX, min, simd_min)
REDUCE(int, max, INT_MIN, max, simd_max)
REDUCE(uint, sum, 0u, ADD, simd_sum)
REDUCE(uint, min, UINT_MAX, min, simd_min)
REDUCE(uint, max, 0u, max, simd_max)
