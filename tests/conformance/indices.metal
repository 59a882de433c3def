// Index arithmetic where it is easily taken for more regular than it is: 32-bit sums that wrap, strides below zero, loops
// that lanes leave one by one, guards near the ends of the type. Every access lies in its buffer.
#include <metal_stdlib>
using namespace metal;

// A function constant, so that the compiler knows the stride.
constant uint scale [[function_constant(0)]];

struct Steps {
    uint first, limit, step;
};

template <typename T>
static void walk(device const uint *in, device uint *out, constant Steps &s, uint t)
{
    uint sum = 0, trips = 0;
    for (T i = T(t * scale + s.first); i < T(s.limit); i = T(i + T(s.step))) {
        sum = sum * 31 + (in[uint(i) & 1023] ^ uint(i));
        trips++;
    }
    out[2 * t] = sum;
    out[2 * t + 1] = trips;
}
kernel void walk_uint(device const uint *in, device uint *out, constant Steps &s, uint t [[thread_position_in_grid]])
{
    walk<uint>(in, out, s, t);
}
kernel void walk_int(device const uint *in, device uint *out, constant Steps &s, uint t [[thread_position_in_grid]])
{
    walk<int>(in, out, s, t);
}
kernel void walk_ushort(device const uint *in, device uint *out, constant Steps &s, uint t [[thread_position_in_grid]])
{
    walk<ushort>(in, out, s, t);
}
kernel void walk_short(device const uint *in, device uint *out, constant Steps &s, uint t [[thread_position_in_grid]])
{
    walk<short>(in, out, s, t);
}
kernel void walk_char(device const uint *in, device uint *out, constant Steps &s, uint t [[thread_position_in_grid]])
{
    walk<char>(in, out, s, t);
}

// Who is together in an iteration is seen by a collective, and an inner loop and a second way out come with it.
kernel void walk_together(device const uint *in, device uint *out, constant Steps &s, uint t [[thread_position_in_grid]])
{
    uint sum = 0, trips = 0;
    for (uint i = t * scale + s.first; i < s.limit; i += s.step) {
        for (uint j = 0; j < (i & 3); j++) sum += in[(i + j) & 1023];
        sum += simd_sum(i & 255);
        trips++;
    }
    out[2 * t] = sum + simd_sum(1u);
    out[2 * t + 1] = trips;
}

// The walk behind a condition that lanes disagree on, and its result behind that of another.
kernel void walk_twice(device const uint *in, device uint *out, constant Steps &s, uint t [[thread_position_in_grid]])
{
    uint sum = 7, last = 0;
    if (in[t] & 1) {
        for (uint i = t * scale + s.first; i < s.limit; i += s.step) sum += last = in[i & 1023];
    }
    for (uint i = t * scale + s.first; s.limit > i; i += s.step) last ^= sum + i;
    out[2 * t] = sum;
    out[2 * t + 1] = last;
}

struct Place {
    uint first, count; // count: elements that may be read
};

static uint pick(device const uint *in, uint i, uint count)
{
    return i < count ? in[i] : 0x10000 + (i & 0xff);
}

// One variable part, many constant parts, above and below it: the sums wrap for some lanes and constants and not for others.
kernel void around_uint(device const uint *in, device uint *out, constant Place &p, uint t [[thread_position_in_grid]])
{
    uint i = t * scale + p.first, sum = 0;
    sum = sum * 3 + pick(in, i, p.count);
    sum = sum * 3 + pick(in, i + 1, p.count);
    sum = sum * 3 + pick(in, i + 5, p.count);
    sum = sum * 3 + pick(in, i + 63, p.count);
    sum = sum * 3 + pick(in, i - 1, p.count);
    sum = sum * 3 + pick(in, i - 40, p.count);
    sum = sum * 3 + pick(in, i + 70000, p.count);
    out[t] = sum;
}
kernel void around_int(device const uint *in, device uint *out, constant Place &p, uint t [[thread_position_in_grid]])
{
    device const uint *middle = in + 512; // indices below zero are fine
    int i = int(t * scale + p.first);
    uint sum = 0;
    for (int d = -3; d <= 3; d++) {
        int at = i + d * 16;
        if (at >= -512 && at < int(p.count) - 512) sum = sum * 3 + middle[at];
    }
    out[t] = sum;
}
kernel void around_uchar(device const uchar *in, device uint *out, constant Place &p, uint t [[thread_position_in_grid]])
{
    uint i = t * scale + p.first, sum = 0;
    for (uint d = 0; d < 4; d++) {
        uint at = i + 3 * d - 6;
        if (at < p.count) sum = sum * 3 + in[at];
    }
    out[t] = sum;
}

// Rows and columns of a picture whose width is not known, with neighbours; also from the far end.
kernel void neighbours(device const uint *in, device uint *out, constant uint &width, constant uint &height,
                       uint2 at [[thread_position_in_grid]])
{
    uint sum = 0;
    for (uint y = 0; y < 3; y++)
        for (uint x = 0; x < 3; x++) {
            uint row = at.y + y - 1, column = at.x + x - 1;
            if (row < height && column < width) sum = sum * 5 + in[row * width + column];
        }
    uint back = (height - 1 - at.y) * width + (width - 1 - at.x);
    sum ^= in[back];
    if (at.x >= 2) sum += in[back + 2];
    out[at.y * width + at.x] = sum;
}

// Stores with the same constants: a column of 4 for each thread, written from the last.
kernel void scatter(device uint *out, constant Place &p, uint t [[thread_position_in_grid]])
{
    uint i = (p.first - t) * 4;
    out[i + 3] = t;
    out[i + 2] = t + 1000;
    out[i - 4 + 5] = t + 2000;
    out[i] = t + 3000;
}

// Places that only memory knows, in 32 bits, in 64, in rows of structures, below the pointer, and in threadgroup memory.
struct Four {
    uint a, b, c, d;
};
kernel void gather(device const uint *in, device const uint *at, device uint *out, constant long &stride [[buffer(3)]],
                   uint i [[thread_position_in_grid]], ushort t [[thread_index_in_threadgroup]])
{
    threadgroup uint tile[32][8];
    uint x = at[i] & 255; // at[] is random
    device const uint *middle = in + 512;
    device const Four *rows = (device const Four *)in;
    uint sum = in[x + 3];
    sum = sum * 3 + in[x - 3 + (x < 3 ? 3 : 0)];
    sum = sum * 3 + middle[int(x) - 300];
    sum = sum * 3 + middle[-long(x)];
    sum = sum * 3 + in[long(x) * stride + 255];
    sum = sum * 3 + rows[x].c + rows[255 - x].d;
    sum = sum * 3 + in[ushort(x * 257) >> 8];
    uint even = in[(i & 63) * 8 + 3], odd = in[511 - (i & 127) * 3]; // strided, far apart
    uint wide = (i & 31) * 24;
    if (x & 2) sum += even + in[wide + 1];
    else sum ^= odd + in[wide + 2];
    tile[t & 31][t >> 5] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    sum += tile[x & 31][t >> 5];
    if (x & 1) sum += tile[31 - (x & 31)][t >> 5];
    out[i] = sum;
}

// Every element is written by one thread: at[] is a permutation.
kernel void spread(device const uint *at, device uint *out, device Four *rows, uint i [[thread_position_in_grid]])
{
    uint x = at[i];
    out[x] = i;
    rows[x].b = i * 3;
    if (x & 1) rows[x].d = x;
}
