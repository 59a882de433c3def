/* pow and powr: 2^(y log2 x).
 *
 * precise: log2 x with 40 bits (pow.h), so the product's error is far below the result's last place; the
 * special cases are C's annex F.10.4.4, for powr those of IEEE 754-2019 (x < 0 is NaN, so are 0^0, infinity^0
 * and 1^infinity).
 *
 * fast: exp2(y log2 x) of the fast functions (what Metal's specification prescribes), with the sign that an
 * integer y asks for and x^0 = 1^y = 1. powr is the formula alone, so NaN for 0^0 and 1^infinity. */
#include "compiler/math/pow.h"

float fast_exp2(float) __asm__("__tombac_fast_exp2.f32");
float fast_log2(float) __asm__("__tombac_fast_log2.f32");

INLINE bool is_integer(float y)
{
    return __builtin_floorf(y) == y;
}

INLINE bool is_odd(float y)
{
    float half = y * 0.5f;
    return is_integer(y) & !is_integer(half) & is_finite(y);
}

/* |x|^y where log2 and the product are ordinary, and 0 or infinity where x or y is not. NaN arguments give
 * anything. */
INLINE float pow_magnitude(float a, float y)
{
    float result = exp2_product(y, log2_pair(a));
    bool limit = !is_positive_from(a, MIN_DENORMAL) || is_infinite(y);
    float at_limit = (a < 1.0f) == (y < 0) ? INF : 0.0f;
    return limit ? at_limit : result;
}

ENTRY(float, precise, pow, (float x, float y))
{
    float a = magnitude(x);
    float result = pow_magnitude(a, y);
    result = a == 1.0f ? 1.0f : result;
    bool negative = sign_bit(x) != 0;
    result = negative & is_odd(y) ? -result : result;
    result = is_negative_finite(x) & !is_integer(y) ? NOT_A_NUMBER : result;
    result = is_nan(x) | is_nan(y) ? NOT_A_NUMBER : result;
    return (y == 0) | (x == 1.0f) ? 1.0f : result;
}

ENTRY(float, precise, powr, (float x, float y))
{
    float result = pow_magnitude(x, y);
    result = y == 0 ? 1.0f : result;
    bool edge = ((y == 0) & !is_positive_from(x, MIN_DENORMAL)) | ((x == 1.0f) & is_infinite(y));
    bool undefined = edge | !(x >= 0) | is_nan(y);
    return undefined ? NOT_A_NUMBER : result;
}

ENTRY(float, fast, pow, (float x, float y))
{
    float result = fast_exp2(y * fast_log2(magnitude(x)));
    result = (sign_bit(x) != 0) & is_odd(y) ? -result : result;
    result = is_negative_finite(x) & !is_integer(y) ? NOT_A_NUMBER : result;
    return (y == 0) | (x == 1.0f) ? 1.0f : result;
}

ENTRY(float, fast, powr, (float x, float y))
{
    return fast_exp2(y * fast_log2(x));
}
