// Counts of byte values: by atomics on device memory, and by atomics on threadgroup memory that are merged
// at the end.
#include <metal_stdlib>
using namespace metal;

kernel void histogram(device const uchar *image [[buffer(0)]],
                      device atomic_uint *bins [[buffer(1)]],
                      constant uint &threads [[buffer(2)]],
                      uint i [[thread_position_in_grid]])
{
    for (uint k = 0; k < 16; k++)
        atomic_fetch_add_explicit(&bins[image[i + k * threads]], 1u, memory_order_relaxed);
}

kernel void histogram_local(device const uchar *image [[buffer(0)]],
                            device atomic_uint *bins [[buffer(1)]],
                            constant uint &threads [[buffer(2)]],
                            uint i [[thread_position_in_grid]],
                            uint t [[thread_index_in_threadgroup]]) // 256 threads
{
    threadgroup atomic_uint counts[256];
    atomic_store_explicit(&counts[t], 0u, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = 0; k < 64; k++)
        atomic_fetch_add_explicit(&counts[image[i + k * threads]], 1u, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint count = atomic_load_explicit(&counts[t], memory_order_relaxed);
    atomic_fetch_add_explicit(&bins[t], count, memory_order_relaxed);
}
