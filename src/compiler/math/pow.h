/* log2 with about 40 bits, the base of precise pow and powr and of the gamma functions.
 *
 * log2(2^e m) = e + 2/ln 2 atanh(s), s = (m - 1) / (m + 1), m in [sqrt(1/2), sqrt(2)), |s| < 0.1716 (the
 * classical series; see P. Markstein, IA-64 and Elementary Functions, 2000). With u = s^2, atanh's series is
 * s (2/ln 2 + u P(u)); s, u, P(u) and the products are sums of two floats, only P's terms from u on are
 * single ones (below 2^-5 of the total, error 2^-41.3). */
#ifndef TB_COMPILER_MATH_POW_H
#define TB_COMPILER_MATH_POW_H

#include "compiler/math/exp.h"
#include "compiler/math/log.h"

/* x > 0 and finite. */
INLINE pair log2_pair(float x)
{
    log_parts parts = log_split_all(x);
    float f = parts.f;
    pair d = fast_two_sum(2.0f, f);
    float s = f / d.hi;
    float s_low = fma1(-s, d.lo, fma1(-s, d.hi, f)) / d.hi;
    float u = s * s;
    float u_low = fma1(2.0f * s, s_low, fma1(s, s, -u));
    /* "pow_log2"; its constant term is two floats */
    float v = u * POLY4(u, 0x1.2776c2p-1f, 0x1.a61b2ep-2f, 0x1.475e5ap-2f, 0x1.25462cp-2f);
    pair p = fast_two_sum(0x1.ec709ep-1f, v);
    p.lo += -0x1.d9eaeep-28f;
    pair w = pair_multiply((pair){u, u_low}, p);
    pair z = fast_two_sum(2.0f * LOG2E_HI, w.hi);
    z.lo += w.lo + 2.0f * LOG2E_LO;
    pair log = pair_multiply((pair){s, s_low}, z);
    pair sum = fast_two_sum(parts.e, log.hi);
    return fast_two_sum(sum.hi, sum.lo + log.lo);
}

/* 2^(y l), y finite. */
INLINE float exp2_product(float y, pair l)
{
    float high = y * l.hi;
    float low = fma1(y, l.lo, fma1(y, l.hi, -high));
    return exp2_pair(high, low);
}

#endif
