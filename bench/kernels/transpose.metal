// The transpose of a square matrix: directly, and through tiles of 32 x 32 in threadgroup memory by
// 32 x 8 threads; a row of a tile is longer by one, so that its columns lie in different banks.
#include <metal_stdlib>
using namespace metal;

kernel void transpose_naive(device const float *in [[buffer(0)]],
                            device float *out [[buffer(1)]],
                            constant uint &n [[buffer(2)]],
                            uint2 at [[thread_position_in_grid]])
{
    out[at.x * n + at.y] = in[at.y * n + at.x];
}

kernel void transpose_tiled(device const float *in [[buffer(0)]],
                            device float *out [[buffer(1)]],
                            constant uint &n [[buffer(2)]],
                            uint2 group [[threadgroup_position_in_grid]],
                            uint2 t [[thread_position_in_threadgroup]])
{
    threadgroup float tile[32][33];
    uint left = group.x * 32, top = group.y * 32;
    for (uint k = 0; k < 32; k += 8) tile[t.y + k][t.x] = in[(top + t.y + k) * n + left + t.x];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = 0; k < 32; k += 8) out[(left + t.y + k) * n + top + t.x] = tile[t.x][t.y + k];
}
