/* sinh, cosh, tanh, asinh, acosh, atanh.
 *
 * sinh, cosh: with x = n ln 2 + r, A = 2^n / 2 and B = 2^-n / 2
 *     sinh x = (A + B) sinh r + (A - B) cosh r,   cosh x = (A + B) cosh r + (A - B) sinh r,
 * which is relatively exact near 0 and needs no second exponential. A and B are halved once more and the result
 * doubled, because n reaches 129.
 *
 * tanh x = -t / (2 + t) with t = exp(-2|x|) - 1, which nowhere overflows or cancels.
 *
 * asinh, acosh and atanh are log1p of an argument that is small where the result is. */
#include "compiler/math/exp.h"
#include "compiler/math/log.h"

typedef struct hyperbolic_parts {
    float sinh, cosh_minus_1, sum, difference;
} hyperbolic_parts;

/* Relative errors 2^-26.2 and 2^-33.3. "sinh", "cosh" */
INLINE hyperbolic_parts hyperbolic_reduce(float x)
{
    exp_parts parts = exp_reduce(at_least(at_most(x, 89.5f), -89.5f));
    float r = parts.r, u = r * r;
    int32_t n = parts.n, up = n < -125 ? -125 : n, down = n > 125 ? 125 : n;
    float a = power_of_two(up - 2), b = power_of_two(-down - 2);
    float s = fma1(r * u, POLY2(u, 0x1.5554aep-3f, 0x1.122942p-7f), r);
    float c = u * fma1(u, POLY2(u, 0x1.5554e6p-5f, 0x1.6d4f3ep-10f), 0.5f);
    return (hyperbolic_parts){s, c, a + b, a - b};
}

INLINE float sinh_core(float x)
{
    hyperbolic_parts p = hyperbolic_reduce(x);
    return 2.0f * fma1(p.sum, p.sinh, fma1(p.difference, p.cosh_minus_1, p.difference));
}

INLINE float cosh_core(float x)
{
    hyperbolic_parts p = hyperbolic_reduce(x);
    return 2.0f * (p.sum + fma1(p.sum, p.cosh_minus_1, p.difference * p.sinh));
}

ENTRY(float, precise, sinh, (float x))
{
    float result = sinh_core(x);
    return x == 0 ? x : result;
}

ENTRY(float, fast, sinh, (float x))
{
    return sinh_core(x);
}

ENTRY_BOTH(float, cosh, (float x), cosh_core(x))

/* exp(-2|x|) - 1, for which 2^n needs no halving. */
INLINE float tanh_core(float x)
{
    exp_parts parts = exp_reduce(at_least(-2.0f * magnitude(x), -20.0f));
    float s = power_of_two(parts.n);
    float t = fma1(s, expm1_reduced(parts.r), s - 1.0f);
    return with_sign(t / (2.0f + t), x);
}

ENTRY_BOTH(float, tanh, (float x), tanh_core(x))

/* log(2x) for large x, whose square may overflow; log1p(h + l) otherwise. */
INLINE float log_of_double_or_log1p(bool large, float x, float h, float l)
{
    float result = log1p_reduced(large ? x : h, large ? 0 : l, true);
    return large ? result + LN2_HI : result;
}

/* asinh a = log1p(a + a^2 / (1 + sqrt(a^2 + 1))) */
INLINE float asinh_core(float x)
{
    float a = magnitude(x), square = a * a;
    bool large = a > 0x1p+60f;
    pair sum = fast_two_sum(square / (1.0f + __builtin_sqrtf(square + 1.0f)), 0);
    pair h = two_sum(a, sum.hi);
    float result = log_of_double_or_log1p(large, a, h.hi, h.lo);
    return with_sign(a < INF ? result : a, x);
}

ENTRY_BOTH(float, asinh, (float x), asinh_core(x))

/* acosh x = log1p(t + sqrt(2t + t^2)), t = x - 1 */
INLINE float acosh_core(float x)
{
    float t = x - 1.0f;
    bool large = x > 0x1p+60f;
    pair h = two_sum(t, __builtin_sqrtf(fma1(t, t, 2.0f * t)));
    float result = log_of_double_or_log1p(large, x, h.hi, h.lo);
    result = x < INF ? result : x;
    return x >= 1.0f ? result : NOT_A_NUMBER;
}

ENTRY_BOTH(float, acosh, (float x), acosh_core(x))

/* atanh a = log1p(2a / (1 - a)) / 2, the quotient as two floats */
INLINE float atanh_core(float x)
{
    float a = magnitude(x), double_a = 2.0f * a;
    pair divisor = fast_two_sum(1.0f, -a);
    float quotient = double_a / divisor.hi;
    float rest = fma1(-quotient, divisor.lo, fma1(-quotient, divisor.hi, double_a)) / divisor.hi;
    float result = 0.5f * log1p_reduced(quotient, rest, true);
    result = a < 1.0f ? result : a == 1.0f ? INF : NOT_A_NUMBER;
    return with_sign(a < MIN_NORMAL ? a : result, x);
}

ENTRY_BOTH(float, atanh, (float x), atanh_core(x))
