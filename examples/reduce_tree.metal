// Sums of 256 elements each: a tree in threadgroup memory, halved at every step.
#include <metal_stdlib>
using namespace metal;

kernel void reduce_tree(device const float *in [[buffer(0)]],
                        device float *sums [[buffer(1)]], // one per threadgroup
                        constant uint &n [[buffer(2)]],
                        threadgroup float *scratch [[threadgroup(0)]], // one float per thread
                        uint i [[thread_position_in_grid]],
                        uint t [[thread_position_in_threadgroup]],
                        uint group [[threadgroup_position_in_grid]],
                        uint threads [[threads_per_threadgroup]])
{
    scratch[t] = i < n ? in[i] : 0.0f;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint half_size = threads / 2; half_size > 0; half_size /= 2) {
        if (t < half_size) scratch[t] += scratch[t + half_size];
        threadgroup_barrier(mem_flags::mem_threadgroup); // outside of the branch: every thread must come here
    }
    if (t == 0) sums[group] = scratch[0];
}
