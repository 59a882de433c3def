/* The check driver on hand-written kernels (schedule_kernels.c): who meets whom, barriers, failures, logs. */
#include "base/file.h"
#include "runtime/driver/driver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

extern const rt_driver rt_driver_check;

enum { WORDS = 64, MEMORY = 4096 };

typedef struct result {
    tombac_status status;
    char message[512];
    unsigned line;
    char log[512];
    uint32_t out[WORDS];
} result;

static void take_log(void *context, const char *text, size_t size)
{
    result *r = context;
    size_t used = strlen(r->log);
    if (size > sizeof r->log - 1 - used) size = sizeof r->log - 1 - used;
    memcpy(r->log + used, text, size);
    r->log[used + size] = 0;
}

/* Runs kernel number `kernel` on a grid of `threads` in groups of `group`. */
static result run(int kernel, uint32_t threads, uint32_t group, double time_limit)
{
    result r = {.status = TOMBAC_OK};
    char path[512];
    snprintf(path, sizeof path, "%s/schedule_kernel_%d.o", KERNEL_FOLDER, kernel);
    tb_text object = {0};
    assert_int_equal(tb_file_read(path, 0, &object, NULL), TOMBAC_OK);
    char name[] = "out", type[] = "uint", kernel_name[] = "kernel";
    rt_argument argument = {.name = name,
        .type_name = type,
        .kind = TOMBAC_ARGUMENT_BUFFER,
        .writable = true,
        .active = true,
        .type = TOMBAC_TYPE_U32,
        .vector_length = 1,
        .size = 4,
        .alignment = 4};
    rt_manifest manifest = {.kernel = kernel_name,
        .max_threads = 1024,
        .arguments = &argument,
        .argument_count = 1,
        .static_threadgroup_memory = MEMORY};
    rt_code *code = NULL;
    assert_int_equal(rt_driver_check.load(object.data, object.size, &manifest, &code, NULL), TOMBAC_OK);
    rt_binding binding = {
        .address = r.out, .size = sizeof r.out, .buffer = r.out, .buffer_size = sizeof r.out};
    uint32_t groups = (threads + group - 1) / group;
    rt_run request = {.dispatch = {.threads_per_grid = {threads, 1, 1},
                          .threadgroups_per_grid = {groups, 1, 1},
                          .dispatch_threads_per_threadgroup = {group, 1, 1},
                          .dispatch_simdgroups_per_threadgroup = (group + 31) / 32},
        .bindings = &binding,
        .threadgroup_memory = MEMORY,
        .time_limit = time_limit,
        .log = {take_log, &r}};
    tombac_error *error = NULL;
    r.status = rt_driver_check.run(code, &request, &error);
    if (error) {
        snprintf(r.message, sizeof r.message, "%s", tombac_error_message(error));
        r.line = tombac_error_line(error);
    }
    tombac_error_release(error);
    rt_driver_check.unload(code);
    tb_text_free(&object);
    return r;
}

static void test_trips(void **state)
{
    (void)state;
    result r = run(0, 50, 50, 0);
    assert_int_equal(r.status, TOMBAC_OK);
    for (uint32_t i = 0; i < 50; i++) {
        uint32_t first = i / 32 * 32, end = first + 32 < 50 ? first + 32 : 50, expected = 0, all = 0;
        for (uint32_t trip = 0; trip < (i - first) % 4; trip++) {
            uint32_t sum = 0;
            for (uint32_t k = first; k < end; k++) sum += (k - first) % 4 > trip ? k - first : 0;
            expected = expected * 3 + sum;
        }
        for (uint32_t k = first; k < end; k++) all |= 1u << (k - first);
        assert_int_equal(r.out[i], expected ^ all);
    }
}

static void test_barrier_with_returns(void **state)
{
    (void)state;
    result r = run(1, 60, 60, 0);
    assert_int_equal(r.status, TOMBAC_OK);
    for (uint32_t i = 0; i < 60; i++) {
        uint32_t from = (i / 5 * 5 + (i + 1) % 4) % 60;
        uint32_t expected = i % 5 == 4 ? 0 : from % 5 == 4 ? 0 : from * from;
        assert_int_equal(r.out[i], expected);
    }
}

static void test_divergent_barrier(void **state)
{
    (void)state;
    result r = run(2, 40, 40, 0);
    assert_int_equal(r.status, TOMBAC_ERROR_KERNEL);
    assert_non_null(strstr(r.message, "divergent barrier"));
    assert_non_null(strstr(r.message, "line 40"));
    assert_non_null(strstr(r.message, "line 50"));
}

static void test_spinning_threads_yield(void **state)
{
    (void)state;
    result r = run(3, 40, 40, 20);
    assert_int_equal(r.status, TOMBAC_OK);
    assert_int_equal(r.out[0], UINT32_MAX);
    assert_int_equal(r.out[39], 0xff);
}

static void test_time_limit(void **state)
{
    (void)state;
    result r = run(4, 1, 1, 0.05);
    assert_int_equal(r.status, TOMBAC_ERROR_TIMEOUT);
    assert_int_equal(r.line, 20);
}

static void test_log(void **state)
{
    (void)state;
    result r = run(5, 8, 8, 0);
    char expected[128];
    snprintf(expected, sizeof expected, "%d|%5.2f|%s|%x|%c|%lu|%%|<missing>\n", -7, 2.5, "word", 255, 'z',
        1ul << 40);
    assert_string_equal(r.log, expected);
}

static void test_partial_threadgroups(void **state)
{
    (void)state;
    result r = run(6, 50, 40, 0);
    assert_int_equal(r.status, TOMBAC_OK);
    for (uint32_t i = 0; i < 50; i++) {
        uint32_t inside = i % 40, size = i < 40 ? 40 : 10;
        assert_int_equal(r.out[i], size * 1000 + inside % 32 * 10 + inside / 32);
    }
}

static void test_partial_matrix(void **state)
{
    (void)state;
    result r = run(7, 40, 40, 0);
    assert_int_equal(r.status, TOMBAC_ERROR_KERNEL);
    assert_non_null(strstr(r.message, "all 32 threads"));
    assert_int_equal(r.line, 60);
    assert_int_equal(run(7, 64, 64, 0).status, TOMBAC_OK);
}

static void test_bounds(void **state)
{
    (void)state;
    result r = run(8, 4, 4, 0);
    assert_int_equal(r.status, TOMBAC_ERROR_KERNEL);
    assert_non_null(strstr(r.message, "writes 4 bytes at offset 256 of 'out', which has 256 bytes"));
    assert_non_null(strstr(r.message, "thread 0,0,0 of threadgroup 0,0,0"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_trips),
        cmocka_unit_test(test_barrier_with_returns), cmocka_unit_test(test_divergent_barrier),
        cmocka_unit_test(test_spinning_threads_yield), cmocka_unit_test(test_time_limit),
        cmocka_unit_test(test_log), cmocka_unit_test(test_partial_threadgroups),
        cmocka_unit_test(test_partial_matrix), cmocka_unit_test(test_bounds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
