// Softmax of rows, a block each: through device memory, and with the row in registers.
#include "warp.cuh"

extern "C" __global__ void __launch_bounds__(512)
    softmax(const float *__restrict__ in, float *__restrict__ out, unsigned columns)
{
    __shared__ float greatest[32], sums[32];
    const float *x = in + blockIdx.x * columns;
    float *y = out + blockIdx.x * columns;

    float top = -INFINITY;
    for (unsigned i = threadIdx.x; i < columns; i += blockDim.x) top = fmaxf(top, x[i]);
    top = block_max(top, greatest);

    float sum = 0.0f;
    for (unsigned i = threadIdx.x; i < columns; i += blockDim.x) {
        float e = expf(x[i] - top);
        y[i] = e;
        sum += e;
    }
    float scale = 1.0f / block_sum(sum, sums);
    for (unsigned i = threadIdx.x; i < columns; i += blockDim.x) y[i] *= scale;
}

// Rows of 16 elements per thread.
extern "C" __global__ void __launch_bounds__(256) softmax4(const float4 *__restrict__ in, float4 *__restrict__ out)
{
    __shared__ float greatest[32], sums[32];
    const float4 *x = in + blockIdx.x * 4 * blockDim.x;
    float4 *y = out + blockIdx.x * 4 * blockDim.x;

    float4 v[4];
    for (int k = 0; k < 4; k++) v[k] = x[k * blockDim.x + threadIdx.x];
    float top = -INFINITY;
    for (int k = 0; k < 4; k++) top = fmaxf(top, fmaxf(fmaxf(v[k].x, v[k].y), fmaxf(v[k].z, v[k].w)));
    top = block_max(top, greatest);

    float sum = 0.0f;
    for (int k = 0; k < 4; k++) {
        v[k] = make_float4(expf(v[k].x - top), expf(v[k].y - top), expf(v[k].z - top), expf(v[k].w - top));
        sum += (v[k].x + v[k].y) + (v[k].z + v[k].w);
    }
    float scale = 1.0f / block_sum(sum, sums);
    for (int k = 0; k < 4; k++)
        y[k * blockDim.x + threadIdx.x] = make_float4(v[k].x * scale, v[k].y * scale, v[k].z * scale, v[k].w * scale);
}
