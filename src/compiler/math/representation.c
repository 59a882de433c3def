/* Functions of a float's representation: frexp, ldexp, modf, ilogb, nextafter. Exact, the same in both modes.
 */
#include "compiler/math/device.h"

#define ILOGB_ZERO INT32_MIN
#define ILOGB_NAN INT32_MIN /* as msl/__tombac/macros.h defines FP_ILOGBNAN */
#define ILOGB_INFINITY INT32_MAX

typedef struct binary_parts {
    uint32_t bits;
    int32_t exponent;
} binary_parts;

/* The bits of x scaled to be normal, and the exponent of x's first bit. */
INLINE binary_parts split(float x)
{
    bool denormal = magnitude(x) < MIN_NORMAL;
    uint32_t u = bits(denormal ? x * 0x1p+24f : x);
    return (binary_parts){u, (int32_t)(u >> 23 & 0xffu) - 127 - (denormal ? 24 : 0)};
}

INLINE float frexp_core(float x, int *exponent)
{
    binary_parts parts = split(x);
    bool ordinary = is_positive_from(magnitude(x), MIN_DENORMAL);
    float fraction = from_bits((parts.bits & 0x807fffffu) | 0x3f000000u);
    *exponent = (parts.exponent + 1) & (ordinary ? -1 : 0);
    return ordinary ? fraction : x;
}

INLINE int32_t ilogb_core(float x)
{
    int32_t exponent = split(x).exponent;
    exponent = x == 0 ? ILOGB_ZERO : exponent;
    exponent = is_infinite(x) ? ILOGB_INFINITY : exponent;
    return is_nan(x) ? ILOGB_NAN : exponent;
}

/* Three factors: two that are exact (they are 1 for ordinary n, and scale normal numbers to normal ones
 * unless the result is 0 or infinite), and the last, which rounds. */
INLINE float ldexp_core(float x, int n)
{
    int32_t last = n < -126 ? -126 : n > 127 ? 127 : n;
    int32_t limited = n < -280 ? -280 : n > 280 ? 280 : n;
    int32_t rest = limited - last, half = rest >> 1;
    return x * power_of_two(half) * power_of_two(rest - half) * power_of_two(last);
}

INLINE float modf_core(float x, float *integral)
{
    float whole = __builtin_truncf(x);
    *integral = whole;
    return with_sign(is_infinite(x) ? 0.0f : x - whole, x);
}

INLINE float nextafter_core(float x, float y)
{
    uint32_t u = bits(x);
    uint32_t away = (x < y) == (x > 0) ? u + 1u : u - 1u;
    float moved = from_bits(x == 0 ? sign_bit(y) | 1u : away);
    float result = x == y ? y : moved;
    return is_nan(x) || is_nan(y) ? NOT_A_NUMBER : result;
}

ENTRY_BOTH(float, frexp, (float x, int *exponent), frexp_core(x, exponent))
ENTRY_BOTH(int, ilogb, (float x), ilogb_core(x))
ENTRY_BOTH(float, ldexp, (float x, int n), ldexp_core(x, n))
ENTRY_BOTH(float, modf, (float x, float *integral), modf_core(x, integral))
ENTRY_BOTH(float, nextafter, (float x, float y), nextafter_core(x, y))
