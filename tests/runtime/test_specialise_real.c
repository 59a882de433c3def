/* Background specialisation with the real compiler on the device "cpu": the same bits before and after, in fast math too, for
 * kernels in which a compiler that knows the values could round differently; several threads that switch between values. */
#include "tombac/tombac.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { COUNT = 4096, GROUP = 128 };

static const char source[] =
    "#include <metal_stdlib>\n"
    "using namespace metal;\n"
    "struct values { int n, stride; float scale, bias, base; int mode; };\n"
    /* A division and products by constants, conversions, a branch that decides about a factor. */
    "kernel void mixed(constant values &v, device const float *x, device float *y, uint i [[thread_position_in_grid]])\n"
    "{\n"
    "    float slope = 1.0f;\n"
    "    if (v.bias > 0.0f) slope = pow(v.base, float(i % 7));\n"
    "    float a = x[i] * v.scale + slope * x[(i * v.stride) % v.n];\n"
    "    a = a / float(v.n) * v.scale * 3.0f + a / v.scale;\n"
    "    for (int k = 0; k < v.mode; k++) a = a * v.scale - x[(i + k) % v.n] / float(k + v.stride);\n"
    "    y[i] = a * float(v.stride) * 0.7f;\n"
    "}\n"
    /* Angles as in rotary embedding. */
    "kernel void rotate_pairs(constant values &v, device const float *x, device float *y, uint i [[thread_position_in_grid]])\n"
    "{\n"
    "    if (i % 2) return;\n"
    "    float theta = float(i / 64) * pow(v.base, -float(i % 64) / v.n) * v.scale;\n"
    "    float c = cos(theta) * v.bias, s = sin(theta) * v.bias;\n"
    "    y[i] = x[i] * c - x[i + 1] * s;\n"
    "    y[i + 1] = x[i] * s + x[i + 1] * c;\n"
    "}\n"
    /* Sums over a threadgroup, loops with bounds from the block. */
    "kernel void normalise(constant values &v, device const float *x, device float *y, threadgroup float *sums\n"
    "    [[threadgroup(0)]], uint t [[thread_index_in_threadgroup]], uint n [[threads_per_threadgroup]],\n"
    "    uint g [[threadgroup_position_in_grid]], uint lane [[thread_index_in_simdgroup]],\n"
    "    uint s [[simdgroup_index_in_threadgroup]])\n"
    "{\n"
    "    float sum = 0;\n"
    "    for (uint i = t; i < uint(v.n); i += n) sum += x[g * v.n + i] * x[g * v.n + i];\n"
    "    sum = simd_sum(sum);\n"
    "    if (lane == 0) sums[s] = sum;\n"
    "    threadgroup_barrier(mem_flags::mem_threadgroup);\n"
    "    sum = 0;\n"
    "    for (uint k = 0; k < n / 32; k++) sum += sums[k];\n"
    "    float scale = rsqrt(sum / v.n + v.bias);\n"
    "    for (uint i = t; i < uint(v.n); i += n) y[g * v.n + i] = x[g * v.n + i] * scale * v.scale + v.base;\n"
    "}\n";

typedef struct values {
    int n, stride;
    float scale, bias, base;
    int mode;
} values;

static const values sets[] = {{512, 1, 0.7f, 0.0f, 10000.0f, 3}, {256, 3, 1.3f, 0.5f, 500.0f, 0}, {128, 5, 1.0f / 3, 1.0f, 3.0f, 17},
    {512, 2, 2.0f, 1e-5f, 0.1f, 1}};
enum { SETS = sizeof sets / sizeof *sets };

typedef struct fixture {
    tombac_device *device;
    tombac_library *library;
    tombac_kernel *kernel;
    tombac_buffer *in;
} fixture;

static void check(tombac_status status, tombac_error *const *error)
{
    if (status != TOMBAC_OK) fail_msg("%s", tombac_error_message(*error));
}

static fixture make(const char *kernel, tombac_math math)
{
    fixture f = {0};
    tombac_error *error = NULL;
    tombac_compile_options options = {.math = math};
    check(tombac_device_open("cpu", &f.device, &error), &error);
    check(tombac_device_specialise_after(f.device, 1, &error), &error);
    check(tombac_library_create_from_source(f.device, NULL, source, sizeof source - 1, &options, &f.library, &error), &error);
    check(tombac_kernel_create(f.library, kernel, NULL, 0, &f.kernel, &error), &error);
    float x[COUNT];
    uint32_t random = 1;
    for (int i = 0; i < COUNT; i++) {
        random = random * 1664525u + 1013904223u;
        x[i] = (float)(random >> 8) / (1 << 23) - 1.0f;
    }
    check(tombac_buffer_create(f.device, sizeof x, x, &f.in, &error), &error);
    return f;
}

