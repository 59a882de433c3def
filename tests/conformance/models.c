/* Models of binary16 and bfloat16: conversions that round once, ties to even, written from the formats'
 * definitions. */
#include "conformance.h"

#include <math.h>
#include <string.h>

uint32_t cf_float_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

float cf_float_of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* A format with `significand` stored bits and exponents from `lowest` (of the smallest normal) to `highest`.
 */
static uint16_t narrow(double x, int significand, int lowest, int highest)
{
    int exponent_bits = 15 - significand;
    uint16_t sign = signbit(x) ? 0x8000u : 0;
    uint16_t infinity = (uint16_t)(((1u << exponent_bits) - 1u) << significand);
    if (isnan(x)) return (uint16_t)(sign | infinity | 1u << (significand - 1));
    double magnitude = fabs(x);
    if (isinf(x)) return sign | infinity;
    if (magnitude == 0) return sign;
    int exponent;
    frexp(magnitude, &exponent);
    exponent -= 1; /* magnitude = 1.f * 2^exponent */
    if (exponent < lowest) exponent = lowest;
    double scaled = ldexp(magnitude, significand - exponent); /* exact; the unit in the last place is 1 */
    double rounded = floor(scaled);
    double rest = scaled - rounded;
    if (rest > 0.5 || (rest == 0.5 && fmod(rounded, 2) == 1)) rounded += 1;
    if (rounded >= ldexp(1, significand + 1)) {
        rounded /= 2;
        exponent += 1;
    }
    if (exponent > highest) return sign | infinity;
    uint32_t integer = (uint32_t)rounded;
    uint32_t implicit = 1u << significand;
    if (integer < implicit) return (uint16_t)(sign | integer); /* subnormal */
    uint32_t biased = (uint32_t)(exponent - lowest + 1);
    return (uint16_t)(sign | biased << significand | (integer - implicit));
}

static double widen(uint16_t bits, int significand, int lowest)
{
    uint32_t fraction = bits & ((1u << significand) - 1u);
    uint32_t biased = (bits & 0x7fffu) >> significand;
    uint32_t top = (1u << (15 - significand)) - 1u;
    double x;
    if (biased == top) {
        x = fraction ? (double)NAN : (double)INFINITY;
    } else if (biased == 0) {
        x = ldexp(fraction, lowest - significand);
    } else {
        x = ldexp(fraction + (double)(1u << significand), lowest + (int)biased - 1 - significand);
    }
    return bits & 0x8000u ? -x : x;
}

uint16_t cf_half_from_double(double x)
{
    return narrow(x, 10, -14, 15);
}
double cf_half_to_double(uint16_t bits)
{
    return widen(bits, 10, -14);
}
uint16_t cf_bfloat_from_double(double x)
{
    return narrow(x, 7, -126, 127);
}
double cf_bfloat_to_double(uint16_t bits)
{
    return widen(bits, 7, -126);
}

double cf_fma_odd(double a, double b, double c)
{
    double product = a * b; /* exact for factors of at most 24 bits */
    double sum = product + c;
    if (!isfinite(sum)) return sum;
    double bb = sum - product;
    double error = (product - (sum - bb)) + (c - bb);
    if (error == 0) return sum;
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    if (bits & 1u) return sum;
    return nextafter(sum, error > 0 ? (double)INFINITY : -(double)INFINITY);
}
