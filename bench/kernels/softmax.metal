// Softmax of rows; a threadgroup takes a row.
#include <metal_stdlib>
using namespace metal;

kernel void softmax(device const float *in [[buffer(0)]],
                    device float *out [[buffer(1)]],
                    constant uint &columns [[buffer(2)]],
                    uint row [[threadgroup_position_in_grid]],
                    uint t [[thread_index_in_threadgroup]],
                    uint threads [[threads_per_threadgroup]],
                    uint lane [[thread_index_in_simdgroup]],
                    uint simdgroup [[simdgroup_index_in_threadgroup]],
                    uint simdgroups [[simdgroups_per_threadgroup]])
{
    threadgroup float greatest[32], sums[32];
    device const float *x = in + row * columns;
    device float *y = out + row * columns;

    float top = -INFINITY;
    for (uint i = t; i < columns; i += threads) top = max(top, x[i]);
    top = simd_max(top);
    if (lane == 0) greatest[simdgroup] = top;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    top = simd_max(lane < simdgroups ? greatest[lane] : -INFINITY);

    float sum = 0.0f;
    for (uint i = t; i < columns; i += threads) {
        float e = exp(x[i] - top);
        y[i] = e;
        sum += e;
    }
    sum = simd_sum(sum);
    if (lane == 0) sums[simdgroup] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    sum = simd_sum(lane < simdgroups ? sums[lane] : 0.0f);

    float scale = 1.0f / sum;
    for (uint i = t; i < columns; i += threads) y[i] *= scale;
}
