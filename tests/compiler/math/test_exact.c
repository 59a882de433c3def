/* Functions that are exact, or whose fast form is a formula, and the special values that fast functions owe
 * in spite of their name. The C library's functions are the reference. */
#include "library.h"

#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

float fast_fmod(float, float) __asm__("__tombac_fast_fmod.f32");

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static bool same(float a, float b)
{
    return (isnan(a) && isnan(b)) || !memcmp(&a, &b, sizeof a);
}

static void expect(const char *what, float x, double y, float got, float expected)
{
    if (!same(got, expected)) fail_msg("%s(%a, %g) gave %a, not %a", what, x, y, got, expected);
}

/* Floats of all sizes, both signs, zeros, infinities and NaN among them. */
static float argument(uint32_t i)
{
    static const uint32_t edges[] = {0, 1, 2, 0x7fffff, 0x800000, 0x800001, 0x3effffff, 0x3f000000,
        0x3f800000, 0x4b000000, 0x4b7fffff, 0x7f7fffff, 0x7f800000, 0x7fc00000};
    enum { EDGES = sizeof edges / sizeof *edges };
    if (i < EDGES) return float_of(edges[i]);
    if (i < 2 * EDGES) return float_of(edges[i - EDGES] | 0x80000000u);
    return float_of(i * 2654435761u);
}

static void test_frexp(void **state)
{
    for (uint32_t i = 0; i < 300000; i++) {
        float x = argument(i);
        int exponent, fast_exponent, expected_exponent;
        float fraction = precise_frexp(x, &exponent), fast = fast_frexp(x, &fast_exponent);
        float expected = frexpf(x, &expected_exponent);
        if (!isfinite(x)) expected_exponent = 0; /* C leaves it open */
        expect("frexp", x, 0, fraction, expected);
        expect("fast frexp", x, 0, fast, expected);
        assert_int_equal(exponent, expected_exponent);
        assert_int_equal(fast_exponent, expected_exponent);
    }
}

static void test_ilogb(void **state)
{
    for (uint32_t i = 0; i < 300000; i++) {
        float x = argument(i);
        int expected = ilogbf(x); /* glibc on x86 has the same values for 0, infinity and NaN */
        if (precise_ilogb(x) != expected)
            fail_msg("ilogb(%a) gave %d, not %d", x, precise_ilogb(x), expected);
        assert_int_equal(fast_ilogb(x), expected);
    }
}

static void test_ldexp(void **state)
{
    static const int extremes[] = {
        INT_MIN, INT_MIN + 1, -100000, -300, -279, -278, -277, 277, 278, 300, 100000, INT_MAX};
    for (uint32_t i = 0; i < 60000; i++) {
        float x = argument(i);
        int n = (int)(i * 7919u % 561u) - 280;
        expect("ldexp", x, n, precise_ldexp(x, n), ldexpf(x, n));
        expect("fast ldexp", x, n, fast_ldexp(x, n), ldexpf(x, n));
        /* Around the denormals, where rounding happens. */
        if (isfinite(x) && x != 0) n = -ilogbf(x) - 120 - (int)(i % 33u);
        expect("ldexp", x, n, precise_ldexp(x, n), ldexpf(x, n));
        n = extremes[i % (sizeof extremes / sizeof *extremes)];
        expect("ldexp", x, n, precise_ldexp(x, n), ldexpf(x, n));
    }
}

static void test_modf(void **state)
{
    for (uint32_t i = 0; i < 300000; i++) {
        float x = argument(i), integral, fast_integral, expected_integral;
        float fraction = precise_modf(x, &integral), fast = fast_modf(x, &fast_integral);
        float expected = modff(x, &expected_integral);
        expect("modf", x, 0, fraction, expected);
        expect("modf's integral", x, 0, integral, expected_integral);
        expect("fast modf", x, 0, fast, expected);
        expect("fast modf's integral", x, 0, fast_integral, expected_integral);
    }
}

static void test_nextafter(void **state)
{
    for (uint32_t i = 0; i < 300000; i++) {
        float x = argument(i), y = argument(i < 1000 ? i / 28 : i * 40503u);
        if (i < 1000) x = argument(i % 28);
        expect("nextafter", x, y, precise_nextafter(x, y), nextafterf(x, y));
        expect("fast nextafter", x, y, fast_nextafter(x, y), nextafterf(x, y));
    }
}

