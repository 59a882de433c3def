// How often each byte value occurs. Every threadgroup counts into its own bins first, so that few device atomics are left.
#include <metal_stdlib>
using namespace metal;

constant constexpr uint BINS = 256;

kernel void histogram(device const uchar *in [[buffer(0)]],
                      device atomic_uint *counts [[buffer(1)]], // BINS, zero at first
                      constant uint &n [[buffer(2)]],
                      uint i [[thread_position_in_grid]],
                      uint t [[thread_position_in_threadgroup]],
                      uint threads [[threads_per_threadgroup]])
{
    threadgroup atomic_uint bins[BINS];
    for (uint bin = t; bin < BINS; bin += threads) atomic_store_explicit(&bins[bin], 0, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);

    if (i < n) atomic_fetch_add_explicit(&bins[in[i]], 1, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);

    for (uint bin = t; bin < BINS; bin += threads) {
        uint count = atomic_load_explicit(&bins[bin], memory_order_relaxed);
        if (count) atomic_fetch_add_explicit(&counts[bin], count, memory_order_relaxed);
    }
}
