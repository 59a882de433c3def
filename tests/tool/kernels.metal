// Small kernels for the cases in run.cases; each shows one way of passing something in or out.
#include <metal_stdlib>
using namespace metal;

kernel void add(device const float *a [[buffer(0)]],
                device const float *b [[buffer(1)]],
                device float *c [[buffer(2)]],
                constant uint &n [[buffer(3)]],
                uint i [[thread_position_in_grid]])
{
    if (i < n) c[i] = a[i] + b[i];
}

// ---- Element types ----

template <typename T>
kernel void copy(device const T *in [[buffer(0)]], device T *out [[buffer(1)]], uint i [[thread_position_in_grid]])
{
    out[i] = in[i];
}

#define COPY(NAME, T) \
    template [[host_name("copy_" #NAME)]] kernel void copy<T>(device const T *, device T *, uint)
COPY(bool, bool);
COPY(char, char);
COPY(uchar, uchar);
COPY(short, short);
COPY(ushort, ushort);
COPY(int, int);
COPY(uint, uint);
COPY(long, long);
COPY(ulong, ulong);
COPY(half, half);
COPY(bfloat, bfloat);
COPY(float, float);
COPY(float3, float3);
COPY(float4, float4);
COPY(packed, packed_float3);

// Each vector's components the other way round: shows where they lie in memory.
kernel void reverse3(device float3 *v [[buffer(0)]], uint i [[thread_position_in_grid]])
{
    v[i] = v[i].zyx;
}

kernel void scale_vector(constant float4 &factor [[buffer(0)]], device float4 *v [[buffer(1)]],
                         uint i [[thread_position_in_grid]])
{
    v[i] *= factor;
}

kernel void scalars(constant int &i [[buffer(0)]], constant half &h [[buffer(1)]], constant bool &b [[buffer(2)]],
                    constant ulong &u [[buffer(3)]], device float *out [[buffer(4)]])
{
    out[0] = i;
    out[1] = h;
    out[2] = b ? 1 : 0;
    out[3] = float(u >> 32);
}

// ---- Structs ----

struct part {
    short x;
};

struct parameters {
    int n;
    float scale;
    float4 v;
    int ne[3];
    part parts[2];
    half h;
    bool flag;
};

kernel void unpack(constant parameters &p [[buffer(0)]], device float *out [[buffer(1)]])
{
    out[0] = p.n;
    out[1] = p.scale;
    out[2] = p.v.w;
    out[3] = p.ne[2];
    out[4] = p.parts[1].x;
    out[5] = p.h;
    out[6] = p.flag ? 1 : 0;
}

struct point {
    int x;
    float y;
};

kernel void move(device point *points [[buffer(0)]], uint i [[thread_position_in_grid]])
{
    points[i].x += 1;
    points[i].y *= 2;
}

// ---- Function constants, macros, threadgroup memory, geometry ----

constant bool squared [[function_constant(0)]];
constant float factor [[function_constant(1)]];
constant int3 shift [[function_constant(7)]];
constant bool has_offset [[function_constant(2)]];
constant bool with_offset = is_function_constant_defined(has_offset) && has_offset;

kernel void constants(device float *out [[buffer(0)]], uint i [[thread_position_in_grid]])
{
    out[i] = factor * (squared ? i * i : i) + shift.z;
}

kernel void optional(device float *out [[buffer(0)]],
                     device const float *offset [[buffer(1), function_constant(with_offset)]],
                     uint i [[thread_position_in_grid]])
{
    out[i] = i;
    if (with_offset) out[i] += offset[i];
}

#ifndef VALUE
#define VALUE 0
#endif
#ifdef WITH_HEADER
#include "value.h"
#endif

kernel void macro(device int *out [[buffer(0)]])
{
    out[0] = VALUE;
}

kernel void reverse(device int *a [[buffer(0)]], threadgroup int *scratch [[threadgroup(0)]],
                    uint i [[thread_position_in_grid]], uint t [[thread_position_in_threadgroup]],
                    uint threads [[threads_per_threadgroup]])
{
    scratch[t] = a[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    a[i] = scratch[threads - 1 - t];
}

// For every thread its threadgroup's size, and the place of the thread as one number.
kernel void shape(device uint *out [[buffer(0)]], uint3 p [[thread_position_in_grid]], uint3 grid [[threads_per_grid]],
                  uint3 size [[threads_per_threadgroup]])
{
    out[(p.z * grid.y + p.y) * grid.x + p.x] = size.x * 10000 + size.y * 100 + size.z;
}

#if __METAL_VERSION__ >= 400
[[required_threads_per_threadgroup(8, 2, 1)]]
kernel void required(device uint *out [[buffer(0)]], uint2 p [[thread_position_in_grid]], uint2 grid [[threads_per_grid]],
                     uint2 size [[threads_per_threadgroup]])
{
    out[p.y * grid.x + p.x] = size.x * 100 + size.y;
}
#endif

kernel void count(device atomic_uint *total [[buffer(0)]])
{
    atomic_fetch_add_explicit(total, 1, memory_order_relaxed);
}

kernel void raw(device const void *in [[buffer(0)]], device char *out [[buffer(1)]], uint i [[thread_position_in_grid]])
{
    ((device float *)out)[i] = ((device const float *)in)[i] + 1;
}

kernel void increment(device int *a [[buffer(0)]], uint i [[thread_position_in_grid]])
{
    a[i] += 1;
}

// Writes one element too far.
kernel void beyond(device int *a [[buffer(0)]], uint i [[thread_position_in_grid]])
{
    a[i + 1] = 1;
}

struct transform {
    int n;
    float3x2 turn;
    half2x4 pair[2];
    float last;
};

kernel void matrices(constant transform &t, device transform *copy, device float *out)
{
    *copy = t;
    out[0] = t.turn[2].x;
    out[1] = t.turn[1][1];
    out[2] = t.pair[1][0].w;
    out[3] = t.last;
}
