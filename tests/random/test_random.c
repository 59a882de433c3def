/* <tombac/random.h> on the host. Known answers are those of Random123's file kat_vectors (J. K. Salmon and
 * others); the order of words in a stream is checked by a second formula; distributions by their moments and
 * quantiles, within five standard errors. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <tombac/random.h>

static void known_answers(void **state)
{
    static const uint32_t vectors[][10] = {
        /* counter, key, result */
        {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
        {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x408f276d, 0x41c83b0e,
            0xa20bc7c6, 0x6d5451fd},
        {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09, 0x94fdcceb,
            0x5001e420, 0x24126ea1},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        const uint32_t *v = vectors[i];
        random_block got = philox4x32((random_block){v[0], v[1], v[2], v[3]}, v[4], v[5]);
        assert_int_equal(got.x, v[6]);
        assert_int_equal(got.y, v[7]);
        assert_int_equal(got.z, v[8]);
        assert_int_equal(got.w, v[9]);
    }
}

/* Word `position` of a stream, from the definition in the header. */
static uint32_t word_at(uint64_t seed, uint64_t number, uint64_t position)
{
    uint64_t block = position / 4;
    random_block b = philox4x32(
        (random_block){(uint32_t)block, (uint32_t)(block >> 32), (uint32_t)number, (uint32_t)(number >> 32)},
        (uint32_t)seed, (uint32_t)(seed >> 32));
    const uint32_t words[4] = {b.x, b.y, b.z, b.w};
    return words[position % 4];
}

static void words_of_a_stream(void **state)
{
    const uint64_t seed = UINT64_C(0x0123456789abcdef), number = UINT64_C(0xfedcba9876543210);
    random_stream r = random_start(seed, number);
    for (uint64_t i = 0; i < 100; i++) assert_int_equal(random_uint(&r), word_at(seed, number, i));
    random_skip(&r, (UINT64_C(1) << 40) + 1);
    for (uint64_t i = 0; i < 9; i++)
        assert_int_equal(random_uint(&r), word_at(seed, number, 100 + (UINT64_C(1) << 40) + 1 + i));
    for (uint64_t skip = 0; skip < 9; skip++) {
        r = random_start(seed, number);
        random_uint(&r);
        random_skip(&r, skip);
        assert_int_equal(random_uint(&r), word_at(seed, number, skip + 1));
    }
    r = random_start(seed, number);
    random_uint(&r);
    uint64_t expected = word_at(seed, number, 1) | (uint64_t)word_at(seed, number, 2) << 32;
    assert_true(random_ulong(&r) == expected);
    assert_int_equal(random_int(&r), (int32_t)word_at(seed, number, 3));
    assert_true(
        random_long(&r) == (int64_t)(word_at(seed, number, 4) | (uint64_t)word_at(seed, number, 5) << 32));
}

static void reals_from_words(void **state)
{
    random_stream r = random_start(7, 3), words = r;
    for (int i = 0; i < 10000; i++) {
        float x = random_float(&r);
        assert_true((double)x == (double)(random_uint(&words) >> 8) / 16777216.0);
        assert_true(x >= 0 && x < 1);
    }
#ifdef TOMBAC_RANDOM_HALF
    for (int i = 0; i < 10000; i++)
        assert_true((double)(float)random_half(&r) == (double)(random_uint(&words) >> 21) / 2048.0);
#endif
}

/* The transformations against the C library's functions, over the whole range of words. */
static void transformations(void **state)
{
    const double turn = 6.283185307179586476925;
    uint64_t step = 65521;
    for (uint64_t w = 0; w <= UINT32_MAX; w += w < 100000 || w > UINT32_MAX - 100000 ? 1 : step) {
        double log_exact = -log(((double)w + 0.5) * 0x1p-32), cosine = cos((double)w * turn * 0x1p-32);
        /* near 1 the argument is rounded to a multiple of 2^-24 first */
        assert_true(fabs((double)tombac_random_minus_log((uint32_t)w) - log_exact) <=
                    4e-7 * (1 + log_exact) / 2 + 6e-8);
        assert_true(fabs((double)tombac_random_cosine((uint32_t)w) - cosine) <= 1.5e-7);
    }
    assert_true(tombac_random_minus_log(UINT32_MAX) == 0.0f);
    assert_true(fabs((double)tombac_random_minus_log(0) - 33 * log(2)) < 1e-5);
}

static void below(void **state)
{
    random_stream r = random_start(11, 0);
    assert_int_equal(random_below(&r, 0), 0);
    assert_int_equal(random_below(&r, 1), 0);
    /* Of 3 * 2^30 numbers the low two thirds of a biased method come twice as often as the high third. */
    const uint32_t n = 3u << 30;
    int high = 0, draws = 300000;
    for (int i = 0; i < draws; i++) {
        uint32_t x = random_below(&r, n);
        assert_true(x < n);
        high += x >= 2u << 30;
    }
    assert_true(fabs(high - draws / 3.0) < 5 * sqrt(draws * (1 / 3.0) * (2 / 3.0)));
    int counts[6] = {0};
    for (int i = 0; i < draws; i++) counts[random_below(&r, 6)]++;
    for (int i = 0; i < 6; i++)
        assert_true(fabs(counts[i] - draws / 6.0) < 5 * sqrt(draws * (1 / 6.0) * (5 / 6.0)));
}

static void distributions(void **state)
{
    enum { N = 2000000 };
    double sum = 0, squares = 0, fourth = 0, mean = 0, exponential = 0, exponential_squares = 0;
    int inside = 0, tail = 0;
    random_stream r = random_start(5, 9);
    for (int i = 0; i < N; i++) {
        double x = (double)random_normal(&r), e = (double)random_exponential(&r),
               u = (double)random_float(&r);
        sum += x;
        squares += x * x;
        fourth += x * x * x * x;
        inside += fabs(x) < 1;
        tail += x > 3;
        mean += u;
        exponential += e;
        exponential_squares += e * e;
        assert_true(e >= 0 && e < 23 && fabs(x) < 6.9);
    }
    double root = sqrt(N);
    assert_true(fabs(sum / N) < 5 / root);
    assert_true(fabs(squares / N - 1) < 5 * sqrt(2) / root);
    assert_true(fabs(fourth / N - 3) < 5 * sqrt(96) / root);
    assert_true(fabs(inside / (double)N - erf(sqrt(0.5))) < 5 * 0.47 / root);
    assert_true(fabs(tail / (double)N - 0.5 * erfc(3 * sqrt(0.5))) < 5 * 0.037 / root);
    assert_true(fabs(mean / N - 0.5) < 5 * sqrt(1 / 12.0) / root);
    assert_true(fabs(exponential / N - 1) < 5 / root);
    assert_true(fabs(exponential_squares / N - 2) < 5 * sqrt(20) / root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_answers),
        cmocka_unit_test(words_of_a_stream),
        cmocka_unit_test(reals_from_words),
        cmocka_unit_test(transformations),
        cmocka_unit_test(below),
        cmocka_unit_test(distributions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
