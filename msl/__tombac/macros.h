/* All macros of Metal's standard library. Read by the first phase only (clang -E with
 * __TOMBAC_MACROS_ONLY__); the text that comes out of it still passes through the rewriter, which knows the
 * suffix h. Version macros (__METAL_VERSION__, __METAL__,
 * __METAL_MACOS__, __HAVE_..., ...) come from the command line.
 *
 * Metal knows its library without an include, so the first phase reads this file in front of every source (implicit.h).
 * Only assert waits for its header, and is defined by NDEBUG at each of them. */
#ifndef __TOMBAC_MACROS__
#define __TOMBAC_MACROS__

/* ---- Configuration ---- */
#define METAL_FUNC inline __attribute__((__always_inline__))
#define METAL_CONST const
#define METAL_INTERNAL
#define METAL_VALID_ARGS(...)
#define METAL_VALID_LEVEL_ARG(...)
#define METAL_VALID_LOD_ARG(...)
/* The last argument of the private __metal_ math functions: which variant. */
#define __METAL_PRECISE_MATH__ 0
#define __METAL_FAST_MATH__ 1
#define __METAL_MAYBE_FAST_MATH__ 2
#define __METAL_MEMORY_SCOPE_THREAD__ 0
#define __METAL_MEMORY_SCOPE_THREADGROUP__ 1
#define __METAL_MEMORY_SCOPE_DEVICE__ 2
#define __METAL_MEMORY_SCOPE_SYSTEM__ 3
#define __METAL_MEMORY_SCOPE_SIMDGROUP__ 4
#define __METAL_MEMORY_ORDER_RELAXED__ 0
#define __METAL_MEMORY_ORDER_ACQUIRE__ 2
#define __METAL_MEMORY_ORDER_RELEASE__ 3
#define __METAL_MEMORY_ORDER_ACQ_REL__ 4
#define __METAL_MEMORY_ORDER_SEQ_CST__ 5

/* ---- Integer limits ---- */
#define CHAR_BIT 8
#define SCHAR_MAX 127
#define SCHAR_MIN (-128)
#define UCHAR_MAX 255
#define CHAR_MAX SCHAR_MAX
#define CHAR_MIN SCHAR_MIN
#define SHRT_MAX 32767
#define SHRT_MIN (-32768)
#define USHRT_MAX 65535
#define INT_MAX 2147483647
#define INT_MIN (-2147483647 - 1)
#define UINT_MAX 4294967295u
#define LONG_MAX 9223372036854775807l
#define LONG_MIN (-9223372036854775807l - 1l)
#define ULONG_MAX 18446744073709551615ul
#define INT8_MAX SCHAR_MAX
#define INT8_MIN SCHAR_MIN
#define UINT8_MAX UCHAR_MAX
#define INT16_MAX SHRT_MAX
#define INT16_MIN SHRT_MIN
#define UINT16_MAX USHRT_MAX
#define INT32_MAX INT_MAX
#define INT32_MIN INT_MIN
#define UINT32_MAX UINT_MAX
#define INT64_MAX LONG_MAX
#define INT64_MIN LONG_MIN
#define UINT64_MAX ULONG_MAX
#define SIZE_MAX ULONG_MAX

/* ---- Floating-point limits ---- */
#define FLT_RADIX 2
#define FLT_DIG 6
#define FLT_MANT_DIG 24
#define FLT_MAX_10_EXP 38
#define FLT_MAX_EXP 128
#define FLT_MIN_10_EXP (-37)
#define FLT_MIN_EXP (-125)
#define FLT_MAX 3.40282346638528859812e+38f
#define FLT_MIN 1.17549435082228750797e-38f
#define FLT_EPSILON 1.1920928955078125e-07f
#define FLT_DECIMAL_DIG 9
#define HALF_DIG 3
#define HALF_MANT_DIG 11
#define HALF_MAX_10_EXP 4
#define HALF_MAX_EXP 16
#define HALF_MIN_10_EXP (-4)
#define HALF_MIN_EXP (-13)
#define HALF_RADIX 2
#define HALF_MAX ((half)65504.0f)
#define HALF_MIN ((half)6.103515625e-05f)
#define HALF_EPSILON ((half)9.765625e-04f)
#define HALF_DECIMAL_DIG 5
#define BFLT_DIG 2
#define BFLT_MANT_DIG 8
#define BFLT_MAX_10_EXP 38
#define BFLT_MAX_EXP 128
#define BFLT_MIN_10_EXP (-37)
#define BFLT_MIN_EXP (-125)
#define BFLT_RADIX 2
#define BFLT_MAX ((bfloat)3.38953138925153547590e+38f)
#define BFLT_MIN ((bfloat)1.17549435082228750797e-38f)
#define BFLT_EPSILON ((bfloat)7.8125e-03f)
#define BFLT_DECIMAL_DIG 4

