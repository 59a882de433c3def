/* reduce.metal in C. */
#include <tombac/kernel.h>

kernel void reduce_tree(const float *in, float *sums)
{
    threadgroup float part[256];
    uint t = thread_index_in_threadgroup(), threads = threads_per_threadgroup().x;
    part[t] = in[thread_position_in_grid().x];
    threadgroup_barrier(mem_threadgroup);
    for (uint half_size = threads / 2; half_size > 0; half_size /= 2) {
        if (t < half_size) part[t] += part[t + half_size];
        threadgroup_barrier(mem_threadgroup);
    }
    if (t == 0) sums[threadgroup_position_in_grid().x] = part[0];
}

kernel void reduce_simd(const float *in, float *sums)
{
    threadgroup float part[32];
    uint lane = thread_index_in_simdgroup(), simdgroup = simdgroup_index_in_threadgroup();
    float sum = simd_sum(in[thread_position_in_grid().x]);
    if (lane == 0) part[simdgroup] = sum;
    threadgroup_barrier(mem_threadgroup);
    if (simdgroup == 0) {
        sum = simd_sum(lane < simdgroups_per_threadgroup() ? part[lane] : 0.0f);
        if (lane == 0) sums[threadgroup_position_in_grid().x] = sum;
    }
}
