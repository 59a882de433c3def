#include <metal_stdlib>
#include <metal_atomic>
#include <metal_logging>
#include <metal_assert>
#include <metal_simdgroup_matrix>
using namespace metal;

// C's names for the device, in Metal.
template <typename T> struct tombac_slice {
    T *pointer;
    ulong count;
};
#define slice(T) tombac_slice<T>
#define slice_const(T) tombac_slice<const T>
#define declare_slice(T) static_assert(sizeof(T) > 0, "a slice's element has a size")
inline ulong tombac_index(ulong index, ulong count)
{
    assert(index < count);
    return index;
}
#define tombac_checked_index(i, n, condition, file, line) tombac_index((i), (n))
#define as_type(T, x) as_type<T>(x)

// ---- Mathematics ----
#define TOMBAC_FLOAT1(NAME) inline float NAME##f(float x) { return NAME(x); }
#define TOMBAC_FLOAT2(NAME) inline float NAME##f(float x, float y) { return NAME(x, y); }
#define TOMBAC_FORMS1(NAME)                                                                                  \
    TOMBAC_FLOAT1(NAME)                                                                                      \
    inline float fast_##NAME(float x) { return fast::NAME(x); }                                              \
    inline float precise_##NAME(float x) { return precise::NAME(x); }
#define TOMBAC_FORMS2(NAME)                                                                                  \
    TOMBAC_FLOAT2(NAME)                                                                                      \
    inline float fast_##NAME(float x, float y) { return fast::NAME(x, y); }                                  \
    inline float precise_##NAME(float x, float y) { return precise::NAME(x, y); }
TOMBAC_FORMS1(acos)
TOMBAC_FORMS1(acosh)
TOMBAC_FORMS1(asin)
TOMBAC_FORMS1(asinh)
TOMBAC_FORMS1(atan)
TOMBAC_FORMS1(atanh)
TOMBAC_FORMS1(cos)
TOMBAC_FORMS1(cosh)
TOMBAC_FORMS1(cospi)
TOMBAC_FORMS1(exp)
TOMBAC_FORMS1(exp2)
TOMBAC_FORMS1(exp10)
TOMBAC_FORMS1(log)
TOMBAC_FORMS1(log2)
TOMBAC_FORMS1(log10)
TOMBAC_FORMS1(rsqrt)
TOMBAC_FORMS1(sin)
TOMBAC_FORMS1(sinh)
TOMBAC_FORMS1(sinpi)
TOMBAC_FORMS1(tan)
TOMBAC_FORMS1(tanh)
TOMBAC_FORMS1(tanpi)
TOMBAC_FORMS2(atan2)
TOMBAC_FORMS2(divide)
TOMBAC_FORMS2(fmod)
TOMBAC_FORMS2(pow)
TOMBAC_FORMS2(powr)
TOMBAC_FLOAT1(fabs)
TOMBAC_FLOAT1(ceil)
TOMBAC_FLOAT1(floor)
TOMBAC_FLOAT1(rint)
TOMBAC_FLOAT1(round)
TOMBAC_FLOAT1(trunc)
TOMBAC_FLOAT1(sqrt)
TOMBAC_FLOAT2(fmin)
TOMBAC_FLOAT2(fmax)
TOMBAC_FLOAT2(copysign)
TOMBAC_FLOAT2(fdim)
TOMBAC_FLOAT2(nextafter)
#define nearbyint(x) rint(x)
#define nearbyintf(x) rint(float(x))
inline float fmaf(float x, float y, float z) { return fma(x, y, z); }
inline float ldexpf(float x, int k) { return ldexp(x, k); }
inline float scalbnf(float x, int k) { return ldexp(x, k); }
inline int ilogbf(float x) { return ilogb(x); }
inline float sincosf(float x, float *cosine)
{
    float c, s = sincos(x, c);
    *cosine = c;
    return s;
}
inline float frexpf(float x, int *exponent)
{
    int e;
    float m = frexp(x, e);
    *exponent = e;
    return m;
}
inline float modff(float x, float *whole)
{
    float w, f = modf(x, w);
    *whole = w;
    return f;
}
inline float sincos(float x, float *cosine) { return sincosf(x, cosine); }
inline float frexp(float x, int *exponent) { return frexpf(x, exponent); }
inline float modf(float x, float *whole) { return modff(x, whole); }

// ---- Packed vectors and bfloat ----
#define TOMBAC_PACKED(T)                                                                                     \
    inline T##2 unpack(packed_##T##2 v) { return T##2(v); }                                                  \
    inline T##3 unpack(packed_##T##3 v) { return T##3(v); }                                                  \
    inline T##4 unpack(packed_##T##4 v) { return T##4(v); }                                                  \
    inline packed_##T##2 pack(T##2 v) { return packed_##T##2(v); }                                           \
    inline packed_##T##3 pack(T##3 v) { return packed_##T##3(v); }                                           \
    inline packed_##T##4 pack(T##4 v) { return packed_##T##4(v); }
