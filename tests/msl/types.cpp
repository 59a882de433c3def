/* Sizes, alignments, types of expressions, constant expressions: metal_types and metal_type_traits. Checked
 * by compiling. Written in the rewritten dialect: p.xy is p.template swz<0, 1>(). */
using namespace metal;
#define SAME(T, ...) static_assert(__is_same(T, decltype(__VA_ARGS__)), #__VA_ARGS__)
#define LAYOUT(T, SIZE, ALIGN) static_assert(sizeof(T) == SIZE && alignof(T) == ALIGN, #T)

/* ---- Layout: table of the specification ---- */
LAYOUT(bool, 1, 1);
LAYOUT(char, 1, 1);
LAYOUT(short, 2, 2);
LAYOUT(int, 4, 4);
LAYOUT(long, 8, 8);
LAYOUT(half, 2, 2);
LAYOUT(bfloat, 2, 2);
LAYOUT(float, 4, 4);
LAYOUT(size_t, 8, 8);
LAYOUT(bool2, 2, 2);
LAYOUT(bool3, 4, 4);
LAYOUT(bool4, 4, 4);
LAYOUT(char2, 2, 2);
LAYOUT(uchar3, 4, 4);
LAYOUT(char4, 4, 4);
LAYOUT(short2, 4, 4);
LAYOUT(ushort3, 8, 8);
LAYOUT(short4, 8, 8);
LAYOUT(int2, 8, 8);
LAYOUT(uint3, 16, 16);
LAYOUT(int4, 16, 16);
LAYOUT(long2, 16, 16);
LAYOUT(ulong3, 32, 32);
LAYOUT(long4, 32, 32);
LAYOUT(half2, 4, 4);
LAYOUT(half3, 8, 8);
LAYOUT(half4, 8, 8);
LAYOUT(bfloat2, 4, 4);
LAYOUT(bfloat3, 8, 8);
LAYOUT(bfloat4, 8, 8);
LAYOUT(float2, 8, 8);
LAYOUT(float3, 16, 16);
LAYOUT(float4, 16, 16);
LAYOUT(packed_char3, 3, 1);
LAYOUT(packed_half3, 6, 2);
LAYOUT(packed_float2, 8, 4);
LAYOUT(packed_float3, 12, 4);
LAYOUT(packed_float4, 16, 4);
LAYOUT(packed_ulong3, 24, 8);
LAYOUT(packed_bfloat4, 8, 2);
LAYOUT(float2x2, 16, 8);
LAYOUT(float2x3, 32, 16);
LAYOUT(float2x4, 32, 16);
LAYOUT(float3x2, 24, 8);
LAYOUT(float3x3, 48, 16);
LAYOUT(float4x3, 64, 16);
LAYOUT(float4x4, 64, 16);
LAYOUT(half2x2, 8, 4);
LAYOUT(half3x3, 24, 8);
LAYOUT(half4x4, 32, 8);
LAYOUT(half2x4, 16, 8);
struct mixed {
    char c;
    float3 v;
    packed_float3 p;
    half2 h;
};
LAYOUT(mixed, 48, 16);
static_assert(__builtin_offsetof(mixed, v) == 16 && __builtin_offsetof(mixed, p) == 32 &&
              __builtin_offsetof(mixed, h) == 44);
static_assert(__is_trivially_copyable(float3) && __is_trivially_constructible(float3) &&
              __is_trivially_copyable(half4x4));

/* ---- Types of expressions ---- */
SAME(float4, float4() + float4());
SAME(float4, float4() * 2);
SAME(float4, 2.0f * float4());
SAME(half4, half4() * half(2));
SAME(bool4, float4() < float4());
SAME(bool2, !int2());
SAME(bool3, bool3() && bool3());
SAME(int2, int2() << 1);
SAME(char2, char2() + char2());
SAME(ushort3, ushort3() * ushort3());
SAME(float3, packed_float3() + packed_float3());
SAME(float3, packed_float3() * 2.0f);
SAME(float3, -packed_float3());
SAME(bool3, packed_int3() == packed_int3());
SAME(half, half() * half());
SAME(float, half() * 1.0f);
SAME(bfloat, bfloat() * bfloat());
SAME(float, bfloat() * 1.0f);
SAME(float, bfloat() * half());
SAME(bfloat, bfloat() + 1);
SAME(bool, bfloat() < 1.0f);
SAME(bfloat, -bfloat());
SAME(float2, float4().swz<3, 0>());
SAME(float4, float2().swz<0, 1, 1, 0>());
SAME(half3, packed_half4().swz<2, 1, 0>());
SAME(float3x2, float3x2() * 2.0f);
SAME(float2, float3x2() * float3());
SAME(float3, float2() * float3x2());
SAME(float4x2, float3x2() * float4x3());
SAME(float2x3, transpose(float3x2()));
SAME(bool3, isnan(float3()));
SAME(uint, absdiff(int(), int()));
SAME(uchar3, absdiff(char3(), char3()));
SAME(float, dot(float3(), float3()));
SAME(half, length(half2()));
SAME(float3, cross(float3(), packed_float3()));
SAME(float, metal::exp(bfloat()));
SAME(float, max(bfloat(), bfloat()));
SAME(half, min(half(), half()));
SAME(int4, ilogb(float4()));
SAME(ushort, popcount(ushort()));
SAME(float3, select(float3(), float3(), bool3()));
/* Fast and precise functions have scalars of float alone, so any number may be an argument. */
SAME(half, exp(half(1)));
SAME(float, precise::exp(half(1)));
SAME(float, precise::exp(1));
SAME(float, fast::tanh(uchar(1)));
SAME(float, precise::pow(true, long(2)));
SAME(float, fast::atan2(half(1), 2u));
SAME(half4, precise::exp(half4(1)));
SAME(float2, fast::pow(float2(1), 2));
SAME(float2, true ? __tc<decltype(float2())>(1.0f) : __tc<float>(float2()));
SAME(bfloat, true ? __tc<bfloat>(1) : __tc<int>(bfloat()));
SAME(float, true ? __tc<bfloat>(1.0f) : __tc<float>(bfloat()));

