/* tgamma and lgamma, by Stirling's series with a minimax remainder.
 *
 *     log Gamma(z) = (z - 1/2) log z - z + log(2 pi)/2 + S(1/z^2)/z
 *
 * tgamma forms it in base 2 as a sum of two floats and raises 2 to it. Arguments below 1/2 go by reflection,
 * Gamma(x) = pi / (sin(pi x) Gamma(1 - x)); arguments below 8 are first raised by 8, Gamma(y) = Gamma(y + 8)
 * / (y (y + 1) ... (y + 7)).
 *
 * lgamma: on [1, 3] t (1 + t) p(t) with t = x - 2, which has the zeros at 1 and 2;
 * below 1 one step of the recurrence; above 3 the series; for negative x reflection. Near its zeros left of
 * -2 lgamma is good in the absolute sense only. Both modes are the same. */
#include "compiler/math/pow.h"
#include "compiler/math/trig.h"

#define LOG2_SQRT_2PI_HI 0x1.53643ap+0f
#define LOG2_SQRT_2PI_LO -0x1.6ce442p-26f
#define HALF_LOG_2PI_LESS_HALF_HI 0x1.acfe3ap-2f /* (log(2 pi) - 1) / 2 */
#define HALF_LOG_2PI_LESS_HALF_LO -0x1.e6d052p-27f

/* S(w^2) w for 0 < w <= 1/3, absolute error 2^-32.2. "stirling" */
INLINE float stirling_rest(float w)
{
    float u = w * w;
    return w * POLY4(u, 0x1.555554p-4f, -0x1.6c051ep-9f, 0x1.98145ap-11f, -0x1.b89dbcp-12f);
}

INLINE pair pair_add(pair a, pair b)
{
    pair s = two_sum(a.hi, b.hi);
    return fast_two_sum(s.hi, s.lo + (a.lo + b.lo));
}

/* log2 Gamma(z.hi + z.lo), z >= 8; the low part enters by the derivative. */
INLINE pair log2_gamma(pair z)
{
    float w = 1.0f / z.hi;
    pair log = log2_pair(z.hi);
    pair main = pair_multiply(log, two_sum(z.hi, -0.5f));
    pair linear = pair_multiply((pair){-LOG2E_HI, -LOG2E_LO}, (pair){z.hi, 0});
    float slope = fma1(w, -0.5f * LOG2E_HI, log.hi);
    pair rest = {LOG2_SQRT_2PI_HI, LOG2_SQRT_2PI_LO + z.lo * slope};
    rest = pair_add(rest, (pair){stirling_rest(w) * LOG2E_HI, 0});
    return pair_add(pair_add(main, linear), rest);
}

/* y (y + 1) ... (y + 7) */
INLINE pair rising_product(pair y)
{
    pair product = y;
    for (int i = 1; i < 8; i++) { /* unrolled by the compiler */
        pair factor = two_sum(y.hi, (float)i);
        factor.lo += y.lo;
        product = pair_multiply(product, factor);
    }
    return product;
}

INLINE float tgamma_core(float x)
{
    bool reflect = x < 0.5f;
    float limited = at_least(at_most(x, 40.0f), -50.0f);
    pair y = reflect ? two_sum(1.0f, -limited) : (pair){limited, 0};
    bool raise = y.hi < 8.0f;
    pair z = two_sum(y.hi, raise ? 8.0f : 0.0f);
    z.lo += y.lo;
    pair log = log2_gamma(z);
    pair product = rising_product(raise ? y : (pair){1.0f, 0});
    if (!raise) product = (pair){1.0f, 0};
    /* 2^-64 is taken out of 1 / Gamma(1 - x), which may be too small for a float where the result is not. */
    pair power = two_sum(reflect ? -log.hi : log.hi, reflect ? 64.0f : 0.0f);
    float gamma = exp2_pair(power.hi, power.lo + (reflect ? -log.lo : log.lo));
    trig_parts parts = reduce_pi(x);
    float sine = by_quadrant(sinpi_reduced(parts.r), cospi_reduced(parts.r), parts.quadrant);
    float correction = product.lo / product.hi;
    float right = gamma / product.hi * (1.0f - correction);
    float left = gamma * product.hi * (PI_HI / sine) * (1.0f + correction) * 0x1p-64f;
    float result = reflect ? left : right;
    bool pole = x < 0 && __builtin_truncf(x) == x;
    result = pole || is_nan(x) ? NOT_A_NUMBER : result;
    /* Gamma(x) = 1/x - 0.577... near 0; infinite only where 1/x is. */
    return magnitude(x) < 0x1p-26f ? 1.0f / x : x == INF ? INF : result;
}

/* x in [3, infinity] */
INLINE float lgamma_series(float x)
{
    float rest = HALF_LOG_2PI_LESS_HALF_HI + (HALF_LOG_2PI_LESS_HALF_LO + stirling_rest(1.0f / x));
    pair log = log2_pair(at_most(x, 0x1p+126f));
    pair natural = pair_multiply(log, (pair){LN2_HI, LN2_LO});
    float less_one = (natural.hi - 1.0f) + natural.lo;
    return fma1(x - 0.5f, less_one, rest);
}

/* log Gamma(x) = t (1 + t) p(t), t = x - 2, x in [1, 3]; relative error 2^-24.7. "lgamma" */
INLINE float lgamma_near_zeros(float t, float t_plus_1)
{
    float p = POLY14(t, 0x1.b0ee60p-2f, -0x1.9ae652p-4f, 0x1.0e0c80p-5f, -0x1.95cd7cp-7f, 0x1.47a566p-8f,
        -0x1.146c72p-9f, 0x1.dd5ce6p-11f, -0x1.a57f28p-12f, 0x1.9aa844p-13f, -0x1.80d944p-14f,
        0x1.53789ep-16f, -0x1.e78c70p-18f, 0x1.44086ep-16f, -0x1.44e844p-17f);
    return t * t_plus_1 * p + 0.0f; /* no -0 */
}

INLINE float lgamma_positive(float x)
{
    bool below = x < 1.0f, above = x > 3.0f;
    float near = lgamma_near_zeros(below ? x - 1.0f : x - 2.0f, below ? x : x - 1.0f);
    float log = log_join(log_split_all(below ? x : 1.0f));
    near = below ? near - log : near;
    return above ? lgamma_series(x) : near;
}

INLINE float lgamma_core(float x)
{
    float a = magnitude(x), positive = lgamma_positive(a);
    trig_parts parts = reduce_pi(a);
    float sine = magnitude(by_quadrant(sinpi_reduced(parts.r), cospi_reduced(parts.r), parts.quadrant));
    float reflected = log_join(log_split_all(PI_HI / (a * sine))) - positive;
    bool pole = x <= 0 && __builtin_truncf(x) == x;
    /* Near 0, |Gamma(x)| is 1/|x| on both sides. */
    float tiny = -log_join(log_split_all(a));
    float result = a < 0x1p-26f ? tiny : x < 0 ? reflected : positive;
    result = pole || a == INF ? INF : result;
    return is_nan(x) ? NOT_A_NUMBER : result;
}

ENTRY_BOTH(float, tgamma, (float x), tgamma_core(x))
ENTRY_BOTH(float, lgamma, (float x), lgamma_core(x))