TOMBAC_PACKED(char)
TOMBAC_PACKED(uchar)
TOMBAC_PACKED(short)
TOMBAC_PACKED(ushort)
TOMBAC_PACKED(int)
TOMBAC_PACKED(uint)
TOMBAC_PACKED(half)
TOMBAC_PACKED(float)
inline float float_from_bfloat(bfloat x) { return float(x); }
inline bfloat bfloat_from_float(float x) { return bfloat(x); }

// ---- Atomics ----
#define TOMBAC_FETCH(NAME)                                                                                   \
    template <typename P, typename T> inline auto NAME(P p, T x)                                             \
    {                                                                                                        \
        return NAME##_explicit(p, x, memory_order_seq_cst);                                                  \
    }
TOMBAC_FETCH(atomic_exchange)
TOMBAC_FETCH(atomic_fetch_add)
TOMBAC_FETCH(atomic_fetch_sub)
TOMBAC_FETCH(atomic_fetch_and)
TOMBAC_FETCH(atomic_fetch_or)
TOMBAC_FETCH(atomic_fetch_xor)
TOMBAC_FETCH(atomic_fetch_min)
TOMBAC_FETCH(atomic_fetch_max)
template <typename P> inline auto atomic_load(P p) { return atomic_load_explicit(p, memory_order_seq_cst); }
template <typename P, typename T> inline void atomic_store(P p, T x)
{
    atomic_store_explicit(p, x, memory_order_seq_cst);
}
template <typename P, typename T, typename U>
inline bool atomic_compare_exchange_weak(P p, T *expected, U desired)
{
    return atomic_compare_exchange_weak_explicit(p, expected, desired, memory_order_seq_cst, memory_order_seq_cst);
}
template <typename P, typename T, typename U>
inline bool atomic_compare_exchange_strong_explicit(P p, T *expected, U desired, memory_order s, memory_order f)
{
    T wanted = *expected;
    for (;;) {
        if (atomic_compare_exchange_weak_explicit(p, expected, desired, s, f)) return true;
        if (*expected != wanted) return false;
    }
}
template <typename P, typename T, typename U>
inline bool atomic_compare_exchange_strong(P p, T *expected, U desired)
{
    return atomic_compare_exchange_strong_explicit(p, expected, desired, memory_order_seq_cst, memory_order_seq_cst);
}

// ---- Threads together ----
#define mem_none uint(mem_flags::mem_none)
#define mem_device uint(mem_flags::mem_device)
#define mem_threadgroup uint(mem_flags::mem_threadgroup)
#define mem_texture uint(mem_flags::mem_texture)
#define threadgroup_barrier(flags) threadgroup_barrier(mem_flags(flags))
#define simdgroup_barrier(flags) simdgroup_barrier(mem_flags(flags))
#define memory_fence(flags, order, scope) atomic_thread_fence(mem_flags(flags), order, scope)
inline ulong tombac_bits(simd_vote v) { return ulong(simd_vote::vote_t(v)); }
inline ulong tombac_bits(quad_vote v) { return ulong(quad_vote::vote_t(v)); }
#define simd_ballot(condition) tombac_bits(simd_ballot(condition))
#define quad_ballot(condition) tombac_bits(quad_ballot(condition))
#define simd_active_threads_mask() tombac_bits(simd_active_threads_mask())
#define quad_active_threads_mask() tombac_bits(quad_active_threads_mask())

// ---- Matrices ----
#define TOMBAC_MATRIX(T)                                                                                     \
    inline void simdgroup_load(simdgroup_##T##8x8 *m, const T *source, ulong stride, bool transpose = false) \
    {                                                                                                        \
        simdgroup_load(*m, source, stride, ulong2(0), transpose);                                            \
    }                                                                                                        \
    inline void simdgroup_store(simdgroup_##T##8x8 m, T *destination, ulong stride, bool transpose)          \
    {                                                                                                        \
        simdgroup_store(m, destination, stride, ulong2(0), transpose);                                       \
    }                                                                                                        \
    inline simdgroup_##T##8x8 simdgroup_filled_##T##8x8(T value)                                             \
    {                                                                                                        \
        return make_filled_simdgroup_matrix<T, 8, 8>(value);                                                 \
    }                                                                                                        \
    inline simdgroup_##T##8x8 simdgroup_diagonal_##T##8x8(T value)                                           \
    {                                                                                                        \
        return make_diagonal_simdgroup_matrix<T, 8, 8>(value);                                               \
    }
TOMBAC_MATRIX(float)
TOMBAC_MATRIX(half)
#define TOMBAC_MULTIPLY(D, F)                                                                                \
    inline void simdgroup_multiply_accumulate(                                                               \
        simdgroup_##D##8x8 *d, simdgroup_##F##8x8 a, simdgroup_##F##8x8 b, simdgroup_##D##8x8 c)             \
    {                                                                                                        \
        simdgroup_multiply_accumulate(*d, a, b, c);                                                          \
    }                                                                                                        \
    inline void simdgroup_multiply(simdgroup_##D##8x8 *d, simdgroup_##F##8x8 a, simdgroup_##F##8x8 b)        \
    {                                                                                                        \
        simdgroup_multiply(*d, a, b);                                                                        \
    }
TOMBAC_MULTIPLY(float, float)
TOMBAC_MULTIPLY(float, half)
TOMBAC_MULTIPLY(half, half)
