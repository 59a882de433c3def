#include <metal_stdlib>
#include <metal_atomic>
#if __METAL_VERSION__ >= 320
#include <metal_logging>
#endif
#include <metal_assert>
#include <metal_simdgroup_matrix>
using namespace metal;

// C's names for the device, in Metal. Before metal4.1 every pointer has an address space.
#ifdef TOMBAC_SPACES
#define TOMBAC_DEVICE device
#define TOMBAC_THREAD thread
// p as a pointer to T in its own space.
template <typename T, typename U> inline device T *tombac_in(device U *p) { return (device T *)p; }
template <typename T, typename U> inline constant T *tombac_in(constant U *p) { return (constant T *)p; }
template <typename T, typename U> inline threadgroup T *tombac_in(threadgroup U *p) { return (threadgroup T *)p; }
template <typename T, typename U> inline thread T *tombac_in(thread U *p) { return (thread T *)p; }
template <typename T> inline decltype(nullptr) tombac_in(decltype(nullptr)) { return nullptr; }
template <typename P> inline P tombac_value(P p) { return p; }
#else
#define TOMBAC_DEVICE
#define TOMBAC_THREAD
#endif
template <typename T> struct tombac_slice {
    TOMBAC_DEVICE T *pointer;
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
#if __METAL_VERSION__ >= 310
TOMBAC_FLOAT2(nextafter)
#endif
#define nearbyint(x) rint(x)
#define nearbyintf(x) rint(float(x))
inline float fmaf(float x, float y, float z) { return fma(x, y, z); }
inline float ldexpf(float x, int k) { return ldexp(x, k); }
inline float scalbnf(float x, int k) { return ldexp(x, k); }
inline int ilogbf(float x) { return ilogb(x); }
inline float sincosf(float x, TOMBAC_THREAD float *cosine)
{
    float c, s = sincos(x, c);
    *cosine = c;
    return s;
}
inline float frexpf(float x, TOMBAC_THREAD int *exponent)
{
    int e;
    float m = frexp(x, e);
    *exponent = e;
    return m;
}
inline float modff(float x, TOMBAC_THREAD float *whole)
{
    float w, f = modf(x, w);
    *whole = w;
    return f;
}
inline float sincos(float x, TOMBAC_THREAD float *cosine) { return sincosf(x, cosine); }
inline float frexp(float x, TOMBAC_THREAD int *exponent) { return frexpf(x, exponent); }
inline float modf(float x, TOMBAC_THREAD float *whole) { return modff(x, whole); }

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
#if __METAL_VERSION__ >= 310
inline float float_from_bfloat(bfloat x) { return float(x); }
inline bfloat bfloat_from_float(float x) { return bfloat(x); }
#endif

// ---- Atomics: before metal4.1 they are relaxed, and fences (metal3.2) give them their order ----
#if defined(TOMBAC_SPACES) && __METAL_VERSION__ >= 320
inline void tombac_before(memory_order o)
{
    if (o != memory_order_relaxed && o != memory_order_acquire)
        atomic_thread_fence(mem_flags::mem_device | mem_flags::mem_threadgroup, memory_order_seq_cst, thread_scope_device);
}
inline void tombac_behind(memory_order o)
{
    if (o != memory_order_relaxed && o != memory_order_release)
        atomic_thread_fence(mem_flags::mem_device | mem_flags::mem_threadgroup, memory_order_seq_cst, thread_scope_device);
}
#define TOMBAC_ORDERED(NAME)                                                                                 \
    template <typename P, typename T> inline auto tombac_##NAME(P p, T x, memory_order o)                    \
    {                                                                                                        \
        tombac_before(o);                                                                                    \
        auto old = NAME##_explicit(p, x, memory_order_relaxed);                                              \
        tombac_behind(o);                                                                                    \
        return old;                                                                                          \
    }
TOMBAC_ORDERED(atomic_exchange)
TOMBAC_ORDERED(atomic_fetch_add)
TOMBAC_ORDERED(atomic_fetch_sub)
TOMBAC_ORDERED(atomic_fetch_and)
TOMBAC_ORDERED(atomic_fetch_or)
TOMBAC_ORDERED(atomic_fetch_xor)
TOMBAC_ORDERED(atomic_fetch_min)
TOMBAC_ORDERED(atomic_fetch_max)
template <typename P> inline auto tombac_atomic_load(P p, memory_order o)
{
    tombac_before(o == memory_order_seq_cst ? o : memory_order_relaxed);
    auto x = atomic_load_explicit(p, memory_order_relaxed);
    tombac_behind(o);
    return x;
}
template <typename P, typename T> inline void tombac_atomic_store(P p, T x, memory_order o)
{
    tombac_before(o);
    atomic_store_explicit(p, x, memory_order_relaxed);
    tombac_behind(o == memory_order_seq_cst ? o : memory_order_relaxed);
}
template <typename P, typename E, typename U>
inline bool tombac_compare_exchange_weak(P p, E expected, U desired, memory_order s, memory_order f)
{
    tombac_before(s);
    bool done = atomic_compare_exchange_weak_explicit(p, expected, desired, memory_order_relaxed, memory_order_relaxed);
    tombac_behind(done ? s : f);
    return done;
}
#define atomic_exchange_explicit(p, x, o) tombac_atomic_exchange(p, x, o)
#define atomic_fetch_add_explicit(p, x, o) tombac_atomic_fetch_add(p, x, o)
#define atomic_fetch_sub_explicit(p, x, o) tombac_atomic_fetch_sub(p, x, o)
#define atomic_fetch_and_explicit(p, x, o) tombac_atomic_fetch_and(p, x, o)
#define atomic_fetch_or_explicit(p, x, o) tombac_atomic_fetch_or(p, x, o)
#define atomic_fetch_xor_explicit(p, x, o) tombac_atomic_fetch_xor(p, x, o)
#define atomic_fetch_min_explicit(p, x, o) tombac_atomic_fetch_min(p, x, o)
#define atomic_fetch_max_explicit(p, x, o) tombac_atomic_fetch_max(p, x, o)
#define atomic_load_explicit(p, o) tombac_atomic_load(p, o)
#define atomic_store_explicit(p, x, o) tombac_atomic_store(p, x, o)
#define atomic_compare_exchange_weak_explicit(p, e, x, s, f) tombac_compare_exchange_weak(p, e, x, s, f)
#endif
#if __METAL_VERSION__ >= 320
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
template <typename P, typename E, typename U> inline bool atomic_compare_exchange_weak(P p, E expected, U desired)
{
    return atomic_compare_exchange_weak_explicit(p, expected, desired, memory_order_seq_cst, memory_order_seq_cst);
}
#endif
template <typename P, typename E, typename U>
inline bool atomic_compare_exchange_strong_explicit(P p, E expected, U desired, memory_order s, memory_order f)
{
    auto wanted = *expected;
    for (;;) {
        if (atomic_compare_exchange_weak_explicit(p, expected, desired, s, f)) return true;
        if (*expected != wanted) return false;
    }
}
#if __METAL_VERSION__ >= 320
template <typename P, typename E, typename U> inline bool atomic_compare_exchange_strong(P p, E expected, U desired)
{
    return atomic_compare_exchange_strong_explicit(p, expected, desired, memory_order_seq_cst, memory_order_seq_cst);
}
#endif

// ---- Threads together ----
#define mem_none uint(mem_flags::mem_none)
#define mem_device uint(mem_flags::mem_device)
#define mem_threadgroup uint(mem_flags::mem_threadgroup)
#define mem_texture uint(mem_flags::mem_texture)
#define threadgroup_barrier(flags) threadgroup_barrier(mem_flags(flags))
#define simdgroup_barrier(flags) simdgroup_barrier(mem_flags(flags))
#if __METAL_VERSION__ >= 320
#define memory_fence(flags, order, scope) atomic_thread_fence(mem_flags(flags), order, scope)
#endif
inline ulong tombac_bits(simd_vote v) { return ulong(simd_vote::vote_t(v)); }
inline ulong tombac_bits(quad_vote v) { return ulong(quad_vote::vote_t(v)); }
#define simd_ballot(condition) tombac_bits(simd_ballot(condition))
#define quad_ballot(condition) tombac_bits(quad_ballot(condition))
#define simd_active_threads_mask() tombac_bits(simd_active_threads_mask())
#define quad_active_threads_mask() tombac_bits(quad_active_threads_mask())

// ---- Matrices ----
#ifdef TOMBAC_SPACES
#define TOMBAC_IN(T) template <typename P>
#define TOMBAC_FROM(T) P
#define TOMBAC_TO(T) P
#else
#define TOMBAC_IN(T)
#define TOMBAC_FROM(T) const T *
#define TOMBAC_TO(T) T *
#endif
#define TOMBAC_MATRIX(T)                                                                                     \
    TOMBAC_IN(T) inline void simdgroup_load(                                                                 \
        TOMBAC_THREAD simdgroup_##T##8x8 *m, TOMBAC_FROM(T) source, ulong stride, bool transpose = false)    \
    {                                                                                                        \
        simdgroup_load(*m, source, stride, ulong2(0), transpose);                                            \
    }                                                                                                        \
    TOMBAC_IN(T) inline void simdgroup_store(                                                                \
        simdgroup_##T##8x8 m, TOMBAC_TO(T) destination, ulong stride, bool transpose)                        \
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
        TOMBAC_THREAD simdgroup_##D##8x8 *d, simdgroup_##F##8x8 a, simdgroup_##F##8x8 b, simdgroup_##D##8x8 c)             \
    {                                                                                                        \
        simdgroup_multiply_accumulate(*d, a, b, c);                                                          \
    }                                                                                                        \
    inline void simdgroup_multiply(                                                                          \
        TOMBAC_THREAD simdgroup_##D##8x8 *d, simdgroup_##F##8x8 a, simdgroup_##F##8x8 b)                     \
    {                                                                                                        \
        simdgroup_multiply(*d, a, b);                                                                        \
    }
TOMBAC_MULTIPLY(float, float)
TOMBAC_MULTIPLY(float, half)
TOMBAC_MULTIPLY(half, half)