/* ---- Conversions that must and must not exist ---- */
#define YES(...) static_assert(__VA_ARGS__, #__VA_ARGS__)
#define NO(...) static_assert(!(__VA_ARGS__), #__VA_ARGS__)
YES(is_convertible_v<float, float4>);
YES(is_convertible_v<int, float4>);
YES(is_convertible_v<float3, packed_float3>);
YES(is_convertible_v<packed_float3, float3>);
NO(is_convertible_v<int4, float4>);
NO(is_convertible_v<half4, float4>);
YES(is_constructible_v<float4, int4>);
YES(is_constructible_v<float4, half4>);
NO(is_constructible_v<float4, float3>);
NO(is_constructible_v<float2, float2, float>);
YES(is_constructible_v<float4, float2, float, float>);
YES(is_constructible_v<float4, float, float2, float>);
YES(is_constructible_v<float4, float3, float>);
YES(is_constructible_v<float4, packed_float3, float>);
YES(is_constructible_v<half3, packed_float3>);
NO(is_convertible_v<float, float4x4>);
YES(is_constructible_v<float4x4, float>);
YES(is_constructible_v<half4x4, float4x4>);
YES(is_convertible_v<bfloat, float>);
YES(is_constructible_v<half, bfloat>);
YES(is_convertible_v<bfloat, float4>);
YES(is_convertible_v<int, bfloat4> &&is_convertible_v<float, bfloat4> &&is_convertible_v<bfloat, bfloat4>);
YES(is_convertible_v<int, packed_bfloat3> &&is_convertible_v<int, packed_float3>);
NO(is_convertible_v<float2, bfloat4>);
SAME(bfloat4, bfloat4() * 2);
SAME(bfloat4, bfloat4() + bfloat());
SAME(float4, float4() * bfloat());

/* ---- Constant expressions ---- */
constexpr float4 c(1, 2, 3, 4);
YES(c[2] == 3.0f);
YES(c.swz<3, 0>().x == 4.0f);
YES((c + c).w == 8.0f);
YES((c * 0.5f).y == 1.0f);
YES((2 / c).w == 0.5f);
constexpr int3 i(7, -7, 5);
YES((i / 2).x == 3);
YES((i / 2).y == -3);
YES((i % 4).y == -3);
YES((i << 33).x == 14);
YES((i >> 1).y == -4);
YES((~i).x == -8);
YES((i == int3(7, 0, 5)).x);
NO((i == int3(7, 0, 5)).y);
YES(ushort2(65535).swz<1, 0>().x == 0xffff);
constexpr ushort2 big = ushort2(65535) * ushort2(65535);
YES(big.x == 1);
YES((char2(127) + char2(1)).x == -128);
YES((uchar2(3) - uchar2(5)).y == 254);
constexpr float4 joined(float2(1, 2), float2(3, 4)), triple(1.0f, float3(2, 3, 4)), mid(1, float2(2, 3), 4);
YES(joined.z == 3 && triple.w == 4 && mid.y == 2 && float3(5).z == 5 && float3(float2(1, 2), 3).z == 3);
constexpr int4 listed = {1, 2, 3};
YES(listed.z == 3 && listed.w == 0);
YES(int3(float3(1.9f, -1.9f, 0.0f)).x == 1 && int3(float3(1.9f, -1.9f, 0.0f)).y == -1);
constexpr float2x2 m(1, 2, 3, 4);
YES(m[1][0] == 3.0f && (m * float2(1, 1)).x == 4.0f && (m * float2(1, 1)).y == 6.0f &&
    (float2(1, 1) * m).x == 3.0f);
