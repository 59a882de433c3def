/* sin, cos, tan, sincos and their forms of pi x. Method: trig.h.
 *
 * precise: every finite argument is reduced exactly enough; the full reduction is a rare branch.
 *
 * fast: two-part reduction, good to 2^-21 absolute for |x| < 2^20. From about 2^21 on (neighbouring floats are
 * 1/4 apart there) the remainder is not small any more and only limited, so that results stay within [-1, 1].
 *
 * Infinity gives NaN in both. */
#include "compiler/math/trig.h"

ENTRY(float, precise, sin, (float x))
{
    trig_parts parts = reduce_precise(x);
    float result =
        by_quadrant(sin_reduced(parts.r, parts.low), cos_reduced(parts.r, parts.low), parts.quadrant);
    return x == 0 ? x : result;
}

ENTRY(float, precise, cos, (float x))
{
    trig_parts parts = reduce_precise(x);
    return by_quadrant(sin_reduced(parts.r, parts.low), cos_reduced(parts.r, parts.low), parts.quadrant + 1u);
}

ENTRY(float, precise, sincos, (float x, float *cosine))
{
    trig_parts parts = reduce_precise(x);
    float s = sin_reduced(parts.r, parts.low), c = cos_reduced(parts.r, parts.low);
    *cosine = by_quadrant(s, c, parts.quadrant + 1u);
    float sine = by_quadrant(s, c, parts.quadrant);
    return x == 0 ? x : sine;
}

/* tan(r), or -1/tan(r) in odd quadrants, as a quotient. */
INLINE float tan_by_quadrant(float s, float c, uint32_t quadrant)
{
    bool odd = quadrant & 1u;
    return (odd ? -c : s) / (odd ? s : c);
}

ENTRY(float, precise, tan, (float x))
{
    trig_parts parts = reduce_precise(x);
    float result =
        tan_by_quadrant(sin_reduced(parts.r, parts.low), cos_reduced(parts.r, parts.low), parts.quadrant);
    return x == 0 ? x : result;
}

ENTRY(float, precise, sinpi, (float x))
{
    trig_parts parts = reduce_pi(x);
    float result = by_quadrant(sinpi_reduced(parts.r), cospi_reduced(parts.r), parts.quadrant);
    return parts.r == 0 && !(parts.quadrant & 1u) ? with_sign(0, x) : result;
}

ENTRY(float, precise, cospi, (float x))
{
    trig_parts parts = reduce_pi(x);
    float result = by_quadrant(sinpi_reduced(parts.r), cospi_reduced(parts.r), parts.quadrant + 1u);
    return parts.r == 0 && (parts.quadrant & 1u) ? 0.0f : result;
}

/* IEEE 754-2019: integers give zero with the sign of x, the other one for odd integers; n + 1/2 gives an
 * infinity, positive for even n. */
ENTRY(float, precise, tanpi, (float x))
{
    trig_parts parts = reduce_pi(x);
    float result = tan_by_quadrant(sinpi_reduced(parts.r), cospi_reduced(parts.r), parts.quadrant);
    uint32_t half_turn = (parts.quadrant & 2u) << 30;
    float exact = parts.quadrant & 1u ? flip_sign(INF, half_turn) : flip_sign(with_sign(0, x), half_turn);
    return parts.r == 0 ? exact : result;
}

/* ---- fast ---- */

/* Relative errors 2^-27.9 (of sine, a term more than its precision needs: relative near 0) and 2^-23.5.
 * "sin_fast", "cos_fast" */
INLINE float sin_reduced_fast(float r)
{
    float u = r * r;
    return fma1(r * u, POLY3(u, -0x1.555546p-3f, 0x1.110776p-7f, -0x1.9952f8p-13f), r);
}

INLINE float cos_reduced_fast(float r)
{
    float u = r * r;
    return fma1(u, fma1(u, POLY2(u, 0x1.554994p-5f, -0x1.65c984p-10f), -0.5f), 1.0f);
}

INLINE trig_parts reduce_limited(float x)
{
    trig_parts parts = reduce_fast(x);
    parts.r = at_least(at_most(parts.r, 0.85f), -0.85f);
    return parts;
}

ENTRY(float, fast, sin, (float x))
{
    trig_parts parts = reduce_limited(x);
    return by_quadrant(sin_reduced_fast(parts.r), cos_reduced_fast(parts.r), parts.quadrant);
}

ENTRY(float, fast, cos, (float x))
{
    trig_parts parts = reduce_limited(x);
    return by_quadrant(sin_reduced_fast(parts.r), cos_reduced_fast(parts.r), parts.quadrant + 1u);
}

ENTRY(float, fast, sincos, (float x, float *cosine))
{
    trig_parts parts = reduce_limited(x);
    float s = sin_reduced_fast(parts.r), c = cos_reduced_fast(parts.r);
    *cosine = by_quadrant(s, c, parts.quadrant + 1u);
    return by_quadrant(s, c, parts.quadrant);
}

ENTRY(float, fast, tan, (float x))
{
    trig_parts parts = reduce_limited(x);
    return tan_by_quadrant(sin_reduced_fast(parts.r), cos_reduced_fast(parts.r), parts.quadrant);
}

/* Relative errors 2^-27.9 and 2^-24.6. "sinpi_fast", "cospi_fast" */
INLINE float sinpi_reduced_fast(float r)
{
    float u = r * r;
    return r * fma1(u, POLY3(u, -0x1.4abbbep+2f, 0x1.465facp+1f, -0x1.2db5d0p-1f), PI_HI);
}

INLINE float cospi_reduced_fast(float r)
{
    float u = r * r;
    return fma1(u, POLY3(u, -0x1.3bd39cp+2f, 0x1.03b058p+2f, -0x1.4e78bcp+0f), 1.0f);
}

ENTRY(float, fast, sinpi, (float x))
{
    trig_parts parts = reduce_pi(x);
    return by_quadrant(sinpi_reduced_fast(parts.r), cospi_reduced_fast(parts.r), parts.quadrant);
}

ENTRY(float, fast, cospi, (float x))
{
    trig_parts parts = reduce_pi(x);
    return by_quadrant(sinpi_reduced_fast(parts.r), cospi_reduced_fast(parts.r), parts.quadrant + 1u);
}

ENTRY(float, fast, tanpi, (float x))
{
    trig_parts parts = reduce_pi(x);
    return tan_by_quadrant(sinpi_reduced_fast(parts.r), cospi_reduced_fast(parts.r), parts.quadrant);
}
