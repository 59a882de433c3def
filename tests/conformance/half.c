/* half and bfloat: operations are carried out exactly (or rounded to odd) in double and rounded once by
 * models.c. */
#include "conformance.h"

#include <math.h>
#include <string.h>

enum { TRIPLES = 2048, RESULTS = 16 };

typedef struct format {
    tombac_type type;
    uint16_t (*narrow)(double);
    double (*widen)(uint16_t);
    uint16_t specials[20];
} format;

static const format formats[2] = {
    {TOMBAC_TYPE_F16, cf_half_from_double, cf_half_to_double,
        {0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400, 0x3c00, 0xbc00, 0x3c01, 0x3555, 0x7bff, 0xfbff,
            0x7c00, 0xfc00, 0x7e00, 0x6400, 0x63ff, 0x1400, 0x4248, 0x5bff}},
    {TOMBAC_TYPE_BF16, cf_bfloat_from_double, cf_bfloat_to_double,
        {0x0000, 0x8000, 0x0080, 0x8080, 0x00ff, 0x0100, 0x3f80, 0xbf80, 0x3f81, 0x3eab, 0x7f7f, 0xff7f,
            0x7f80, 0xff80, 0x7fc0, 0x4b00, 0x4aff, 0x3300, 0x4049, 0x7f00}},
};

static uint32_t compare_flags(double a, double b)
{
    return (uint32_t)((a < b) | (a <= b) << 1 | (a == b) << 2 | (a != b) << 3 | (a > b) << 4 | (a >= b) << 5);
}

/* Metal's min and max: the other value where one is NaN. */
static double least(double a, double b)
{
    return isnan(a) ? b : isnan(b) ? a : b < a ? b : a;
}
static double greatest(double a, double b)
{
    return isnan(a) ? b : isnan(b) ? a : b > a ? b : a;
}

static void expect_half(uint16_t *o, double a, double b, double c)
{
    float product = (float)a * (float)b; /* exact: 22 bits */
    const double r[RESULTS] = {a + b, a - b, a * b, a / b, cf_fma_odd(a, b, c), -a, fabs(b), least(a, b),
        greatest(a, b), sqrt(fabs(a)), floor(a), rint(a), a * b, b * c, a + c, (double)(product + (float)c)};
    for (int k = 0; k < RESULTS; k++) o[k] = cf_half_from_double(r[k]);
}

/* bfloat arithmetic is carried out in float, and the float is rounded: for + - * / that is one rounding in
 * effect. */
static void expect_bfloat(uint16_t *o, double a, double b, double c)
{
    const double r[RESULTS] = {(double)((float)a + (float)b), (double)((float)a - (float)b),
        (double)((float)a * (float)b), (double)((float)a / (float)b), (double)((float)b * (float)c), -a,
        fabs(b), a < b ? a : b, a > b ? a : b, (double)((float)a + (float)c), (double)((float)a * (float)c),
        (double)((float)a + (float)b), (double)((float)b + (float)c), 2.5, 17, 1};
    for (int k = 0; k < RESULTS; k++) o[k] = cf_bfloat_from_double(r[k]);
}

