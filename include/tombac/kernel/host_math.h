/* Mathematics on the host: C's own functions under C's names (with f for float, without for any real type, by
 * <tgmath.h>), and those that C has not, composed of them. Results agree with a device's within the accuracy of
 * both, not bit by bit. */
#ifndef TOMBAC_KERNEL_HOST_MATH_H
#define TOMBAC_KERNEL_HOST_MATH_H

#include <tgmath.h>

#include "constants.h"

#define HALF_MAX ((half)65504.0f)
#define HALF_MIN ((half)6.103515625e-05f)
#define HALF_EPSILON ((half)9.765625e-04f)

#define TOMBAC_HOST_MATH(NAME, X)                                                                            \
    TOMBAC_HOST_FN float tombac_host_##NAME(float x) { return (float)(X); }
TOMBAC_HOST_MATH(rsqrt, 1.0 / (sqrt)((double)x))
TOMBAC_HOST_MATH(exp10, (pow)(10.0, (double)x))
TOMBAC_HOST_MATH(sinpi, (sin)(3.14159265358979323846 * (fmod)((double)x, 2.0)))
TOMBAC_HOST_MATH(cospi, (cos)(3.14159265358979323846 * (fmod)((double)x, 2.0)))
TOMBAC_HOST_MATH(tanpi, (tan)(3.14159265358979323846 * (fmod)((double)x, 1.0)))
TOMBAC_HOST_MATH(asinpi, (asin)((double)x) / 3.14159265358979323846)
TOMBAC_HOST_MATH(acospi, (acos)((double)x) / 3.14159265358979323846)
TOMBAC_HOST_MATH(atanpi, (atan)((double)x) / 3.14159265358979323846)
#undef TOMBAC_HOST_MATH
#define rsqrtf(x) tombac_host_rsqrt(x)
#define rsqrt(x) ((__typeof__(x))tombac_host_rsqrt((float)(x)))
#undef exp10f
#undef exp10
#define exp10f(x) tombac_host_exp10(x)
#define exp10(x) ((__typeof__(x))tombac_host_exp10((float)(x)))
#undef sinpif
#undef cospif
#undef tanpif
#undef asinpif
#undef acospif
#undef atanpif
#define sinpif(x) tombac_host_sinpi(x)
#define cospif(x) tombac_host_cospi(x)
#define tanpif(x) tombac_host_tanpi(x)
#define asinpif(x) tombac_host_asinpi(x)
#define acospif(x) tombac_host_acospi(x)
#define atanpif(x) tombac_host_atanpi(x)
#define TOMBAC_HOST_OF_PI(FN, x) ((__typeof__(x))tombac_host_##FN((float)(x)))
#undef sinpi
#undef cospi
#undef tanpi
#undef asinpi
#undef acospi
#undef atanpi
#define sinpi(x) TOMBAC_HOST_OF_PI(sinpi, x)
#define cospi(x) TOMBAC_HOST_OF_PI(cospi, x)
#define tanpi(x) TOMBAC_HOST_OF_PI(tanpi, x)
#define asinpi(x) TOMBAC_HOST_OF_PI(asinpi, x)
#define acospi(x) TOMBAC_HOST_OF_PI(acospi, x)
#define atanpi(x) TOMBAC_HOST_OF_PI(atanpi, x)
TOMBAC_HOST_FN float dividef(float x, float y) { return x / y; }

/* Each argument is evaluated once; the type is what the arguments have in common. */
#define TOMBAC_HOST_PICK(x, y, OP, N) TOMBAC_HOST_PICK_(x, y, OP, N)
#define TOMBAC_HOST_PICK_(x, y, OP, N)                                                                       \
    __extension__({                                                                                          \
        __typeof__((x) + (y)) tombac_a##N = (x), tombac_b##N = (y);                                          \
        tombac_b##N OP tombac_a##N ? tombac_b##N : tombac_a##N;                                              \
    })
#define min(x, y) TOMBAC_HOST_PICK(x, y, <, __COUNTER__)
#define max(x, y) TOMBAC_HOST_PICK(x, y, >, __COUNTER__)
#define clamp(x, low, high) min(max((x), (low)), (high))

