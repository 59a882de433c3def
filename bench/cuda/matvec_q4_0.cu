// y = W x with 4-bit weights, as ggml's q4_0; a warp computes four rows.
#include <cuda_fp16.h>

#include "warp.cuh"

struct block {
    __half scale;
    unsigned short nibbles[8]; // of two weights in each half of a block
};

extern "C" __global__ void __launch_bounds__(128)
    matvec_q4_0(const block *__restrict__ weights, const float *__restrict__ x, float *__restrict__ y, unsigned columns)
{
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned first = (blockIdx.x * (blockDim.x / 32) + warp) * 4, blocks = columns / 32;
    float sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (unsigned b = lane; b < blocks; b += 32) {
        float low[16], high[16];
        const float4 *from = (const float4 *)(x + b * 32);
#pragma unroll
        for (int j = 0; j < 4; j++) {
            *(float4 *)&low[4 * j] = from[j];
            *(float4 *)&high[4 * j] = from[4 + j];
        }
#pragma unroll
        for (int r = 0; r < 4; r++) {
            const block &w = weights[(first + r) * blocks + b];
            float sum = 0.0f;
#pragma unroll
            for (int j = 0; j < 8; j++) {
                unsigned pair = w.nibbles[j];
                sum += float(int(pair & 15) - 8) * low[2 * j] + float(int(pair >> 8 & 15) - 8) * low[2 * j + 1];
                sum += float(int(pair >> 4 & 15) - 8) * high[2 * j] + float(int(pair >> 12) - 8) * high[2 * j + 1];
            }
            sums[r] += __half2float(w.scale) * sum;
        }
    }
#pragma unroll
    for (int r = 0; r < 4; r++) {
        float sum = warp_sum(sums[r]);
        if (lane == 0) y[first + r] = sum;
    }
}
