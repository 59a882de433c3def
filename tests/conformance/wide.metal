// Streaming kernels in grids so large that the cuda engine lets one of the GPU's threads do the work of several.
#include <metal_stdlib>
using namespace metal;

#define GROUP [[required_threads_per_threadgroup(256, 1, 1)]]

GROUP kernel void wide_add(device float *out [[buffer(0)]], device const float *in [[buffer(1)]],
                           uint i [[thread_position_in_grid]])
{
    out[i] = in[i] + out[i];
}

GROUP kernel void wide_guard(device float *out [[buffer(0)]], device const float *in [[buffer(1)]],
                             constant uint &n [[buffer(2)]], uint i [[thread_position_in_grid]])
{
    if (i >= n) return;
    out[i] = in[i] * 2.0f;
}

// Some threads in every SIMD-group go on, by what they read.
GROUP kernel void wide_some(device float *out [[buffer(0)]], device const float *in [[buffer(1)]],
                            uint i [[thread_position_in_grid]])
{
    float x = in[i];
    if (x < 0.0f) return;
    out[i] = sqrt(x);
}

GROUP kernel void wide_neighbours(device float *out [[buffer(0)]], device const float *in [[buffer(1)]],
                                  uint i [[thread_position_in_grid]])
{
    out[i] = in[i + 2] - in[i] * in[i + 1];
}

// A thread reads what it wrote.
GROUP kernel void wide_own(device float *out [[buffer(0)]], device const float *in [[buffer(1)]],
                           uint i [[thread_position_in_grid]])
{
    out[i] = in[i] + 1.0f;
    out[(1 << 20) + i] = out[i] * 3.0f;
}

GROUP kernel void wide_half(device half *out [[buffer(0)]], device const half *in [[buffer(1)]],
                            uint i [[thread_position_in_grid]])
{
    out[i] = max(in[i], half(0.0h));
}

GROUP kernel void wide_bytes(device uchar *out [[buffer(0)]], device const uchar *in [[buffer(1)]],
                             uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]])
{
    out[i] = in[i] ^ uchar(t);
}

GROUP kernel void wide_lanes(device uint *out [[buffer(0)]], device const uint *in [[buffer(1)]],
                             uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]],
                             uint simdgroup [[simdgroup_index_in_threadgroup]],
                             uint group [[threadgroup_position_in_grid]])
{
    out[i] = in[i] * 64 + lane + (simdgroup << 8) + (group << 12);
}

// Rows of 1024, whose neighbours are a thread's left and right ones.
[[required_threads_per_threadgroup(32, 8, 1)]]
kernel void wide_plane(device float *out [[buffer(0)]], device const float *in [[buffer(1)]],
                       uint2 at [[thread_position_in_grid]])
{
    out[at.y * 1024 + at.x] = in[at.y * 1024 + at.x] - in[at.y * 1024 + at.x + 1];
}
