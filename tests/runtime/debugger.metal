#include <metal_stdlib>
using namespace metal;

struct pair { float x, y; };

static float weigh(float v, uint n)
{
    float w = 0;
    for (uint k = 0; k < n; k++) {
        w += v * float(k); // in the loop
    }
    return w;
}

kernel void stepped(device float *out [[buffer(0)]], const device float *in [[buffer(1)]],
    constant uint &n [[buffer(2)]], uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]])
{
    threadgroup float tile[64];
    float a = in[i] + 1.0f;
    pair p;
    p.x = a * 2.0f; // after a
    p.y = weigh(a, n);
    tile[t] = p.x; // after p
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float b = tile[t ^ 1];
    if (i % 4 == 3)
        b = -b; // some threads
    out[i] = p.y + b; // at the end
}
