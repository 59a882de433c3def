/* The time limit on real devices: loops without an end are left wherever they stand, the error says where, and the
 * device, its threads and the kernel go on to work. Loops whose bounds are constants are not disturbed. */
#include <tombac/tombac.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { THREADS = 256, GROUP = 64 };

/* o[0] says whether to end. */
static const char source[] =
    "#include <metal_stdlib>\nusing namespace metal;\n"
    "kernel void same(device volatile uint *o, uint i [[thread_position_in_grid]])\n"
    "{\n"
    "    while (o[0] == 0) o[1] = 1;\n" /* 5 */
    "    if (o[0] >= 7) o[i] = 9;\n"
    "}\n"
    "kernel void silent(device uint *o, uint i [[thread_position_in_grid]])\n"
    "{\n"
    "    uint x = i;\n"
    "    while (o[0] == 0 && (x | 1)) x = x * 5 + 2;\n" /* 11 */
    "    if (o[0] >= 7 && i) o[i] = 9;\n"
    "}\n"
    "kernel void divergent(device atomic_uint *o, uint i [[thread_position_in_grid]])\n"
    "{\n"
    "    if (i % 3 == 1)\n"
    "        while (atomic_load_explicit(&o[0], memory_order_relaxed) == 0)\n" /* 17 */
    "            if (i % 5 == 0) atomic_fetch_add_explicit(&o[1], 1, memory_order_relaxed);\n"
    "    if (atomic_load_explicit(&o[0], memory_order_relaxed) >= 7) atomic_store_explicit(&o[i], 9, memory_order_relaxed);\n"
    "}\n"
    "kernel void barriers(device volatile uint *o, uint i [[thread_position_in_grid]])\n"
    "{\n"
    "    for (uint k = 0; o[0] == 0; k++)\n" /* 23 */
    "        threadgroup_barrier(mem_flags::mem_device);\n"
    "    if (o[0] >= 7) o[i] = 9;\n"
    "}\n"
    "static uint find(device volatile uint *o, uint i)\n"
    "{\n"
    "    for (;;) if (o[0] > i * 0) return i;\n" /* 29 */
    "}\n"
    "\n"
    "kernel void callee(device volatile uint *o, uint i [[thread_position_in_grid]])\n"
    "{\n"
    "    uint x = simd_sum(find(o, i) & 1);\n"
    "    if (o[0] >= 7) o[i] = 9 + x * 0;\n"
    "}\n"
    "kernel void bounded(device uint *o, uint i [[thread_position_in_grid]])\n"
    "{\n"
    "    uint x = i;\n"
    "    for (uint k = 0; k < 3000; k++) x = x * 1664525 + o[k & 7];\n"
    "    if (o[0] >= 7 && i > 7) o[i] = x == 12345 ? 8 : 9;\n"
    "}\n";

static void require(tombac_status status, tombac_error **error)
{
    if (status != TOMBAC_OK) fail_msg("%s", tombac_error_message(*error));
}

static bool has_device(const char *name)
{
    for (size_t i = 0; i < tombac_device_count(); i++)
        if (!strcmp(tombac_device_name_at(i), name)) return true;
    return false;
}

typedef struct session {
    tombac_device *device;
    tombac_library *library;
} session;

