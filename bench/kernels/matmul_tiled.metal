// C = A x B through tiles in threadgroup memory; a threadgroup of SIZE x SIZE threads computes one tile of
// C.
#include <metal_stdlib>
using namespace metal;

template <uint SIZE>
static inline void multiply(device const float *A, device const float *B, device float *C, uint n,
                            threadgroup float *a, threadgroup float *b, uint2 tile, uint2 t)
{
    uint row = tile.y * SIZE + t.y, column = tile.x * SIZE + t.x;
    float sum = 0.0f;
    for (uint first = 0; first < n; first += SIZE) {
        a[t.y * SIZE + t.x] = A[row * n + first + t.x];
        b[t.y * SIZE + t.x] = B[(first + t.y) * n + column];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint k = 0; k < SIZE; k++) sum += a[t.y * SIZE + k] * b[k * SIZE + t.x];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    C[row * n + column] = sum;
}

kernel void matmul_tiled16(device const float *A [[buffer(0)]],
                           device const float *B [[buffer(1)]],
                           device float *C [[buffer(2)]],
                           constant uint &n [[buffer(3)]],
                           uint2 tile [[threadgroup_position_in_grid]],
                           uint2 t [[thread_position_in_threadgroup]])
{
    threadgroup float a[16 * 16], b[16 * 16];
    multiply<16>(A, B, C, n, a, b, tile, t);
}

kernel void matmul_tiled32(device const float *A [[buffer(0)]],
                           device const float *B [[buffer(1)]],
                           device float *C [[buffer(2)]],
                           constant uint &n [[buffer(3)]],
                           uint2 tile [[threadgroup_position_in_grid]],
                           uint2 t [[thread_position_in_threadgroup]])
{
    threadgroup float a[32 * 32], b[32 * 32];
    multiply<32>(A, B, C, n, a, b, tile, t);
}
