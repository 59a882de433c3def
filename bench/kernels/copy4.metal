// A copy by vectors of four: each thread's 16 bytes are contiguous, so a SIMD-group's are too.
#include <metal_stdlib>
using namespace metal;

kernel void copy4(device const float4 *in [[buffer(0)]],
                  device float4 *out [[buffer(1)]],
                  uint i [[thread_position_in_grid]])
{
    out[i] = in[i];
}
