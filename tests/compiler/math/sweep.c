/* See sweep.h. Most arguments are compared with the C library's double functions, one in 32 with MPFR;
 * whatever would set a new record or breaks a bound is decided by MPFR. */
#include "sweep.h"

#include <math.h>
#include <string.h>

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static const float special[] = {0.0f, -0.0f, 1.0f, -1.0f, 0.5f, -0.5f, 1.5f, -1.5f, 2.0f, -2.0f, 3.0f, -3.0f,
    2.5f, -2.5f, 4.0f, 7.0f, -8.0f, 10.0f, 0.25f, 0x1p-149f, -0x1p-149f, 0x1p-126f, -0x1p-126f,
    0x1.fffffcp-127f, 0x1p-24f, 0x1.fffffep-1f, 0x1.000002p+0f, -0x1.fffffep-1f, -0x1.000002p+0f,
    0x1.fffffep+23f, 0x1p+23f, 0x1.000002p+23f, -0x1.000002p+23f, 0x1p+24f, -0x1p+24f, 0x1.fffffep+127f,
    -0x1.fffffep+127f, 0x1p+127f, 0x1.921fb6p+0f, 0x1.921fb6p+1f, -0x1.921fb6p+1f, 88.7228317f, 88.7228394f,
    -87.3365479f, -103.972076f, -103.972084f, 128.0f, -149.0f, -150.0f, -126.0f, 34.0f, 35.0400963f, 36.0f,
    -40.5f, 1e5f, 71476.0625f, 0x1.f9cbe2p+7f, 0x1.47d0fep+34f, 0x1.59p+85f /* hard to reduce by pi/2 */,
    INFINITY, -INFINITY, NAN, -NAN};
enum { SPECIAL_COUNT = sizeof special / sizeof *special };

typedef struct sampler {
    size_t function;
    const tested_function *tested;
    measurement *results;
    uint64_t count;
} sampler;

static bool normal_or_zero(double x)
{
    return x == 0 || (fabs(x) >= 0x1p-126 && fabs(x) < 0x1p+128);
}

/* Fast functions may flush denormal arguments and results; where a result is near overflow they still owe the
 * right one. */
static bool counts_for_fast(const sampler *s, float x, float y, double expected)
{
    if (!normal_or_zero(x) && !isinf(x)) return false;
    if (s->tested->arity == 2 && !normal_or_zero(y) && !isinf(y)) return false;
    if (fabs(expected) < 0x1p-126 && expected != 0) return false;
    if (fabs(x) == 1 && isinf(y)) return false; /* pow: 0 times infinity */
    return true;
}

/* The zeros of lgamma left of -2 have no relative accuracy. */
static double least_size(const sampler *s, float x)
{
    return x < -2 && !strcmp(s->tested->name, "lgamma");
}

static bool within(const sampler *s, int mode, float x, float got, double expected, double ulp)
{
    const tested_function *t = s->tested;
    if (mode == PRECISE) return ulp <= t->bound[PRECISE];
    if (t->absolute > 0) {
        if (isnan(expected) || isinf(x)) return isnan(got) == isnan(expected);
        return !(x >= t->low && x <= t->high) || fabs(got - expected) <= t->absolute;
    }
    if (t->bound[FAST] < 0) return true; /* defined by a formula: test_exact.c checks it */
    double size = t->arity == 1 ? fabs(x) : fabs(log2(fmin(fabs(expected), 0x1p+128)));
    return ulp <= t->bound[FAST] + t->slope * (isfinite(size) ? size : 0);
}

static void judge(sampler *s, int mode, float x, float y, float got, double expected, double ulp)
{
    measurement *m = &s->results[mode];
    const tested_function *t = s->tested;
    if (ulp > m->ulp) {
        m->ulp = ulp;
        m->ulp_at[0] = x;
        m->ulp_at[1] = y;
    }
    double absolute = fabs(got - expected);
    if (mode == FAST && x >= t->low && x <= t->high && absolute > m->absolute) {
        m->absolute = absolute;
        m->absolute_at = x;
    }
    if (m->good && !within(s, mode, x, got, expected, ulp)) {
        m->good = false;
        m->bad_at[0] = x;
        m->bad_at[1] = y;
        m->bad_got = got;
        m->bad_expected = expected;
    }
}

static void sample(sampler *s, float x, float y)
{
    const tested_function *t = s->tested;
    double expected = 0;
    bool exact = s->count++ % 32 == 0;
    if (!exact && !quick_reference(s->function, x, y, &expected)) return;
    if (exact) expected = reference(s->function, x, y);
    for (int mode = PRECISE; mode <= FAST; mode++) {
        if (mode == FAST && !counts_for_fast(s, x, y, expected)) continue;
        float got = t->arity == 1 ? t->unary[mode](x) : t->binary[mode](x, y);
        double ulp = ulp_error(got, expected, least_size(s, x), mode == PRECISE);
        bool record = ulp > s->results[mode].ulp || !within(s, mode, x, got, expected, ulp);
        double absolute = fabs(got - expected);
        record |= mode == FAST && absolute > s->results[mode].absolute && x >= t->low && x <= t->high;
        if (!record) continue;
        if (!exact) {
            expected = reference(s->function, x, y);
            exact = true;
            ulp = ulp_error(got, expected, least_size(s, x), mode == PRECISE);
        }
        judge(s, mode, x, y, got, expected, ulp);
    }
}

static void exactly(sampler *s, float x, float y)
{
    s->count = 0; /* next one by MPFR */
    sample(s, x, y);
}

static void sweep_unary(sampler *s, uint64_t step)
{
    const tested_function *t = s->tested;
    for (size_t i = 0; i < SPECIAL_COUNT; i++) exactly(s, special[i], 0);
    for (uint64_t u = 0; u < 0x100000000u; u += step) sample(s, float_of((uint32_t)u), 0);
    for (int i = 0; i <= 150000; i++) sample(s, t->low + (t->high - t->low) * ((float)i / 150000), 0);
}

/* xorshift64*: S. Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled", TOMS
 * 42, 2016. */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 2685821657736338717u;
}

static void sweep_binary(sampler *s, uint64_t step)
{
    for (size_t i = 0; i < SPECIAL_COUNT; i++)
        for (size_t j = 0; j < SPECIAL_COUNT; j++) exactly(s, special[i], special[j]);
    uint64_t random = 88172645463325252u, count = ((uint64_t)1 << 32) / step;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t r = next_random(&random);
        uint32_t high = (uint32_t)(r >> 32), low = (uint32_t)r;
        if (i % 3 == 1) high = (high & 0x83ffffffu) | 0x3c000000u; /* both of ordinary size */
        if (i % 3 == 2) high = (high & 0x01ffffffu) | 0x3f000000u; /* x in [0.5, 8): pow's finite results */
        if (i % 3 != 0) low = (low & 0x83ffffffu) | (i % 3 == 1 ? 0x3c000000u : 0x40000000u);
        sample(s, float_of(high), float_of(low));
    }
}

void sweep(size_t function, uint64_t step, measurement results[2])
{
    memset(results, 0, 2 * sizeof *results);
    results[PRECISE].good = results[FAST].good = true;
    sampler s = {.function = function, .tested = &tested_functions[function], .results = results};
    if (s.tested->arity == 1)
        sweep_unary(&s, step);
    else
        sweep_binary(&s, step);
}