YES((m * m)[0][0] == 7.0f && (m * m)[0][1] == 10.0f && (m * m)[1][0] == 15.0f && (m * m)[1][1] == 22.0f);
YES(determinant(m) == -2.0f && transpose(m)[0][1] == 3.0f && float3x3(2.0f)[1][1] == 2.0f &&
    float3x3(2.0f)[1][2] == 0.0f);
YES(determinant(float3x3(2, 0, 1, 1, 3, 2, 1, 1, 1)) == 0.0f);
YES(determinant(float3x3(2, -1, 0, 1, 3, 2, 4, 1, 5)) == 23.0f);
YES(determinant(float4x4(1, 2, 0, 1, 3, 1, 1, 0, 2, 1, 3, 1, 0, 2, 1, 4)) == -28.0f);

/* bfloat: round to nearest even, by known bit patterns. */
constexpr ushort bits(float f) { return bfloat(f).__bits; }
YES(bits(1.0f) == 0x3f80);
YES(bits(0x1.01p0f) == 0x3f80);
YES(bits(0x1.03p0f) == 0x3f82);
YES(bits(0x1.010002p0f) == 0x3f81);
YES(bits(-0.0f) == 0x8000);
YES(bits(3.4028235e38f) == 0x7f80);
YES(bits(__builtin_inff()) == 0x7f80);
YES(bits(1e-40f) == 0x0001);
YES((bits(__builtin_nanf("")) & 0x7fff) > 0x7f80);
YES(float(bfloat(3)) == 3.0f);
YES(bfloat(1) + bfloat(2) == bfloat(3));
YES((bits(__builtin_bit_cast(float, 0x7f800001u)) & 0x7fff) > 0x7f80);
YES(float(bfloat(257)) == 256.0f && float(bfloat(259)) == 260.0f);

/* ---- Traits ---- */
YES(is_same_v<remove_addrspace_t<__attribute__((opencl_global)) float>, float>);
YES(is_same_v<remove_addrspace_t<__attribute__((opencl_local)) const float>, const float>);
YES(is_floating_point_v<half> &&is_floating_point_v<bfloat> &&is_floating_point_v<const float>);
NO(is_floating_point_v<int>);
YES(is_integral_v<bool> &&is_integral_v<ulong>);
NO(is_integral_v<half>);
NO(is_integral_v<bfloat>);
YES(is_arithmetic_v<bfloat> &&is_signed_v<half> &&is_unsigned_v<ushort> &&is_scalar_v<bfloat>
        &&is_vector_v<float4>);
NO(is_vector_v<float>);
YES(is_vector_v<packed_float3>);
YES(vec_elements<half3>::value == 3 && vec_elements<half>::value == 1);
YES(is_same_v<make_scalar_t<int4>, int> &&is_same_v<conditional_t<false, int, float>, float>);
YES(is_same_v<enable_if_t<true, int>, int> &&is_same_v<decltype(declval<float4>().x), float>);
YES(is_same_v<common_type_t<int, float>, float> &&is_same_v<make_unsigned_t<long>, ulong>
        &&is_same_v<decay_t<int[3]>, int *>);
YES(conjunction_v<true_type, true_type> &&disjunction_v<false_type, true_type> &&negation_v<false_type>);
YES(integral_constant<int, 4>() + 1 == 5 && make_index_sequence<5>::size() == 5 &&
    extent<int[7]>::value == 7 && rank<int[2][3]>::value == 2);
YES(_disjunction<is_same<int, int>, is_same<int, float>>::value &&__is_valid_simdgroup_type<half>::value);
YES(is_same_v<int8_t, char> &&is_same_v<uint64_t, ulong> && sizeof(uintptr_t) == 8 &&
    is_same_v<metal::float4, ::float4>);
YES(sizeof(atomic_uint) == 4 && sizeof(atomic<ulong>) == 8 && is_same_v<_atomic<int>, atomic_int>);
YES(sizeof(array<float3, 5>) == 80 && array<int, 3>{{1, 2, 3}}[1] == 2 && sizeof(simd::packed_float3) == 12 &&
    is_same_v<simd_float4, float4>);
template <typename T, int N> constexpr int length_of(vec<T, N>) { return N; }
YES(length_of(float3()) == 3 && length_of(half4()) == 4);

/* The least that must also work on objects in other address spaces. */
[[clang::sycl_external]] void in_device(__attribute__((opencl_global)) float4 *p,
                                        __attribute__((opencl_global_host)) const half4x4 &m,
                                        __attribute__((opencl_local)) packed_float3 *g)
{
    p[0].template swzl<0, 1>() = p[1].template swz<2, 3>();
    p[0] += 1.0f;
    p[1][2] = m[1][2];
    g[0] = p[0].template swz<0, 1, 2>() + g[1];
    p[2] = (true ? __tc<decltype(float4(m[0]))>(p[3]) : __tc<decltype(p[3])>(float4(m[0])));
}
