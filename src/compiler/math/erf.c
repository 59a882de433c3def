/* erf and erfc.
 *
 * erfc(x) = exp(-x^2) S(q) / (1 + 2x), q = (x - 2) / (x + 2), for x >= 0: the transformation and scaling of
 * M. M. Shepherd and J. G. Laframboise, "Chebyshev approximation of (1 + 2x) exp(x^2) erfc x in 0 <= x <
 * infinity", Math. Comp. 36, 1981, with an own minimax polynomial; x^2 as two floats. erfc(-x) = 2 - erfc(x).
 * erf is odd: x + x p(x^2) below 1, 1 - erfc(x) above. */
#include "compiler/math/exp.h"

/* x >= 0; relative error of the approximation 2^-26.1. "erfc" */
INLINE float erfc_positive(float x)
{
    float a = at_most(x, 11.0f);
    float q = (a - 2.0f) / (a + 2.0f);
    float s = POLY14(q, 0x1.46e80ep+0f, -0x1.7bf5ecp-4f, -0x1.5407c0p-3f, 0x1.4ffa1ap-3f, -0x1.bc2b10p-5f,
        -0x1.073d3ap-7f, 0x1.1dc1dcp-7f, 0x1.4c1e1ep-10f, -0x1.7c0a38p-10f, -0x1.cae9f6p-12f, 0x1.9d8e18p-13f,
        0x1.f48d10p-14f, -0x1.241b64p-18f, -0x1.65b400p-17f);
    pair square = two_product(a, a);
    return exp_pair(-square.hi, -square.lo) * (s / fma1(2.0f, a, 1.0f));
}

/* Relative error 2^-30. "erf" */
INLINE float erf_core(float x)
{
    float a = magnitude(x), u = x * x;
    float p = POLY8(u, 0x1.06eba8p-3f, -0x1.812740p-2f, 0x1.ce2d74p-4f, -0x1.b80450p-6f, 0x1.548346p-8f,
        -0x1.a99f36p-11f, 0x1.69e9b2p-14f, -0x1.2645b6p-19f);
    float small = fma1(a, p, a), large = 1.0f - erfc_positive(a);
    return with_sign(a < 1.0f ? small : large, x);
}

INLINE float erfc_core(float x)
{
    float result = erfc_positive(magnitude(x));
    return x < 0 ? 2.0f - result : result;
}

ENTRY_BOTH(float, erf, (float x), erf_core(x))
ENTRY_BOTH(float, erfc, (float x), erfc_core(x))
