// C = A x B with SIMD-group matrices. A threadgroup of four SIMD-groups computes a tile of 64 x 64, each of
// them 32 x 32 as 4 x 4 matrices of 8 x 8; 32 columns of A and rows of B at a time pass through threadgroup
// memory. Sizes are multiples of 64.
#include <metal_stdlib>
#include <metal_simdgroup_matrix>
using namespace metal;

constant constexpr uint TILE = 64, DEPTH = 32, THREADS = 128;

template <typename T>
static inline void multiply(device const T *A, device const T *B, device float *C, uint n, threadgroup T *a,
                            threadgroup T *b, uint2 tile, uint t, uint simdgroup)
{
    typedef vec<T, 4> T4;
    A += tile.y * TILE * n;
    B += tile.x * TILE;
    C += tile.y * TILE * n + tile.x * TILE;
    uint first_row = (simdgroup / 2) * 32, first_column = (simdgroup % 2) * 32;
    simdgroup_float8x8 sums[4][4];
    for (uint i = 0; i < 4; i++)
        for (uint j = 0; j < 4; j++) sums[i][j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);

    for (uint first = 0; first < n; first += DEPTH) {
        for (uint i = t; i < TILE * DEPTH / 4; i += THREADS) {
            uint row = i / (DEPTH / 4), column = i % (DEPTH / 4) * 4;
            *(threadgroup T4 *)(a + row * DEPTH + column) = *(device const T4 *)(A + row * n + first + column);
        }
        for (uint i = t; i < TILE * DEPTH / 4; i += THREADS) {
            uint row = i / (TILE / 4), column = i % (TILE / 4) * 4;
            *(threadgroup T4 *)(b + row * TILE + column) = *(device const T4 *)(B + (first + row) * n + column);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint k = 0; k < DEPTH; k += 8) {
            simdgroup_matrix<T, 8, 8> left[4], right[4];
            for (uint j = 0; j < 4; j++) simdgroup_load(right[j], b + k * TILE + first_column + 8 * j, TILE);
            for (uint i = 0; i < 4; i++) {
                simdgroup_load(left[i], a + (first_row + 8 * i) * DEPTH + k, DEPTH);
                for (uint j = 0; j < 4; j++)
                    simdgroup_multiply_accumulate(sums[i][j], left[i], right[j], sums[i][j]);
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    for (uint i = 0; i < 4; i++)
        for (uint j = 0; j < 4; j++)
            simdgroup_store(sums[i][j], C + (first_row + 8 * i) * n + first_column + 8 * j, n);
}

kernel void matmul_simdgroup(device const float *A [[buffer(0)]],
                             device const float *B [[buffer(1)]],
                             device float *C [[buffer(2)]],
                             constant uint &n [[buffer(3)]],
                             uint2 tile [[threadgroup_position_in_grid]],
                             uint t [[thread_index_in_threadgroup]],
                             uint simdgroup [[simdgroup_index_in_threadgroup]])
{
    threadgroup float a[TILE * DEPTH], b[DEPTH * TILE];
    multiply(A, B, C, n, a, b, tile, t, simdgroup);
}

kernel void matmul_simdgroup_half(device const half *A [[buffer(0)]],
                                  device const half *B [[buffer(1)]],
                                  device float *C [[buffer(2)]],
                                  constant uint &n [[buffer(3)]],
                                  uint2 tile [[threadgroup_position_in_grid]],
                                  uint t [[thread_index_in_threadgroup]],
                                  uint simdgroup [[simdgroup_index_in_threadgroup]])
{
    threadgroup half a[TILE * DEPTH], b[DEPTH * TILE];
    multiply(A, B, C, n, a, b, tile, t, simdgroup);
}
