// Two stages over a vector: a stage that needs 128 or 256 threads per threadgroup, and one that takes any.
#include <metal_stdlib>
using namespace metal;

struct affine {
    float scale, offset;
    uint n;
};

static float apply(constant affine &a, float x) { return x * a.scale + a.offset; }

[[tombac::requires("len(in) == len(out)"), tombac::requires("a.n == len(in)")]]
[[required_threads_per_threadgroup(128, 1, 1)]]
kernel void scale_128(device const float *in [[buffer(0)]], device float *out [[buffer(1)]],
    constant affine &a [[buffer(2)]], uint i [[thread_position_in_grid]])
{
    if (i < a.n) out[i] = apply(a, in[i]) * 2;
}

[[tombac::requires("len(in) == len(out)"), tombac::requires("a.n == len(in)")]]
[[required_threads_per_threadgroup(256, 1, 1)]]
kernel void scale_256(device const float *in [[buffer(0)]], device float *out [[buffer(1)]],
    constant affine &a [[buffer(2)]], uint i [[thread_position_in_grid]])
{
    if (i < a.n) out[i] = apply(a, in[i]) * 4;
}

[[tombac::requires("len(in) == len(out)"), tombac::requires("a.n == len(in)")]]
kernel void finish(device const float *in [[buffer(0)]], device float *out [[buffer(1)]],
    constant affine &a [[buffer(2)]], uint i [[thread_position_in_grid]])
{
    if (i < a.n) out[i] = apply(a, in[i]);
}
