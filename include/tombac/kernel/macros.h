/* The macros of <tombac/kernel.h> for the device. Words that the front end reads itself stay as they are:
 * kernel, threadgroup, requires, threads_required, threads_at_most, math_mode, slice, assert, printf. */
#ifndef TOMBAC_KERNEL_MACROS_H
#define TOMBAC_KERNEL_MACROS_H

#define NULL nullptr
/* A parameter's type: threadgroup memory that is sized at launch; host compilers understand it too. */
#define threadgroup_memory(T) threadgroup T *
#define offsetof(type, member) __builtin_offsetof(type, member)

/* ---- Limits ---- */
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
#define HALF_MAX ((half)65504.0f)
#define HALF_MIN ((half)6.103515625e-05f)
#define HALF_EPSILON ((half)9.765625e-04f)

/* ---- Mathematics ---- */
#define HUGE_VALF __builtin_huge_valf()
#define INFINITY __builtin_huge_valf()
#define NAN __builtin_nanf("")
#define FP_ILOGB0 (-2147483647 - 1)
#define FP_ILOGBNAN (-2147483647 - 1)
#include "constants.h"

/* ---- Assertions: the front end writes assert itself where it is not switched off ---- */
#ifdef NDEBUG
#define assert(...) ((void)0)
#endif

#include "each.h"
#endif
