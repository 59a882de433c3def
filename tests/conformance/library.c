/* Sizes and alignments of the library's types, its traits, and functions that no other family runs. */
#include "conformance.h"

#include <math.h>
#include <string.h>

static cf_call call_of(const char *kernel, uint32_t n)
{
    return (cf_call){.file = "library.metal", .kernel = kernel, .grid = {n, 1, 1}, .group = {n, 1, 1}};
}

/* ---- Types ---- */

static const struct {
    const char *name;
    uint32_t bytes, elements, columns, packed;
} types[] = {
#define TYPE(name, bytes, elements, columns, packed) {#name, bytes, elements, columns, packed},
#include "library_types.def"
};
enum { TYPES = sizeof types / sizeof *types };

/* A vector of three has the size and the alignment of one of four; a matrix is its columns. */
static void run_types(cf_test *t, const int *p)
{
    uint32_t expected[2 * TYPES], got[2 * TYPES] = {0};
    for (uint32_t i = 0; i < TYPES; i++) {
        uint32_t n = types[i].elements == 3 && !types[i].packed ? 4 : types[i].elements;
        expected[2 * i] = types[i].bytes * n * types[i].columns;
        expected[2 * i + 1] = types[i].packed ? types[i].bytes : types[i].bytes * n;
    }
    cf_call call = call_of("types", 1);
    cf_buffer(&call, 0, got, sizeof got);
    if (!cf_run(t, &call)) return;
    for (uint32_t i = 0; i < TYPES; i++)
        if (memcmp(expected + 2 * i, got + 2 * i, 8) != 0)
            cf_fail(t, "%s has size %u and alignment %u, not %u and %u", types[i].name, got[2 * i],
                got[2 * i + 1], expected[2 * i], expected[2 * i + 1]);
}

static const struct {
    int value;
    const char *text;
} traits[] = {
#define TRAIT(value, ...) {value, #__VA_ARGS__},
#include "library_traits.def"
};
enum { TRAITS = sizeof traits / sizeof *traits };

static void run_traits(cf_test *t, const int *p)
{
    int32_t got[TRAITS];
    memset(got, 0x55, sizeof got);
    cf_call call = call_of("traits", 1);
    cf_buffer(&call, 0, got, sizeof got);
    if (!cf_run(t, &call)) return;
    for (int i = 0; i < TRAITS; i++)
        if (got[i] != traits[i].value)
            cf_fail(t, "%s is %d, not %d", traits[i].text, got[i], traits[i].value);
}

/* ---- Packed integers ---- */

/* Inputs are multiples of 1/8, exact in half; products with the scale are exact in double, ties go to even.
 */
static uint32_t quantised(double x, double scale, double low)
{
    double limited = x < low ? low : x > 1 ? 1 : x;
    return (uint32_t)(int64_t)nearbyint(limited * scale);
}

static uint32_t halves(double a, double b)
{
    return cf_half_from_double(a) | (uint32_t)cf_half_from_double(b) << 16;
}

static double normalised(uint32_t bits, unsigned shift, unsigned width, bool is_signed)
{
    uint32_t v = bits >> shift & ((1u << width) - 1);
    double most = (1u << (width - is_signed)) - 1;
    double x = is_signed ? (double)((int32_t)(v << (32 - width)) >> (32 - width)) : (double)v;
    return x / most < -1 ? -1 : x / most;
}

