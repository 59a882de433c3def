// A mistake to be found: between the write of the tile and the read of another thread's element a barrier is missing.
#include <metal_stdlib>
using namespace metal;

kernel void turn(device uint *out, uint l [[thread_index_in_threadgroup]], uint n [[threads_per_threadgroup]])
{
    threadgroup uint tile[64];
    tile[l] = l + 1;
    out[l] = tile[(l + 1) % n];
}
