// y = W x with 4-bit weights: a block holds 32 of them as nibbles and one scale. A SIMD-group computes four
// rows, its lanes take every 32nd block.
#include <metal_stdlib>
using namespace metal;

struct block {
    half scale;
    uchar nibbles[16]; // low ones: weights 0 to 15, high ones: 16 to 31
};

kernel void matvec_q4_0(device const block *weights [[buffer(0)]],
                        device const float *x [[buffer(1)]],
                        device float *y [[buffer(2)]],
                        constant uint &columns [[buffer(3)]],
                        uint group [[threadgroup_position_in_grid]],
                        uint lane [[thread_index_in_simdgroup]],
                        uint simdgroup [[simdgroup_index_in_threadgroup]],
                        uint simdgroups [[simdgroups_per_threadgroup]])
{
    uint first = (group * simdgroups + simdgroup) * 4, blocks = columns / 32;
    float sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    for (uint b = lane; b < blocks; b += 32) {
        float low[16], high[16];
        for (uint j = 0; j < 16; j++) {
            low[j] = x[b * 32 + j];
            high[j] = x[b * 32 + 16 + j];
        }
        for (uint r = 0; r < 4; r++) {
            device const block &w = weights[(first + r) * blocks + b];
            float sum = 0.0f;
            for (uint j = 0; j < 16; j++) {
                sum += float(int(w.nibbles[j] & 15) - 8) * low[j];
                sum += float(int(w.nibbles[j] >> 4) - 8) * high[j];
            }
            sums[r] += float(w.scale) * sum;
        }
    }
    for (uint r = 0; r < 4; r++) {
        float sum = simd_sum(sums[r]);
        if (lane == 0) y[first + r] = sum;
    }
}
