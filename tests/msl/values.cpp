/* Functions of the library on arrays, compiled for this machine; values.c calls them and knows the right
 * results. */
#include <__tombac/metal.h>
using namespace metal;
#define EXPORT extern "C" [[clang::sycl_external]] void

#define FLOAT1(NAME)                                                                                         \
    EXPORT f_##NAME(const float *x, float *y, int n)                                                         \
    {                                                                                                        \
        for (int i = 0; i < n; i++) y[i] = metal::NAME(x[i]);                                                \
    }                                                                                                        \
    EXPORT h_##NAME(const half *x, half *y, int n)                                                           \
    {                                                                                                        \
        for (int i = 0; i < n; i++) y[i] = metal::NAME(x[i]);                                                \
    }
FLOAT1(floor)
FLOAT1(ceil) FLOAT1(trunc) FLOAT1(round) FLOAT1(rint) FLOAT1(fract) FLOAT1(sqrt) FLOAT1(fabs) FLOAT1(sign)
    FLOAT1(exp) FLOAT1(sin) FLOAT1(log2)
#define FLOAT2(NAME)                                                                                         \
    EXPORT f_##NAME(const float *x, const float *y, float *z, int n)                                         \
    {                                                                                                        \
        for (int i = 0; i < n; i++) z[i] = metal::NAME(x[i], y[i]);                                          \
    }                                                                                                        \
    EXPORT h_##NAME(const half *x, const half *y, half *z, int n)                                            \
    {                                                                                                        \
        for (int i = 0; i < n; i++) z[i] = metal::NAME(x[i], y[i]);                                          \
    }
        FLOAT2(fmin) FLOAT2(fmax) FLOAT2(copysign) FLOAT2(nextafter) FLOAT2(fdim) FLOAT2(fmod)
            FLOAT2(pow) EXPORT h_fma(const half *x, const half *y, const half *z, half *r, int n)
{
    for (int i = 0; i < n; i++) r[i] = fma(x[i], y[i], z[i]);
}
EXPORT f_fma(const float *x, const float *y, const float *z, float *r, int n)
{
    for (int i = 0; i < n; i++) r[i] = fma(x[i], y[i], z[i]);
}
EXPORT vector_forms(const float *x, float *y)
{
    float4 v(x[0], x[1], x[2], x[3]), second;
    int4 e;
    float4 r[6] = {exp(v), pow(v, 2.0f), sincos(v, second), second, frexp(v, e), ldexp(v, e)};
    for (int i = 0; i < 24; i++) y[i] = r[i / 4][i % 4];
}

/* ---- Integers, against 128-bit arithmetic ---- */
#define INTEGER(T)                                                                                           \
    EXPORT integer_##T(const T *x, T a, T b, T c, uint o, uint n, T *r)                                      \
    {                                                                                                        \
        *r++ = addsat(a, b), *r++ = subsat(a, b), *r++ = hadd(a, b), *r++ = rhadd(a, b), *r++ = mulhi(a, b); \
        *r++ = madhi(a, b, c), *r++ = madsat(a, b, c), *r++ = T(absdiff(a, b)), *r++ = rotate(a, b);         \
        *r++ = popcount(a), *r++ = clz(a), *r++ = ctz(a), *r++ = reverse_bits(a), *r++ = abs(a);             \
        *r++ = extract_bits(a, o, n), *r++ = insert_bits(a, b, o, n), *r++ = median3(a, b, c),               \
        *r++ = clamp(a, min(b, c), max(b, c));                                                               \
    }
INTEGER(char)
INTEGER(uchar) INTEGER(short) INTEGER(ushort) INTEGER(int) INTEGER(uint) INTEGER(long) INTEGER(ulong)

    /* ---- bfloat ---- */
    EXPORT bfloat_from_float(const float *x, ushort *y, int n)
{
    for (int i = 0; i < n; i++) y[i] = as_type<ushort>(bfloat(x[i]));
}
EXPORT bfloat_arithmetic(const ushort *x, const ushort *y, ushort *z, int n)
{
    for (int i = 0; i < n; i++) {
        bfloat a = as_type<bfloat>(x[i]), b = as_type<bfloat>(y[i]);
        z[4 * i] = as_type<ushort>(a + b), z[4 * i + 1] = as_type<ushort>(a - b);
        z[4 * i + 2] = as_type<ushort>(a * b), z[4 * i + 3] = as_type<ushort>(a / b);
    }
}

