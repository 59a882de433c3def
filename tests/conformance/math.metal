// Metal's math functions, by number, in the default namespace, in fast:: and in precise::.
#include <metal_stdlib>
using namespace metal;

#define ONE_ARGUMENT(F)                                                                                       \
    F(0, acos) F(1, acosh) F(2, asin) F(3, asinh) F(4, atan) F(5, atanh) F(6, ceil) F(7, cos) F(8, cosh)      \
    F(9, cospi) F(10, exp) F(11, exp10) F(12, exp2) F(13, fabs) F(14, floor) F(15, fract) F(16, log)          \
    F(17, log10) F(18, log2) F(19, rint) F(20, round) F(21, rsqrt) F(22, sin) F(23, sinh) F(24, sinpi)        \
    F(25, sqrt) F(26, tan) F(27, tanh) F(28, tanpi) F(29, trunc)
#define TWO_ARGUMENTS(F)                                                                                      \
    F(0, atan2) F(1, copysign) F(2, fdim) F(3, fmax) F(4, fmin) F(5, fmod) F(6, pow) F(7, powr) F(8, nextafter)

#define CASE_DEFAULT(k, f) case k: r = f(x); break;
#define CASE_FAST(k, f) case k: r = fast::f(x); break;
#define CASE_PRECISE(k, f) case k: r = precise::f(x); break;
#define CASE_VECTOR(k, f) case k: r = f(float3(x, x, 0.5f)).y; break;
#define CASE_HALF(k, f) case k: r = f(h); break;
#define FUNCTIONS(NAME, T, X, CASE)                                                                           \
    kernel void NAME(device float *out [[buffer(0)]], const device float *in [[buffer(1)]], constant uint &which [[buffer(2)]], \
        uint i [[thread_position_in_grid]])                                                                   \
    {                                                                                                         \
        T X = T(in[i]), r = 0;                                                                                \
        switch (which) { ONE_ARGUMENT(CASE) }                                                                 \
        out[i] = r;                                                                                           \
    }
FUNCTIONS(one_default, float, x, CASE_DEFAULT)
FUNCTIONS(one_fast, float, x, CASE_FAST)
FUNCTIONS(one_precise, float, x, CASE_PRECISE)
FUNCTIONS(one_vector, float, x, CASE_VECTOR)
FUNCTIONS(one_half, half, h, CASE_HALF)

#define CASE2_DEFAULT(k, f) case k: r = f(x, y); break;
#define CASE2_FAST(k, f) case k: r = fast::f(x, y); break;
#define CASE2_PRECISE(k, f) case k: r = precise::f(x, y); break;
#define FUNCTIONS2(NAME, CASE)                                                                                \
    kernel void NAME(device float *out [[buffer(0)]], const device float2 *in [[buffer(1)]], constant uint &which [[buffer(2)]], \
        uint i [[thread_position_in_grid]])                                                                   \
    {                                                                                                         \
        float x = in[i].x, y = in[i].y, r = 0;                                                                \
        switch (which) { TWO_ARGUMENTS(CASE) }                                                                \
        out[i] = r;                                                                                           \
    }
FUNCTIONS2(two_default, CASE2_DEFAULT)
FUNCTIONS2(two_fast, CASE2_FAST)
FUNCTIONS2(two_precise, CASE2_PRECISE)

// Functions with three arguments, or with results besides the value.
kernel void others(device float *out [[buffer(0)]], const device float4 *in [[buffer(1)]], uint i [[thread_position_in_grid]])
{
    float x = in[i].x, y = in[i].y, z = in[i].z;
    device float *o = out + 32 * i;
    o[0] = fma(x, y, z);
    o[1] = fmax3(x, y, z);
    o[2] = fmin3(x, y, z);
    o[3] = fmedian3(x, y, z);
    o[4] = clamp(x, min(y, z), max(y, z));
    o[5] = saturate(x);
    o[6] = sign(x);
    o[7] = step(x, y);
    o[8] = mix(x, y, 0.25f);
    o[9] = max(x, y);
    o[10] = min(x, y);
    o[11] = abs(x);
    int exponent;
    o[12] = frexp(x, exponent);
    o[13] = exponent;
    float whole;
    o[14] = modf(x, whole);
    o[15] = whole;
    o[16] = ldexp(x, int(y));
    o[17] = x == 0 ? 0 : ilogb(x);
    o[18] = select(x, y, z > 0);
    o[19] = smoothstep(0.0f, 8.0f, x);
    o[20] = x / y;
    o[21] = x * y + z;
    o[22] = max3(x, y, z);
    o[23] = float(median3(int(x), int(y), int(z)));
}