float precise_rsqrt(float) __asm__("__tombac_precise_rsqrt.f32");

/* All significands, both parities of the exponent; and the ends of the range. */
static void test_rsqrt(void **state)
{
    for (uint32_t u = 0x3f000000u; u < 0x40000000u; u++) {
        float x = float_of(u), expected = (float)(1 / sqrtl((long double)x)), got = precise_rsqrt(x);
        if (got != expected) fail_msg("rsqrt(%a) gave %a, not %a", x, got, expected);
    }
    for (uint32_t u = 1; u < 0x7f800000u; u += 10007) {
        float x = float_of(u);
        expect("rsqrt", x, 0, precise_rsqrt(x), (float)(1 / sqrtl((long double)x)));
    }
}

float precise_sin(float) __asm__("__tombac_precise_sin.f32");
float precise_cos(float) __asm__("__tombac_precise_cos.f32");
float fast_sin(float) __asm__("__tombac_fast_sin.f32");
float fast_cos(float) __asm__("__tombac_fast_cos.f32");

static void test_sincos(void **state)
{
    for (uint32_t i = 0; i < 300000; i++) {
        float x = argument(i), cosine;
        float sine = precise_sincos(x, &cosine);
        expect("sincos", x, 0, sine, precise_sin(x));
        expect("sincos's cosine", x, 0, cosine, precise_cos(x));
        sine = fast_sincos(x, &cosine);
        expect("fast sincos", x, 0, sine, fast_sin(x));
        expect("fast sincos's cosine", x, 0, cosine, fast_cos(x));
    }
}

/* rope's angles: fast reduction is good to 2^-21 up to 2^20. */
static void test_fast_sin_range(void **state)
{
    for (uint32_t i = 0; i < 1000000; i++) {
        float x = (float)(i * 2654435761u) * 0x1p-12f;
        if (i % 2) x = -x;
        if (fabs(fast_sin(x) - sin(x)) > 0x1p-21) fail_msg("fast sin(%a) gave %a", x, fast_sin(x));
        if (fabs(fast_cos(x) - cos(x)) > 0x1p-21) fail_msg("fast cos(%a) gave %a", x, fast_cos(x));
    }
}

/* Far out, where fast reduction does not reach, results stay bounded. */
static void test_fast_sin_bounded(void **state)
{
    for (uint32_t i = 0; i < 300000; i++) {
        float x = argument(i);
        if (isfinite(x))
            assert_true(fabsf(fast_sin(x)) <= 1.0f && fabsf(fast_cos(x)) <= 1.0f);
        else
            assert_true(isnan(fast_sin(x)) && isnan(fast_cos(x)));
    }
}

/* fast::fmod is x - y trunc(x / y), the difference rounded once. */
static void test_fast_fmod(void **state)
{
    for (uint32_t i = 28; i < 300000; i++) {
        float x = argument(i), y = argument(i * 40503u);
        if (!isfinite(x) || !isfinite(y) || y == 0) continue;
        float quotient = truncf(x / y);
        if (isinf(quotient)) continue;
        expect("fast fmod", x, y, fast_fmod(x, y), fmaf(-quotient, y, x));
    }
    expect("fast fmod", 5.5f, 2, fast_fmod(5.5f, 2), 1.5f);
    expect("fast fmod", -5.5f, 2, fast_fmod(-5.5f, 2), -1.5f);
    expect("fast fmod", 5.5f, INFINITY, fast_fmod(5.5f, INFINITY), 5.5f);
}

static float call(const char *name, float x, float y)
{
    for (size_t i = 0; i < tested_function_count; i++) {
        const tested_function *t = &tested_functions[i];
        if (strcmp(t->name, name)) continue;
        return t->arity == 1 ? t->unary[FAST](x) : t->binary[FAST](x, y);
    }
    fail_msg("no function %s", name);
    return 0;
}

