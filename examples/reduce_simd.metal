// The sum of a vector in one launch: first over each SIMD-group, without memory, then one atomic addition per SIMD-group.
#include <metal_stdlib>
using namespace metal;

kernel void reduce_simd(device const uint *in [[buffer(0)]],
                        device atomic_uint *total [[buffer(1)]],
                        uint i [[thread_position_in_grid]])
{
    uint sum = simd_sum(in[i]); // over the active threads: the last SIMD-group may be partial
    if (simd_is_first()) atomic_fetch_add_explicit(total, sum, memory_order_relaxed);
}
