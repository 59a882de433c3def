/* What every file of the device math library uses: names of the entry points, bits of floats, polynomials,
 * exact scaling.
 *
 * The library is C that clang compiles to bitcode for nvptx64's data layout; the same bitcode is linked into
 * every kernel, whatever the engine, so it holds to these rules:
 *   - float and 32-bit integers only (64-bit products where exactness needs them), no double, no memory, no
 *     global data;
 *   - straight-line code with selects, so that a vectoriser keeps all lanes together (conditions are joined by
 *     & and |, values are computed before they are chosen); the few branches and loops are rare paths and say so;
 *   - every fma is written out and nothing is contracted, so that all engines agree bit for bit;
 *   - no conversion of a float to an integer that could be out of range (poison in LLVM): integers are taken from
 *     the bits of x + MAGIC, which are defined for NaN and infinity too. */
#ifndef TB_COMPILER_MATH_DEVICE_H
#define TB_COMPILER_MATH_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

/* Begins the definition of __tombac_MODE_FN.f32; the C name mode_fn is for calls from other functions of the
 * library. */
#define ENTRY(type, mode, fn, parameters)                                                                    \
    type mode##_##fn parameters __asm__("__tombac_" #mode "_" #fn ".f32");                                   \
    type mode##_##fn parameters

/* Both modes as calls of one function. */
#define ENTRY_BOTH(type, fn, parameters, body)                                                               \
    ENTRY(type, precise, fn, parameters)                                                                     \
    {                                                                                                        \
        return body;                                                                                         \
    }                                                                                                        \
    ENTRY(type, fast, fn, parameters)                                                                        \
    {                                                                                                        \
        return body;                                                                                         \
    }

#define INLINE static inline __attribute__((always_inline, unused))

#define INF __builtin_inff()
#define NOT_A_NUMBER __builtin_nanf("")
#define MIN_NORMAL 0x1p-126f
#define MIN_DENORMAL 0x1p-149f

/* c0 + c1 x + c2 x^2 ... by Horner's rule. */
#define POLY1(x, c0) (c0)
#define POLY2(x, c0, c1) __builtin_fmaf(x, c1, c0)
#define POLY3(x, c0, ...) __builtin_fmaf(x, POLY2(x, __VA_ARGS__), c0)
#define POLY4(x, c0, ...) __builtin_fmaf(x, POLY3(x, __VA_ARGS__), c0)
#define POLY5(x, c0, ...) __builtin_fmaf(x, POLY4(x, __VA_ARGS__), c0)
#define POLY6(x, c0, ...) __builtin_fmaf(x, POLY5(x, __VA_ARGS__), c0)
#define POLY7(x, c0, ...) __builtin_fmaf(x, POLY6(x, __VA_ARGS__), c0)
#define POLY8(x, c0, ...) __builtin_fmaf(x, POLY7(x, __VA_ARGS__), c0)
#define POLY9(x, c0, ...) __builtin_fmaf(x, POLY8(x, __VA_ARGS__), c0)
#define POLY10(x, c0, ...) __builtin_fmaf(x, POLY9(x, __VA_ARGS__), c0)
#define POLY11(x, c0, ...) __builtin_fmaf(x, POLY10(x, __VA_ARGS__), c0)
#define POLY12(x, c0, ...) __builtin_fmaf(x, POLY11(x, __VA_ARGS__), c0)
#define POLY13(x, c0, ...) __builtin_fmaf(x, POLY12(x, __VA_ARGS__), c0)
#define POLY14(x, c0, ...) __builtin_fmaf(x, POLY13(x, __VA_ARGS__), c0)

/* Constants as sums of floats: the first nearest, the others the rest. */
#define LN2_HI 0x1.62e430p-1f
#define LN2_LO -0x1.05c610p-29f
#define LOG2E_HI 0x1.715476p+0f
#define LOG2E_LO 0x1.4ae0c0p-26f
#define PI_HI 0x1.921fb6p+1f
#define PI_LO -0x1.777a5cp-24f
#define INV_PI_HI 0x1.45f306p-2f
#define INV_PI_LO 0x1.b93910p-27f

INLINE uint32_t bits(float x)
{
    union {
        float f;
        uint32_t u;
    } value = {.f = x};
    return value.u;
}

INLINE float from_bits(uint32_t u)
{
    union {
        uint32_t u;
        float f;
    } value = {.u = u};
    return value.f;
}

INLINE float fma1(float a, float b, float c)
{
    return __builtin_fmaf(a, b, c);
}

INLINE float magnitude(float x)
{
    return __builtin_fabsf(x);
}

INLINE uint32_t sign_bit(float x)
{
    return bits(x) & 0x80000000u;
}

INLINE float flip_sign(float x, uint32_t sign)
{
    return from_bits(bits(x) ^ sign);
}

INLINE float with_sign(float x, float sign)
{
    return __builtin_copysignf(x, sign);
}

INLINE bool is_nan(float x)
{
    return x != x;
}

INLINE bool is_infinite(float x)
{
    return magnitude(x) == INF;
}

/* True for numbers other than NaN and infinity. */
INLINE bool is_finite(float x)
{
    return magnitude(x) < INF;
}

/* least <= x < infinity for positive floats, as one comparison of integers. */
INLINE bool is_positive_from(float x, float least)
{
    return bits(x) - bits(least) < bits(INF) - bits(least);
}

/* Neither -0 nor -infinity. */
INLINE bool is_negative_finite(float x)
{
    return bits(x) - 0x80000001u < 0x7f7fffffu;
}

/* Limits that let NaN through: both comparisons fail for it. */
INLINE float at_most(float x, float limit)
{
    return x > limit ? limit : x;
}

INLINE float at_least(float x, float limit)
{
    return x < limit ? limit : x;
}

/* x + MAGIC has the nearest integer to x (ties to even) in its low bits, for |x| < 2^22. */
#define MAGIC 0x1.8p+23f
INLINE int32_t magic_integer(float t)
{
    return (int32_t)(bits(t) - bits(MAGIC));
}

/* 2^n for -126 <= n <= 127; 0 for -127, infinity for 128, some float for any other n. */
INLINE float power_of_two(int32_t n)
{
    return from_bits((uint32_t)(n + 127) << 23);
}

/* x 2^n for |n| <= 252, rounded once where |x| is in [2^-24, 2^24]: the first product is then exact. */
INLINE float scale(float x, int32_t n)
{
    int32_t half = n >> 1;
    return x * power_of_two(half) * power_of_two(n - half);
}

/* A number as an unevaluated sum, |lo| <= ulp(hi) / 2; T. J. Dekker, "A floating-point technique for
 * extending the available precision", Numerische Mathematik 18, 1971, with fma for the products. */
typedef struct pair {
    float hi, lo;
} pair;

/* a + b exactly, |a| >= |b| or a = 0. */
INLINE pair fast_two_sum(float a, float b)
{
    float sum = a + b;
    return (pair){sum, b - (sum - a)};
}

/* a + b exactly (D. E. Knuth, The Art of Computer Programming 2, 4.2.2). */
INLINE pair two_sum(float a, float b)
{
    float sum = a + b, part = sum - a;
    return (pair){sum, (a - (sum - part)) + (b - part)};
}

/* a b exactly, barring underflow. */
INLINE pair two_product(float a, float b)
{
    float product = a * b;
    return (pair){product, fma1(a, b, -product)};
}

INLINE pair pair_multiply(pair a, pair b)
{
    pair p = two_product(a.hi, b.hi);
    return fast_two_sum(p.hi, p.lo + fma1(a.hi, b.lo, a.lo * b.hi));
}

#endif