static void drop(fixture *f)
{
    tombac_buffer_release(f->in);
    tombac_kernel_release(f->kernel);
    tombac_library_release(f->library);
    tombac_device_release(f->device);
}

/* y for one set of values, by whatever code there is. */
static void run(const fixture *f, const values *v, uint32_t threads, float *y)
{
    tombac_launch *launch = NULL;
    tombac_buffer *out = NULL;
    tombac_error *error = NULL;
    check(tombac_launch_create(f->kernel, &launch, &error), &error);
    check(tombac_buffer_create(f->device, COUNT * sizeof *y, NULL, &out, &error), &error);
    check(tombac_launch_set_bytes(launch, 0, v, sizeof *v, &error), &error);
    check(tombac_launch_set_buffer(launch, 1, f->in, 0, &error), &error);
    check(tombac_launch_set_buffer(launch, 2, out, 0, &error), &error);
    if (!strcmp(tombac_kernel_name(f->kernel), "normalise"))
        check(tombac_launch_set_threadgroup_memory(launch, 0, 128, &error), &error);
    check(tombac_launch_set_threads(launch, (tombac_size3){threads, 1, 1}, (tombac_size3){GROUP, 1, 1}, &error), &error);
    check(tombac_launch_submit(launch, &error), &error);
    check(tombac_launch_wait(launch, &error), &error);
    memcpy(y, tombac_buffer_contents(out), COUNT * sizeof *y);
    tombac_launch_release(launch);
    tombac_buffer_release(out);
}

static void same_bits(const char *kernel, tombac_math math)
{
    static float before[COUNT], after[COUNT];
    static const uint32_t threads[] = {1024, 1000};
    fixture f = make(kernel, math);
    for (int i = 0; i < SETS; i++)
        for (int t = 0; t < 2; t++) {
            run(&f, &sets[i], threads[t], before);
            assert_int_equal(tombac_kernel_await_specialisation(f.kernel, 100, NULL), TOMBAC_OK);
            run(&f, &sets[i], threads[t], after);
            for (int k = 0; k < COUNT; k++)
                if (memcmp(&before[k], &after[k], sizeof before[k]))
                    fail_msg("%s, values %d, math %d, element %d: %a, then %a", kernel, i, (int)math, k, (double)before[k],
                        (double)after[k]);
        }
    tombac_specialisation facts = tombac_kernel_get_specialisation(f.kernel);
    assert_int_equal(facts.ready, 2 * SETS);
    assert_int_equal(facts.launches, 2 * SETS);
    drop(&f);
}

static void test_mixed(void **state)
{
    same_bits("mixed", TOMBAC_MATH_FAST);
    same_bits("mixed", TOMBAC_MATH_SAFE);
}

static void test_rotate(void **state)
{
    same_bits("rotate_pairs", TOMBAC_MATH_FAST);
}

static void test_normalise(void **state)
{
    same_bits("normalise", TOMBAC_MATH_FAST);
    same_bits("normalise", TOMBAC_MATH_RELAXED);
}

typedef struct caller {
    const fixture *f;
    const float (*expected)[COUNT];
    int first, wrong;
} caller;

static void *call(void *argument)
{
    caller *c = argument;
    float *y = malloc(COUNT * sizeof *y);
    for (int i = 0; i < 100 && y; i++) {
        int set = (c->first + i / 5) % SETS;
        run(c->f, &sets[set], 1024, y);
        c->wrong += memcmp(y, c->expected[set], COUNT * sizeof *y) != 0;
    }
    free(y);
    return NULL;
}

static void test_threads(void **state)
{
    static float expected[SETS][COUNT];
    fixture generic = make("mixed", TOMBAC_MATH_FAST), f = make("mixed", TOMBAC_MATH_FAST);
    for (int i = 0; i < SETS; i++) run(&generic, &sets[i], 1024, expected[i]);
    pthread_t threads[4];
    caller callers[4];
    for (int i = 0; i < 4; i++) {
        callers[i] = (caller){&f, (const float(*)[COUNT])expected, i, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, call, &callers[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(callers[i].wrong, 0);
    }
    assert_int_equal(tombac_kernel_await_specialisation(f.kernel, 100, NULL), TOMBAC_OK);
    assert_int_equal(tombac_kernel_get_specialisation(f.kernel).ready, SETS);
    drop(&generic);
    drop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_mixed), cmocka_unit_test(test_rotate),
        cmocka_unit_test(test_normalise), cmocka_unit_test(test_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
