/* Splitting of the argument and polynomials of the logarithms, shared by log.c, hyperbolic.c and gamma.c.
 *
 * x = 2^e (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)): subtracting the bits of sqrt(1/2) makes the exponent's
 * carry decide (the usual integer form of Cody and Waite's reduction). f is exact. log(1 + f) = f + f^2 q(f),
 * so results near 1 are relatively exact. Polynomials: tests/compiler/math/minimax.py. */
#ifndef TB_COMPILER_MATH_LOG_H
#define TB_COMPILER_MATH_LOG_H

#include "compiler/math/device.h"

typedef struct log_parts {
    float e, f;
} log_parts;

#define SQRT_HALF_BITS 0x3f3504f3u

/* x normal and positive; any other x gives some value. */
INLINE log_parts log_split(float x)
{
    uint32_t i = bits(x) - SQRT_HALF_BITS;
    return (log_parts){(float)((int32_t)i >> 23), from_bits((i & 0x7fffffu) + SQRT_HALF_BITS) - 1.0f};
}

/* The same for denormal x too. */
INLINE log_parts log_split_all(float x)
{
    bool denormal = x < MIN_NORMAL;
    log_parts parts = log_split(denormal ? x * 0x1p+25f : x);
    parts.e -= denormal ? 25.0f : 0.0f;
    return parts;
}

/* e ln 2 + log(1 + f), relative error of the approximation 2^-27.6. "log" */
INLINE float log_join(log_parts parts)
{
    float f = parts.f;
    float q = POLY9(f, -0x1.fffff8p-2f, 0x1.555558p-2f, -0x1.00044cp-2f, 0x1.999fecp-3f, -0x1.541ae2p-3f,
        0x1.22bcb2p-3f, -0x1.0ffcd4p-3f, 0x1.06a5f4p-3f, -0x1.30096ep-4f);
    return fma1(parts.e, LN2_HI, fma1(f * f, q, fma1(parts.e, LN2_LO, f)));
}

/* The value of a logarithm for arguments that are no positive finite number: least is the smallest argument
 * that the library does not take for zero. */
INLINE float log_special(float x, float least, float result)
{
    float below = x <= -least ? NOT_A_NUMBER : -INF;
    float special = x < least ? below : x;
    return is_positive_from(x, least) ? result : special;
}

/* log(1 + h) for finite h > -1. Let u = 1 + h be 2^e m; then 2^-e (1 + h) - 1 is one fma with an exact 2^-e -
 * 1 wherever it matters. With `pair`, log(1 + h + l) for h >= 0, |l| <= ulp(h). */
INLINE float log1p_reduced(float h, float l, bool pair)
{
    float u = 1.0f + h;
    uint32_t i = bits(u) - SQRT_HALF_BITS;
    int32_t e = (int32_t)i >> 23;
    float s = power_of_two(-e); /* no float for e = 128; but for e > 40 the 1 does not matter */
    float small = fma1(s, h, s - 1.0f);
    small = pair ? fma1(s, l, small) : small;
    float f = e > 40 ? from_bits((i & 0x7fffffu) + SQRT_HALF_BITS) - 1.0f : small;
    return log_join((log_parts){(float)e, f});
}

#endif