/* p: bfloat, math mode */
static void run_arithmetic(cf_test *t, const int *p)
{
    const format *f = &formats[p[0]];
    uint16_t *in = cf_alloc(t, TRIPLES * 3 * 2), *expected = cf_alloc(t, TRIPLES * RESULTS * 2),
             *got = cf_alloc(t, TRIPLES * RESULTS * 2);
    uint32_t *flags = cf_alloc(t, TRIPLES * 4), *got_flags = cf_alloc(t, TRIPLES * 4);
    uint64_t seed = 61;
    bool fast = p[1] == TOMBAC_MATH_FAST; /* fast math promises nothing about NaN and infinities */
    for (int i = 0; i < TRIPLES * 3; i++) {
        uint64_t r = cf_random(&seed);
        in[i] = i % 4 ? (uint16_t)cf_random(&seed) : f->specials[r % 20];
        if (i % 3 == 1 && r >> 40 & 1)
            in[i] = (uint16_t)((in[i - 1] + (r >> 44 & 3) * 0x400) ^ (r >> 48 & 0x80ff)); /* near a */
        if (fast && !isfinite(f->widen(in[i]))) in[i] = f->specials[6];
        if (p[0] && fabs(f->widen(in[i])) < 0x1p-126)
            in[i] &= 0x8000; /* no subnormal bfloat: they are subnormal floats */
    }
    for (int i = 0; i < TRIPLES; i++) {
        double a = f->widen(in[3 * i]), b = f->widen(in[3 * i + 1]), c = f->widen(in[3 * i + 2]);
        (p[0] ? expect_bfloat : expect_half)(expected + RESULTS * i, a, b, c);
        flags[i] = compare_flags(a, b);
    }
    cf_call call = {.file = "half.metal",
        .kernel = p[0] ? "bfloat_arithmetic" : "half_arithmetic",
        .math = (tombac_math)p[1],
        .grid = {TRIPLES, 1, 1},
        .group = {128, 1, 1}};
    cf_buffer(&call, 0, got, TRIPLES * RESULTS * 2);
    cf_buffer(&call, 1, in, TRIPLES * 3 * 2);
    cf_buffer(&call, 2, got_flags, TRIPLES * 4);
    if (!cf_run(t, &call)) return;
    for (int i = 0; i < TRIPLES * RESULTS; i++) {
        const uint16_t *a = in + i / RESULTS * 3;
        double e = f->widen(expected[i]), g = f->widen(got[i]);
        if (fast && !isfinite(e)) continue;
        if (p[0] && fabs(e) < 0x1p-126 && g == 0) continue; /* flushed */
        if ((i % RESULTS == 7 || i % RESULTS == 8) && e == 0 && g == 0)
            continue; /* min and max of zeros: either */
        if (fast && e == 0 && g == 0) continue;
        if (!cf_equal(t, f->type, expected + i, got + i, 1, "result %d of (0x%04x, 0x%04x, 0x%04x)",
                i % RESULTS, a[0], a[1], a[2]))
            return;
    }
    cf_equal(t, TOMBAC_TYPE_U32, flags, got_flags, TRIPLES, "comparisons");
}

/* Sums and products that groups of neighbouring threads share; p: bfloat, threads per threadgroup. Numbers without subnormals. */
static void run_shared(cf_test *t, const int *p)
{
    enum { N = 1000, EACH = 8 };
    const format *f = &formats[p[0]];
    uint16_t *in = cf_alloc(t, N * 2), *expected = cf_alloc(t, N * EACH * 2), *got = cf_alloc(t, N * EACH * 2);
    uint64_t seed = 67;
    for (int i = 0; i < N; i++) {
        double fraction = (double)(cf_random(&seed) % 4096) / 4096, sign = cf_random(&seed) % 2 ? 1 : -1;
        in[i] = f->narrow(sign * (0.5 + 3 * fraction));
    }
    for (int i = 0; i < N * 2; i++) {
        const uint16_t *from = in + 3 * (i / 2 % p[1] / (i % 2 ? 16 : 8));
        double a = f->widen(from[0]), b = f->widen(from[1]), c = f->widen(from[2]);
        const double r[4] = {a + b, a - c, -(b * c), a * c}; /* exact in double, and in the float that bfloats become */
        for (int k = 0; k < 4; k++) expected[4 * i + k] = f->narrow(p[0] ? (double)(float)r[k] : r[k]);
    }
    cf_call call = {.file = "half.metal",
        .kernel = p[0] ? "bfloat_shared" : "half_shared",
        .math = TOMBAC_MATH_SAFE,
        .grid = {N, 1, 1},
        .group = {(uint32_t)p[1], 1, 1}};
    cf_buffer(&call, 0, got, N * EACH * 2);
    cf_buffer(&call, 1, in, N * 2);
    if (cf_run(t, &call)) cf_equal(t, f->type, expected, got, N * EACH, "results, %d of each thread", EACH);
}

