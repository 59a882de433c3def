/* exp, exp2, exp10, expm1. Method: exp.h.
 *
 * precise: the argument is limited to where the result is neither 0 nor infinite (NaN passes), and the power of two is applied
 * in two factors, so that denormal results are rounded once.
 * fast: the argument is limited below so that the factor 2^n becomes 0 there (denormal results are flushed). n alone is limited
 * above: then r grows beyond ln(2)/2 and the product reaches infinity where exp does. exp(0) = 1 exactly in all of them. */
#include "compiler/math/exp.h"

#define LOG2_10_HI 0x1.a934f0p+1f
#define LOG10_2_HI 0x1.344136p-2f
#define LOG10_2_LO -0x1.ec10c0p-27f

ENTRY(float, precise, exp, (float x)) { return exp_core(x); }

ENTRY(float, precise, exp2, (float x))
{
    float limited = at_least(at_most(x, 129.0f), -151.0f);
    float t = limited + MAGIC;
    return scale(exp2_reduced(limited - (t - MAGIC)), magic_integer(t));
}

/* 10^r for |r| <= log10(2)/2, relative error 2^-26.5. "exp10" */
ENTRY(float, precise, exp10, (float x))
{
    float limited = at_least(at_most(x, 39.0f), -46.0f);
    float t = fma1(limited, LOG2_10_HI, MAGIC), n = t - MAGIC;
    float r = fma1(n, -LOG10_2_LO, fma1(n, -LOG10_2_HI, limited));
    float p = fma1(r, POLY6(r, 0x1.26bb1cp+1f, 0x1.535224p+1f, 0x1.046fa4p+1f, 0x1.2c0402p+0f, 0x1.156380p-1f,
        0x1.7cb486p-3f), 1.0f);
    return scale(p, magic_integer(t));
}

ENTRY(float, precise, expm1, (float x))
{
    float result = expm1_core(x);
    return x == 0 ? x : result; /* the sign of zero */
}

/* 2^n with n = t - MAGIC, straight from t's bits. */
INLINE float power_of_magic(float t) { return from_bits((bits(t) << 23) + 0x3f800000u); }

/* Relative error 2^-23.4. "exp_fast" */
ENTRY(float, fast, exp, (float x))
{
    float low = at_least(x, -88.0f);
    float t = fma1(at_most(low, 88.0f), LOG2E_HI, MAGIC);
    float r = fma1(t - MAGIC, -LN2_HI, low);
    float p = fma1(r, POLY5(r, 0x1.fffff6p-1f, 0x1.fffdc0p-2f, 0x1.555a80p-3f, 0x1.573cb4p-5f, 0x1.0fa30cp-7f), 1.0f);
    return p * power_of_magic(t);
}

/* Relative error 2^-23.3. "exp2_fast" */
ENTRY(float, fast, exp2, (float x))
{
    float low = at_least(x, -127.0f);
    float t = at_most(low, 127.0f) + MAGIC;
    float r = low - (t - MAGIC);
    float p = fma1(r, POLY5(r, 0x1.62e42ap-1f, 0x1.ebf99cp-3f, 0x1.c6b576p-5f, 0x1.3cf730p-7f, 0x1.5cd760p-10f), 1.0f);
    return p * power_of_magic(t);
}

/* Relative error 2^-23.3. "exp10_fast" */
ENTRY(float, fast, exp10, (float x))
{
    float low = at_least(x, -38.23f);
    float t = fma1(at_most(low, 38.23f), LOG2_10_HI, MAGIC), n = t - MAGIC;
    float r = fma1(n, -LOG10_2_LO, fma1(n, -LOG10_2_HI, low));
    float p = fma1(r, POLY5(r, 0x1.26bb16p+1f, 0x1.5350d0p+1f, 0x1.04745ap+1f, 0x1.2d830ap+0f, 0x1.12a9aep-1f), 1.0f);
    return p * power_of_magic(t);
}

ENTRY(float, fast, expm1, (float x)) { return expm1_core(x); }