kernel void sine_and_cosine(device float2 *out [[buffer(0)]], const device float *in [[buffer(1)]], uint i [[thread_position_in_grid]])
{
    float c, s = precise::sincos(in[i], c);
    out[2 * i] = float2(s, c);
    s = sincos(in[i], c);
    out[2 * i + 1] = float2(s, c);
}

// Relations, bit by bit.
kernel void relations(device uint *out [[buffer(0)]], const device float2 *in [[buffer(1)]], uint i [[thread_position_in_grid]])
{
    float x = in[i].x, y = in[i].y;
    uint r = isnan(x);
    r |= isinf(x) << 1;
    r |= isfinite(x) << 2;
    r |= isnormal(x) << 3;
    r |= signbit(x) << 4;
    r |= isordered(x, y) << 5;
    r |= isunordered(x, y) << 6;
    r |= (x < y) << 7;
    r |= (x <= y) << 8;
    r |= (x == y) << 9;
    r |= (x != y) << 10;
    r |= (x > y) << 11;
    r |= (x >= y) << 12;
    r |= any(isnan(float3(0, x, 1))) << 13;
    r |= all(isfinite(float2(x, y))) << 14;
    r |= all(not(isinf(float2(x, y)))) << 15;
    r |= (x ? 1 : 0) << 16;
    r |= !x << 17;
    r |= isnan(half(x)) << 18;
    out[i] = r;
}

kernel void geometry(device float *out [[buffer(0)]], const device packed_float3 *in [[buffer(1)]], uint i [[thread_position_in_grid]])
{
    float3 a = in[2 * i], b = in[2 * i + 1];
    device float *o = out + 24 * i;
    float3 r[6] = {cross(a, b), normalize(a), reflect(a, normalize(b)), faceforward(a, b, a), refract(normalize(a), normalize(b), 0.5f), fma(a, b, a)};
    o[0] = dot(a, b);
    o[1] = length(a);
    o[2] = length_squared(a);
    o[3] = distance(a, b);
    o[4] = distance_squared(a, b);
    o[5] = dot(a.xy, b.yz);
    for (uint k = 0; k < 6; k++) {
        o[6 + 3 * k] = r[k].x;
        o[7 + 3 * k] = r[k].y;
        o[8 + 3 * k] = r[k].z;
    }
}

kernel void packing(device uint *out [[buffer(0)]], const device float4 *in [[buffer(1)]], device float4 *unpacked [[buffer(2)]],
    const device uint *words [[buffer(3)]], uint i [[thread_position_in_grid]])
{
    float4 v = in[i];
    out[6 * i] = pack_float_to_unorm4x8(v);
    out[6 * i + 1] = pack_float_to_snorm4x8(v);
    out[6 * i + 2] = pack_float_to_unorm2x16(v.xy);
    out[6 * i + 3] = pack_float_to_snorm2x16(v.zw);
    out[6 * i + 4] = pack_half_to_unorm4x8(half4(v));
    out[6 * i + 5] = pack_float_to_unorm10a2(v);
    uint w = words[i];
    unpacked[6 * i] = unpack_unorm4x8_to_float(w);
    unpacked[6 * i + 1] = unpack_snorm4x8_to_float(w);
    unpacked[6 * i + 2] = float4(unpack_unorm2x16_to_float(w), unpack_snorm2x16_to_float(w));
    unpacked[6 * i + 3] = float4(unpack_unorm4x8_to_half(w));
    unpacked[6 * i + 4] = unpack_unorm10a2_to_float(w);
    unpacked[6 * i + 5] = unpack_unorm4x8_srgb_to_float(w);
}

// Fast rsqrt has the bits of a division by a root, whatever an engine makes of it: counts those of count arguments,
// `step` apart, that have not. zero[0] is 0, which the compiler does not know.
kernel void inverse_roots(device atomic_uint *wrong [[buffer(0)]], const device uint *zero [[buffer(1)]],
    constant uint &count [[buffer(2)]], constant uint &step [[buffer(3)]], uint i [[thread_position_in_grid]])
{
    uint bad = 0;
    for (uint k = 0; k < count; k++) {
        float x = as_type<float>((i * count + k) * step);
        uint found = as_type<uint>(rsqrt(x));
        uint right = as_type<uint>(1.0f / as_type<float>(as_type<uint>(sqrt(x)) ^ zero[0]));
        bool nan = (found & 0x7fffffff) > 0x7f800000 && (right & 0x7fffffff) > 0x7f800000;
        bad += found != right && !nan;
    }
    atomic_fetch_add_explicit(wrong, bad, memory_order_relaxed);
}
