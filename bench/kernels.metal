// Kernels of bench/bench.py: one for each thing that decides the cpu engine's speed.
#include <metal_stdlib>
using namespace metal;

kernel void saxpy(const device float *x [[buffer(0)]], device float *y [[buffer(1)]], constant float &a [[buffer(2)]],
    uint i [[thread_position_in_grid]])
{
    y[i] = a * x[i] + y[i];
}

kernel void scale4(const device float4 *x [[buffer(0)]], device float4 *y [[buffer(1)]], uint i [[thread_position_in_grid]])
{
    y[i] = x[i] * x[i].wzyx + 1.0f;
}

kernel void mandelbrot(device uint *out [[buffer(0)]], uint2 p [[thread_position_in_grid]], uint2 size [[threads_per_grid]])
{
    float2 c = float2(p) / float2(size) * float2(3, 2) - float2(2, 1);
    float2 z = 0;
    uint n = 0;
    while (n < 256 && dot(z, z) < 4.0f) {
        z = float2(z.x * z.x - z.y * z.y, 2 * z.x * z.y) + c;
        n++;
    }
    out[p.y * size.x + p.x] = n;
}

// 16 x 16 tiles in threadgroup memory.
kernel void matmul(const device float *a [[buffer(0)]], const device float *b [[buffer(1)]], device float *c [[buffer(2)]],
    constant uint &n [[buffer(3)]], uint2 t [[thread_position_in_threadgroup]], uint2 g [[threadgroup_position_in_grid]])
{
    threadgroup float ta[16][16], tb[16][16];
    uint row = g.y * 16 + t.y, column = g.x * 16 + t.x;
    float sum = 0;
    for (uint k = 0; k < n; k += 16) {
        ta[t.y][t.x] = a[row * n + k + t.x];
        tb[t.y][t.x] = b[(k + t.y) * n + column];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint q = 0; q < 16; q++) sum += ta[t.y][q] * tb[q][t.x];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    c[row * n + column] = sum;
}

kernel void reduce(const device float *x [[buffer(0)]], device float *out [[buffer(1)]], uint i [[thread_position_in_grid]],
    uint t [[thread_index_in_threadgroup]], uint g [[threadgroup_position_in_grid]], uint size [[threads_per_threadgroup]])
{
    threadgroup float part[32];
    float sum = simd_sum(x[i]);
    if (t % 32 == 0) part[t / 32] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t < 32) {
        sum = simd_sum(t < size / 32 ? part[t] : 0.0f);
        if (t == 0) out[g] = sum;
    }
}

kernel void histogram(const device uchar *x [[buffer(0)]], device atomic_uint *bins [[buffer(1)]], uint i [[thread_position_in_grid]])
{
    atomic_fetch_add_explicit(&bins[x[i]], 1, memory_order_relaxed);
}

kernel void transcendental(const device float *x [[buffer(0)]], device float *y [[buffer(1)]], uint i [[thread_position_in_grid]])
{
    y[i] = exp(-x[i]) * sin(x[i] * 9.0f) + log(x[i] + 1.0f);
}
