/* Argument reduction and polynomials of the circular functions, shared by trig.c and gamma.c.
 *
 * x = n pi/2 + r, n modulo 4 as the quadrant. n comes from the rounded product x 2/pi, so |r| exceeds pi/4 by up
 * to 4e-8 n: 0.004 at the end of the medium range, 0.03 for |x| = 2^20 in fast functions; the polynomials' errors
 * have room for that.
 *
 *   reduce_medium   |x| < 2^17: pi/2 as three floats of truncated bits (Cody and Waite); x - n p1 is exact, as
 *                   both are multiples of 2^-23 (or of ulp(x)) and the difference is below 1. The parts are
 *                   positive, which keeps -0.
 *   reduce_large    any finite x: M. H. Payne and R. N. Hanek, "Radian reduction for trigonometric functions",
 *                   SIGNUM Newsletter 18, 1983. With x = M 2^E, M of 24 bits, only 96 bits of 2/pi matter: those
 *                   above are multiples of 4 quadrants, those below contribute less than 2^-70. The product is
 *                   made of 32 x 32 -> 64 bit ones. */
#ifndef TB_COMPILER_MATH_TRIG_H
#define TB_COMPILER_MATH_TRIG_H

#include "compiler/math/device.h"

typedef struct trig_parts {
    float r, low; /* the reduced argument is r + low */
    uint32_t quadrant;
} trig_parts;

#define TWO_OVER_PI 0x1.45f306p-1f
#define PIO2_1 0x1.921fb4p+0f
#define PIO2_2 0x1.4442d0p-24f
#define PIO2_3 0x1.846988p-48f
#define PIO2_HI 0x1.921fb6p+0f
#define PIO2_LO -0x1.777a5cp-25f
#define MEDIUM_LIMIT 0x1p+17f

INLINE trig_parts reduce_medium(float x)
{
    float t = fma1(x, TWO_OVER_PI, MAGIC), n = t - MAGIC;
    return (trig_parts){fma1(n, -PIO2_2, fma1(n, -PIO2_1, x)), n * -PIO2_3, bits(t)};
}

/* Two parts only: an error of at most n 2^-50. */
INLINE trig_parts reduce_fast(float x)
{
    float t = fma1(x, TWO_OVER_PI, MAGIC), n = t - MAGIC;
    return (trig_parts){fma1(n, -PIO2_LO, fma1(n, -PIO2_HI, x)), 0, bits(t)};
}

/* Word k + `index` of 2/pi, a zero word first; index 0 to 4. The words are arguments, so that no table goes
 * to memory. */
INLINE uint32_t pick(uint32_t index, uint32_t w0, uint32_t w1, uint32_t w2, uint32_t w3, uint32_t w4)
{
    uint32_t low = index == 0 ? w0 : w1, high = index == 2 ? w2 : w3;
    return index < 2 ? low : index < 4 ? high : w4;
}

INLINE uint32_t funnel(uint32_t high, uint32_t low, uint32_t shift)
{
    return (uint32_t)((((uint64_t)high << 32 | low) << shift) >> 32);
}

