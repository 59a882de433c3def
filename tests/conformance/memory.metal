// Memory: layouts of structs and packed vectors, narrow and wide accesses through casts, strides, interleaving, large offsets.
#include <metal_stdlib>
using namespace metal;

// Sizes, alignments and member offsets, as the host sees them in the bytes.
struct inner_t {
    char c;
    half h;
    packed_float3 p;
    float3 v;
};
struct outer_t {
    uchar a;
    inner_t inner[2];
    ushort2 s;
    bool flag;
    uint64_t wide;
    packed_uchar3 bytes;
    half3 h3;
};
kernel void layout(device outer_t *out [[buffer(0)]], device uint *sizes [[buffer(1)]], uint i [[thread_position_in_grid]])
{
    outer_t o;
    o.a = uchar(i);
    for (uint k = 0; k < 2; k++) {
        o.inner[k].c = char(-int(i) - k);
        o.inner[k].h = half(i + k);
        o.inner[k].p = packed_float3(i, k, i + k);
        o.inner[k].v = float3(k, i, -1);
    }
    o.s = ushort2(i, 65535);
    o.flag = i & 1;
    o.wide = ulong(i) << 40;
    o.bytes = packed_uchar3(1, 2, uchar(i));
    o.h3 = half3(i, 0.5h, 2);
    device outer_t &t = out[i];
    t.a = o.a;
    t.inner[0].c = o.inner[0].c;
    t.inner[0].h = o.inner[0].h;
    t.inner[0].p = o.inner[0].p;
    t.inner[0].v = o.inner[0].v;
    t.inner[1].c = o.inner[1].c;
    t.inner[1].h = o.inner[1].h;
    t.inner[1].p = o.inner[1].p;
    t.inner[1].v.xyz = o.inner[1].v;
    t.s = o.s;
    t.flag = o.flag;
    t.wide = o.wide;
    t.bytes = o.bytes;
    t.h3.x = o.h3.x;
    t.h3.yz = o.h3.yz;
    if (i == 0) {
        sizes[0] = sizeof(inner_t);
        sizes[1] = sizeof(outer_t);
        sizes[2] = alignof(outer_t);
        sizes[3] = sizeof(float3);
        sizes[4] = sizeof(packed_float3);
        sizes[5] = sizeof(half3) * 100 + alignof(half3);
        sizes[6] = sizeof(packed_half4) * 100 + alignof(packed_half4);
        sizes[7] = sizeof(bool4) * 100 + alignof(bool2);
        sizes[8] = sizeof(float4x4) * 100 + sizeof(float3x3);
        sizes[9] = sizeof(half2x3) * 100 + alignof(float2x2);
        sizes[10] = sizeof(long) * 100 + sizeof(size_t);
        sizes[11] = sizeof(ptrdiff_t) * 100 + sizeof(char3);
    }
}

// Blocks of quantised weights: a half and 32 signed bytes, 34 bytes each; and half, 16 bytes of nibbles.
struct block8_t {
    half d;
    char q[32];
};
struct block4_t {
    half d;
    uchar q[16];
};
kernel void quantised(device float *out [[buffer(0)]], const device block8_t *b8 [[buffer(1)]], const device block4_t *b4 [[buffer(2)]],
    uint i [[thread_position_in_grid]])
{
    device const block8_t &x = b8[i];
    float sum = 0;
    for (uint k = 0; k < 32; k++) sum += float(x.q[k]) * (k + 1);
    out[3 * i] = sum * float(x.d);
    device const ushort *words = ((device const ushort *)(b4 + i)) + 1; // two bytes at a time, aligned to two
    uint low = 0, high = 0;
    for (ushort k = 0; k < 8; k++) {
        low += (words[k] & 0x000f) + (words[k] >> 8 & 0x000f);
        high += (words[k] >> 4 & 0x000f) * (k + 1) + (words[k] >> 12);
    }
    out[3 * i + 1] = low * float(b4[i].d);
    out[3 * i + 2] = high;
}

// Bytes seen as wider types and back.
kernel void views(device uint *out [[buffer(0)]], const device uchar *bytes [[buffer(1)]], device uchar *copy [[buffer(2)]],
    uint i [[thread_position_in_grid]])
{
    const device uchar *p = bytes + 16 * i;
    out[4 * i] = *(const device uint *)p + ((const device ushort *)p)[3];
    out[4 * i + 1] = ((const device uint4 *)bytes)[i].w ^ ((const device ushort4 *)p)[1].y;
    out[4 * i + 2] = as_type<uint>(*(const device uchar4 *)(p + 4));
    out[4 * i + 3] = uint(reinterpret_cast<const device long *>(p)[1] >> 20);
    *(device ushort *)(copy + 16 * i) = ushort(p[1] | p[0] << 8);
    *(device packed_uchar3 *)(copy + 16 * i + 3) = packed_uchar3(p[5], p[4], p[3]);
    *(device uint2 *)(copy + 16 * i + 8) = uint2(i, ~i);
}

