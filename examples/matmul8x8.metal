// C = A x B for square row-major matrices whose size is a multiple of 8: each SIMD-group computes one 8x8 tile of C.
#include <metal_stdlib>
#include <metal_simdgroup_matrix>
using namespace metal;

kernel void matmul8x8(device const float *A [[buffer(0)]],
                      device const float *B [[buffer(1)]],
                      device float *C [[buffer(2)]],
                      constant uint &n [[buffer(3)]],
                      uint2 tile [[threadgroup_position_in_grid]]) // 32 threads: one SIMD-group
{
    simdgroup_float8x8 sum = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    for (uint k = 0; k < n; k += 8) {
        simdgroup_float8x8 a, b;
        simdgroup_load(a, A + tile.y * 8 * n + k, n);
        simdgroup_load(b, B + k * n + tile.x * 8, n);
        simdgroup_multiply_accumulate(sum, a, b, sum);
    }
    simdgroup_store(sum, C + tile.y * 8 * n + tile.x * 8, n);
}
