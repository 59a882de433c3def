/* Matrix product: c = a x b, a of m x k, b of k x n, row after row without gaps, of any size. Elements are
 * float, or half with sums in float and a result in float.
 *
 * A threadgroup computes a tile of 64 x 64, each of its four SIMD-groups 32 x 32 of it as 4 x 4 matrices of 8
 * x 8 in registers. Slices of 32 columns of a and 32 rows of b pass through threadgroup memory, where every
 * element is used 64 times for one access to device memory; what lies outside of the matrices is zero there.
 * The tiled product is V. Volkov's and J. Demmel's, "Benchmarking GPUs to tune dense linear algebra", 2008.
 */
#include <tombac/kernel.h>

enum { TILE = 64, DEPTH = 32, THREADS = 128 };

/* Rows and columns from (row, column) on into a `height` x `width` slice in threadgroup memory. */
#define MATMUL(T)                                                                                            \
    static void load_slice_##T(T *to, const T *from, uint row, uint column, uint height,                     \
        uint width, uint rows, uint columns)                                                                 \
    {                                                                                                        \
        bool inside = row + height <= rows && column + width <= columns;                                     \
        for (uint i = thread_index_in_threadgroup(); i < height * width; i += THREADS) {                     \
            uint r = row + i / width, c = column + i % width;                                                \
            if (inside)                                                                                      \
                to[i] = from[r * columns + c];                                                               \
            else                                                                                             \
                to[i] = r < rows && c < columns ? from[r * columns + c] : (T)0;                              \
        }                                                                                                    \
    }                                                                                                        \
    kernel threads_required(THREADS) requires(len(a) >= m * k, len(b) >= k * n,                              \
        len(c) >= m * n) void matmul_##T(const T *a, const T *b, float *c, uint m, uint n, uint k)           \
    {                                                                                                        \
        threadgroup T left[TILE * DEPTH], right[DEPTH * TILE];                                               \
        threadgroup float result[4][64];                                                                     \
        uint simdgroup = simdgroup_index_in_threadgroup(), lane = thread_index_in_simdgroup();               \
        uint row = threadgroup_position_in_grid().y * TILE,                                                  \
             column = threadgroup_position_in_grid().x * TILE;                                               \
        uint own_row = simdgroup / 2 * 32, own_column = simdgroup % 2 * 32;                                  \
        simdgroup_float8x8 sums[4][4];                                                                       \
        for (uint i = 0; i < 4; i++)                                                                         \
            for (uint j = 0; j < 4; j++) sums[i][j] = simdgroup_filled_float8x8(0.0f);                       \
        for (uint first = 0; first < k; first += DEPTH) {                                                    \
            load_slice_##T(left, a, row, first, TILE, DEPTH, m, k);                                          \
            load_slice_##T(right, b, first, column, DEPTH, TILE, k, n);                                      \
            threadgroup_barrier(mem_threadgroup);                                                            \
            for (uint d = 0; d < DEPTH; d += 8) {                                                            \
                simdgroup_##T##8x8 l, r[4];                                                                  \
                for (uint j = 0; j < 4; j++)                                                                 \
                    simdgroup_load(&r[j], right + d * TILE + own_column + 8 * j, TILE);                      \
                for (uint i = 0; i < 4; i++) {                                                               \
                    simdgroup_load(&l, left + (own_row + 8 * i) * DEPTH + d, DEPTH);                         \
                    for (uint j = 0; j < 4; j++)                                                             \
                        simdgroup_multiply_accumulate(&sums[i][j], l, r[j], sums[i][j]);                     \
                }                                                                                            \
            }                                                                                                \
            threadgroup_barrier(mem_threadgroup);                                                            \
        }                                                                                                    \
        row += own_row;                                                                                      \
        column += own_column;                                                                                \
        bool inside = row + 32 <= m && column + 32 <= n;                                                     \
        for (uint i = 0; i < 4; i++)                                                                         \
            for (uint j = 0; j < 4; j++) {                                                                   \
                if (inside) {                                                                                \
                    simdgroup_store(sums[i][j], c + (row + 8 * i) * n + column + 8 * j, n);                  \
                    continue;                                                                                \
                }                                                                                            \
                simdgroup_store(sums[i][j], result[simdgroup], 8);                                           \
                simdgroup_barrier(mem_threadgroup);                                                          \
                for (uint e = lane; e < 64; e += 32) {                                                       \
                    uint r = row + 8 * i + e / 8, s = column + 8 * j + e % 8;                                \
                    if (r < m && s < n) c[r * n + s] = result[simdgroup][e];                                 \
                }                                                                                            \
                simdgroup_barrier(mem_threadgroup);                                                          \
            }                                                                                                \
    }
for_each_type(MATMUL, float, half)