/* Two results, where C has them in other places. */
TOMBAC_HOST_FN float tombac_host_sincos(float x, float *cosine)
{
    *cosine = (cosf)(x);
    return (sinf)(x);
}
#define sincosf(x, cosine) tombac_host_sincos(x, cosine)
#define sincos(x, cosine) tombac_host_sincos(x, cosine)
#define modf(x, whole) (modff)(x, whole)

/* ---- Forms of one accuracy: the host has no other ---- */
TOMBAC_HOST_FN float powrf(float x, float y) { return (powf)(x, y); }
#define powr(x, y) ((__typeof__((x) + (y)))powrf((float)(x), (float)(y)))
#define divide(x, y) ((x) / (y))
#define fast_acos(x) acosf(x)
#define precise_acos(x) acosf(x)
#define fast_acosh(x) acoshf(x)
#define precise_acosh(x) acoshf(x)
#define fast_acospi(x) acospif(x)
#define precise_acospi(x) acospif(x)
#define fast_asin(x) asinf(x)
#define precise_asin(x) asinf(x)
#define fast_asinh(x) asinhf(x)
#define precise_asinh(x) asinhf(x)
#define fast_asinpi(x) asinpif(x)
#define precise_asinpi(x) asinpif(x)
#define fast_atan(x) atanf(x)
#define precise_atan(x) atanf(x)
#define fast_atanh(x) atanhf(x)
#define precise_atanh(x) atanhf(x)
#define fast_atanpi(x) atanpif(x)
#define precise_atanpi(x) atanpif(x)
#define fast_cbrt(x) cbrtf(x)
#define precise_cbrt(x) cbrtf(x)
#define fast_cos(x) cosf(x)
#define precise_cos(x) cosf(x)
#define fast_cosh(x) coshf(x)
#define precise_cosh(x) coshf(x)
#define fast_cospi(x) cospif(x)
#define precise_cospi(x) cospif(x)
#define fast_exp(x) expf(x)
#define precise_exp(x) expf(x)
#define fast_exp2(x) exp2f(x)
#define precise_exp2(x) exp2f(x)
#define fast_exp10(x) exp10f(x)
#define precise_exp10(x) exp10f(x)
#define fast_expm1(x) expm1f(x)
#define precise_expm1(x) expm1f(x)
#define fast_log(x) logf(x)
#define precise_log(x) logf(x)
#define fast_log1p(x) log1pf(x)
#define precise_log1p(x) log1pf(x)
#define fast_log2(x) log2f(x)
#define precise_log2(x) log2f(x)
#define fast_log10(x) log10f(x)
#define precise_log10(x) log10f(x)
#define fast_rsqrt(x) rsqrtf(x)
#define precise_rsqrt(x) rsqrtf(x)
#define fast_sin(x) sinf(x)
#define precise_sin(x) sinf(x)
#define fast_sinh(x) sinhf(x)
#define precise_sinh(x) sinhf(x)
#define fast_sinpi(x) sinpif(x)
#define precise_sinpi(x) sinpif(x)
#define fast_tan(x) tanf(x)
#define precise_tan(x) tanf(x)
#define fast_tanh(x) tanhf(x)
#define precise_tanh(x) tanhf(x)
#define fast_tanpi(x) tanpif(x)
#define precise_tanpi(x) tanpif(x)
#define fast_erf(x) erff(x)
#define precise_erf(x) erff(x)
#define fast_erfc(x) erfcf(x)
#define precise_erfc(x) erfcf(x)
#define fast_lgamma(x) lgammaf(x)
#define precise_lgamma(x) lgammaf(x)
#define fast_tgamma(x) tgammaf(x)
#define precise_tgamma(x) tgammaf(x)
#define fast_atan2(x, y) atan2f(x, y)
#define precise_atan2(x, y) atan2f(x, y)
#define fast_divide(x, y) dividef(x, y)
#define precise_divide(x, y) dividef(x, y)
#define fast_fmod(x, y) fmodf(x, y)
#define precise_fmod(x, y) fmodf(x, y)
#define fast_hypot(x, y) hypotf(x, y)
#define precise_hypot(x, y) hypotf(x, y)
#define fast_pow(x, y) powf(x, y)
#define precise_pow(x, y) powf(x, y)
#define fast_powr(x, y) powrf(x, y)
#define precise_powr(x, y) powrf(x, y)
#define fast_remainder(x, y) remainderf(x, y)
#define precise_remainder(x, y) remainderf(x, y)
#endif
