/* Reduction and polynomials of the exponential, shared by exp.c, hyperbolic.c, erf.c and gamma.c.
 *
 * x = n ln 2 + r with |r| <= ln(2)/2, n the nearest integer to x log2(e); ln 2 as two floats (W. J. Cody and
 * W. Waite, Software Manual for the Elementary Functions, 1980), whose products fma forms exactly.
 * Polynomials: tests/compiler/math/minimax.py. */
#ifndef TB_COMPILER_MATH_EXP_H
#define TB_COMPILER_MATH_EXP_H

#include "compiler/math/device.h"

typedef struct exp_parts {
    float r;
    int32_t n;
} exp_parts;

/* |x| <= 2^20; r with an error below 2^-26. */
INLINE exp_parts exp_reduce(float x)
{
    float t = fma1(x, LOG2E_HI, MAGIC), n = t - MAGIC;
    float r = fma1(n, -LN2_LO, fma1(n, -LN2_HI, x));
    return (exp_parts){r, magic_integer(t)};
}

/* exp(r) - 1 for |r| <= ln(2)/2, relative error of the approximation 2^-26.1. "expm1" */
INLINE float expm1_reduced(float r)
{
    float q = POLY5(r, 0x1.fffffep-2f, 0x1.5554a8p-3f, 0x1.555796p-5f, 0x1.122e24p-7f, 0x1.6ac0c6p-10f);
    return fma1(r * r, q, r);
}

/* 2^r for |r| <= 1/2, relative error 2^-26.1. "exp2" */
INLINE float exp2_reduced(float r)
{
    return fma1(r,
        POLY6(r, 0x1.62e430p-1f, 0x1.ebfb94p-3f, 0x1.c6af9ep-5f, 0x1.3b67e2p-7f, 0x1.5ef430p-10f,
            0x1.17b62ap-13f),
        1.0f);
}

/* 2^(hi + lo), |lo| small beside 1; hi in [-252, 252], else an infinity or 0 by way of limits that keep NaN.
 */
INLINE float exp2_pair(float hi, float lo)
{
    float limited = at_least(at_most(hi, 130.0f), -152.0f);
    float t = limited + MAGIC;
    float r = (limited - (t - MAGIC)) + (limited == hi ? lo : 0.0f);
    return scale(exp2_reduced(r), magic_integer(t));
}

INLINE float exp_core(float x)
{
    exp_parts parts = exp_reduce(at_least(at_most(x, 89.0f), -104.0f));
    return scale(1.0f + expm1_reduced(parts.r), parts.n);
}

/* exp(hi + lo), |lo| small beside 1. */
INLINE float exp_pair(float hi, float lo)
{
    exp_parts parts = exp_reduce(at_least(at_most(hi, 89.0f), -104.0f));
    return scale(1.0f + expm1_reduced(parts.r + lo), parts.n);
}

/* 2^n (1 + p) - 1 = 2^n p + (2^n - 1), with 2^(n-1) in place of 2^n because n may be 128. */
INLINE float expm1_core(float x)
{
    exp_parts parts = exp_reduce(at_least(at_most(x, 89.0f), -20.0f));
    float s = power_of_two(parts.n - 1);
    return 2.0f * fma1(s, expm1_reduced(parts.r), s - 0.5f);
}

#endif