// Access patterns: width W words per thread with a stride known only at launch, and interleaved.
template <typename T>
kernel void strided(device T *out [[buffer(0)]], const device T *in [[buffer(1)]], constant int *how [[buffer(2)]],
    uint i [[thread_position_in_grid]], uint n [[threads_per_grid]])
{
    int stride = how[0], first = how[1];
    T a = in[first + int(i) * stride];
    T b = in[3 * i + 1], c = in[n - 1 - i], d = in[i ^ 5], e = in[2 * (i & 7) + 16 * (i >> 3) + 1];
    out[i] = T(a + b);
    out[n + 2 * i] = c;
    out[n + 2 * i + 1] = d;
    out[3 * n + (i % 4) * (n / 4) + i / 4] = e;
    out[4 * n + int(i) * stride + first] = T(a * 3);
}
#define STRIDED(T)                                                                                            \
    template [[host_name("strided_" #T)]] kernel void strided<T>(device T *out [[buffer(0)]], const device T *in [[buffer(1)]], \
        constant int *how [[buffer(2)]], uint i [[thread_position_in_grid]], uint n [[threads_per_grid]]);
STRIDED(uchar)
STRIDED(ushort)
STRIDED(uint)
STRIDED(ulong)
STRIDED(float)

// Vectors in arrays: two, three and four components, packed and not, one component alone, reversed.
kernel void vectors(device float4 *out [[buffer(0)]], const device float4 *f4 [[buffer(1)]], const device packed_float3 *p3 [[buffer(2)]],
    const device float3 *f3 [[buffer(3)]], const device uchar4 *u4 [[buffer(4)]], device half2 *h2 [[buffer(5)]],
    uint i [[thread_position_in_grid]], uint n [[threads_per_grid]])
{
    out[4 * i] = f4[i].wzyx + f4[n - 1 - i];
    out[4 * i + 1] = float4(float3(p3[i]) * 2, p3[i][1]);
    out[4 * i + 2] = float4(f3[i].zx, f3[n - 1 - i].yy);
    out[4 * i + 3] = float4(u4[i]) + float4(u4[i].x);
    h2[i] = half2(half(u4[i].y), half(u4[i].z)).yx;
    h2[n + i].y = half(f4[i].z);
}

// Offsets above 32 bits: the pointer goes far out and comes back.
kernel void far(device uint *out [[buffer(0)]], const device uint *in [[buffer(1)]], constant long &distance [[buffer(2)]],
    uint i [[thread_position_in_grid]])
{
    const device uint *p = in + distance;
    ulong back = ulong(distance) - i;
    out[i] = *(p - back) + uint((ulong(i) * 0x100000001ul) >> 32) + uint(distance >> 32);
}

// A large buffer, touched far apart: byte offsets of 64 bits and of 32 bits agree.
kernel void sparse(device uchar *data [[buffer(0)]], constant ulong &stride [[buffer(1)]], uint i [[thread_position_in_grid]])
{
    data[ulong(i) * stride] = uchar(i * 7 + 1);
}

// Vectors in packed structures lie at any byte; operators reach them through references.
struct __attribute__((packed)) dense_t {
    uchar a;
    packed_float3 p;
    float3 v;
    half4 h;
    float4 w;
    int e;
};
#pragma pack(push, 1)
struct tight_t {
    char a;
    uint4 u;
    short s;
};
#pragma pack(pop)
kernel void packed_members(device dense_t *out [[buffer(0)]], device tight_t *tight [[buffer(1)]], device uint *sizes [[buffer(2)]],
                           uint i [[thread_position_in_grid]])
{
    device dense_t &o = out[i];
    o.a = uchar(i);
    o.p = float3(i, 2, 3);
    o.p.y += i;
    o.p *= 2.0f;
    o.v = o.p;
    o.v.xy += 1;
    o.v *= 3;
    o.h = half4(i, 1, 2, 3);
    o.h.zw = o.h.xy;
    o.w = float4(o.v, 4);
    o.w += float4(1);
    o.w.w++;
    o.e = int(i);
    o.e <<= 3;
    dense_t copy = o;
    copy.w *= 2;
    copy.v -= 1;
    o.e += int(copy.w.z) + int(copy.v.x);
    tight[i].a = -1;
    tight[i].u = uint4(i);
    tight[i].u <<= 1u;
    tight[i].u.w = 7;
    tight[i].s = 9;
    if (i == 0) {
        sizes[0] = sizeof(dense_t);
        sizes[1] = alignof(dense_t);
        sizes[2] = sizeof(tight_t);
        sizes[3] = alignof(tight_t);
    }
}

// Less than the whole of what a floating-point instruction gave, stored and loaded.
struct __attribute__((packed)) numbers_t {
    uchar a;
    float f;
    half h;
};
kernel void parts(device const float *x [[buffer(0)]], device uchar *bytes [[buffer(1)]], device ushort *halves [[buffer(2)]],
                  device numbers_t *packed [[buffer(3)]], device uint *words [[buffer(4)]], uint i [[thread_position_in_grid]])
{
    threadgroup uchar tile[64];
    float y = x[i] * 2 + 1;
    half h = half(x[i]);
    bytes[3 * i] = uchar(as_type<uint>(y));
    bytes[3 * i + 1] = as_type<uchar2>(h).x;
    tile[i % 64] = uchar(as_type<uint>(y + 1));
    threadgroup_barrier(mem_flags::mem_threadgroup);
    bytes[3 * i + 2] = tile[(i % 64) ^ 1];
    halves[i] = ushort(as_type<uint>(y));
    packed[i].a = 1;
    packed[i].f = y;
    packed[i].h = h;
    words[i] = uint(as_type<ulong>(float2(y, x[i])));
}
