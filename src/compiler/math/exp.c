/* exp, exp2, exp10, expm1. Method: exp.h. exp(0) = 1 exactly in all of them.
 *
 * precise: the argument is limited to where the result is neither 0 nor infinite (NaN passes), and the power of
 * two is applied in two factors, so that denormal results are rounded once.
 *
 * fast: the argument is limited below so that the factor 2^n becomes 0 there (denormal results are flushed). n
 * alone is limited above: then r grows to ln(2), which the polynomials allow for, and the product reaches infinity
 * where exp does. */
#include "compiler/math/exp.h"

#define LOG2_10_HI 0x1.a934f0p+1f
#define LOG10_2_HI 0x1.344136p-2f
#define LOG10_2_LO -0x1.ec10c0p-27f

ENTRY(float, precise, exp, (float x))
{
    return exp_core(x);
}

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
    float p = fma1(r,
        POLY6(r, 0x1.26bb1cp+1f, 0x1.535224p+1f, 0x1.046fa4p+1f, 0x1.2c0402p+0f, 0x1.156380p-1f,
            0x1.7cb486p-3f),
        1.0f);
    return scale(p, magic_integer(t));
}

ENTRY(float, precise, expm1, (float x))
{
    float result = expm1_core(x);
    return x == 0 ? x : result; /* the sign of zero */
}

/* 2^n with n = t - MAGIC, straight from t's bits. */
INLINE float power_of_magic(float t)
{
    return from_bits((bits(t) << 23) + 0x3f800000u);
}

/* Relative error 2^-26.6, 2^-20.6 towards the upper end. "exp_fast" */
ENTRY(float, fast, exp, (float x))
{
    float low = at_least(x, -88.0f);
    float t = fma1(at_most(low, 88.0f), LOG2E_HI, MAGIC);
    float r = fma1(t - MAGIC, -LN2_HI, low);
    float p = fma1(r,
        POLY6(r, 0x1.000002p+0f, 0x1.000012p-1f, 0x1.555250p-3f, 0x1.55366ep-5f, 0x1.1336e4p-7f,
            0x1.83d78ap-10f),
        1.0f);
    return p * power_of_magic(t);
}

/* Relative error 2^-26.8, 2^-20.6 towards the upper end. "exp2_fast" */
ENTRY(float, fast, exp2, (float x))
{
    float low = at_least(x, -127.0f);
    float t = at_most(low, 127.0f) + MAGIC;
    float r = low - (t - MAGIC);
    float p = fma1(r,
        POLY6(r, 0x1.62e432p-1f, 0x1.ebfc06p-3f, 0x1.c6ad58p-5f, 0x1.3b0a9cp-7f, 0x1.5fed60p-10f,
            0x1.5b29d4p-13f),
        1.0f);
    return p * power_of_magic(t);
}

/* Relative error 2^-26.6, 2^-20.6 towards the upper end. "exp10_fast" */
ENTRY(float, fast, exp10, (float x))
{
    float low = at_least(x, -38.23f);
    float t = fma1(at_most(low, 38.23f), LOG2_10_HI, MAGIC), n = t - MAGIC;
    float r = fma1(n, -LOG10_2_LO, fma1(n, -LOG10_2_HI, low));
    float p = fma1(r,
        POLY6(r, 0x1.26bb1ep+1f, 0x1.535264p+1f, 0x1.046e12p+1f, 0x1.2bbc8cp+0f, 0x1.1651bap-1f,
            0x1.c35e3cp-3f),
        1.0f);
    return p * power_of_magic(t);
}

ENTRY(float, fast, expm1, (float x))
{
    return expm1_core(x);
}
