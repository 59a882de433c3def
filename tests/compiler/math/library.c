/* See library.h. MPFR: L. Fousse et al., "MPFR: A multiple-precision binary floating-point library with
 * correct rounding", TOMS 33, 2007. */
#include "library.h"

#include <math.h>
#include <mpfr.h>

#define UNARY(name, ...) MODES(float, name, (float))
#define BINARY(name, ...) MODES(float, name, (float, float))
#include "functions.def"
#undef UNARY
#undef BINARY

const tested_function tested_functions[] = {
#define UNARY(name, quick, precise, fast, slope, absolute, low, high)                                        \
    {#name, 1, {precise_##name, fast_##name}, {NULL, NULL}, {precise, fast}, slope, absolute, low, high},
#define BINARY(name, quick, precise, fast, slope, absolute)                                                  \
    {#name, 2, {NULL, NULL}, {precise_##name, fast_##name}, {precise, fast}, slope, absolute, 0, 0},
#include "functions.def"
#undef UNARY
#undef BINARY
};
const size_t tested_function_count = sizeof tested_functions / sizeof *tested_functions;

typedef int (*mpfr_unary)(mpfr_t, const mpfr_t, mpfr_rnd_t);
typedef int (*mpfr_binary)(mpfr_t, const mpfr_t, const mpfr_t, mpfr_rnd_t);

/* Names and forms that MPFR has otherwise. */
static int mpfr_rsqrt(mpfr_t r, const mpfr_t x, mpfr_rnd_t mode)
{
    if (mpfr_zero_p(x))
        return mpfr_set_inf(r, mpfr_signbit(x) ? -1 : 1), 0; /* mpfr_rec_sqrt(-0) is +infinity */
    return mpfr_rec_sqrt(r, x, mode);
}

/* IEEE 754-2019 9.2.1: powr(x, NaN) is NaN, for x = 1 too. */
static int powr_of_numbers(mpfr_t r, const mpfr_t x, const mpfr_t y, mpfr_rnd_t mode)
{
    if (mpfr_nan_p(x) || mpfr_nan_p(y)) return mpfr_set_nan(r), 0;
    return (mpfr_powr)(r, x, y, mode);
}
#define mpfr_powr powr_of_numbers
static int mpfr_divide(mpfr_t r, const mpfr_t x, const mpfr_t y, mpfr_rnd_t mode)
{
    return mpfr_div(r, x, y, mode);
}

static int mpfr_tgamma(mpfr_t r, const mpfr_t x, mpfr_rnd_t mode)
{
    return mpfr_gamma(r, x, mode);
}

static int lgamma_without_sign(mpfr_t r, const mpfr_t x, mpfr_rnd_t mode)
{
    int sign;
    return (mpfr_lgamma)(r, &sign, x, mode);
}
#define mpfr_lgamma lgamma_without_sign

static const mpfr_unary mpfr_unaries[] = {
#define UNARY(name, ...) mpfr_##name,
#define BINARY(name, ...) NULL,
#include "functions.def"
#undef UNARY
#undef BINARY
};
static const mpfr_binary mpfr_binaries[] = {
#define UNARY(name, ...) NULL,
#define BINARY(name, ...) mpfr_##name,
#include "functions.def"
#undef UNARY
#undef BINARY
};

static double limited(double value)
{
    return fabs(value) >= 0x1p+128 ? copysign(INFINITY, value) : value;
}

double reference(size_t function, float x, float y)
{
    mpfr_t a, b, r;
    mpfr_inits2(24, a, b, (mpfr_ptr)NULL);
    mpfr_init2(r, 80);
    mpfr_set_flt(a, x, MPFR_RNDN);
    mpfr_set_flt(b, y, MPFR_RNDN);
    if (mpfr_unaries[function])
        mpfr_unaries[function](r, a, MPFR_RNDN);
    else
        mpfr_binaries[function](r, a, b, MPFR_RNDN);
    double result = mpfr_get_d(r, MPFR_RNDN);
    mpfr_clears(a, b, r, (mpfr_ptr)NULL);
    return limited(result);
}

void reference_free(void)
{
    mpfr_free_cache();
}

static double none(double x)
{
    return x;
}

static double none2(double x, double y)
{
    return x;
}

bool quick_reference(size_t function, float x, float y, double *result)
{
    static double (*const unaries[])(double) = {
#define UNARY(name, quick, ...) quick,
#define BINARY(name, quick, ...) NULL,
#include "functions.def"
#undef UNARY
#undef BINARY
    };
#define none none2
    static double (*const binaries[])(double, double) = {
#define UNARY(name, quick, ...) NULL,
#define BINARY(name, quick, ...) quick,
#include "functions.def"
#undef UNARY
#undef BINARY
    };
#undef none
    if (unaries[function]) {
        if (unaries[function] == none) return false;
        *result = limited(unaries[function](x));
    } else {
        if (binaries[function] == none2) return false;
        *result = limited(binaries[function](x, y));
    }
    return true;
}

double ulp_error(float got, double expected, double least_size, bool strict)
{
    if (isnan(expected)) return isnan(got) ? 0 : INFINITY;
    if (isnan(got)) return INFINITY;
    if (expected == 0 && got == 0) return strict && !signbit(expected) != !signbit(got) ? INFINITY : 0;
    /* Infinity counts as 2^128 where the other is finite. */
    if (isinf(expected) && isinf(got)) return !signbit(expected) == !signbit(got) ? 0 : INFINITY;
    double value = isinf(got) ? copysign(0x1p+128, got) : got,
           target = isinf(expected) ? copysign(0x1p+128, expected) : expected;
    int exponent;
    frexp(fmax(fabs(target), least_size), &exponent);
    exponent = exponent < -125 || (target == 0 && least_size == 0) ? -125 : exponent > 128 ? 128 : exponent;
    return ldexp(fabs(value - target), 24 - exponent);
}