static void expect_packs(uint32_t *o, const float *x)
{
    for (unsigned k = 0; k < 4; k++) {
        o[0] |= (quantised(x[k], 127, -1) & 255) << 8 * k;
        o[1] |= quantised(x[k], 255, 0) << 8 * k;
        o[4] |= quantised(x[k], k == 3 ? 3 : 1023, 0) << 10 * k;
    }
    for (unsigned k = 0; k < 2; k++) {
        o[2] |= (quantised(x[k], 32767, -1) & 65535) << 16 * k;
        o[3] |= quantised(x[k], 65535, 0) << 16 * k;
    }
    o[5] = o[6] = quantised(x[0], 31, 0) << 11 | quantised(x[1], 63, 0) << 5 | quantised(x[2], 31, 0);
    o[7] = halves(normalised(o[0], 0, 8, true), normalised(o[0], 24, 8, true));
    o[8] = halves(normalised(o[1], 8, 8, false), normalised(o[1], 16, 8, false));
    o[9] = halves(normalised(o[2], 0, 16, true), normalised(o[2], 16, 16, true));
    o[10] = halves(normalised(o[3], 0, 16, false), normalised(o[3], 16, 16, false));
    o[11] = halves(normalised(o[4], 20, 10, false), normalised(o[4], 30, 2, false));
    o[12] = halves(normalised(o[5], 11, 5, false), normalised(o[5], 0, 5, false));
    o[13] = cf_float_bits((float)normalised(o[6], 5, 6, false));
    for (unsigned k = 0; k < 4; k++) {
        double c = x[k] < 0 ? 0 : x[k] > 1 ? 1 : x[k];
        double s = c < 0.0031308 ? 12.92 * c : 1.055 * pow(c, 1 / 2.4) - 0.055;
        o[15] |= quantised(k == 3 ? c : s, 255, 0) << 8 * k;
    }
}

static void run_packs(cf_test *t, const int *p)
{
    enum { N = 64 };
    float in[4 * N];
    uint32_t expected[16 * N] = {0}, got[16 * N] = {0};
    for (int i = 0; i < 4 * N; i++) in[i] = (float)(i * 7 % 25 - 12) / 8;
    for (int i = 0; i < N; i++) expect_packs(expected + 16 * i, in + 4 * i);
    cf_call call = call_of("packs", N);
    call.math = TOMBAC_MATH_SAFE;
    cf_buffer(&call, 0, got, sizeof got);
    cf_buffer(&call, 1, in, sizeof in);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_U32, expected, got, 16 * N, "out (16 per thread)");
}

static void run_singles(cf_test *t, const int *p)
{
    enum { N = 32 };
    uint32_t expected[16 * N] = {0}, got[16 * N] = {0};
    for (uint32_t i = 0; i < N; i++) {
        uint32_t *o = expected + 16 * i;
        uint32_t row = ((i / 4) & 4) + (i / 2) % 4, column = ((i / 4) & 2) * 2 + (i % 2) * 2;
        o[1] = i / 4 * 4 * 3;
        o[2] = 8;
        o[3] = cf_float_bits((float)(2 * i));
        o[4] = cf_float_bits((float)i / 2);
        o[5] = row == column ? 3 : row == column + 1 ? 30 : 0;
        o[6] = 4;
        o[7] = 5;
        o[8] = 1;
        o[9] = i + 3;
        o[10] = 2;
    }
    cf_call call = call_of("singles", N);
    cf_buffer(&call, 0, got, sizeof got);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_U32, expected, got, 16 * N, "out (16 per thread)");
}

/* ---- fast:: and precise:: ---- */

static void run_forms(cf_test *t, const int *p)
{
    static const double expected[] = {2.5, 0.5, 1, 3, 5, 25, 11, -1, 7, 9, 4, 1, 0.75, 3, 4, 24, 5, 25, 7, 9,
        4, 1, 1, 2.5, 0.25, 2, 0, 1, 3, -4, 0, -1, 1, -1, 0, 1, 0.5, 0, 1.5};
    enum { N = sizeof expected / sizeof *expected };
    float got[N] = {0};
    cf_call call = call_of(p[0] ? "precise_forms" : "fast_forms", 1);
    cf_buffer(&call, 0, got, sizeof got);
    if (cf_run(t, &call)) cf_close(t, expected, got, N, 4, 1e-6, "out");
}

void cf_family_library(cf_suite *suite)
{
    cf_add(suite, run_types, CF_P(0), "library.types");
    cf_add(suite, run_traits, CF_P(0), "library.traits");
    cf_add(suite, run_packs, CF_P(0), "library.packs");
    cf_add(suite, run_forms, CF_P(0), "library.forms.fast");
    cf_add(suite, run_forms, CF_P(1), "library.forms.precise");
    cf_add(suite, run_singles, CF_P(0), "library.singles");
}
