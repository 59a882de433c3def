// Sums of blocks: by a tree in shared memory, by shuffles, and by shuffles after 16 elements per thread.
#include "warp.cuh"

extern "C" __global__ void __launch_bounds__(256) reduce_tree(const float *__restrict__ in, float *__restrict__ sums)
{
    __shared__ float part[256];
    unsigned t = threadIdx.x;
    part[t] = in[blockIdx.x * blockDim.x + t];
    __syncthreads();
    for (unsigned half_size = blockDim.x / 2; half_size > 0; half_size /= 2) {
        if (t < half_size) part[t] += part[t + half_size];
        __syncthreads();
    }
    if (t == 0) sums[blockIdx.x] = part[0];
}

extern "C" __global__ void __launch_bounds__(1024) reduce_simd(const float *__restrict__ in, float *__restrict__ sums)
{
    __shared__ float part[32];
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float sum = warp_sum(in[blockIdx.x * blockDim.x + threadIdx.x]);
    if (lane == 0) part[warp] = sum;
    __syncthreads();
    if (warp == 0) {
        sum = warp_sum(lane < blockDim.x / 32 ? part[lane] : 0.0f);
        if (lane == 0) sums[blockIdx.x] = sum;
    }
}

extern "C" __global__ void __launch_bounds__(256) reduce4(const float4 *__restrict__ in, float *__restrict__ sums)
{
    __shared__ float part[8];
    unsigned t = threadIdx.x, lane = t % 32, warp = t / 32;
    const float4 *from = in + blockIdx.x * 1024 + t;
    float4 a = from[0], b = from[256], c = from[512], d = from[768];
    float sum = warp_sum(((a.x + b.x) + (c.x + d.x)) + ((a.y + b.y) + (c.y + d.y)) + ((a.z + b.z) + (c.z + d.z)) +
                         ((a.w + b.w) + (c.w + d.w)));
    if (lane == 0) part[warp] = sum;
    __syncthreads();
    if (warp == 0) {
        sum = warp_sum(lane < 8 ? part[lane] : 0.0f);
        if (lane == 0) sums[blockIdx.x] = sum;
    }
}
