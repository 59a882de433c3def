/* asin, acos, atan, atan2 and their forms divided by pi.
 *
 * asin: x + x^3 q(x^2) for |x| <= 1/2, else pi/2 - 2 asin(s) with s = sqrt((1 - |x|) / 2), by the same
 * polynomial; acos likewise (Cody and Waite). The root is used as s + rest, the rest from one fma.
 *
 * atan: |x| > 1 by pi/2 - atan(1/|x|); then x + x^3 q(x^2) on [0, 1]. atan2 takes the quotient of the smaller to
 * the larger.
 *
 * The forms over pi multiply a result that is kept in two parts. fast: shorter polynomials. */
#include "compiler/math/device.h"

#define PIO2_HI 0x1.921fb6p+0f
#define PIO2_LO -0x1.777a5cp-25f

/* sin^-1 of `x` as x + tail, |x| <= 1/2, relative errors 2^-31.7 and 2^-27.6. "asin", "asin_fast" */
INLINE float asin_tail(float x, float square, bool fast)
{
    float q =
        fast ? POLY5(square, 0x1.5555c8p-3f, 0x1.3301fcp-4f, 0x1.747d04p-5f, 0x1.8c2daep-6f, 0x1.596d2cp-5f)
             : POLY6(square, 0x1.55554cp-3f, 0x1.3338acp-4f, 0x1.6ca754p-5f, 0x1.04d2e4p-5f, 0x1.d52376p-7f,
                   0x1.34c504p-5f);
    return x * square * q;
}

/* asin(|x|) = base + tail where |x| <= 1/2, pi/2 - 2 (base + tail) elsewhere. */
typedef struct asin_parts {
    bool outer;
    float base, tail;
} asin_parts;

INLINE asin_parts asin_reduce(float x, bool fast)
{
    float a = magnitude(x);
    bool outer = a > 0.5f;
    float square = outer ? fma1(a, -0.5f, 0.5f) : a * a; /* exact for the first */
    float root = __builtin_sqrtf(square);
    float base = outer ? root : a;
    float tail = asin_tail(base, square, fast);
    /* square - root^2 = 2 root rest; root = 0 needs none */
    float rest = outer && root > 0 && !fast ? fma1(-root, root, square) / (2.0f * root) : 0.0f;
    return (asin_parts){outer, base, tail + rest};
}

INLINE float asin_core(float x, bool fast)
{
    asin_parts p = asin_reduce(x, fast);
    float outer = PIO2_HI - 2.0f * p.base;
    outer += fma1(-2.0f, p.tail, (PIO2_HI - outer) - 2.0f * p.base + PIO2_LO);
    return with_sign(p.outer ? outer : p.base + p.tail, x);
}

/* acos x: 2 (base + tail) right of 1/2, pi minus that left of -1/2, pi/2 -+ (base + tail) between. */
INLINE float acos_core(float x, bool fast)
{
    asin_parts p = asin_reduce(x, fast);
    float base = p.outer ? 2.0f * p.base : p.base, tail = p.outer ? 2.0f * p.tail : p.tail;
    float whole = p.outer ? PI_HI : PIO2_HI, whole_low = p.outer ? PI_LO : PIO2_LO;
    bool subtract = p.outer || x > 0;
    pair sum = fast_two_sum(whole, subtract ? -base : base);
    float result = sum.hi + (sum.lo + whole_low + (subtract ? -tail : tail));
    return p.outer && x > 0 ? base + tail : result;
}

/* (base + tail) / pi */
INLINE float over_pi(float base, float tail)
{
    return fma1(base, INV_PI_HI, fma1(base, INV_PI_LO, tail * INV_PI_HI));
}

INLINE float asinpi_core(float x, bool fast)
{
    asin_parts p = asin_reduce(x, fast);
    float part = over_pi(p.base, p.tail);
    return with_sign(p.outer ? fma1(-2.0f, part, 0.5f) : part, x);
}

INLINE float acospi_core(float x, bool fast)
{
    asin_parts p = asin_reduce(x, fast);
    float part = over_pi(p.base, p.tail);
    float outer = x > 0 ? 2.0f * part : fma1(-2.0f, part, 1.0f);
    return p.outer ? outer : 0.5f - with_sign(part, x);
}

