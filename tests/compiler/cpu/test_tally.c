/* Which launches count in blocks of the workers' own, and what becomes of a block. */
#include "artifact/abi.h"
#include "runtime/driver/cpu/tally.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ARGUMENTS = 3, WORDS = 256 };

typedef struct fixture {
    rt_argument arguments[ARGUMENTS];
    rt_manifest manifest;
    rt_memory memory;
    rt_binding bindings[ARGUMENTS];
    rt_run request;
    _Alignas(64) uint32_t words[4 * WORDS];
} fixture;

static const uint8_t second[TB_CPU_TALLIES_MAX] = {0, TB_CPU_TALLY_ADD};

static void bind(fixture *f, int argument, size_t word, size_t count)
{
    void *begin = f->words + word;
    f->bindings[argument] = (rt_binding){
        .address = begin, .size = count * 4, .buffer = begin, .buffer_size = count * 4, .memory = &f->memory};
}

/* Three buffers side by side, and threads enough for two workers. */
static void begin(fixture *f)
{
    *f = (fixture){.manifest = {.arguments = f->arguments, .argument_count = ARGUMENTS}};
    for (int i = 0; i < ARGUMENTS; i++) {
        f->arguments[i] = (rt_argument){.kind = TOMBAC_ARGUMENT_BUFFER, .active = true};
        bind(f, i, (size_t)i * WORDS, WORDS);
    }
    f->request.bindings = f->bindings;
    memcpy(f->request.dispatch.threads_per_grid, (uint32_t[]){4 * WORDS, 1, 1}, 12);
}

static uint32_t choose(fixture *f)
{
    return cpu_tallies_choose(second, &f->manifest, &f->request, 2);
}

static void test_chosen(void **state)
{
    fixture f;
    begin(&f);
    assert_int_equal(choose(&f), 2);
    assert_int_equal(cpu_tallies_choose(NULL, &f.manifest, &f.request, 2), 0);
    assert_int_equal(cpu_tallies_choose(second, &f.manifest, &f.request, 3), 0); /* more words than threads */
    f.request.dispatch.threads_per_grid[0]--;
    assert_int_equal(choose(&f), 0);
    memset(f.request.dispatch.threads_per_grid, 0xff, 12); /* more than 2^64 */
    assert_int_equal(choose(&f), 2);
    f.bindings[1].buffer_size = ((size_t)1 << 18) + 4;
    assert_int_equal(choose(&f), 0);
}

static void test_not_alone(void **state)
{
    fixture f;
    begin(&f);
    bind(&f, 0, WORDS, WORDS); /* the same buffer */
    assert_int_equal(choose(&f), 0);
    bind(&f, 0, 1, WORDS); /* its first word */
    assert_int_equal(choose(&f), 0);
    bind(&f, 0, 0, WORDS);
    bind(&f, 2, 2 * WORDS - 1, WORDS); /* its last word */
    assert_int_equal(choose(&f), 0);
    bind(&f, 2, WORDS + 5, 1); /* one within */
    assert_int_equal(choose(&f), 0);
    bind(&f, 2, 0, 3 * WORDS); /* around */
    assert_int_equal(choose(&f), 0);
    f.bindings[2] = (rt_binding){0}; /* not active */
    assert_int_equal(choose(&f), 2);
}

static void test_not_a_buffer(void **state)
{
    fixture f;
    begin(&f);
    f.bindings[1].memory = NULL; /* bytes of the launch */
    assert_int_equal(choose(&f), 0);
    begin(&f);
    f.bindings[1].address = NULL;
    assert_int_equal(choose(&f), 0);
    begin(&f);
    f.arguments[1].kind = TOMBAC_ARGUMENT_TENSOR;
    assert_int_equal(choose(&f), 0);
    begin(&f);
    f.bindings[1].buffer = (char *)f.bindings[1].buffer + 2; /* words lie across */
    f.bindings[1].buffer_size -= 4;
    assert_int_equal(choose(&f), 0);
}

/* What the block holds goes into the buffer, and the next launch finds zeros, in a block of another place and size too. */
static void test_block(void **state)
{
    static const uint32_t had = 0xf00f, counted = 0x7e11, expected[] = {[TB_CPU_TALLY_ADD] = 0x16e20, [TB_CPU_TALLY_OR] = 0xfe1f,
        [TB_CPU_TALLY_XOR] = 0x8e1e, [TB_CPU_TALLY_MAX] = 0xf00f};
    fixture f;
    cpu_tally tally = {0};
    for (int by = TB_CPU_TALLY_ADD; by <= TB_CPU_TALLY_MAX; by++) {
        for (size_t shift = 0; shift < 3; shift++) {
            begin(&f);
            bind(&f, 1, shift, WORDS << shift);
            for (size_t i = 0; i < sizeof f.words / 4; i++) f.words[i] = had;
            f.bindings[1].address = f.words + shift + 5;
            uint32_t *address = cpu_tally_begin(&tally, &f.bindings[1]), *block = address - 5;
            assert_non_null(address);
            assert_int_equal((uintptr_t)address % 64, (uintptr_t)f.bindings[1].address % 64);
            for (size_t i = 0; i < (size_t)WORDS << shift; i++) assert_int_equal(block[i], 0);
            block[0] = block[7] = block[(WORDS << shift) - 1] = counted;
            cpu_tally_end(&tally, &f.bindings[1], (uint8_t)by);
            for (size_t i = 0; i < sizeof f.words / 4; i++) {
                bool met = i == shift || i == shift + 7 || i == shift + (WORDS << shift) - 1;
                assert_int_equal(f.words[i], met ? expected[by] : had);
            }
        }
    }
    f.words[0] = 5; /* the larger one is the worker's */
    bind(&f, 1, 0, WORDS);
    *(uint32_t *)cpu_tally_begin(&tally, &f.bindings[1]) = 6;
    cpu_tally_end(&tally, &f.bindings[1], TB_CPU_TALLY_MAX);
    assert_int_equal(f.words[0], 6);
    cpu_tally_free(&tally);
    assert_null(tally.memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_chosen), cmocka_unit_test(test_not_alone),
        cmocka_unit_test(test_not_a_buffer), cmocka_unit_test(test_block)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