static void run_conversions(cf_test *t, const int *p)
{
    enum { N = 4096 };
    float *in = cf_alloc(t, N * 4), *wide = cf_alloc(t, N * 8), *got_wide = cf_alloc(t, N * 8);
    uint16_t *expected = cf_alloc(t, N * 4), *got = cf_alloc(t, N * 4);
    int32_t *integers = cf_alloc(t, N * 16), *got_integers = cf_alloc(t, N * 16);
    uint64_t seed = 71;
    for (int i = 0; i < N; i++) {
        uint32_t r = (uint32_t)cf_random(&seed);
        uint32_t exponent = i % 2 ? 90 + (r >> 8) % 64 : (r >> 8) % 253 + 1; /* half's range, and all */
        /* ties of half (bit 12) and bfloat (bit 15) are common */
        uint32_t fraction = i % 3 == 0 ? r & 0x7ff000 : i % 3 == 1 ? r & 0x7f8000 : r & 0x7fffff;
        in[i] = cf_float_of_bits((r & 0x80000000u) | exponent << 23 | fraction);
        expected[2 * i] = cf_half_from_double((double)in[i]);
        expected[2 * i + 1] = cf_bfloat_from_double((double)in[i]);
        wide[2 * i] = (float)cf_half_to_double(expected[2 * i]);
        wide[2 * i + 1] = (float)cf_bfloat_to_double(expected[2 * i + 1]);
        double f = in[i] < -30000.0f ? -30000.0 : in[i] > 30000.0f ? 30000.0 : (double)in[i];
        double h = cf_half_to_double(cf_half_from_double(f));
        integers[4 * i] = (int32_t)h;
        integers[4 * i + 1] = (int32_t)cf_bfloat_to_double(cf_bfloat_from_double(f));
        integers[4 * i + 2] = (int16_t)h;
        integers[4 * i + 3] = (int16_t)cf_half_from_double((double)((int32_t)f * 3));
    }
    cf_call call = {.file = "half.metal",
        .kernel = "conversions",
        .math = TOMBAC_MATH_SAFE,
        .grid = {N, 1, 1},
        .group = {256, 1, 1}};
    cf_buffer(&call, 0, got, N * 4);
    cf_buffer(&call, 1, in, N * 4);
    cf_buffer(&call, 2, got_wide, N * 8);
    cf_buffer(&call, 3, got_integers, N * 16);
    if (!cf_run(t, &call)) return;
    cf_equal(t, TOMBAC_TYPE_U16, expected, got, 2 * N, "bits of half and bfloat");
    cf_equal(t, TOMBAC_TYPE_F32, wide, got_wide, 2 * N, "widened half and bfloat");
    cf_equal(t, TOMBAC_TYPE_I32, integers, got_integers, 4 * N, "integers");
}

static void run_widen_all(cf_test *t, const int *p)
{
    enum { N = 65536 };
    uint16_t *in = cf_alloc(t, N * 2);
    float *expected = cf_alloc(t, N * 4), *got = cf_alloc(t, N * 4), *vectors = cf_alloc(t, N * 4);
    for (uint32_t i = 0; i < N; i++) {
        in[i] = (uint16_t)i;
        expected[i] = (float)cf_half_to_double(in[i]);
    }
    cf_call call = {.file = "half.metal",
        .kernel = "widen_all",
        .math = TOMBAC_MATH_SAFE,
        .grid = {N, 1, 1},
        .group = {512, 1, 1}};
    cf_buffer(&call, 0, got, N * 4);
    cf_buffer(&call, 1, vectors, N * 4);
    cf_buffer(&call, 2, in, N * 2);
    if (!cf_run(t, &call)) return;
    cf_equal(t, TOMBAC_TYPE_F32, expected, got, N, "float of the half with these bits");
    cf_equal(t, TOMBAC_TYPE_F32, expected, vectors, N, "the same through half4");
}

void cf_family_half(cf_suite *suite)
{
    cf_add(suite, run_arithmetic, CF_P(0, TOMBAC_MATH_SAFE), "half.arithmetic.safe");
    cf_add(suite, run_arithmetic, CF_P(0, TOMBAC_MATH_FAST), "half.arithmetic.fast");
    cf_add(suite, run_arithmetic, CF_P(1, TOMBAC_MATH_SAFE), "half.bfloat-arithmetic.safe");
    cf_add(suite, run_arithmetic, CF_P(1, TOMBAC_MATH_FAST), "half.bfloat-arithmetic.fast");
    cf_add(suite, run_shared, CF_P(0, 64), "half.shared.64");
    cf_add(suite, run_shared, CF_P(0, 72), "half.shared.72");
    cf_add(suite, run_shared, CF_P(1, 64), "half.bfloat-shared.64");
    cf_add(suite, run_shared, CF_P(1, 72), "half.bfloat-shared.72");
    cf_add(suite, run_conversions, CF_P(0), "half.conversions");
    cf_add(suite, run_widen_all, CF_P(0), "half.widen-all");
}
