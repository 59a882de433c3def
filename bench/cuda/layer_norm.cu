// Layer normalisation of rows, a block each: three passes over the row, and one with the row in registers.
#include "warp.cuh"

extern "C" __global__ void __launch_bounds__(512)
    layer_norm(const float *__restrict__ in, const float *__restrict__ weights, const float *__restrict__ biases,
        float *__restrict__ out, unsigned columns, float epsilon)
{
    __shared__ float sums[32], squares[32];
    const float *x = in + blockIdx.x * columns;
    float *y = out + blockIdx.x * columns;

    float sum = 0.0f;
    for (unsigned i = threadIdx.x; i < columns; i += blockDim.x) sum += x[i];
    float mean = block_sum(sum, sums) / columns;

    float square = 0.0f;
    for (unsigned i = threadIdx.x; i < columns; i += blockDim.x) square += (x[i] - mean) * (x[i] - mean);
    float scale = rsqrtf(block_sum(square, squares) / columns + epsilon);

    for (unsigned i = threadIdx.x; i < columns; i += blockDim.x) y[i] = (x[i] - mean) * scale * weights[i] + biases[i];
}

__device__ static inline float4 minus(float4 v, float x)
{
    return make_float4(v.x - x, v.y - x, v.z - x, v.w - x);
}

// Rows of 16 elements per thread.
extern "C" __global__ void __launch_bounds__(256)
    layer_norm4(const float4 *__restrict__ in, const float4 *__restrict__ weights, const float4 *__restrict__ biases,
        float4 *__restrict__ out, float epsilon)
{
    __shared__ float sums[32], squares[32];
    const float4 *x = in + blockIdx.x * 4 * blockDim.x;
    float4 *y = out + blockIdx.x * 4 * blockDim.x;
    float columns = 16 * blockDim.x;

    float4 v[4];
    for (int k = 0; k < 4; k++) v[k] = x[k * blockDim.x + threadIdx.x];
    float sum = 0.0f;
    for (int k = 0; k < 4; k++) sum += (v[k].x + v[k].y) + (v[k].z + v[k].w);
    float mean = block_sum(sum, sums) / columns;

    float square = 0.0f;
    for (int k = 0; k < 4; k++) {
        v[k] = minus(v[k], mean);
        square += (v[k].x * v[k].x + v[k].y * v[k].y) + (v[k].z * v[k].z + v[k].w * v[k].w);
    }
    float scale = rsqrtf(block_sum(square, squares) / columns + epsilon);

    for (int k = 0; k < 4; k++) {
        unsigned i = k * blockDim.x + threadIdx.x;
        float4 w = weights[i], b = biases[i];
        y[i] = make_float4(v[k].x * scale * w.x + b.x, v[k].y * scale * w.y + b.y, v[k].z * scale * w.z + b.z,
            v[k].w * scale * w.w + b.w);
    }
}
