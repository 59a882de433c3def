/* The calls that only an engine can answer: exactly those of docs/operations.md, under their asm labels.
 * Namespaces any, fast and precise hold the three forms of a mathematical function. */
#pragma once
#include <__tombac/scalars.h>

namespace __tombac
{
/* __METAL_VERSION__ and Apple GPU family of the compilation: the front end defines it in front of the source. */
extern const unsigned language, family;

__TB_PURE uint lane() __asm__("__tombac_lane");
__TB_PURE uint simdgroup() __asm__("__tombac_simdgroup");
__TB_PURE uint simdgroups_per_threadgroup() __asm__("__tombac_simdgroups_per_threadgroup");

/* The rewriter's note of max_total_threads_per_threadgroup in a template: for ir/, no engine sees it. */
__attribute__((nothrow)) void limit(uint) __asm__("__tombac_limit");

/* Left in the code of a kernel for an older GPU family: for ir/, which makes an error of it. */
__attribute__((nothrow)) void needs_apple8() __asm__("__tombac_needs_apple8");

/* Which memory a pointer refers to. */
__TB_PURE bool is_thread(const volatile void *) __asm__("__tombac_is_thread");
__TB_PURE bool is_device(const volatile void *) __asm__("__tombac_is_device");
__TB_PURE bool is_threadgroup(const volatile void *) __asm__("__tombac_is_threadgroup");

/* ---- Mathematics ---- */
#define __TB_MATH1(X)                                                                                        \
    X(acos)                                                                                                  \
    X(acosh)                                                                                                 \
    X(asin) X(asinh) X(atan) X(atanh) X(cos) X(cosh) X(cospi) X(exp) X(exp2) X(exp10) X(log) X(log2)         \
        X(log10) X(rsqrt) X(sin) X(sinh) X(sinpi) X(tan) X(tanh) X(tanpi)
#define __TB_MATH2(X) X(atan2) X(divide) X(fmod) X(pow) X(powr) X(nextafter)
#define __TB_DECLARE1(FN) __TB_PURE float FN(float) __asm__(__TB_LABEL(FN));
#define __TB_DECLARE2(FN) __TB_PURE float FN(float, float) __asm__(__TB_LABEL(FN));
#define __TB_DECLARE_ALL                                                                                     \
    __TB_MATH1(__TB_DECLARE1)                                                                                \
    __TB_MATH2(__TB_DECLARE2)                                                                                \
    __attribute__((nothrow)) float sincos(float, float *) __asm__(__TB_LABEL(sincos));                       \
    __attribute__((nothrow)) float frexp(float, int *) __asm__(__TB_LABEL(frexp));                           \
    __attribute__((nothrow)) float modf(float, float *) __asm__(__TB_LABEL(modf));                           \
    __TB_PURE float ldexp(float, int) __asm__(__TB_LABEL(ldexp));                                            \
    __TB_PURE int ilogb(float) __asm__(__TB_LABEL(ilogb));
namespace any
{
#define __TB_LABEL(FN) "__tombac_" #FN ".f32"
__TB_DECLARE_ALL
#undef __TB_LABEL
} // namespace any
namespace fast
{
#define __TB_LABEL(FN) "__tombac_fast_" #FN ".f32"
__TB_DECLARE_ALL
#undef __TB_LABEL
} // namespace fast
namespace precise
{
#define __TB_LABEL(FN) "__tombac_precise_" #FN ".f32"
__TB_DECLARE_ALL
#undef __TB_LABEL
} // namespace precise
#undef __TB_DECLARE1
#undef __TB_DECLARE2
#undef __TB_DECLARE_ALL

/* ---- SIMD-groups and quad-groups: P is simd or quad ---- */
#define __TB_REDUCTIONS(X)                                                                                   \
    X(sum)                                                                                                   \
    X(product)                                                                                               \
    X(min) X(max) X(prefix_inclusive_sum) X(prefix_exclusive_sum) X(prefix_inclusive_product)                \
        X(prefix_exclusive_product)
#define __TB_BITWISE(X) X(and) X(or) X(xor)
#define __TB_SHUFFLES(X)                                                                                     \
    X(broadcast)                                                                                             \
    X(shuffle) X(shuffle_up) X(shuffle_down) X(shuffle_xor) X(shuffle_rotate_up) X(shuffle_rotate_down)

#define __TB_LABELLED(OP, SUFFIX) __asm__("__tombac_" OP "." SUFFIX)
#define __TB_DECLARE_TYPED(T, NAME, SUFFIX) __TB_CONVERGENT T NAME(T) __TB_LABELLED(#NAME, SUFFIX);
#define __TB_ALL_TYPES(NAME)                                                                                 \
    __TB_DECLARE_TYPED(char, NAME, "s8")                                                                     \
    __TB_DECLARE_TYPED(short, NAME, "s16")                                                                   \
    __TB_DECLARE_TYPED(int, NAME, "s32")                                                                     \
    __TB_DECLARE_TYPED(long, NAME, "s64")                                                                    \
    __TB_UNSIGNED_TYPES(NAME)                                                                                \
    __TB_DECLARE_TYPED(half, NAME, "f16")                                                                    \
    __TB_DECLARE_TYPED(float, NAME, "f32")
#define __TB_UNSIGNED_TYPES(NAME)                                                                            \
    __TB_DECLARE_TYPED(uchar, NAME, "u8")                                                                    \
    __TB_DECLARE_TYPED(ushort, NAME, "u16")                                                                  \
    __TB_DECLARE_TYPED(uint, NAME, "u32")                                                                    \
    __TB_DECLARE_TYPED(ulong, NAME, "u64")
#define __TB_LANE_TYPED(T, NAME, SUFFIX) __TB_CONVERGENT T NAME(T, ushort) __TB_LABELLED(#NAME, SUFFIX);
#define __TB_FILL_TYPED(T, NAME, SUFFIX)                                                                     \
    __TB_CONVERGENT T NAME(T, T, ushort, ushort) __TB_LABELLED(#NAME, SUFFIX);
#define __TB_BITS_TYPES(DECLARE, NAME)                                                                       \
    DECLARE(uchar, NAME, "u8")                                                                               \
    DECLARE(ushort, NAME, "u16") DECLARE(uint, NAME, "u32") DECLARE(ulong, NAME, "u64")
#define __TB_GROUP(P)                                                                                        \
    __TB_REDUCTIONS(__TB_REDUCE_##P)                                                                         \
    __TB_BITWISE(__TB_BITS_##P)                                                                              \
    __TB_SHUFFLES(__TB_SHUFFLE_##P)                                                                          \
    __TB_BITS_TYPES(__TB_FILL_TYPED, P##_shuffle_and_fill_up)                                                \
    __TB_BITS_TYPES(__TB_FILL_TYPED, P##_shuffle_and_fill_down)                                              \
    __TB_UNSIGNED_TYPES(P##_broadcast_first)                                                                 \
    __TB_CONVERGENT ulong P##_ballot(bool) __asm__("__tombac_" #P "_ballot");                                \
    __TB_CONVERGENT ulong P##_active_threads_mask() __asm__("__tombac_" #P "_active_threads_mask");          \
    __TB_CONVERGENT bool P##_all(bool) __asm__("__tombac_" #P "_all");                                       \
    __TB_CONVERGENT bool P##_any(bool) __asm__("__tombac_" #P "_any");                                       \
    __TB_CONVERGENT bool P##_is_first() __asm__("__tombac_" #P "_is_first");
#define __TB_REDUCE_simd(OP) __TB_ALL_TYPES(simd_##OP)
#define __TB_REDUCE_quad(OP) __TB_ALL_TYPES(quad_##OP)
#define __TB_BITS_simd(OP) __TB_UNSIGNED_TYPES(simd_##OP)
#define __TB_BITS_quad(OP) __TB_UNSIGNED_TYPES(quad_##OP)
#define __TB_SHUFFLE_simd(OP) __TB_BITS_TYPES(__TB_LANE_TYPED, simd_##OP)
#define __TB_SHUFFLE_quad(OP) __TB_BITS_TYPES(__TB_LANE_TYPED, quad_##OP)
__TB_GROUP(simd)
__TB_GROUP(quad)
#undef __TB_GROUP
#undef __TB_REDUCE_simd
#undef __TB_REDUCE_quad
#undef __TB_BITS_simd
#undef __TB_BITS_quad
#undef __TB_SHUFFLE_simd
#undef __TB_SHUFFLE_quad
#undef __TB_BITS_TYPES
#undef __TB_FILL_TYPED
#undef __TB_LANE_TYPED
#undef __TB_UNSIGNED_TYPES
#undef __TB_ALL_TYPES
#undef __TB_DECLARE_TYPED
#undef __TB_LABELLED

/* ---- SIMD-group matrices ---- */
typedef float __pair __attribute__((ext_vector_type(2)));
__TB_CONVERGENT __pair matrix_multiply_accumulate(float, float, float, float, float,
                                                  float) __asm__("__tombac_matrix_multiply_accumulate.f32");
__TB_PURE uint matrix_row() __asm__("__tombac_matrix_row");
__TB_PURE uint matrix_column() __asm__("__tombac_matrix_column");

/* ---- Synchronisation ---- */
__TB_BARRIER void threadgroup_barrier(uint) __asm__("__tombac_threadgroup_barrier");
__TB_BARRIER void simdgroup_barrier(uint) __asm__("__tombac_simdgroup_barrier");
__attribute__((nothrow)) void fence(uint, uint, uint) __asm__("__tombac_fence");

/* ---- Logging ---- */
__attribute__((nothrow)) void log_begin(uint, const char *) __asm__("__tombac_log_begin");
__attribute__((nothrow)) void log_argument(uint, ulong) __asm__("__tombac_log_argument.u64");
__attribute__((nothrow)) void log_end() __asm__("__tombac_log_end");
/* ---- Refusal at run time ---- */
__attribute__((nothrow)) void unsupported(const char *what) __asm__("__tombac_unsupported");
} // namespace __tombac

/* Named by the macro assert. */
__attribute__((nothrow)) void __tombac_assert_fail(const char *condition, const char *file,
                                                   uint line) __asm__("__tombac_assert_fail");
