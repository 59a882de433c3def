// Sums of threadgroups of 256: by a tree in threadgroup memory, and by the SIMD-groups' own sum.
#include <metal_stdlib>
using namespace metal;

kernel void reduce_tree(device const float *in [[buffer(0)]],
                        device float *sums [[buffer(1)]],
                        uint i [[thread_position_in_grid]],
                        uint t [[thread_index_in_threadgroup]],
                        uint group [[threadgroup_position_in_grid]],
                        uint threads [[threads_per_threadgroup]])
{
    threadgroup float part[256];
    part[t] = in[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint half_size = threads / 2; half_size > 0; half_size /= 2) {
        if (t < half_size) part[t] += part[t + half_size];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (t == 0) sums[group] = part[0];
}

kernel void reduce_simd(device const float *in [[buffer(0)]],
                        device float *sums [[buffer(1)]],
                        uint i [[thread_position_in_grid]],
                        uint group [[threadgroup_position_in_grid]],
                        uint lane [[thread_index_in_simdgroup]],
                        uint simdgroup [[simdgroup_index_in_threadgroup]],
                        uint simdgroups [[simdgroups_per_threadgroup]])
{
    threadgroup float part[32];
    float sum = simd_sum(in[i]);
    if (lane == 0) part[simdgroup] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (simdgroup == 0) {
        sum = simd_sum(lane < simdgroups ? part[lane] : 0.0f);
        if (lane == 0) sums[group] = sum;
    }
}
