// Running sums of rows; a threadgroup of 256 takes a row, 256 elements at a time.
#include <metal_stdlib>
using namespace metal;

kernel void scan(device const float *in [[buffer(0)]],
                 device float *out [[buffer(1)]],
                 constant uint &columns [[buffer(2)]],
                 uint row [[threadgroup_position_in_grid]],
                 uint t [[thread_index_in_threadgroup]],
                 uint lane [[thread_index_in_simdgroup]],
                 uint simdgroup [[simdgroup_index_in_threadgroup]])
{
    threadgroup float totals[8];
    float carry = 0.0f;
    for (uint first = 0; first < columns; first += 256) {
        float x = in[row * columns + first + t];
        float sum = simd_prefix_inclusive_sum(x);
        if (lane == 31) totals[simdgroup] = sum;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        float total = lane < 8 ? totals[lane] : 0.0f;
        float before = simd_prefix_exclusive_sum(total);
        out[row * columns + first + t] = carry + simd_shuffle(before, ushort(simdgroup)) + sum;
        carry += simd_sum(total);
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
}
