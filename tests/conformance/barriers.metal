// Shapes of control flow around threadgroup barriers: those that real kernels have (in loops, in called functions, under
// conditions, behind returns) and those that other implementations are known to test. Each kernel works on v, which starts as
// in[l], and hands it round by `turn`; the C models in barriers.c do the same for all threads at once.
#include <metal_stdlib>
using namespace metal;

#define BARRIER threadgroup_barrier(mem_flags::mem_threadgroup)
#define ARGUMENTS device uint *out [[buffer(0)]], const device uint *in [[buffer(1)]], constant uint *p [[buffer(2)]],                  \
    uint l [[thread_index_in_threadgroup]], uint n [[threads_per_threadgroup]], uint lane [[thread_index_in_simdgroup]]

static uint turn(threadgroup uint *tile, uint v, uint l, uint n, uint by)
{
    tile[l] = v;
    BARRIER;
    v = tile[(l + by) % n];
    BARRIER;
    return v;
}

// In a called function that calls another one, both with early results.
static uint inner_step(threadgroup uint *tile, uint v, uint l, uint n, uint mode)
{
    if (mode == 0) return v + 1;
    v = turn(tile, v, l, n, mode);
    if (mode == 2) return v * 3;
    return v ^ 5;
}
static uint outer_step(threadgroup uint *tile, uint v, uint l, uint n, uint mode)
{
    for (uint i = 0; i <= mode; i++) {
        v = inner_step(tile, v, l, n, i);
        if (mode == 3 && i == 1) return v + 100;
    }
    return turn(tile, v, l, n, 1);
}
kernel void in_callees(ARGUMENTS)
{
    threadgroup uint tile[256];
    uint v = in[l];
    for (uint i = 0; i < 4; i++) v = outer_step(tile, v, l, n, (p[0] + i) & 3);
    out[l] = v;
}

// A loop without a bound, left by uniform breaks before, between and behind barriers.
kernel void endless(ARGUMENTS)
{
    threadgroup uint tile[256];
    uint v = in[l];
    for (uint i = 0;; i++) {
        if (i == p[0]) break;
        tile[l] = v;
        BARRIER;
        if (tile[0] % 7 == p[1]) break; // the same word for all
        v += tile[(l + 1) % n];
        BARRIER;
        if (i == p[2]) break;
    }
    out[l] = v;
}

// Three levels of loops, barriers on each.
kernel void levels(ARGUMENTS)
{
    threadgroup uint tile[256];
    uint v = in[l];
    for (uint i = 0; i < p[0]; i++) {
        v = turn(tile, v, l, n, 1);
        for (uint j = 0; j < p[1]; j++) {
            for (uint k = j; k < p[2]; k++) {
                v = turn(tile, v + k, l, n, k + 1);
                if (k == 4) break;
            }
            v = turn(tile, v ^ j, l, n, 2);
            if (j == 1) continue;
            v *= 3;
        }
    }
    out[l] = v;
}

// Barriers between loops of different length for each thread.
kernel void between_loops(ARGUMENTS)
{
    threadgroup uint tile[256];
    uint v = in[l];
    for (uint i = 0; i < (v & 3); i++) v += i * 5;
    v = turn(tile, v, l, n, 3);
    while (v & 8) v = v * 3 + 1;
    v = turn(tile, v, l, n, 1);
    for (uint i = l % 3; i < 5; i += 2) {
        if (v % 5 == 2) continue;
        v ^= i << i;
    }
    BARRIER;
    out[l] = v;
}

// Threads leave one after the other between barriers; those that are left go on. p[0], p[1], p[2]: how many stay.
kernel void returns(ARGUMENTS)
{
    threadgroup uint tile[256];
    uint v = in[l];
    for (uint i = l; i < 256; i += n) tile[i] = 7;
    BARRIER;
    out[l] = 1;
    if (l >= p[0]) return;
    tile[l] = v;
    BARRIER;
    v += tile[(l + 1) % n];
    BARRIER;
    out[l] = v;
    if (l >= p[1] || v % 11 == 0) return;
    tile[l] = v;
    BARRIER;
    v += tile[(l + 2) % n];
    BARRIER;
    out[l] = v;
    if (l < p[2]) return;
    tile[l] = v;
    BARRIER;
    out[l] = v ^ tile[(l + 1) % n];
}

