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

#define popcount(x) ((__typeof__(x))__builtin_popcountll(tombac_host_bits((long long)(x), sizeof(x))))
#define clz(x) ((__typeof__(x))tombac_host_clz(tombac_host_bits((long long)(x), sizeof(x)), sizeof(x)))
#define ctz(x) ((__typeof__(x))tombac_host_ctz(tombac_host_bits((long long)(x), sizeof(x)), sizeof(x)))
TOMBAC_HOST_FN unsigned long long tombac_host_bits(long long x, size_t size)
{
    return (unsigned long long)x & (~0ull >> (64 - 8 * size));
}
TOMBAC_HOST_FN int tombac_host_clz(unsigned long long x, size_t size)
{
    return x ? __builtin_clzll(x) - (int)(64 - 8 * size) : (int)(8 * size);
}
TOMBAC_HOST_FN int tombac_host_ctz(unsigned long long x, size_t size)
{
    return x ? __builtin_ctzll(x) : (int)(8 * size);
}
#endif