/* ---- Mathematics ---- */
#define HUGE_VALF __builtin_huge_valf()
#define HUGE_VALH ((half)__builtin_huge_valf())
#define INFINITY __builtin_huge_valf()
#define NAN __builtin_nanf("")
#define MAXFLOAT FLT_MAX
#define MAXHALF HALF_MAX
#define MAXBFLOAT BFLT_MAX
#define FP_ILOGB0 (-2147483647 - 1)
#define FP_ILOGBNAN (-2147483647 - 1)
#define M_E_F 2.71828182845904523536f
#define M_LOG2E_F 1.44269504088896340736f
#define M_LOG10E_F 0.43429448190325182765f
#define M_LN2_F 0.69314718055994530942f
#define M_LN10_F 2.30258509299404568402f
#define M_PI_F 3.14159265358979323846f
#define M_PI_2_F 1.57079632679489661923f
#define M_PI_4_F 0.78539816339744830962f
#define M_1_PI_F 0.31830988618379067154f
#define M_2_PI_F 0.63661977236758134308f
#define M_2_SQRTPI_F 1.12837916709551257390f
#define M_SQRT2_F 1.41421356237309504880f
#define M_SQRT1_2_F 0.70710678118654752440f
#define M_E_H ((half)M_E_F)
#define M_LOG2E_H ((half)M_LOG2E_F)
#define M_LOG10E_H ((half)M_LOG10E_F)
#define M_LN2_H ((half)M_LN2_F)
#define M_LN10_H ((half)M_LN10_F)
#define M_PI_H ((half)M_PI_F)
#define M_PI_2_H ((half)M_PI_2_F)
#define M_PI_4_H ((half)M_PI_4_F)
#define M_1_PI_H ((half)M_1_PI_F)
#define M_2_PI_H ((half)M_2_PI_F)
#define M_2_SQRTPI_H ((half)M_2_SQRTPI_F)
#define M_SQRT2_H ((half)M_SQRT2_F)
#define M_SQRT1_2_H ((half)M_SQRT1_2_F)
#define M_E_BF ((bfloat)M_E_F)
#define M_LOG2E_BF ((bfloat)M_LOG2E_F)
#define M_LOG10E_BF ((bfloat)M_LOG10E_F)
#define M_LN2_BF ((bfloat)M_LN2_F)
#define M_LN10_BF ((bfloat)M_LN10_F)
#define M_PI_BF ((bfloat)M_PI_F)
#define M_PI_2_BF ((bfloat)M_PI_2_F)
#define M_PI_4_BF ((bfloat)M_PI_4_F)
#define M_1_PI_BF ((bfloat)M_1_PI_F)
#define M_2_PI_BF ((bfloat)M_2_PI_F)
#define M_2_SQRTPI_BF ((bfloat)M_2_SQRTPI_F)
#define M_SQRT2_BF ((bfloat)M_SQRT2_F)
#define M_SQRT1_2_BF ((bfloat)M_SQRT1_2_F)

#endif

/* ---- Assertions ---- */
#ifndef __TOMBAC_IMPLICIT__
#undef assert
#ifdef NDEBUG
#define assert(...) ((void)0)
#else
#define assert(...) ((__VA_ARGS__) ? (void)0 : __tombac_assert_fail(#__VA_ARGS__, __FILE__, __LINE__))
#endif
#endif