// Threads leave one by one from inside loops around barriers: before the barriers, between them, from an inner loop, with
// and without last words. p[0]: rounds, p[1]: where they leave, p[2]: whether barriers follow the loop.
kernel void loop_returns(ARGUMENTS)
{
    threadgroup uint tile[256];
    uint v = in[l];
    for (uint i = l; i < 256; i += n) tile[i] = 7;
    BARRIER;
    out[l] = v;
    for (uint i = 0; i < p[0]; i++) {
        if (p[1] == 0 && v % 5 == i) return;
        if (p[1] == 1 && v % 5 == i) {
            out[l] = v * 3;
            return;
        }
        tile[l] = v;
        BARRIER;
        if (p[1] == 2 && l % 7 == i) return;
        v += tile[(l + 1) % n];
        BARRIER;
        for (uint j = 0; j <= i; j++) {
            if (p[1] == 3 && (l + j) % 9 == i) {
                out[l] = v + j;
                return;
            }
            tile[l] = v + j;
            BARRIER;
            v ^= tile[(l + 3) % n];
            BARRIER;
        }
        out[l] = v;
    }
    if (p[2]) {
        tile[l] = v;
        BARRIER;
        v += tile[(l + 2) % n];
    }
    out[l] = v + 1000;
}

// The whole threadgroup returns at one of several places, some of them in the loop.
kernel void uniform_returns(ARGUMENTS)
{
    threadgroup uint tile[256];
    uint v = in[l];
    out[l] = v;
    if (p[0] == 1) return;
    for (uint i = 0; i < 3; i++) {
        v = turn(tile, v + i, l, n, 1);
        out[l] = v;
        if (p[0] == 2 + i) return;
        BARRIER;
    }
    if (p[0] == 5) {
        v = turn(tile, v, l, n, 9);
        out[l] = v;
        return;
    }
    out[l] = turn(tile, v, l, n, 4);
}

// Conditions that are the same for all threads, but not seen to be: from threadgroup memory, from a vote, from data.
kernel void hidden_uniform(ARGUMENTS)
{
    threadgroup uint tile[256];
    threadgroup uint chosen;
    uint v = in[l];
    if (l == 0) chosen = p[0];
    BARRIER;
    if (chosen & 1) v = turn(tile, v, l, n, 1);
    if (p[l & 0] & 2)
        v = turn(tile, v, l, n, 2) + 1;
    else
        v = turn(tile, v, l, n, 3) + 2;
    uint rounds = chosen & 3;
    BARRIER;
    for (uint i = 0; i < rounds; i++) {
        if (l == i) chosen = v;
        BARRIER;
        v += chosen;
        BARRIER;
    }
    out[l] = v;
}

// SIMD-group operations and divergent flow on both sides of barriers, the same values live across all of it.
kernel void with_collectives(ARGUMENTS)
{
    threadgroup uint sums[8];
    uint v = in[l], kept = v * 3, groups = (n + 31) / 32;
    uint sum = simd_sum(v);
    if (lane == 0) sums[l / 32] = sum;
    BARRIER;
    uint total = 0;
    for (uint g = 0; g < groups; g++) total += sums[g];
    if (v & 1) {
        v = simd_max(v);
        if (v & 2) kept += v;
    }
    BARRIER;
    if (lane < groups) sums[lane] = total + lane;
    BARRIER;
    uint prefix = simd_prefix_exclusive_sum(v & 7);
    out[l] = v + kept + sums[l / 32] + prefix;
}

// All flags, fences of a SIMD-group and of nothing in between.
kernel void flags(ARGUMENTS, device uint *work [[buffer(3)]])
{
    threadgroup uint tile[256];
    uint v = in[l];
    threadgroup_barrier(mem_flags::mem_none);
    work[l] = v;
    tile[l] = v + 1;
    threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
    v = work[(l + 1) % n] + tile[(l + 2) % n];
    simdgroup_barrier(mem_flags::mem_none);
    threadgroup_barrier(mem_flags::mem_device);
    work[l] = v;
    simdgroup_barrier(mem_flags::mem_device);
    threadgroup_barrier(mem_flags::mem_device);
    out[l] = work[(l + 5) % n];
    threadgroup_barrier(mem_flags::mem_texture);
}

// Many values of all sizes live across a barrier in a loop, some changed in each round, some never.
kernel void live_values(ARGUMENTS)
{
    threadgroup uint tile[256];
    uint v = in[l];
    ulong wide = ulong(v) << 32 | l;
    ushort narrow = ushort(v);
    uchar byte = uchar(l * 3);
    half h = half(l & 31);
    float f = float(v & 255) * 0.5f;
    bool odd = v & 1;
    uint4 four = uint4(v, l, v + l, v ^ l);
    threadgroup uint *at = tile + l;
    const device uint *from = in + (l + 1) % n;
    for (uint i = 0; i < p[0]; i++) {
        *at = v;
        BARRIER;
        v = tile[n - 1 - l] + *from;
        if (i & 1) wide += v;
        narrow = ushort(narrow * 3 + i);
        odd = odd != (v & 1);
        four = four.yzwx;
        BARRIER;
    }
    out[4 * l] = v + uint(odd);
    out[4 * l + 1] = uint(wide) ^ uint(wide >> 32);
    out[4 * l + 2] = uint(narrow) << 16 | uint(byte);
    out[4 * l + 3] = four.x + four.y * 3 + uint(h) + uint(f * 2);
}
