// Layer normalisation of rows with weights and biases; a threadgroup takes a row.
#include <metal_stdlib>
using namespace metal;

static inline float sum_of_group(float x, threadgroup float *part, uint lane, uint simdgroup, uint simdgroups)
{
    x = simd_sum(x);
    if (lane == 0) part[simdgroup] = x;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    return simd_sum(lane < simdgroups ? part[lane] : 0.0f);
}

kernel void layer_norm(device const float *in [[buffer(0)]],
                       device const float *weights [[buffer(1)]],
                       device const float *biases [[buffer(2)]],
                       device float *out [[buffer(3)]],
                       constant uint &columns [[buffer(4)]],
                       constant float &epsilon [[buffer(5)]],
                       uint row [[threadgroup_position_in_grid]],
                       uint t [[thread_index_in_threadgroup]],
                       uint threads [[threads_per_threadgroup]],
                       uint lane [[thread_index_in_simdgroup]],
                       uint simdgroup [[simdgroup_index_in_threadgroup]],
                       uint simdgroups [[simdgroups_per_threadgroup]])
{
    threadgroup float sums[32], squares[32];
    device const float *x = in + row * columns;
    device float *y = out + row * columns;

    float sum = 0.0f;
    for (uint i = t; i < columns; i += threads) sum += x[i];
    float mean = sum_of_group(sum, sums, lane, simdgroup, simdgroups) / float(columns);

    float square = 0.0f;
    for (uint i = t; i < columns; i += threads) square += (x[i] - mean) * (x[i] - mean);
    float variance = sum_of_group(square, squares, lane, simdgroup, simdgroups) / float(columns);

    float scale = rsqrt(variance + epsilon);
    for (uint i = t; i < columns; i += threads) y[i] = (x[i] - mean) * scale * weights[i] + biases[i];
}
