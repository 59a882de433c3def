// Streaming kernels as one writes them for bandwidth: every thread loads 16 bytes at a time, several times
// before it waits, and rows that are needed again stay in registers.
#include <metal_stdlib>
using namespace metal;

kernel void saxpy4(device const float4 *x [[buffer(0)]],
                   device float4 *y [[buffer(1)]],
                   constant float &alpha [[buffer(2)]],
                   uint i [[thread_position_in_grid]])
{
    y[i] = alpha * x[i] + y[i];
}

static inline float sum4(float4 v)
{
    return (v.x + v.y) + (v.z + v.w);
}

static inline float max4(float4 v)
{
    return max(max(v.x, v.y), max(v.z, v.w));
}

static inline float group_sum(float x, threadgroup float *part, uint lane, uint simdgroup, uint simdgroups)
{
    x = simd_sum(x);
    if (lane == 0) part[simdgroup] = x;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    return simd_sum(lane < simdgroups ? part[lane] : 0.0f);
}

static inline float group_max(float x, threadgroup float *part, uint lane, uint simdgroup, uint simdgroups)
{
    x = simd_max(x);
    if (lane == 0) part[simdgroup] = x;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    return simd_max(lane < simdgroups ? part[lane] : -INFINITY);
}

// Sums of 4096 elements, by threadgroups of 256.
kernel void reduce4(device const float4 *in [[buffer(0)]],
                    device float *sums [[buffer(1)]],
                    uint t [[thread_index_in_threadgroup]],
                    uint group [[threadgroup_position_in_grid]],
                    uint lane [[thread_index_in_simdgroup]],
                    uint simdgroup [[simdgroup_index_in_threadgroup]])
{
    threadgroup float part[8];
    in += group * 1024 + t;
    float4 a = in[0], b = in[256], c = in[512], d = in[768];
    float sum = group_sum(sum4((a + b) + (c + d)), part, lane, simdgroup, 8);
    if (t == 0) sums[group] = sum;
}

// Softmax of rows of 16 elements per thread; a threadgroup takes a row.
kernel void softmax4(device const float4 *in [[buffer(0)]],
                     device float4 *out [[buffer(1)]],
                     uint row [[threadgroup_position_in_grid]],
                     uint t [[thread_index_in_threadgroup]],
                     uint threads [[threads_per_threadgroup]],
                     uint lane [[thread_index_in_simdgroup]],
                     uint simdgroup [[simdgroup_index_in_threadgroup]],
                     uint simdgroups [[simdgroups_per_threadgroup]])
{
    threadgroup float greatest[32], sums[32];
    in += row * 4 * threads + t;
    out += row * 4 * threads + t;

    float4 v[4];
    for (uint k = 0; k < 4; k++) v[k] = in[k * threads];
    float top = max(max(max4(v[0]), max4(v[1])), max(max4(v[2]), max4(v[3])));
    top = group_max(top, greatest, lane, simdgroup, simdgroups);

    float sum = 0.0f;
    for (uint k = 0; k < 4; k++) {
        v[k] = exp(v[k] - top);
        sum += sum4(v[k]);
    }
    float scale = 1.0f / group_sum(sum, sums, lane, simdgroup, simdgroups);
    for (uint k = 0; k < 4; k++) out[k * threads] = v[k] * scale;
}

// Layer normalisation of such rows.
kernel void layer_norm4(device const float4 *in [[buffer(0)]],
                        device const float4 *weights [[buffer(1)]],
                        device const float4 *biases [[buffer(2)]],
                        device float4 *out [[buffer(3)]],
                        constant float &epsilon [[buffer(4)]],
                        uint row [[threadgroup_position_in_grid]],
                        uint t [[thread_index_in_threadgroup]],
                        uint threads [[threads_per_threadgroup]],
                        uint lane [[thread_index_in_simdgroup]],
                        uint simdgroup [[simdgroup_index_in_threadgroup]],
                        uint simdgroups [[simdgroups_per_threadgroup]])
{
    threadgroup float sums[32], squares[32];
    in += row * 4 * threads + t;
    out += row * 4 * threads + t;
    float columns = float(16 * threads);

    float4 v[4];
    for (uint k = 0; k < 4; k++) v[k] = in[k * threads];
    float sum = sum4((v[0] + v[1]) + (v[2] + v[3]));
    float mean = group_sum(sum, sums, lane, simdgroup, simdgroups) / columns;

    float square = 0.0f;
    for (uint k = 0; k < 4; k++) {
        v[k] -= mean;
        square += sum4(v[k] * v[k]);
    }
    float scale = rsqrt(group_sum(square, squares, lane, simdgroup, simdgroups) / columns + epsilon);
    for (uint k = 0; k < 4; k++) out[k * threads] = v[k] * scale * weights[k * threads + t] + biases[k * threads + t];
}
