/* Buffers that a kernel only counts in, on the device "cpu" with four workers (docs/cpu-engine.md, "Atomics"): counts of the words
 * and of what lies around them, launch after launch, and a buffer that another argument sees too, which must be counted in place. */
#include "tombac/tombac.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { THREADS = 40000, GROUP = 256, WORDS = 512 };

static const char source[] =
    "#include <metal_stdlib>\n"
    "using namespace metal;\n"
    "#define KERNEL(NAME, UPDATE) \\\n"
    "kernel void NAME(device const uint *in, device atomic_uint *words, uint i [[thread_position_in_grid]])\\\n"
    "{\\\n"
    "    uint x = in[i];\\\n"
    "    UPDATE;\\\n"
    "}\n"
    /* Different words, one word for all, part of the threads, a word before the bound address. */
    "KERNEL(add, atomic_fetch_add_explicit(&words[x % 100], x >> 7, memory_order_relaxed))\n"
    "KERNEL(subtract, atomic_fetch_sub_explicit(&words[x % 7 * 3], x, memory_order_relaxed);\n"
    "    atomic_fetch_add_explicit(&words[70], 1u, memory_order_relaxed))\n"
    "KERNEL(some, if (x & 4096) atomic_fetch_or_explicit(&words[x & 63], x, memory_order_relaxed))\n"
    "KERNEL(before, atomic_fetch_xor_explicit(&words[int(x & 31) - 16], x, memory_order_relaxed))\n"
    "KERNEL(largest, atomic_fetch_max_explicit(&words[x & 3], x, memory_order_relaxed))\n"
    /* Threads add to words of their own and look at them through another argument. */
    "kernel void see(device const atomic_uint *seen, device atomic_uint *words, device uint *out, uint i [[thread_position_in_grid]])\n"
    "{\n"
    "    if (i < 512) atomic_fetch_add_explicit(&words[i], i, memory_order_relaxed);\n"
    "    threadgroup_barrier(mem_flags::mem_device);\n"
    "    if (i < 512) out[i] = atomic_load_explicit(&seen[i], memory_order_relaxed);\n"
    "}\n";

typedef struct fixture {
    tombac_device *device;
    tombac_library *library;
    tombac_buffer *in;
    uint32_t numbers[THREADS];
} fixture;

static void check(tombac_status status, tombac_error *const *error)
{
    if (status != TOMBAC_OK) fail_msg("%s", tombac_error_message(*error));
}

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    tombac_error *error = NULL;
    assert_non_null(f);
    setenv("TOMBAC_THREADS", "4", 1);
    check(tombac_device_open("cpu", &f->device, &error), &error);
    check(tombac_library_create_from_source(f->device, NULL, source, sizeof source - 1, NULL, &f->library, &error), &error);
    uint32_t random = 7;
    for (int i = 0; i < THREADS; i++) f->numbers[i] = (random = random * 1664525u + 1013904223u) >> 8;
    check(tombac_buffer_create(f->device, sizeof f->numbers, f->numbers, &f->in, &error), &error);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    tombac_buffer_release(f->in);
    tombac_library_release(f->library);
    tombac_device_release(f->device);
    free(f);
    return 0;
}

typedef void update(uint32_t *words, uint32_t x);

static void add(uint32_t *words, uint32_t x)
{
    words[x % 100] += x >> 7;
}

static void subtract(uint32_t *words, uint32_t x)
{
    words[x % 7 * 3] -= x;
    words[70]++;
}

static void some(uint32_t *words, uint32_t x)
{
    if (x & 4096) words[x & 63] |= x;
}

static void before(uint32_t *words, uint32_t x)
{
    words[(int)(x & 31) - 16] ^= x;
}

static void largest(uint32_t *words, uint32_t x)
{
    if (words[x & 3] < x) words[x & 3] = x;
}

/* Two launches of the kernel on a buffer of `size` words, bound at word `first`, and one more on another buffer. */
static void compare(fixture *f, const char *name, update *expected_update, size_t size, size_t first)
{
    tombac_error *error = NULL;
    tombac_kernel *kernel;
    tombac_launch *launch;
    check(tombac_kernel_create(f->library, name, NULL, 0, &kernel, &error), &error);
    check(tombac_launch_create(kernel, &launch, &error), &error);
    check(tombac_launch_set_buffer(launch, 0, f->in, 0, &error), &error);
    check(tombac_launch_set_threads(launch, (tombac_size3){THREADS, 1, 1}, (tombac_size3){GROUP, 1, 1}, &error), &error);
    for (int which = 0; which < 2; which++) {
        static uint32_t expected[THREADS];
        tombac_buffer *words;
        for (size_t i = 0; i < size; i++) expected[i] = (uint32_t)i * 11;
        check(tombac_buffer_create(f->device, size * 4, expected, &words, &error), &error);
        check(tombac_launch_set_buffer(launch, 1, words, first * 4, &error), &error);
        for (int time = 0; time < 2 - which; time++) {
            check(tombac_launch_submit(launch, &error), &error);
            check(tombac_launch_wait(launch, &error), &error);
            for (int i = 0; i < THREADS; i++) expected_update(expected + first, f->numbers[i]);
            assert_memory_equal(tombac_buffer_contents(words), expected, size * 4);
        }
        tombac_buffer_release(words);
    }
    tombac_launch_release(launch);
    tombac_kernel_release(kernel);
}

/* Small buffers are counted by each worker, the large one in place. */
static void test_counts(void **state)
{
    static const size_t sizes[] = {WORDS, 4096, THREADS};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        compare(*state, "add", add, sizes[i], 0);
        compare(*state, "subtract", subtract, sizes[i], 64);
        compare(*state, "some", some, sizes[i], 17);
        compare(*state, "before", before, sizes[i], 16);
        compare(*state, "largest", largest, sizes[i], 100);
    }
}

static void test_seen(void **state)
{
    fixture *f = *state;
    tombac_error *error = NULL;
    tombac_kernel *kernel;
    tombac_launch *launch;
    tombac_buffer *words, *out;
    check(tombac_kernel_create(f->library, "see", NULL, 0, &kernel, &error), &error);
    check(tombac_launch_create(kernel, &launch, &error), &error);
    check(tombac_buffer_create(f->device, WORDS * 4, NULL, &words, &error), &error);
    check(tombac_buffer_create(f->device, WORDS * 4, NULL, &out, &error), &error);
    for (unsigned i = 0; i < 2; i++) check(tombac_launch_set_buffer(launch, i, words, 0, &error), &error);
    check(tombac_launch_set_buffer(launch, 2, out, 0, &error), &error);
    check(tombac_launch_set_threads(launch, (tombac_size3){THREADS, 1, 1}, (tombac_size3){GROUP, 1, 1}, &error), &error);
    const uint32_t *seen = tombac_buffer_contents(out);
    for (uint32_t time = 1; time < 4; time++) {
        check(tombac_launch_submit(launch, &error), &error);
        check(tombac_launch_wait(launch, &error), &error);
        for (uint32_t i = 0; i < WORDS; i++) assert_int_equal(seen[i], time * i);
    }
    tombac_buffer_release(words);
    tombac_buffer_release(out);
    tombac_launch_release(launch);
    tombac_kernel_release(kernel);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_counts), cmocka_unit_test(test_seen)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
