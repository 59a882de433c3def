// Good kernels for launches that must fail, and two that the check device stops.
#include <metal_stdlib>
using namespace metal;

struct pair_t {
    uint a, b;
};

kernel void simple(device uint *out [[buffer(0)]], constant pair_t &pair [[buffer(1)]], const device float4 *in [[buffer(5)]],
    threadgroup uint *scratch [[threadgroup(2)]], uint i [[thread_position_in_grid]])
{
    scratch[0] = 1;
    out[i] = pair.a + pair.b + uint(in[0].x) + scratch[0];
}

[[max_total_threads_per_threadgroup(64)]] kernel void bounded(device uint *out [[buffer(0)]], uint i [[thread_position_in_grid]])
{
    out[i] = i;
}

constant int NEEDED [[function_constant(0)]];
constant bool WITH_BIAS [[function_constant(1)]];
kernel void specialised(device int *out [[buffer(0)]], const device int *bias [[buffer(1), function_constant(WITH_BIAS)]],
    uint i [[thread_position_in_grid]])
{
    out[i] = NEEDED;
    if (WITH_BIAS) out[i] += bias[i];
}

kernel void reads(device uint *out [[buffer(0)]], const device uint *in [[buffer(1)]], constant uint &offset [[buffer(2)]],
    uint i [[thread_position_in_grid]])
{
    out[i] = in[i + offset];
}

kernel void writes(device uint *out [[buffer(0)]], constant int &offset [[buffer(1)]], uint i [[thread_position_in_grid]])
{
    out[int(i) + offset] = i;
}
