/* Variables that nothing set, used and not used. In a kernel whose name begins with wrong_ the device "check" finds a use, the first at
 * the marked line. n is 4. */
#include <metal_stdlib>
using namespace metal;

constant constexpr uint LENGTH = 8;

struct sphere {
    float3 centre;
    float radius;
    char kind;
    int counts[3];
};

struct limits {
    float low, high;
    void widen(float x) thread
    {
        low = min(low, x);
        high = max(high, x);
    }
};

kernel void all_set(device float *out [[buffer(0)]], device const float *x [[buffer(1)]], constant uint &n [[buffer(2)]],
    uint i [[thread_position_in_grid]])
{
    float a;
    if (x[i] > 3) a = x[i];
    else a = -x[i];
    float all[LENGTH];
    for (uint k = 0; k < LENGTH; k++) all[k] = a * k;
    float4 v;
    v.xy = float2(all[n], all[(i + n) % LENGTH]);
    v.zw = v.yx * 2;
    bool large;
    large = v.w > 9;
    out[i] = large ? dot(v, v) : v.z;
}

/* Set and used under the same condition. */
kernel void same_condition(device float *out [[buffer(0)]], device const float *x [[buffer(1)]], constant uint &n [[buffer(2)]],
    uint i [[thread_position_in_grid]])
{
    float a;
    int k;
    if (i < n) {
        a = x[i];
        k = int(a);
    }
    float b = a + 1;
    if (i < n && k < 100) out[i] = b + out[k % 8];
}

/* Whole objects may be copied with what is not set in them, through functions, arrays and threadgroup memory. */
sphere at(float3 centre)
{
    sphere s;
    s.centre = centre;
    s.counts[1] = 2;
    return s;
}

kernel void copies(device sphere *out [[buffer(0)]], device const float *x [[buffer(1)]], constant uint &n [[buffer(2)]],
    uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]])
{
    threadgroup sphere tile[64];
    sphere several[4];
    sphere s = at(float3(x[i], 1, 2));
    several[i % 4] = s;
    tile[t] = several[i % 4];
    sphere back = tile[t];
    if (x[i] > 2) back.radius = 2 * x[i];
    out[i] = back;
}

struct flags {
    uint low : 3;
    uint high : 7;
    uint rest : 22;
};

/* Bits that are not set beside bits that are. */
kernel void bits(device uint *out [[buffer(0)]], device const float *x [[buffer(1)]], constant uint &n [[buffer(2)]],
    uint i [[thread_position_in_grid]])
{
    flags f;
    f.low = i;
    f.high = n;
    uint word;
    word = word & 0 | i;
    if (f.low == 3) word += f.high;
    uchar4 parts;
    parts.x = uchar(i);
    parts.z = uchar(n);
    out[i] = word + parts.x * parts.z;
}

/* Lanes that bring nothing are not looked at. */
kernel void shuffles(device float *out [[buffer(0)]], device const float *x [[buffer(1)]], constant uint &n [[buffer(2)]],
    uint i [[thread_position_in_grid]], ushort lane [[thread_index_in_simdgroup]])
{
    float a;
    if (lane % 2 == 0) a = x[i];
    out[i] = simd_shuffle(a, ushort(lane & ~1));
}

kernel void cleared(device float *out [[buffer(0)]], device const float *x [[buffer(1)]], constant uint &n [[buffer(2)]],
    uint i [[thread_position_in_grid]])
{
    float sums[64] = {};
    sphere none = {};
    for (uint k = 0; k < n; k++) sums[(i + k * 5) % 64] += x[k];
    out[i] = sums[i % 64] + none.counts[i % 3] + none.radius;
}

kernel void unions(device uint *out [[buffer(0)]], device const float *x [[buffer(1)]], constant uint &n [[buffer(2)]],
    uint i [[thread_position_in_grid]])
{
    union {
        float f;
        uint u;
        ushort halves[2];
    } both;
    both.f = x[i];
    out[i] = both.u ^ both.halves[n & 1];
}

kernel void loops(device float *out [[buffer(0)]], device const float *x [[buffer(1)]], constant uint &n [[buffer(2)]],
    uint i [[thread_position_in_grid]])
{
    float best;
    int where;
    for (uint k = 0; k < n; k++) {
        if (k != 0 && x[k] <= best) continue;
        best = x[k];
        where = int(k);
    }
    out[i] = best * where;
}

kernel void wrong_sum(device float *out [[buffer(0)]], device const float *x [[buffer(1)]], constant uint &n [[buffer(2)]],
    uint i [[thread_position_in_grid]])
{
    float sum;
    for (uint k = 0; k < n; k++) sum += x[k];
    out[i] = sum; // here
}

kernel void wrong_vector(device float4 *out [[buffer(0)]], device const float *x [[buffer(1)]], constant uint &n [[buffer(2)]],
    uint i [[thread_position_in_grid]])
{
    float4 sum;
    for (uint k = 0; k < n; k++) sum += x[k] + 1;
    out[i] = sum; // here
}

