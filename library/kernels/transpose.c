/* Transposition of a matrix of rows x columns.
 *
 * Tiles of 32 x 32 pass through threadgroup memory: a SIMD-group reads a row of the tile and writes a column
 * of it, which is a row of the result, so that device memory is touched in whole lines both ways. The tile's
 * rows are 33 elements apart, which spreads a column over the banks of threadgroup memory. G. Ruetsch, P.
 * Micikevicius, "Optimizing matrix transpose in CUDA", 2009. */
#include <tombac/kernel.h>

enum { TILE = 32, GROUP_ROWS = 8 };

#define TRANSPOSE(T)                                                                                         \
    kernel threads_required(TILE, GROUP_ROWS) requires(len(in) >= rows * columns,                            \
        len(out) >= rows * columns) void transpose_##T(const T *in, T *out, uint rows, uint columns)         \
    {                                                                                                        \
        threadgroup T tile[TILE][TILE + 1];                                                                  \
        uint3 t = thread_position_in_threadgroup(), group = threadgroup_position_in_grid();                  \
        uint column = group.x * TILE + t.x, row = group.y * TILE;                                            \
        for (uint k = t.y; k < TILE; k += GROUP_ROWS)                                                        \
            if (row + k < rows && column < columns) tile[k][t.x] = in[(row + k) * columns + column];         \
        threadgroup_barrier(mem_threadgroup);                                                                \
        column = group.x * TILE;                                                                             \
        row += t.x;                                                                                          \
        for (uint k = t.y; k < TILE; k += GROUP_ROWS)                                                        \
            if (row < rows && column + k < columns) out[(column + k) * rows + row] = tile[t.x][k];           \
    }
for_each_type(TRANSPOSE, half, float)
