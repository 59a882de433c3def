/* Random numbers on the device, compared bit by bit with what the host computes (whose values tests/random
 * checks): from C, from the Metal source made of it, and from Metal that includes the header. */
#include "ckernel.h"

#include <string.h>
#include <tombac/random.h>

enum { N = 200, DRAWS = 6, IN_METAL = CK_OLDER + 1 };

static const uint64_t seed = UINT64_C(0x9e3779b97f4a7c15);

static cf_call random_call(cf_test *t, int form, const char *kernel)
{
    cf_call call = ck_call(t, form == IN_METAL ? CK_C : (ck_form)form, "random", kernel, N, 64);
    if (form == IN_METAL) call.file = "ckernel/random.metal";
    return call;
}

static void run_integers(cf_test *t, const int *p)
{
    uint32_t *words = cf_alloc(t, N * DRAWS * 4), *got_words = cf_alloc(t, N * DRAWS * 4);
    uint64_t *longs = cf_alloc(t, N * DRAWS * 8), *got_longs = cf_alloc(t, N * DRAWS * 8);
    for (uint32_t i = 0; i < N; i++) {
        random_stream r = random_start(seed, i + (UINT64_C(1) << 40));
        for (uint32_t k = 0; k < DRAWS; k++) {
            words[i * DRAWS + k] = random_uint(&r);
            longs[i * DRAWS + k] = random_ulong(&r);
            words[i * DRAWS + k] ^= random_below(&r, 3000000000u);
            random_skip(&r, i * k);
        }
    }
    cf_call call = random_call(t, p[0], "integers");
    cf_buffer(&call, 0, got_words, N * DRAWS * 4);
    cf_buffer(&call, 1, got_longs, N * DRAWS * 8);
    cf_bytes(&call, 2, &seed, 8);
    if (!cf_run(t, &call)) return;
    cf_equal(t, TOMBAC_TYPE_U32, words, got_words, N * DRAWS, "word");
    cf_equal(t, TOMBAC_TYPE_U64, longs, got_longs, N * DRAWS, "ulong");
}

/* p[1]: the math mode; fast may take another square root. */
static void run_reals(cf_test *t, const int *p)
{
    float *expected[3], *got[3];
    uint16_t *halves = cf_alloc(t, N * DRAWS * 2), *got_halves = cf_alloc(t, N * DRAWS * 2);
    double *exact = cf_alloc(t, N * DRAWS * sizeof *exact);
    for (int a = 0; a < 3; a++) {
        expected[a] = cf_alloc(t, N * DRAWS * 4);
        got[a] = cf_alloc(t, N * DRAWS * 4);
    }
    for (uint32_t i = 0; i < N; i++) {
        random_stream r = random_start(seed, i);
        for (uint32_t k = i * DRAWS; k < (i + 1) * DRAWS; k++) {
            expected[0][k] = random_float(&r);
            halves[k] = cf_half_from_double((random_uint(&r) >> 21) / 2048.0);
            exact[k] = expected[1][k] = random_normal(&r);
            expected[2][k] = random_exponential(&r);
        }
    }
    cf_call call = random_call(t, p[0], "reals");
    call.math = (tombac_math)p[1];
    cf_buffer(&call, 0, got[0], N * DRAWS * 4);
    cf_buffer(&call, 1, got_halves, N * DRAWS * 2);
    cf_buffer(&call, 2, got[1], N * DRAWS * 4);
    cf_buffer(&call, 3, got[2], N * DRAWS * 4);
    cf_bytes(&call, 4, &seed, 8);
    if (!cf_run(t, &call)) return;
    cf_equal(t, TOMBAC_TYPE_F32, expected[0], got[0], N * DRAWS, "float");
    cf_equal(t, TOMBAC_TYPE_F16, halves, got_halves, N * DRAWS, "half");
    cf_equal(t, TOMBAC_TYPE_F32, expected[2], got[2], N * DRAWS, "exponential");
    if (p[1] == TOMBAC_MATH_FAST)
        cf_close(t, exact, got[1], N * DRAWS, 4, 0, "normal");
    else
        cf_equal(t, TOMBAC_TYPE_F32, expected[1], got[1], N * DRAWS, "normal");
}

/* A seed that is not bound: another one at every run. */
static void run_fresh(cf_test *t, const int *p)
{
    uint64_t longs[2][N * DRAWS] = {0};
    uint32_t words[N * DRAWS];
    for (int run = 0; run < 2; run++) {
        cf_call call = random_call(t, p[0], "integers");
        cf_buffer(&call, 0, words, sizeof words);
        cf_buffer(&call, 1, longs[run], sizeof longs[run]);
        if (!cf_run(t, &call)) return;
    }
    size_t equal = 0;
    for (size_t i = 0; i < N * DRAWS; i++) equal += longs[0][i] == longs[1][i];
    if (equal) cf_fail(t, "%zu of %d numbers are the same in two launches without a seed", equal, N * DRAWS);
}

void ck_random(cf_suite *suite)
{
    static const char *const forms[] = {"c", "msl", "older", "metal"}, *const modes[] = {"fast", "relaxed", "safe"};
    for (int form = CK_C; form <= IN_METAL; form++) {
        cf_add(suite, run_integers, CF_P(form), "ckernel.random.integers.%s", forms[form]);
        cf_add(suite, run_fresh, CF_P(form), "ckernel.random.fresh.%s", forms[form]);
        for (int mode = TOMBAC_MATH_FAST; mode <= TOMBAC_MATH_SAFE; mode++)
            cf_add(
                suite, run_reals, CF_P(form, mode), "ckernel.random.reals.%s.%s", modes[mode], forms[form]);
    }
}
