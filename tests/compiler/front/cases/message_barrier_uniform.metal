//@ check
//@ warnings
//! warning
// What all threads of a threadgroup share may decide about a barrier; SIMD-group barriers have their own rule.
#include <metal_stdlib>
using namespace metal;
struct place { uint x; };
kernel void k(device uint *o, constant uint &n, uint3 group [[threadgroup_position_in_grid]], ushort lane [[thread_index_in_simdgroup]],
              uint i [[thread_position_in_grid]], uint threads [[threads_per_threadgroup]])
{
    threadgroup uint shared[32];
    place p = {n};
    p.x = i;
    shared[lane] = p.x;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (group.x > 2 && shared[0] < n)
        threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint step = threads / 2; step > 0; step /= 2) {
        if (lane < step) shared[lane] += shared[lane + step];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    for (uint k = i; k < n; k++) o[k] = k;
    for (uint k = 0; k < n; k++) threadgroup_barrier(mem_flags::mem_device);
    for (uint from = i, to = n + i; from < to; from++) threadgroup_barrier(mem_flags::mem_device);
    if (i < 32) simdgroup_barrier(mem_flags::mem_threadgroup);
    o[i] = shared[0];
}
