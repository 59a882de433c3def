/* fmod and remainder, exact for all magnitudes, by long division of the 24-bit significands.
 *
 * A step divides r 2^k (k <= 22) by the divisor: the quotient is estimated in float, wrong by at most 1, and
 * the remainder follows in 32-bit arithmetic, whose overflow cancels. One step does where x / y < 2^22; the
 * loop runs at most 13 times. */
#include "compiler/math/device.h"

typedef struct significand {
    int32_t value, exponent;
} significand;

/* x = value 2^exponent with 2^23 <= value < 2^24; x > 0. */
INLINE significand significand_of(float x)
{
    bool denormal = x < MIN_NORMAL;
    uint32_t u = bits(denormal ? x * 0x1p+24f : x);
    return (significand){
        (int32_t)((u & 0x7fffffu) | 0x800000u), (int32_t)(u >> 23) - 150 - (denormal ? 24 : 0)};
}

typedef struct division {
    float remainder;
    uint32_t quotient;
} division;

/* a mod b and the quotient modulo 2^22, for positive finite a and b. */
INLINE division divide_long(float a, float b)
{
    significand x = significand_of(a), y = significand_of(b);
    int32_t left = x.exponent - y.exponent;
    bool below = a < b;
    uint32_t quotient = x.value >= y.value;
    int32_t r = x.value - (quotient ? y.value : 0);
    float inverse = 1.0f / (float)y.value;
    while (left > 0) {
        int32_t step = left < 22 ? left : 22;
        uint32_t estimate = (uint32_t)((float)r * inverse * power_of_two(step));
        int32_t rest = (int32_t)(((uint32_t)r << step) - estimate * (uint32_t)y.value);
        bool high = rest < 0, low = rest >= y.value;
        r = rest + (high ? y.value : low ? -y.value : 0);
        quotient = estimate - high + low;
        left -= step;
    }
    /* y's exponent is at least -149 - 23; where it is below -149 the remainder is a multiple of 2^-149 all
     * the same. */
    float remainder = (float)r * power_of_two(y.exponent < -100 ? -72 : 0);
    remainder *= power_of_two(y.exponent < -100 ? y.exponent + 72 : y.exponent);
    return (division){below ? a : remainder, below ? 0 : quotient};
}

INLINE bool has_remainder(float x, float y)
{
    return is_finite(x) & (magnitude(y) > 0);
}

/* Other arguments are replaced, so that the loop ends. */
INLINE bool can_divide(float x, float y)
{
    return is_positive_from(magnitude(x), MIN_DENORMAL) & is_positive_from(magnitude(y), MIN_DENORMAL);
}

ENTRY(float, precise, fmod, (float x, float y))
{
    bool valid = has_remainder(x, y), simple = (x == 0) | is_infinite(y);
    bool divide = can_divide(x, y);
    division d = divide_long(divide ? magnitude(x) : 1.0f, divide ? magnitude(y) : 1.0f);
    float result = simple ? x : with_sign(d.remainder, x);
    return valid ? result : NOT_A_NUMBER;
}

/* The remainder of the nearest quotient, ties to even. */
INLINE float remainder_core(float x, float y)
{
    bool valid = has_remainder(x, y), simple = (x == 0) | is_infinite(y);
    bool divide = can_divide(x, y);
    float b = divide ? magnitude(y) : 1.0f;
    division d = divide_long(divide ? magnitude(x) : 1.0f, b);
    float other = b - d.remainder; /* exact where it is the smaller */
    bool up = (other < d.remainder) | ((other == d.remainder) & (d.quotient & 1u));
    float result = flip_sign(up ? -other : d.remainder, sign_bit(x));
    result = simple ? x : result;
    return valid ? result : NOT_A_NUMBER;
}

ENTRY_BOTH(float, remainder, (float x, float y), remainder_core(x, y))

ENTRY(float, fast, fmod, (float x, float y))
{
    float result = fma1(-__builtin_truncf(x / y), y, x);
    return is_infinite(y) ? x : result;
}
