/* The sum of an array: each thread adds up a strided part, SIMD-groups add up their lanes, the first SIMD-group adds up the
 * SIMD-groups, and one atomic addition per threadgroup joins the threadgroups. */
#include <stdatomic.h>
#include <tombac/kernel.h>

static uint strided_sum(const uint *x, uint n, uint first, uint stride)
{
    uint sum = 0;
    for (uint i = first; i < n; i += stride) sum += x[i];
    return sum;
}

kernel threads_required(256) void reduction(const uint *x, atomic_uint *total, uint n)
{
    threadgroup uint partial[8];
    uint lane = thread_index_in_simdgroup(), group = simdgroup_index_in_threadgroup();
    uint sum = simd_sum(strided_sum(x, n, thread_position_in_grid().x, threads_per_grid().x));
    if (lane == 0) partial[group] = sum;
    threadgroup_barrier(mem_threadgroup);
    if (group > 0) return;
    sum = simd_sum(lane < 8 ? partial[lane] : 0);
    if (lane == 0) atomic_fetch_add_explicit(total, sum, memory_order_relaxed);
}
