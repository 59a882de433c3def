// Reductions of a warp, all of whose lanes take part.
#pragma once

__device__ inline float warp_sum(float x)
{
    for (int distance = 16; distance > 0; distance /= 2) x += __shfl_xor_sync(0xffffffff, x, distance);
    return x;
}

__device__ inline float warp_max(float x)
{
    for (int distance = 16; distance > 0; distance /= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffff, x, distance));
    return x;
}

// What every warp's first lane put into `part`, one value per warp; all threads get the sum or maximum.
__device__ inline float block_sum(float x, float *part)
{
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    x = warp_sum(x);
    if (lane == 0) part[warp] = x;
    __syncthreads();
    return warp_sum(lane < blockDim.x / 32 ? part[lane] : 0.0f);
}

__device__ inline float block_max(float x, float *part)
{
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    x = warp_max(x);
    if (lane == 0) part[warp] = x;
    __syncthreads();
    return warp_max(lane < blockDim.x / 32 ? part[lane] : -INFINITY);
}
