// Reductions, scans and votes over SIMD-groups and quad-groups, at every site of every shape of control flow.
#include <metal_stdlib>
#include "divergence.h"
using namespace metal;

constant int SHAPE [[function_constant(0)]];
constant constexpr uint OPERATIONS = 23; // with those that only integers have
constant constexpr uint VOTES = 10;

template <typename T>
static void arithmetic(device T *out, T x, T y)
{
    out[0] = simd_sum(x);
    out[1] = simd_product(y);
    out[2] = simd_min(x);
    out[3] = simd_max(x);
    out[4] = simd_prefix_inclusive_sum(x);
    out[5] = simd_prefix_exclusive_sum(x);
    out[6] = simd_prefix_inclusive_product(y);
    out[7] = simd_prefix_exclusive_product(y);
    out[8] = simd_broadcast_first(x);
    out[9] = quad_sum(x);
    out[10] = quad_product(y);
    out[11] = quad_min(x);
    out[12] = quad_max(x);
    out[13] = quad_prefix_inclusive_sum(x);
    out[14] = quad_prefix_exclusive_sum(x);
    out[15] = quad_prefix_inclusive_product(y);
    out[16] = quad_prefix_exclusive_product(y);
}

template <typename T>
static void bitwise(device T *out, T x)
{
    out[17] = simd_and(x);
    out[18] = simd_or(x);
    out[19] = simd_xor(x);
    out[20] = quad_and(x);
    out[21] = quad_or(x);
    out[22] = quad_xor(x);
}
static void bitwise(device float *, float) {}
static void bitwise(device half *, half) {}

#define SITE(k) \
    arithmetic(out + ((k) * n + i) * OPERATIONS, x, y); \
    bitwise(out + ((k) * n + i) * OPERATIONS, x)

#define REDUCTIONS(NAME, T)                                                                                   \
    kernel void NAME(device T *out [[buffer(0)]], const device T *xs [[buffer(1)]],                           \
        const device T *ys [[buffer(2)]], const device uchar *control [[buffer(3)]], constant uint &n [[buffer(4)]], \
        uint3 group [[threadgroup_position_in_grid]], uint3 launched [[dispatch_threads_per_threadgroup]],    \
        uint index [[thread_index_in_threadgroup]])                                                           \
    {                                                                                                         \
        uint i = group.x * (launched.x * launched.y * launched.z) + index;                                    \
        uint v = control[i];                                                                                  \
        T x = xs[i], y = ys[i];                                                                               \
        DIVERGE(SHAPE, v, SITE)                                                                               \
    }

REDUCTIONS(reduce_char, char)
REDUCTIONS(reduce_uchar, uchar)
REDUCTIONS(reduce_short, short)
REDUCTIONS(reduce_ushort, ushort)
REDUCTIONS(reduce_int, int)
REDUCTIONS(reduce_uint, uint)
REDUCTIONS(reduce_float, float)
REDUCTIONS(reduce_half, half)

#define VOTE(k)                                                                                               \
    {                                                                                                         \
        device ulong *o = out + ((k) * n + i) * VOTES;                                                        \
        o[0] = ulong(simd_vote::vote_t(simd_ballot(c)));                                                      \
        o[1] = ulong(simd_vote::vote_t(simd_active_threads_mask()));                                          \
        o[2] = simd_all(c);                                                                                   \
        o[3] = simd_any(c);                                                                                   \
        o[4] = simd_is_first();                                                                               \
        o[5] = ulong(quad_vote::vote_t(quad_ballot(c)));                                                      \
        o[6] = ulong(quad_vote::vote_t(quad_active_threads_mask()));                                          \
        o[7] = quad_all(c);                                                                                   \
        o[8] = quad_any(c);                                                                                   \
        o[9] = quad_is_first();                                                                               \
    }

kernel void vote(device ulong *out [[buffer(0)]], const device uchar *conditions [[buffer(1)]],
    const device uchar *control [[buffer(3)]], constant uint &n [[buffer(4)]],
    uint3 group [[threadgroup_position_in_grid]], uint3 launched [[dispatch_threads_per_threadgroup]],
    uint index [[thread_index_in_threadgroup]])
{
    uint i = group.x * (launched.x * launched.y * launched.z) + index;
    uint v = control[i];
    bool c = conditions[i] != 0;
    DIVERGE(SHAPE, v, VOTE)
}

// The methods of a vote, and reductions of vectors.
kernel void vote_methods(device uint *out [[buffer(0)]], uint i [[thread_position_in_grid]], constant uint &limit [[buffer(1)]])
{
    simd_vote v = simd_ballot(i < limit);
    out[2 * i] = v.all();
    out[2 * i + 1] = v.any();
}

kernel void reduce_float4(device float4 *out [[buffer(0)]], const device float4 *in [[buffer(1)]],
    uint i [[thread_position_in_grid]])
{
    out[4 * i + 0] = simd_sum(in[i]);
    out[4 * i + 1] = simd_max(in[i]);
    out[4 * i + 2] = simd_prefix_inclusive_sum(in[i]);
    out[4 * i + 3] = quad_min(in[i]);
}

kernel void reduce_ushort3(device ushort3 *out [[buffer(0)]], const device ushort3 *in [[buffer(1)]],
    uint i [[thread_position_in_grid]])
{
    out[4 * i + 0] = simd_xor(in[i]);
    out[4 * i + 1] = simd_min(in[i]);
    out[4 * i + 2] = simd_prefix_exclusive_sum(in[i]);
    out[4 * i + 3] = quad_or(in[i]);
}

// Sums whose value depends on the order of the additions: by the tree 16, 8, 4, 2, 1, neutral elements in inactive lanes.
kernel void sum_order(device float *out [[buffer(0)]], const device float *in [[buffer(1)]], uint i [[thread_position_in_grid]])
{
    out[2 * i] = simd_sum(in[i]);
    if (i % 3 != 1) out[2 * i + 1] = simd_sum(in[i]);
}
