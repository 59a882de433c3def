/* matmul_tiled.metal in C. */
#include <tombac/kernel.h>

#define MATMUL(SIZE)                                                                                         \
    kernel void matmul_tiled##SIZE(const float *A, const float *B, float *C, uint n)                         \
    {                                                                                                        \
        threadgroup float a[SIZE * SIZE], b[SIZE * SIZE];                                                    \
        uint3 tile = threadgroup_position_in_grid(), t = thread_position_in_threadgroup();                   \
        uint row = tile.y * SIZE + t.y, column = tile.x * SIZE + t.x;                                        \
        float sum = 0.0f;                                                                                    \
        for (uint first = 0; first < n; first += SIZE) {                                                     \
            a[t.y * SIZE + t.x] = A[row * n + first + t.x];                                                  \
            b[t.y * SIZE + t.x] = B[(first + t.y) * n + column];                                             \
            threadgroup_barrier(mem_threadgroup);                                                            \
            for (uint k = 0; k < SIZE; k++) sum += a[t.y * SIZE + k] * b[k * SIZE + t.x];                    \
            threadgroup_barrier(mem_threadgroup);                                                            \
        }                                                                                                    \
        C[row * n + column] = sum;                                                                           \
    }
MATMUL(16)
MATMUL(32)
