/* c = a x b for square matrices of n x n: tiles of 16 x 16 go through threadgroup memory, so that each element is read
 * from device memory once per tile, not once per product. Edges are filled with zeros. */
#include <tombac/kernel.h>

enum { TILE = 16 };

static float element(const float *m, uint row, uint column, uint n)
{
    return row < n && column < n ? m[row * n + column] : 0.0f;
}

kernel threads_required(TILE, TILE) void matmul(const float *a, const float *b, float *c, uint n)
{
    threadgroup float left[TILE][TILE], right[TILE][TILE];
    uint3 t = thread_position_in_threadgroup(), group = threadgroup_position_in_grid();
    uint row = group.y * TILE + t.y, column = group.x * TILE + t.x;
    float sum = 0.0f;
    for (uint k = 0; k < n; k += TILE) {
        left[t.y][t.x] = element(a, row, k + t.x, n);
        right[t.y][t.x] = element(b, k + t.y, column, n);
        threadgroup_barrier(mem_threadgroup);
        for (uint i = 0; i < TILE; i++) sum = fmaf(left[t.y][i], right[i][t.x], sum);
        threadgroup_barrier(mem_threadgroup);
    }
    if (row < n && column < n) c[row * n + column] = sum;
}