kernel void wrong_component(device float *out [[buffer(0)]], device const float *x [[buffer(1)]], constant uint &n [[buffer(2)]],
    uint i [[thread_position_in_grid]])
{
    float4 v;
    v.xyz = float3(x[i]);
    out[i] = dot(v, v); // here
}

kernel void wrong_array(device float *out [[buffer(0)]], device const float *x [[buffer(1)]], constant uint &n [[buffer(2)]],
    uint i [[thread_position_in_grid]])
{
    float some[LENGTH];
    for (uint k = 0; k < n; k++) some[k] = x[k];
    out[i] = some[(i + n) % LENGTH]; // here
}

kernel void wrong_member(device float *out [[buffer(0)]], device const float *x [[buffer(1)]], constant uint &n [[buffer(2)]],
    uint i [[thread_position_in_grid]])
{
    sphere s = at(float3(x[i]));
    out[i] = s.centre.x * s.radius; // here
}

kernel void wrong_object(device float *out [[buffer(0)]], device const float *x [[buffer(1)]], constant uint &n [[buffer(2)]],
    uint i [[thread_position_in_grid]])
{
    limits l;
    l.low = 0;
    for (uint k = 0; k < n; k++) l.widen(x[k]); // fmax(unset, x) is what is stored below
    out[i] = l.high - l.low; // here
}

kernel void wrong_branch(device float *out [[buffer(0)]], device const float *x [[buffer(1)]], constant uint &n [[buffer(2)]],
    uint i [[thread_position_in_grid]])
{
    bool found;
    for (uint k = 0; k < n; k++)
        if (x[k] < 0) found = true;
    if (found) // here
        out[i] = 1;
}

kernel void wrong_switch(device float *out [[buffer(0)]], device const float *x [[buffer(1)]], constant uint &n [[buffer(2)]],
    uint i [[thread_position_in_grid]])
{
    int kind;
    if (i % 2) kind = 2;
    switch (kind) { // here
    case 1: out[i] = 4; break;
    case 2: out[i] = 5; break;
    }
}

kernel void wrong_trips(device float *out [[buffer(0)]], device const float *x [[buffer(1)]], constant uint &n [[buffer(2)]],
    uint i [[thread_position_in_grid]])
{
    uint trips;
    if (n > 4) trips = n;
    for (uint k = 0; k < trips; k++) out[i] += x[k]; // here
}

kernel void wrong_index(device float *out [[buffer(0)]], device const float *x [[buffer(1)]], constant uint &n [[buffer(2)]],
    uint i [[thread_position_in_grid]])
{
    uint place;
    if (n > 4) place = n;
    out[i] = 1;
    out[place % 4] = 2; // here
}

kernel void wrong_through_threadgroup(device float *out [[buffer(0)]], device const float *x [[buffer(1)]],
    constant uint &n [[buffer(2)]], uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]])
{
    threadgroup float tile[64];
    float a;
    if (t % 2) a = x[t];
    tile[t] = a;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = tile[63 - t] + 1; // here
}

kernel void wrong_reduction(device float *out [[buffer(0)]], device const float *x [[buffer(1)]], constant uint &n [[buffer(2)]],
    uint i [[thread_position_in_grid]])
{
    float a;
    if (i % 2) a = x[i];
    out[i] = simd_sum(a); // here
}

kernel void wrong_vote(device float *out [[buffer(0)]], device const float *x [[buffer(1)]], constant uint &n [[buffer(2)]],
    uint i [[thread_position_in_grid]])
{
    bool large;
    if (i % 2) large = x[i] > 3;
    out[i] = simd_any(large); // here
}

kernel void wrong_atomic(device atomic_uint *out [[buffer(0)]], device const float *x [[buffer(1)]], constant uint &n [[buffer(2)]],
    uint i [[thread_position_in_grid]])
{
    uint a;
    if (i % 2) a = uint(x[i]);
    atomic_fetch_add_explicit(out, a, memory_order_relaxed); // here
}

/* Through a pointer that was handed on. */
static void keep_larger(thread float *best, float x)
{
    if (x > *best) // wrong_pointer
        *best = x;
}

kernel void wrong_pointer(device float *out [[buffer(0)]], device const float *x [[buffer(1)]], constant uint &n [[buffer(2)]],
    uint i [[thread_position_in_grid]])
{
    float best;
    for (uint k = 0; k < n; k++) keep_larger(&best, x[k]);
    out[i] = best;
}

kernel void wrong_half(device half *out [[buffer(0)]], device const float *x [[buffer(1)]], constant uint &n [[buffer(2)]],
    uint i [[thread_position_in_grid]])
{
    half3 h;
    h.x = half(x[i]);
    out[i] = length(h); // here
}
