/* Collective operations against plain loops written from docs/operations.md, on random values and masks. */
#include "runtime/driver/check/operations.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static uint64_t random_state = 1;
static uint64_t random_bits(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

typedef struct group {
    tb_check_site site;
    uint32_t active;
    uint64_t in[32][4], out[32];
} group;

static group make(tb_check_operation operation, tb_check_type type, unsigned width, uint64_t limit)
{
    group g = {.site = {.operation = (uint8_t)operation, .type = (uint8_t)type, .width = (uint8_t)width}};
    g.active = (uint32_t)random_bits() | (uint32_t)(random_bits() & 3);
    if (!g.active) g.active = 1;
    for (int i = 0; i < 32; i++) {
        for (int k = 0; k < 4; k++) g.in[i][k] = random_bits() & limit;
    }
    return g;
}

static bool is_active(const group *g, unsigned lane)
{
    return g->active >> lane & 1;
}

static void test_integer_reductions(void **state)
{
    (void)state;
    for (int round = 0; round < 2000; round++) {
        unsigned width = round & 1 ? 4 : 32;
        static const tb_check_operation operations[] = {TB_CHECK_sum, TB_CHECK_product, TB_CHECK_min,
            TB_CHECK_max, TB_CHECK_and, TB_CHECK_or, TB_CHECK_xor, TB_CHECK_prefix_inclusive_sum,
            TB_CHECK_prefix_exclusive_sum, TB_CHECK_prefix_inclusive_product,
            TB_CHECK_prefix_exclusive_product};
        tb_check_operation op = operations[round / 2 % 11];
        group g = make(op, TB_CHECK_s16, width, 0xffff);
        assert_true(check_collective(&g.site, g.active, (const uint64_t (*)[4])g.in, g.out));
        bool prefix = op >= TB_CHECK_prefix_inclusive_sum;
        bool inclusive = op == TB_CHECK_prefix_inclusive_sum || op == TB_CHECK_prefix_inclusive_product;
        for (unsigned lane = 0; lane < 32; lane++) {
            if (!is_active(&g, lane)) continue;
            unsigned block = lane - lane % width, end = !prefix ? block + width : inclusive ? lane + 1 : lane;
            uint32_t sum = 0, product = 1, and = 0xffff, or = 0, xor = 0;
            int low = 32767, high = -32768;
            for (unsigned k = block; k < end; k++) {
                if (!is_active(&g, k)) continue;
                int16_t v = (int16_t)g.in[k][0];
                sum += (uint16_t)v;
                product *= (uint16_t)v;
                and &= (uint16_t)v;
                or |= (uint16_t)v;
                xor ^= (uint16_t)v;
                low = v < low ? v : low;
                high = v > high ? v : high;
            }
            uint32_t expected = op == TB_CHECK_sum || op == TB_CHECK_prefix_inclusive_sum ||
                                        op == TB_CHECK_prefix_exclusive_sum
                                    ? sum
                                : op == TB_CHECK_min ? (uint32_t)low
                                : op == TB_CHECK_max ? (uint32_t)high
                                : op == TB_CHECK_and ? and
                                : op == TB_CHECK_or  ? or
                                : op == TB_CHECK_xor ? xor
                                                     : product;
            assert_int_equal(g.out[lane] & 0xffff, expected & 0xffff);
        }
    }
}

/* Where a shuffle takes its value from; -1: the lane's own. */
static int source_of(tb_check_operation op, int own, int amount, int width)
{
    switch (op) {
    case TB_CHECK_shuffle_up: return own - amount < 0 ? -1 : own - amount;
    case TB_CHECK_shuffle_down: return own + amount >= width ? -1 : own + amount;
    case TB_CHECK_shuffle_xor: return (own ^ amount) >= width ? -1 : own ^ amount;
    case TB_CHECK_shuffle_rotate_up: return ((own - amount) % width + width) % width;
    case TB_CHECK_shuffle_rotate_down: return (own + amount) % width;
    default: return amount % width;
    }
}

static void test_shuffles(void **state)
{
    (void)state;
    for (int round = 0; round < 4000; round++) {
        tb_check_operation op = (tb_check_operation)(TB_CHECK_broadcast + round % 7);
        int width = round / 7 & 1 ? 4 : 32;
        group g = make(op, TB_CHECK_u32, (unsigned)width, 0xffffffff);
        for (int i = 0; i < 32; i++) g.in[i][1] = random_bits() % 40;
        assert_true(check_collective(&g.site, g.active, (const uint64_t (*)[4])g.in, g.out));
        for (int lane = 0; lane < 32; lane++) {
            if (!is_active(&g, (unsigned)lane)) continue;
            int own = lane % width, source = source_of(op, own, (int)g.in[lane][1], width);
            int from = source < 0 ? lane : lane - own + source;
            uint64_t expected = source < 0 || is_active(&g, (unsigned)from) ? g.in[from][0] : 0;
            assert_int_equal(g.out[lane], expected);
        }
    }
}

static void test_shuffle_and_fill(void **state)
{
    (void)state;
    for (int round = 0; round < 2000; round++) {
        bool up = round & 1;
        group g = make(
            up ? TB_CHECK_shuffle_and_fill_up : TB_CHECK_shuffle_and_fill_down, TB_CHECK_u32, 32, 0xffffffff);
        g.active = UINT32_MAX;
        int modulo = 2 << random_bits() % 5, delta = (int)(random_bits() % (unsigned)modulo);
        for (int i = 0; i < 32; i++) g.in[i][2] = (uint64_t)delta, g.in[i][3] = (uint64_t)modulo;
        assert_true(check_collective(&g.site, g.active, (const uint64_t (*)[4])g.in, g.out));
        for (int lane = 0; lane < 32; lane++) {
            int base = lane / modulo * modulo, place = lane - base + (up ? -delta : delta);
            bool outside = place < 0 || place >= modulo;
            int from = base + (place + modulo) % modulo;
            assert_int_equal(g.out[lane], g.in[from][outside]);
        }
    }
}

static void test_votes(void **state)
{
    (void)state;
    for (int round = 0; round < 500; round++) {
        group g = make(TB_CHECK_ballot, TB_CHECK_NO_TYPE, 32, 1);
        uint32_t votes = 0;
        for (unsigned i = 0; i < 32; i++) votes |= (uint32_t)(g.in[i][0] && is_active(&g, i)) << i;
        const struct {
            tb_check_operation operation;
            uint64_t expected;
        } cases[] = {{TB_CHECK_ballot, votes}, {TB_CHECK_active_threads_mask, g.active},
            {TB_CHECK_all, votes == g.active}, {TB_CHECK_any, votes != 0}};
        for (int c = 0; c < 4; c++) {
            g.site.operation = (uint8_t)cases[c].operation;
            assert_true(check_collective(&g.site, g.active, (const uint64_t (*)[4])g.in, g.out));
            for (unsigned i = 0; i < 32; i++) {
                if (is_active(&g, i)) assert_int_equal(g.out[i], cases[c].expected);
            }
        }
    }
}

static float float_of(uint64_t bits)
{
    uint32_t word = (uint32_t)bits;
    float value;
    memcpy(&value, &word, 4);
    return value;
}

static uint64_t bits_of(float value)
{
    uint32_t word;
    memcpy(&word, &value, 4);
    return word;
}

/* Small integers, so that every order of summation gives the same. */
static void test_matrix(void **state)
{
    (void)state;
    float m[3][8][8];
    group g = make(TB_CHECK_MATRIX_MULTIPLY, TB_CHECK_f32, 32, 0);
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 64; i++) m[k][i / 8][i % 8] = (float)((int)(random_bits() % 17) - 8);
    }
    for (int lane = 0; lane < 32; lane++) {
        int row = (lane / 4 & 4) + lane / 2 % 4, column = (lane / 4 & 2) * 2 + lane % 2 * 2;
        for (int k = 0; k < 3; k++)
            g.in[lane][k] = bits_of(m[k][row][column]) | bits_of(m[k][row][column + 1]) << 32;
    }
    assert_true(check_collective(&g.site, UINT32_MAX, (const uint64_t (*)[4])g.in, g.out));
    for (int lane = 0; lane < 32; lane++) {
        int row = (lane / 4 & 4) + lane / 2 % 4, column = (lane / 4 & 2) * 2 + lane % 2 * 2;
        for (int e = 0; e < 2; e++) {
            float expected = m[2][row][column + e];
            for (int k = 0; k < 8; k++) expected += m[0][row][k] * m[1][k][column + e];
            assert_true(float_of(g.out[lane] >> 32 * e) == expected);
        }
    }
    assert_false(check_collective(&g.site, 0x7fffffff, (const uint64_t (*)[4])g.in, g.out));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_integer_reductions),
        cmocka_unit_test(test_shuffles), cmocka_unit_test(test_shuffle_and_fill),
        cmocka_unit_test(test_votes), cmocka_unit_test(test_matrix)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
