// Attention of one head after the other, softmax computed on the way (Dao et al., FlashAttention): a SIMD-
// group takes one query, a threadgroup four; 32 keys and values at a time lie in threadgroup memory. Heads
// have 64 columns.
#include <metal_stdlib>
using namespace metal;

constant constexpr uint D = 64, KEYS = 32;

kernel void flash_attention(device const float *Q [[buffer(0)]],
                            device const float *K [[buffer(1)]],
                            device const float *V [[buffer(2)]],
                            device float *O [[buffer(3)]],
                            constant uint &keys [[buffer(4)]],
                            constant uint &queries [[buffer(5)]],
                            uint2 group [[threadgroup_position_in_grid]], // four queries, head
                            uint t [[thread_index_in_threadgroup]],
                            uint lane [[thread_index_in_simdgroup]],
                            uint simdgroup [[simdgroup_index_in_threadgroup]])
{
    threadgroup float q[4][D], k[D][KEYS], v[KEYS][D]; // keys are transposed
    uint query = group.x * 4 + simdgroup;
    K += group.y * keys * D;
    V += group.y * keys * D;
    for (uint d = lane; d < D; d += 32) q[simdgroup][d] = Q[(group.y * queries + query) * D + d] * 0.125f;

    float top = -INFINITY, sum = 0.0f, out0 = 0.0f, out1 = 0.0f;
    for (uint first = 0; first < keys; first += KEYS) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint i = t; i < KEYS * D; i += 128) {
            k[i % D][i / D] = K[first * D + i];
            v[i / D][i % D] = V[first * D + i];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);

        float score = 0.0f;
        for (uint d = 0; d < D; d++) score += q[simdgroup][d] * k[d][lane];
        float new_top = max(top, simd_max(score));
        float p = exp(score - new_top), shrink = exp(top - new_top);
        sum = sum * shrink + simd_sum(p);
        out0 *= shrink;
        out1 *= shrink;
        for (uint j = 0; j < KEYS; j++) {
            float weight = simd_broadcast(p, ushort(j));
            out0 += weight * v[j][lane];
            out1 += weight * v[j][lane + 32];
        }
        top = new_top;
    }
    device float *o = O + (group.y * queries + query) * D;
    o[lane] = out0 / sum;
    o[lane + 32] = out1 / sum;
}