/* atan of the quotient `a` in [0, 1] as a + tail, relative errors 2^-31.1 and 2^-25.8. "atan", "atan_fast" */
INLINE float atan_tail(float a, bool fast)
{
    float u = a * a;
    float q =
        fast ? POLY8(u, -0x1.5554dcp-2f, 0x1.9978ecp-3f, -0x1.230a98p-3f, 0x1.b4def8p-4f, -0x1.3551cep-4f,
                   0x1.61f1c4p-5f, -0x1.0c1c9ap-6f, 0x1.7eb204p-9f)
             : POLY10(u, -0x1.555552p-2f, 0x1.99981cp-3f, -0x1.247620p-3f, 0x1.c5116ep-4f, -0x1.6953a8p-4f,
                   0x1.1509aep-4f, -0x1.707f5cp-5f, 0x1.752d0cp-6f, -0x1.e6991ap-8f, 0x1.2960b6p-10f);
    return a * u * q;
}

INLINE float atan_core(float x, bool fast)
{
    float magnitude_x = magnitude(x);
    bool outer = magnitude_x > 1.0f;
    float a = outer ? 1.0f / magnitude_x : magnitude_x;
    float tail = atan_tail(a, fast);
    float result = outer ? PIO2_HI - (a + (tail - PIO2_LO)) : a + tail;
    return with_sign(result, x);
}

INLINE float atanpi_core(float x, bool fast)
{
    float magnitude_x = magnitude(x);
    bool outer = magnitude_x > 1.0f;
    float a = outer ? 1.0f / magnitude_x : magnitude_x;
    float part = over_pi(a, atan_tail(a, fast));
    return with_sign(outer ? 0.5f - part : part, x);
}

/* Quadrants as C's annex F has them: the angle in the first octant, mirrored at the diagonal, at the y axis,
 * at the x axis. */
INLINE float atan2_core(float y, float x, bool fast)
{
    float ax = magnitude(x), ay = magnitude(y);
    bool steep = ay > ax;
    float small = steep ? ax : ay, large = steep ? ay : ax;
    float a = small / large;
    a = small == large ? 1.0f : a; /* two infinities */
    a = large == 0 ? 0.0f : a;
    a = is_nan(x) || is_nan(y) ? NOT_A_NUMBER : a;
    float angle = a + atan_tail(a, fast), low = 0.0f;
    angle = steep ? -angle : angle;
    bool left = sign_bit(x) != 0;
    angle = left ? -angle : angle;
    float base = steep ? PIO2_HI : left ? PI_HI : 0.0f;
    low = steep ? PIO2_LO : left ? PI_LO : 0.0f;
    return with_sign(base + (angle + low), y);
}

ENTRY(float, precise, asin, (float x))
{
    return asin_core(x, false);
}

ENTRY(float, precise, acos, (float x))
{
    return acos_core(x, false);
}

ENTRY(float, precise, asinpi, (float x))
{
    return asinpi_core(x, false);
}

ENTRY(float, precise, acospi, (float x))
{
    return acospi_core(x, false);
}

ENTRY(float, precise, atan, (float x))
{
    return atan_core(x, false);
}

ENTRY(float, precise, atanpi, (float x))
{
    return atanpi_core(x, false);
}

ENTRY(float, precise, atan2, (float y, float x))
{
    return atan2_core(y, x, false);
}

ENTRY(float, fast, asin, (float x))
{
    return asin_core(x, true);
}

ENTRY(float, fast, acos, (float x))
{
    return acos_core(x, true);
}

ENTRY(float, fast, asinpi, (float x))
{
    return asinpi_core(x, true);
}

ENTRY(float, fast, acospi, (float x))
{
    return acospi_core(x, true);
}

ENTRY(float, fast, atan, (float x))
{
    return atan_core(x, true);
}

ENTRY(float, fast, atanpi, (float x))
{
    return atanpi_core(x, true);
}

ENTRY(float, fast, atan2, (float y, float x))
{
    return atan2_core(y, x, true);
}