/* |x| >= 2^16; NaN for infinity. */
INLINE trig_parts reduce_large(float x)
{
    const uint32_t w1 = 0xa2f9836eu, w2 = 0x4e441529u, w3 = 0xfc2757d1u, w4 = 0xf534ddc0u, w5 = 0xdb629599u,
                   w6 = 0x3c439041u, w7 = 0xfe5163abu;
    uint32_t u = bits(x) & 0x7fffffffu;
    uint32_t mantissa = (u & 0x7fffffu) | 0x800000u;
    uint32_t start = (u >> 23) - 150u + 30u; /* first bit that matters, in the words of `pick` */
    uint32_t index = start >> 5, shift = start & 31u;
    uint32_t a = pick(index, 0, w1, w2, w3, w4), b = pick(index, w1, w2, w3, w4, w5);
    uint32_t c = pick(index, w2, w3, w4, w5, w6), d = pick(index, w3, w4, w5, w6, w7);
    uint64_t low = (uint64_t)mantissa * funnel(c, d, shift);
    uint64_t middle = (uint64_t)mantissa * funnel(b, c, shift) + (low >> 32);
    uint32_t top = mantissa * funnel(a, b, shift) + (uint32_t)(middle >> 32);
    /* top:middle:low modulo 2^96 is x 2/pi modulo 4, in units of 2^-94. */
    uint32_t f1 = top << 2 | (uint32_t)middle >> 30, f0 = (uint32_t)middle << 2 | (uint32_t)low >> 30;
    uint32_t quadrant = (top >> 30) + (f1 >> 31);
    /* The fraction as a signed number, in three parts that floats hold exactly: the first signed, the others
     * not. */
    float p1 = (float)((int32_t)f1 >> 8), p2 = (float)((f1 & 0xffu) << 16 | f0 >> 16),
          p3 = (float)(f0 & 0xffffu);
    pair head = fast_two_sum(p1 * 0x1p-24f, fma1(p3, 0x1p-64f, p2 * 0x1p-48f));
    pair product = pair_multiply(head, (pair){PIO2_HI, PIO2_LO});
    uint32_t sign = sign_bit(x);
    float r = is_finite(x) ? product.hi : NOT_A_NUMBER;
    return (trig_parts){flip_sign(r, sign), flip_sign(product.lo, sign), sign ? 0u - quadrant : quadrant};
}

INLINE trig_parts reduce_precise(float x)
{
    if (__builtin_expect(magnitude(x) >= MEDIUM_LIMIT, 0)) return reduce_large(x);
    return reduce_medium(x);
}

/* sin(r + low) = sin r + low + ..., cos(r + low) = cos r - r low + ..., |r| <= pi/4. The rounding
 * error of 1 - u/2 is added back. Relative errors 2^-32.5 and 2^-33. "sin", "cos" */
INLINE float sin_reduced(float r, float low)
{
    float u = r * r;
    float q = POLY4(u, -0x1.555556p-3f, 0x1.111174p-7f, -0x1.a05954p-13f, 0x1.7c2c4cp-19f);
    return r + fma1(r * u, q, low);
}

INLINE float cos_reduced(float r, float low)
{
    float u = r * r;
    float q = POLY3(u, 0x1.55554ap-5f, -0x1.6c0c28p-10f, 0x1.99e80cp-16f);
    float half = 0.5f * u, main = 1.0f - half;
    return main + fma1(u * u, q, fma1(-r, low, (1.0f - main) - half));
}

/* sine, or cosine with the quadrant moved on by one. */
INLINE float by_quadrant(float sine, float cosine, uint32_t quadrant)
{
    return flip_sign(quadrant & 1u ? cosine : sine, (quadrant & 2u) << 30);
}

/* x = n/2 + r exactly, |r| <= 1/4. NaN for infinity. */
INLINE trig_parts reduce_pi(float x)
{
    float within = fma1(__builtin_rintf(x * 0.5f), -2.0f, x); /* in [-1, 1] */
    float t = fma1(within, 2.0f, MAGIC), n = t - MAGIC;
    return (trig_parts){fma1(n, -0.5f, within), 0, bits(t)};
}

/* sin(pi r) = pi r + r^3 q(r^2) with pi as two floats, relative error 2^-33.4; cos(pi r), 2^-31.1. "sinpi",
 * "cospi" */
INLINE float sinpi_reduced(float r)
{
    float u = r * r;
    float q = POLY4(u, -0x1.4abbcep+2f, 0x1.466b78p+1f, -0x1.32adacp-1f, 0x1.443bdep-4f);
    return fma1(r, PI_HI, fma1(r * u, q, r * PI_LO));
}

INLINE float cospi_reduced(float r)
{
    float u = r * r;
    return fma1(u, POLY4(u, -0x1.3bd3ccp+2f, 0x1.03c1b0p+2f, -0x1.55b2b6p+0f, 0x1.d4f7ecp-3f), 1.0f);
}

#endif
