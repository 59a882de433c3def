/* divide, rsqrt, cbrt, hypot. Quotients and square roots are IEEE's, which every target has. */
#include "compiler/math/device.h"

ENTRY_BOTH(float, divide, (float x, float y), x / y)

ENTRY(float, fast, rsqrt, (float x))
{
    return 1.0f / __builtin_sqrtf(x);
}

/* Correctly rounded: y is within 2 ulp, e = 1 - x y^2 is exact to 2^-47, and y (1 + e/2 + 3 e^2/8) is rounded once. No
 * result lies so close to the middle of two floats that this would not decide (test_exact.c tries all significands;
 * without the second-order term one fails). */
ENTRY(float, precise, rsqrt, (float x))
{
    float y = 1.0f / __builtin_sqrtf(x);
    pair product = two_product(x, y);
    float e = fma1(-product.lo, y, fma1(-product.hi, y, 1.0f));
    float result = fma1(fma1(0.375f * e, e, 0.5f * e), y, y);
    return is_positive_from(x, MIN_DENORMAL) ? result : y;
}

/* x = +-2^(3k + j) m: a polynomial gives the root of m in [1, 2) to 2^-16.7 ("cbrt"), times the root of 2^j;
 * one Newton step whose residual t^3 - x is exact to float's precision squared makes it right to a little
 * over half an ulp. */
INLINE float cbrt_core(float x)
{
    float a = magnitude(x);
    bool denormal = a < MIN_NORMAL;
    uint32_t u = bits(denormal ? a * 0x1p+24f : a);
    int32_t exponent =
        (int32_t)(u >> 23) - 127 - (denormal ? 24 : 0) + 153; /* 153 = 3 * 51 keeps it positive */
    int32_t third = (int32_t)(((uint32_t)exponent * 21846u) >> 16), left = exponent - 3 * third;
    float m = from_bits((u & 0x7fffffu) | 0x3f800000u);
    float root = POLY5(m, 0x1.0392c2p-1f, 0x1.6fb202p-1f, -0x1.33d3d2p-2f, 0x1.60a1e8p-4f, -0x1.5b78c0p-7f);
    float t = root * (left == 0 ? 1.0f : left == 1 ? 0x1.428a30p+0f : 0x1.965feap+0f);
    float cube = m * power_of_two(left);
    pair square = two_product(t, t);
    float residual = fma1(square.lo, t, fma1(square.hi, t, -cube));
    float result = (t - residual / (3.0f * square.hi)) * power_of_two(third - 51);
    return with_sign(a == 0 || !is_finite(x) ? a : result, x);
}

ENTRY_BOTH(float, cbrt, (float x), cbrt_core(x))

/* Both are divided by a power of two near the larger, so nothing overflows and only negligible parts
 * underflow. */
INLINE float hypot_core(float x, float y)
{
    float ax = magnitude(x), ay = magnitude(y);
    float large = ax > ay ? ax : ay, small = ax > ay ? ay : ax;
    bool high = large > 0x1p+60f, low = large < 0x1p-60f;
    float down = high ? 0x1p-80f : low ? 0x1p+90f : 1.0f, up = high ? 0x1p+80f : low ? 0x1p-90f : 1.0f;
    float a = large * down, b = small * down;
    pair square = two_product(a, a);
    float sum = square.hi + fma1(b, b, square.lo);
    float result = __builtin_sqrtf(sum) * up;
    result = is_nan(x) || is_nan(y) ? NOT_A_NUMBER : result;
    return is_infinite(x) || is_infinite(y) ? INF : result;
}

ENTRY_BOTH(float, hypot, (float x, float y), hypot_core(x, y))
