// C = A x B with SIMD-group matrices, as matmul_simdgroup.metal, in tiles as large as a thread's registers allow: a threadgroup of four
// SIMD-groups computes ROWS x COLUMNS, each of them a quarter of that, so that what is read from memory serves more products. Copies
// are of 16 bytes for each thread. Sizes are multiples of 128.
#include <metal_stdlib>
#include <metal_simdgroup_matrix>
using namespace metal;

constant constexpr uint THREADS = 128;

// A tile of ROWS x COLUMNS from rows of `stride` elements to rows that follow each other, by all threads of the threadgroup.
template <typename T, uint ROWS, uint COLUMNS>
static inline void copy(threadgroup T *to, device const T *from, uint stride, uint t)
{
    typedef vec<T, 4> T4;
    constexpr uint PIECE = 16 / sizeof(T);
    for (uint i = t; i < ROWS * COLUMNS / PIECE; i += THREADS) {
        uint row = i / (COLUMNS / PIECE), column = i % (COLUMNS / PIECE) * PIECE;
        for (uint part = 0; part < PIECE; part += 4)
            *(threadgroup T4 *)(to + row * COLUMNS + column + part) =
                *(device const T4 *)(from + row * stride + column + part);
    }
}

template <typename T, uint ROWS, uint COLUMNS, uint DEPTH>
static inline void multiply(device const T *A, device const T *B, device float *C, uint n, threadgroup T *a,
                            threadgroup T *b, uint2 tile, uint t, uint simdgroup)
{
    constexpr uint DOWN = ROWS / 16, ACROSS = COLUMNS / 16; // matrices of a SIMD-group
    A += tile.y * ROWS * n;
    B += tile.x * COLUMNS;
    C += tile.y * ROWS * n + tile.x * COLUMNS;
    uint first_row = (simdgroup / 2) * (ROWS / 2), first_column = (simdgroup % 2) * (COLUMNS / 2);
    simdgroup_float8x8 sums[DOWN][ACROSS];
    for (uint i = 0; i < DOWN; i++)
        for (uint j = 0; j < ACROSS; j++) sums[i][j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);

    for (uint first = 0; first < n; first += DEPTH) {
        copy<T, ROWS, DEPTH>(a, A + first, n, t);
        copy<T, DEPTH, COLUMNS>(b, B + first * n, n, t);
        threadgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll
        for (uint k = 0; k < DEPTH; k += 8) {
            simdgroup_matrix<T, 8, 8> left, right[ACROSS];
            for (uint j = 0; j < ACROSS; j++)
                simdgroup_load(right[j], b + k * COLUMNS + first_column + 8 * j, COLUMNS);
            for (uint i = 0; i < DOWN; i++) {
                simdgroup_load(left, a + (first_row + 8 * i) * DEPTH + k, DEPTH);
                for (uint j = 0; j < ACROSS; j++)
                    simdgroup_multiply_accumulate(sums[i][j], left, right[j], sums[i][j]);
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    for (uint i = 0; i < DOWN; i++)
        for (uint j = 0; j < ACROSS; j++)
            simdgroup_store(sums[i][j], C + (first_row + 8 * i) * n + first_column + 8 * j, n);
}

kernel void matmul_wide(device const float *A [[buffer(0)]],
                        device const float *B [[buffer(1)]],
                        device float *C [[buffer(2)]],
                        constant uint &n [[buffer(3)]],
                        uint2 tile [[threadgroup_position_in_grid]],
                        uint t [[thread_index_in_threadgroup]],
                        uint simdgroup [[simdgroup_index_in_threadgroup]])
{
    threadgroup float a[128 * 16], b[16 * 64];
    multiply<float, 128, 64, 16>(A, B, C, n, a, b, tile, t, simdgroup);
}

kernel void matmul_wide_half(device const half *A [[buffer(0)]],
                             device const half *B [[buffer(1)]],
                             device float *C [[buffer(2)]],
                             constant uint &n [[buffer(3)]],
                             uint2 tile [[threadgroup_position_in_grid]],
                             uint t [[thread_index_in_threadgroup]],
                             uint simdgroup [[simdgroup_index_in_threadgroup]])
{
    threadgroup half a[128 * 32], b[32 * 128];
    multiply<half, 128, 128, 32>(A, B, C, n, a, b, tile, t, simdgroup);
}
