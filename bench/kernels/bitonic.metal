// Sorts blocks of 1024 keys by Batcher's bitonic network in threadgroup memory; 512 threads, each compares
// a pair per step.
#include <metal_stdlib>
using namespace metal;

kernel void bitonic(device const uint *in [[buffer(0)]],
                    device uint *out [[buffer(1)]],
                    uint group [[threadgroup_position_in_grid]],
                    uint t [[thread_index_in_threadgroup]])
{
    threadgroup uint keys[1024];
    keys[t] = in[group * 1024 + t];
    keys[t + 512] = in[group * 1024 + t + 512];
    for (uint size = 2; size <= 1024; size *= 2) {
        for (uint distance = size / 2; distance > 0; distance /= 2) {
            threadgroup_barrier(mem_flags::mem_threadgroup);
            uint low = 2 * t - (t & (distance - 1)), high = low + distance;
            uint a = keys[low], b = keys[high];
            bool descending = (low & size) != 0;
            if ((a > b) != descending) {
                keys[low] = b;
                keys[high] = a;
            }
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[group * 1024 + t] = keys[t];
    out[group * 1024 + t + 512] = keys[t + 512];
}
