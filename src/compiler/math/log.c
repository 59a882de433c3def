/* log, log2, log10, log1p. Method: log.h.
 *
 * log2 and log10 are e c + f c' + f^2 q(f) with their own polynomials and c' as two floats, so that powers of
 * two (and near ones) come out exact. fast: the same with shorter polynomials; denormal arguments count as
 * zero. */
#include "compiler/math/log.h"

#define LOG10_2_HI 0x1.344136p-2f
#define LOG10_2_LO -0x1.ec10c0p-27f
#define LOG10E_HI 0x1.bcb7b2p-2f
#define LOG10E_LO -0x1.5b235ep-27f

ENTRY(float, precise, log, (float x))
{
    return log_special(x, MIN_DENORMAL, log_join(log_split_all(x)));
}

/* Relative error 2^-26.5. "log2" */
ENTRY(float, precise, log2, (float x))
{
    log_parts parts = log_split_all(x);
    float f = parts.f;
    float q = POLY9(f, -0x1.715470p-1f, 0x1.ec7096p-2f, -0x1.715a72p-2f, 0x1.277e3cp-2f, -0x1.eabd12p-3f,
        0x1.a305a6p-3f, -0x1.87484ep-3f, 0x1.7d4716p-3f, -0x1.c2634ap-4f);
    float log = fma1(f, LOG2E_HI, fma1(f * f, q, f * LOG2E_LO));
    return log_special(x, MIN_DENORMAL, parts.e + log);
}

/* Relative error 2^-26.6. "log10" */
ENTRY(float, precise, log10, (float x))
{
    log_parts parts = log_split_all(x);
    float f = parts.f;
    float q = POLY9(f, -0x1.bcb7aap-3f, 0x1.287a72p-3f, -0x1.bcbee6p-4f, 0x1.63cf24p-4f, -0x1.27743cp-4f,
        0x1.f88d86p-5f, -0x1.d726aap-5f, 0x1.cb1aa4p-5f, -0x1.0f2916p-5f);
    float low = fma1(parts.e, LOG10_2_LO, f * LOG10E_LO);
    float log = fma1(f, LOG10E_HI, fma1(f * f, q, low));
    return log_special(x, MIN_DENORMAL, fma1(parts.e, LOG10_2_HI, log));
}

INLINE float log1p_core(float x)
{
    float result = log1p_reduced(x, 0, false);
    float special = x == -1.0f ? -INF : NOT_A_NUMBER;
    result = x < INF ? result : x;
    return x > -1.0f ? result : special;
}

ENTRY(float, precise, log1p, (float x))
{
    float result = log1p_core(x);
    return x == 0 ? x : result; /* the sign of zero */
}

/* Relative error 2^-25. "log_fast" */
ENTRY(float, fast, log, (float x))
{
    log_parts parts = log_split(x);
    float f = parts.f;
    float q = POLY8(f, -0x1.fffffap-2f, 0x1.5556f6p-2f, -0x1.0004cap-2f, 0x1.98d22cp-3f, -0x1.53524ep-3f,
        0x1.317f74p-3f, -0x1.255a92p-3f, 0x1.66d0b6p-4f);
    return log_special(x, MIN_NORMAL, fma1(parts.e, LN2_HI, fma1(f * f, q, f)));
}

/* Relative error 2^-25. "log2_fast" */
ENTRY(float, fast, log2, (float x))
{
    log_parts parts = log_split(x);
    float f = parts.f;
    float q = POLY8(f, -0x1.715472p-1f, 0x1.ec72f6p-2f, -0x1.715b5ep-2f, 0x1.26e70ap-2f, -0x1.e98996p-3f,
        0x1.b8bafep-3f, -0x1.a73a5cp-3f, 0x1.02e05ap-3f);
    return log_special(x, MIN_NORMAL, fma1(f, LOG2E_HI, fma1(f * f, q, parts.e)));
}

/* Relative error 2^-24.9. "log10_fast" */
ENTRY(float, fast, log10, (float x))
{
    log_parts parts = log_split(x);
    float f = parts.f;
    float q = POLY8(f, -0x1.bcb7acp-3f, 0x1.287be2p-3f, -0x1.bcc022p-4f, 0x1.631856p-4f, -0x1.26b71ep-4f,
        0x1.095d28p-4f, -0x1.fde352p-5f, 0x1.37f764p-5f);
    float log = fma1(f, LOG10E_HI, f * f * q);
    return log_special(x, MIN_NORMAL, fma1(parts.e, LOG10_2_HI, log));
}

ENTRY(float, fast, log1p, (float x))
{
    return log1p_core(x);
}
