// What no other family runs: sizes of all types, type traits, and single functions.
#include <metal_stdlib>
#include <simd/simd.h>
using namespace metal;

kernel void types(device uint *out)
{
#define TYPE(NAME, BYTES, N, COLUMNS, PACKED) *out++ = sizeof(NAME), *out++ = alignof(NAME);
#include "library_types.def"
}

enum Small : ushort { small_one };
struct Plain {
    int a;
    float b;
};
struct Last final : Plain {
};
struct Made {
    int a;
    Made() : a(1) {}
    Made(int x) : a(x) {}
};
union Either {
    int i;
    float f;
};
float half_of(float x) { return x / 2; }

kernel void traits(device int *out)
{
#define TRAIT(VALUE, ...) *out++ = int(__VA_ARGS__);
#include "library_traits.def"
}

// One thread for each row of four numbers in [0, 1] or [-1, 1].
kernel void packs(device uint *out, device const float4 *in, uint i [[thread_position_in_grid]])
{
    device uint *o = out + 16 * i;
    float4 x = in[i];
    half4 h = half4(x);
    o[0] = pack_half_to_snorm4x8(h);
    o[1] = pack_half_to_unorm4x8(h);
    o[2] = pack_half_to_snorm2x16(h.xy);
    o[3] = pack_half_to_unorm2x16(h.xy);
    o[4] = pack_half_to_unorm10a2(h);
    o[5] = pack_half_to_unorm565(h.xyz);
    o[6] = pack_float_to_unorm565(x.xyz);
    o[7] = as_type<uint>(half2(unpack_snorm4x8_to_half(o[0]).xw));
    o[8] = as_type<uint>(half2(unpack_unorm4x8_to_half(o[1]).yz));
    o[9] = as_type<uint>(unpack_snorm2x16_to_half(o[2]));
    o[10] = as_type<uint>(unpack_unorm2x16_to_half(o[3]));
    o[11] = as_type<uint>(half2(unpack_unorm10a2_to_half(o[4]).zw));
    o[12] = as_type<uint>(half2(unpack_unorm565_to_half(ushort(o[5])).xz));
    o[13] = as_type<uint>(unpack_unorm565_to_float(ushort(o[6])).y);
    o[14] = pack_float_to_srgb_unorm4x8(x) ^ pack_half_to_srgb_unorm4x8(h); // the inputs are exact in half
    o[15] = pack_float_to_srgb_unorm4x8(x);
    half4 back = unpack_unorm4x8_srgb_to_half(o[15]);
    o[14] |= any(abs(back.xyz - saturate(h.xyz)) > 0.01h) || back.w != half(float(o[15] >> 24) / 255);
}

kernel void singles(device uint *out, uint i [[thread_position_in_grid]])
{
    device uint *o = out + 16 * i;
    o[0] = simd_is_helper_thread() + 2 * quad_is_helper_thread();
    o[1] = quad_broadcast_first(i * 3);
    uniform<uint> u = make_uniform(7u);
    o[2] = u + 1;
    o[3] = as_type<uint>(fast::divide(float(i), 0.5f));
    o[4] = as_type<uint>(metal::divide(float(i), 2.0f));
    simdgroup_matrix<float, 8, 8> m = make_diagonal_simdgroup_matrix<float, 8, 8>(3.0f);
    simdgroup_bfloat8x8 b = make_filled_simdgroup_matrix<bfloat, 8, 8>(2.0bf);
    o[5] = uint(m.thread_elements().x + 10 * m.thread_elements().y);
    o[6] = uint(float(b.thread_elements().x) + float(b.thread_elements().y));
    threadgroup atomic_uint t;
    if (i % 32 == 0) atomic_init(&t, 5u);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    o[7] = atomic_load_explicit(&t, memory_order_relaxed);
    mem_flags flags = mem_flags::mem_none;
    flags |= mem_flags::mem_device;
    flags &= mem_flags::mem_device | mem_flags::mem_threadgroup;
    o[8] = uint(flags);
    array<uint, 3> a = {1, 2, i};
    array_ref<uint> view(a);
    o[9] = a[2] + view.size();
    o[10] = view[1];
}

// What fast:: and precise:: share with the plain functions, on arguments whose results are known.
// The values come through memory, so that nothing is computed at compile time.
#define FORMS(S)                                                                                             \
    float k[8] = {1, 2, 3, 4, 5, -1, 0, 0.5f};                                                               \
    for (uint j = 0; j < 8; j++) out[j] = k[j];                                                              \
    float one = out[0], two = out[1], three = out[2], four = out[3], five = out[4], minus = out[5],          \
          zero = out[6], half_ = out[7], cosine, whole;                                                      \
    int exponent;                                                                                            \
    device float *o = out;                                                                                   \
    *o++ = S::abs(-2.5f * one);                                                                              \
    *o++ = S::clamp(half_, zero, one);                                                                       \
    *o++ = S::cross(float3(one, zero, zero), float3(zero, one, zero)).z;                                     \
    *o++ = S::abs(S::cross(float3(one, two, three), float3(three, two, one)).z) - one;                       \
    *o++ = S::distance(float2(four, five + one), float2(one, two));                                          \
    *o++ = S::distance_squared(float2(four, five + one), float2(one, two));                                  \
    *o++ = S::dot(float2(one, two), float2(three, four));                                                    \
    *o++ = S::faceforward(float2(one, zero), float2(one, zero), float2(one, zero)).x;                        \
    *o++ = S::fma(two, three, one);                                                                          \
    *o++ = S::fma(two, four, one);                                                                           \
    *o++ = S::fmax3(one, four, two);                                                                         \
    *o++ = S::fmin3(one, four, two);                                                                         \
    *o++ = S::frexp(three, exponent);                                                                        \
    *o++ = S::fmedian3(three, four, one);                                                                    \
    *o++ = S::ilogb(five * four);                                                                            \
    *o++ = S::ldexp(three, int(three));                                                                      \
    *o++ = S::length(float2(three, four));                                                                   \
    *o++ = S::length_squared(float2(three, four));                                                           \
    *o++ = S::max(five + two, four);                                                                         \
    *o++ = S::max3(four + five, one, two);                                                                   \
    *o++ = S::median3(four, one, five);                                                                      \
    *o++ = S::min(one, two);                                                                                 \
    *o++ = S::min3(one, two, three);                                                                         \
    *o++ = S::mix(two, three, half_);                                                                        \
    *o++ = S::modf(1.25f * one, whole);                                                                      \
    *o++ = whole + one;                                                                                      \
    *o++ = S::normalize(float2(zero, two)).x;                                                                \
    *o++ = S::normalize(float2(zero, two)).y;                                                                \
    *o++ = S::reflect(float2(three, four), float2(zero, one)).x;                                             \
    *o++ = S::reflect(float2(three, four), float2(zero, one)).y;                                             \
    *o++ = S::refract(float2(zero, minus), float2(zero, one), one).x;                                        \
    *o++ = S::refract(float2(zero, minus), float2(zero, one), one).y;                                        \
    *o++ = S::saturate(five);                                                                                \
    *o++ = S::sign(minus * two);                                                                             \
    *o++ = S::sincos(zero, cosine);                                                                          \
    *o++ = cosine;                                                                                           \
    *o++ = S::smoothstep(zero, two, one);                                                                    \
    *o++ = S::step(two, one);                                                                                \
    *o++ = S::divide(three, two);
kernel void fast_forms(device float *out) { FORMS(fast) }
kernel void precise_forms(device float *out) { FORMS(precise) }