/* ---- Packing ---- */
EXPORT pack_one(const float *x, uint *r)
{
    float4 f(x[0], x[1], x[2], x[3]);
    *r++ = pack_float_to_unorm4x8(f), *r++ = pack_float_to_snorm4x8(f),
    *r++ = pack_float_to_unorm2x16(float2(x[0], x[1]));
    *r++ = pack_float_to_snorm2x16(float2(x[0], x[1])), *r++ = pack_float_to_unorm10a2(f);
    *r++ = pack_float_to_unorm565(float3(x[0], x[1], x[2])), *r++ = pack_float_to_srgb_unorm4x8(f);
}
EXPORT unpack_one(uint x, float *r)
{
    float4 a = unpack_unorm4x8_to_float(x), b = unpack_snorm4x8_to_float(x), c = unpack_unorm10a2_to_float(x);
    float4 d = unpack_unorm4x8_srgb_to_float(x),
           e(unpack_unorm2x16_to_float(x), unpack_snorm2x16_to_float(x));
    float4 f(unpack_unorm565_to_float(ushort(x)), 0);
    float4 all[6] = {a, b, c, d, e, f};
    for (int i = 0; i < 24; i++) r[i] = all[i / 4][i % 4];
}

/* ---- Atomics on one cell ---- */
EXPORT atomics_uint(atomic_uint *p, uint v, uint *r)
{
    memory_order o = memory_order_relaxed;
    *r++ = atomic_fetch_add_explicit(p, v, o), *r++ = atomic_fetch_sub_explicit(p, 3u, o),
    *r++ = atomic_fetch_min_explicit(p, 7u, o);
    *r++ = atomic_fetch_max_explicit(p, 12u, o), *r++ = atomic_fetch_and_explicit(p, 10u, o),
    *r++ = atomic_fetch_or_explicit(p, 5u, o);
    *r++ = atomic_fetch_xor_explicit(p, 3u, o), *r++ = atomic_exchange_explicit(p, 99u, o),
    *r++ = atomic_load_explicit(p, o);
    uint expected = 98;
    *r++ = atomic_compare_exchange_weak_explicit(p, &expected, 5u, o, o), *r++ = expected;
    atomic_store_explicit(p, 1u, o);
}
EXPORT atomics_int(atomic_int *p, int *r)
{
    memory_order o = memory_order_relaxed;
    *r++ = atomic_fetch_min_explicit(p, -5, o), *r++ = atomic_fetch_max_explicit(p, 4, o),
    *r++ = atomic_load_explicit(p, memory_order_acquire);
}
EXPORT atomics_float(atomic_float *p, float *r)
{
    memory_order o = memory_order_relaxed;
    *r++ = atomic_fetch_add_explicit(p, 1.5f, o), *r++ = atomic_fetch_sub_explicit(p, 0.25f, o),
    *r++ = atomic_load_explicit(p, o);
    atomic_store_explicit(p, __builtin_nanf(""), o);
    float expected = __builtin_nanf(""); /* a NaN in memory meets the same NaN: compared by bits */
    bool done = false;
    for (int i = 0; i < 100 && !done; i++)
        done = atomic_compare_exchange_weak_explicit(p, &expected, 7.0f, o, o);
    *r++ = done, *r++ = atomic_load_explicit(p, o);
}

/* ---- SIMD-group matrices: one lane's loads and stores ---- */
EXPORT matrix_lane(const float *source, float *destination, ulong stride, ulong ox, ulong oy, int transpose)
{
    simdgroup_float8x8 m;
    simdgroup_load(m, source, stride, ulong2(ox, oy), transpose != 0);
    m.thread_elements() *= 2.0f;
    simdgroup_store(m, destination, stride, ulong2(ox, oy), transpose != 0);
    simdgroup_float8x8 d(3.0f);
    destination[0] = d.thread_elements().x, destination[1] = d.thread_elements().y;
}
EXPORT geometric(const float *x, float *r)
{
    float3 a(x[0], x[1], x[2]), b(x[3], x[4], x[5]);
    float3 n = normalize(b), f = refract(a, n, 0.75f), g = reflect(a, n);
    *r++ = length(a), *r++ = distance(a, b), *r++ = n.x, *r++ = n.y, *r++ = n.z;
    *r++ = f.x, *r++ = f.y, *r++ = f.z, *r++ = g.x, *r++ = g.y, *r++ = g.z;
    half3 h(a);
    *r++ = float(length(h)), *r++ = refract(a, n, 50.0f).x;
}