static tombac_launch *make_launch(
    session *s, const char *name, uint32_t first, tombac_kernel **kernel, tombac_buffer **buffer)
{
    tombac_error *error = NULL;
    tombac_launch *launch = NULL;
    uint32_t initial[THREADS] = {first};
    require(tombac_kernel_create(s->library, name, NULL, 0, kernel, &error), &error);
    require(tombac_buffer_create(s->device, sizeof initial, initial, buffer, &error), &error);
    require(tombac_launch_create(*kernel, &launch, &error), &error);
    require(tombac_launch_set_buffer(launch, 0, *buffer, 0, &error), &error);
    require(tombac_launch_set_grid(launch, tombac_for_elements(THREADS, GROUP), &error), &error);
    return launch;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Runs without an end and is stopped; then runs with one, in the same kernel, and is right. */
static void stop_one(session *s, const char *name, unsigned line)
{
    tombac_kernel *kernel;
    tombac_buffer *buffer, *other;
    tombac_error *error = NULL;
    for (int round = 0; round < 2; round++) {
        tombac_launch *launch = make_launch(s, name, 0, &kernel, &buffer);
        require(tombac_launch_set_time_limit(launch, 0.1, &error), &error);
        double begin = now();
        require(tombac_launch_submit(launch, &error), &error);
        if (tombac_launch_wait(launch, &error) != TOMBAC_ERROR_TIMEOUT) fail_msg("'%s' was not stopped", name);
        double took = now() - begin;
        if (took < 0.09 || took > 20) fail_msg("'%s' was stopped after %g s", name, took);
        if (tombac_error_line(error) != line)
            fail_msg("'%s': line %u, expected %u: %s", name, tombac_error_line(error), line, tombac_error_message(error));
        assert_string_equal(tombac_error_kernel(error), name);
        assert_string_equal(tombac_error_file(error), "limit.metal");
        tombac_error_release(error);
        error = NULL;
        tombac_launch_release(launch);
        tombac_kernel_release(kernel);
        tombac_buffer_release(buffer);
    }
    tombac_launch *launch = make_launch(s, name, 7, &kernel, &other);
    require(tombac_launch_set_time_limit(launch, 60, &error), &error);
    require(tombac_launch_submit(launch, &error), &error);
    require(tombac_launch_wait(launch, &error), &error);
    const uint32_t *o = tombac_buffer_contents(other);
    for (int i = GROUP; i < THREADS; i++) assert_int_equal(o[i], 9);
    tombac_launch_release(launch);
    tombac_kernel_release(kernel);
    tombac_buffer_release(other);
}

/* Two launches of one kernel at the same time: the limit of one is not that of the other. */
static void stop_one_of_two(session *s)
{
    tombac_kernel *kernel[2];
    tombac_buffer *buffer[2];
    tombac_error *error = NULL;
    tombac_launch *endless = make_launch(s, "same", 0, &kernel[0], &buffer[0]);
    tombac_launch *ends = make_launch(s, "same", 0, &kernel[1], &buffer[1]);
    require(tombac_launch_set_time_limit(endless, 0.1, &error), &error);
    require(tombac_launch_set_time_limit(ends, 60, &error), &error);
    require(tombac_launch_submit(ends, &error), &error);
    require(tombac_launch_submit(endless, &error), &error);
    assert_int_equal(tombac_launch_wait(endless, &error), TOMBAC_ERROR_TIMEOUT);
    tombac_error_release(error);
    error = NULL;
    *(volatile uint32_t *)tombac_buffer_contents(buffer[1]) = 7; /* what the other one waits for */
    require(tombac_launch_wait(ends, &error), &error);
    assert_int_equal(((const uint32_t *)tombac_buffer_contents(buffer[1]))[THREADS - 1], 9);
    tombac_launch_release(endless);
    tombac_launch_release(ends);
    for (int i = 0; i < 2; i++) {
        tombac_kernel_release(kernel[i]);
        tombac_buffer_release(buffer[i]);
    }
}

static void limit_on(const char *name)
{
    static const struct {
        const char *name;
        unsigned line;
    } kernels[] = {{"same", 5}, {"silent", 11}, {"divergent", 17}, {"barriers", 23}, {"callee", 29}};
    session s = {0};
    tombac_error *error = NULL;
    if (!has_device(name)) skip();
    require(tombac_device_open(name, &s.device, &error), &error);
    require(tombac_library_create_from_source(
                s.device, "limit.metal", source, sizeof source - 1, NULL, &s.library, &error), &error);
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) stop_one(&s, kernels[i].name, kernels[i].line);
    tombac_kernel *kernel;
    tombac_buffer *buffer;
    tombac_launch *bounded = make_launch(&s, "bounded", 7, &kernel, &buffer);
    require(tombac_launch_set_time_limit(bounded, 60, &error), &error);
    require(tombac_launch_submit(bounded, &error), &error);
    require(tombac_launch_wait(bounded, &error), &error);
    assert_int_equal(((const uint32_t *)tombac_buffer_contents(buffer))[THREADS - 1], 9);
    tombac_launch_release(bounded);
    tombac_kernel_release(kernel);
    tombac_buffer_release(buffer);
    if (!strcmp(name, "cpu")) stop_one_of_two(&s);
    tombac_library_release(s.library);
    tombac_device_release(s.device);
}

static void test_cpu(void **state)
{
    limit_on("cpu");
}

static void test_check(void **state)
{
    limit_on("check");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cpu), cmocka_unit_test(test_check)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
