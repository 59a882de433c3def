// Shuffles and broadcasts in SIMD-groups and quad-groups, at every site of the shapes of control flow. A thread tries
// DELTAS distances; distances come from a buffer, so that none is known at compile time.
#include <metal_stdlib>
#include "divergence.h"
using namespace metal;

constant int SHAPE [[function_constant(0)]];
constant constexpr uint DELTAS = 6;
constant constexpr uint OPERATIONS = 18;

template <typename T>
static void shuffles(device T *out, T x, T fill, ushort d, ushort lane)
{
    out[0] = simd_broadcast(x, d);
    out[1] = simd_shuffle(x, lane);
    out[2] = simd_shuffle_up(x, d);
    out[3] = simd_shuffle_down(x, d);
    out[4] = simd_shuffle_xor(x, d);
    out[5] = simd_shuffle_rotate_up(x, d);
    out[6] = simd_shuffle_rotate_down(x, d);
    out[7] = simd_shuffle_and_fill_up(x, fill, d);
    out[8] = simd_shuffle_and_fill_down(x, fill, d);
    ushort q = d & 3;
    out[9] = quad_broadcast(x, q);
    out[10] = quad_shuffle(x, ushort(lane & 3));
    out[11] = quad_shuffle_up(x, q);
    out[12] = quad_shuffle_down(x, q);
    out[13] = quad_shuffle_xor(x, q);
    out[14] = quad_shuffle_rotate_up(x, q);
    out[15] = quad_shuffle_rotate_down(x, q);
    out[16] = quad_shuffle_and_fill_up(x, fill, q);
    out[17] = quad_shuffle_and_fill_down(x, fill, q);
}

#define SITE(k)                                                                                               \
    for (uint j = 0; j < DELTAS; j++)                                                                         \
        shuffles(out + (((k) * n + i) * DELTAS + j) * OPERATIONS, x, fill, deltas[j], lanes[i * DELTAS + j])

#define SHUFFLES(NAME, T)                                                                                     \
    kernel void NAME(device T *out [[buffer(0)]], const device T *xs [[buffer(1)]],                           \
        const device T *fills [[buffer(2)]], const device uchar *control [[buffer(3)]], constant uint &n [[buffer(4)]], \
        constant ushort *deltas [[buffer(5)]], const device ushort *lanes [[buffer(6)]],                      \
        uint i [[thread_position_in_grid]])                                                                   \
    {                                                                                                         \
        uint v = control[i];                                                                                  \
        T x = xs[i], fill = fills[i];                                                                         \
        DIVERGE(SHAPE, v, SITE)                                                                               \
    }

SHUFFLES(shuffle_char, char)
SHUFFLES(shuffle_ushort, ushort)
SHUFFLES(shuffle_int, int)
SHUFFLES(shuffle_float, float)
SHUFFLES(shuffle_half, half)
SHUFFLES(shuffle_uint2, uint2)
SHUFFLES(shuffle_half4, half4)

// The forms with a width: each block of `modulo` lanes for itself.
#define FILL(WIDTH)                                                                                           \
    kernel void fill_##WIDTH(device uint *out [[buffer(0)]], const device uint *xs [[buffer(1)]],             \
        const device uint *fills [[buffer(2)]], constant ushort &delta [[buffer(3)]], uint i [[thread_position_in_grid]]) \
    {                                                                                                         \
        out[2 * i] = simd_shuffle_and_fill_up(xs[i], fills[i], delta, ushort(WIDTH));                         \
        out[2 * i + 1] = simd_shuffle_and_fill_down(xs[i], fills[i], delta, ushort(WIDTH));                   \
    }
FILL(2)
FILL(4)
FILL(8)
FILL(16)
FILL(32)

// A reduction by hand, as real kernels write it: lanes past the end of a partial SIMD-group are avoided by the caller.
kernel void reduce_by_hand(device float *out [[buffer(0)]], const device float *in [[buffer(1)]],
    uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]])
{
    float v = in[i];
    for (ushort d = 16; d > 0; d >>= 1) v += simd_shuffle_xor(v, d);
    float w = in[i];
    for (ushort d = 1; d < 32; d <<= 1) {
        float u = simd_shuffle_up(w, d);
        if (lane >= d) w += u;
    }
    out[2 * i] = v;
    out[2 * i + 1] = w;
}

// In flow that divides the SIMD-group, of values that the compiler knows and of loaded ones, joined under the same condition.
kernel void in_part(device uint *out [[buffer(0)]], const device uint *in [[buffer(1)]], const device uint *part [[buffer(2)]],
    uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]])
{
    uint a = 100, b = 101, c = 102, d = 103, e = 104;
    if (part[i] & 1) {
        a = quad_shuffle_xor(lane, ushort(1));
        b = simd_shuffle_xor(in[i], ushort(2));
        c = simd_shuffle_rotate_down(lane * 3 + 1, ushort(1));
        d = quad_shuffle(in[i], ushort(2));
        e = simd_shuffle_xor(uint(ushort(lane + 7)), ushort(3));
    }
    out[5 * i] = a;
    out[5 * i + 1] = b;
    out[5 * i + 2] = c;
    out[5 * i + 3] = d;
    out[5 * i + 4] = e;
}