/* What softmax, masks and activations rely on in fast mode. */
static void test_fast_special(void **state)
{
    static const struct {
        const char *name;
        float x, y, expected;
    } cases[] = {{"exp", -INFINITY, 0, 0}, {"exp", INFINITY, 0, INFINITY}, {"exp", 0, 0, 1},
        {"exp", -0.0f, 0, 1}, {"exp", NAN, 0, NAN}, {"exp", -1e30f, 0, 0}, {"exp", 89, 0, INFINITY},
        {"exp", 1e30f, 0, INFINITY}, {"exp2", -INFINITY, 0, 0}, {"exp2", INFINITY, 0, INFINITY},
        {"exp2", 0, 0, 1}, {"exp2", 10, 0, 1024}, {"exp2", -126, 0, 0x1p-126f}, {"exp2", -1000, 0, 0},
        {"exp2", 1000, 0, INFINITY}, {"exp2", NAN, 0, NAN}, {"exp10", -INFINITY, 0, 0},
        {"exp10", INFINITY, 0, INFINITY}, {"exp10", 0, 0, 1}, {"exp10", NAN, 0, NAN},
        {"expm1", -INFINITY, 0, -1}, {"expm1", INFINITY, 0, INFINITY}, {"log", 0, 0, -INFINITY},
        {"log", -0.0f, 0, -INFINITY}, {"log", 1, 0, 0}, {"log", INFINITY, 0, INFINITY}, {"log", -1, 0, NAN},
        {"log", -INFINITY, 0, NAN}, {"log", NAN, 0, NAN}, {"log2", 0, 0, -INFINITY}, {"log2", 8, 0, 3},
        {"log2", 0.125f, 0, -3}, {"log2", INFINITY, 0, INFINITY}, {"log2", -1, 0, NAN},
        {"log10", 0, 0, -INFINITY}, {"log10", INFINITY, 0, INFINITY}, {"log1p", -1, 0, -INFINITY},
        {"log1p", -2, 0, NAN}, {"log1p", INFINITY, 0, INFINITY}, {"tanh", INFINITY, 0, 1},
        {"tanh", -INFINITY, 0, -1}, {"tanh", 0, 0, 0}, {"tanh", NAN, 0, NAN}, {"tanh", 1e30f, 0, 1},
        {"sinh", INFINITY, 0, INFINITY}, {"sinh", -INFINITY, 0, -INFINITY}, {"cosh", -INFINITY, 0, INFINITY},
        {"rsqrt", 0, 0, INFINITY}, {"rsqrt", 4, 0, 0.5f}, {"rsqrt", INFINITY, 0, 0}, {"rsqrt", -1, 0, NAN},
        {"divide", 1, 0, INFINITY}, {"divide", 0, 0, NAN}, {"divide", 1, INFINITY, 0}, {"pow", 0, 0, 1},
        {"pow", -2, 3, -8}, {"pow", -2, 2, 4}, {"pow", -2, 0.5f, NAN}, {"pow", 2, -INFINITY, 0},
        {"pow", 2, INFINITY, INFINITY}, {"pow", 0, 2, 0}, {"pow", 0, -1, INFINITY}, {"pow", NAN, 0, 1},
        {"pow", NAN, 1, NAN}, {"pow", 2, NAN, NAN}, {"powr", 0, 2, 0}, {"powr", 2, -INFINITY, 0},
        {"powr", -1, 2, NAN}, {"sin", 0, 0, 0}, {"cos", 0, 0, 1}, {"sin", INFINITY, 0, NAN},
        {"tan", INFINITY, 0, NAN}, {"atan2", 0, 0, 0}, {"acos", 1, 0, 0}, {"acos", 2, 0, NAN},
        {"asin", NAN, 0, NAN}, {"sinpi", 1e30f, 0, 0}, {"cospi", 1e30f, 0, 1}, {"cospi", INFINITY, 0, NAN}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float got = call(cases[i].name, cases[i].x, cases[i].y);
        if (got != cases[i].expected) expect(cases[i].name, cases[i].x, cases[i].y, got, cases[i].expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_frexp), cmocka_unit_test(test_ilogb),
        cmocka_unit_test(test_ldexp), cmocka_unit_test(test_modf), cmocka_unit_test(test_nextafter),
        cmocka_unit_test(test_rsqrt), cmocka_unit_test(test_sincos), cmocka_unit_test(test_fast_sin_range),
        cmocka_unit_test(test_fast_sin_bounded), cmocka_unit_test(test_fast_fmod),
        cmocka_unit_test(test_fast_special)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
