/* Code that is left out until a launch needs it (runtime/rest.h), with the real compiler on the device "cpu": what each launch
 * computes, and how often the compiler is asked to finish a kernel, which a script in its place counts. */
#include "tombac/tombac.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const char source[] =
    "#include <metal_stdlib>\n"
    "using namespace metal;\n"
    /* Each threadgroup turns its numbers round. */
    "kernel void turn(device const uint *x [[buffer(0)]], device uint *y [[buffer(1)]], uint t [[thread_index_in_threadgroup]],\n"
    "    uint n [[threads_per_threadgroup]], uint first [[thread_position_in_grid]])\n"
    "{\n"
    "    threadgroup uint line[128];\n"
    "    line[t] = x[first] * 3 + t;\n"
    "    threadgroup_barrier(mem_flags::mem_threadgroup);\n"
    "    y[first] = line[n - 1 - t];\n"
    "}\n"
    "constant uint primes[] = {2, 3, 5, 7};\n"
    "kernel void square(device const uint *x [[buffer(0)]], device uint *y [[buffer(1)]], uint2 p [[thread_position_in_grid]],\n"
    "    uint2 size [[threads_per_grid]])\n"
    "{\n"
    "    uint at = p.y * size.x + p.x;\n"
    "    y[at] = x[at] * primes[p.x & 3] + p.y;\n"
    "}\n"
    "kernel void refuse(device const uint *x [[buffer(0)]], device uint *y [[buffer(1)]], uint i [[thread_position_in_grid]])\n"
    "{\n"
    "    y[i] = x[i];\n"
    "    assert(i != 33);\n"
    "}\n";

enum { COUNT = 4096 };

static char folder[] = "/tmp/tombac-defer-XXXXXX";

static void path_of(const char *name, char *path, size_t size)
{
    snprintf(path, size, "%s/%s", folder, name);
}

/* How often tombac-cc was run with this verb. */
static int runs_of(const char *verb)
{
    char path[200], line[80];
    path_of("log", path, sizeof path);
    FILE *log = fopen(path, "r");
    int count = 0;
    while (log && fgets(line, sizeof line, log)) {
        line[strcspn(line, "\n")] = 0;
        count += !strcmp(line, verb);
    }
    if (log) fclose(log);
    return count;
}

static int set_up(void **state)
{
    char script[200], log[200], cache[200];
    if (!mkdtemp(folder)) return -1;
    path_of("tombac-cc", script, sizeof script);
    path_of("log", log, sizeof log);
    path_of("cache", cache, sizeof cache);
    FILE *file = fopen(script, "w");
    if (!file) return -1;
    fprintf(file, "#!/bin/sh\necho \"$1\" >>%s\nexec %s \"$@\"\n", log, TEST_TOMBAC_CC);
    fclose(file);
    setenv("TOMBAC_CC", script, 1);
    setenv("TOMBAC_CACHE", cache, 1);
    setenv("TOMBAC_DEFER", "0", 1);
    setenv("TOMBAC_SPECIALISE", "0", 1);
    return chmod(script, 0700);
}

static int clean_up(void **state)
{
    char command[200];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

typedef struct fixture {
    tombac_device *device;
    tombac_library *library;
    tombac_kernel *kernel;
    tombac_buffer *in, *out;
} fixture;

static uint32_t input(uint32_t i)
{
    return i * 2654435761u;
}

static void check(tombac_status status, tombac_error *const *error)
{
    if (status != TOMBAC_OK) fail_msg("%s", tombac_error_message(*error));
}

static fixture make(const char *kernel)
{
    fixture f = {0};
    tombac_error *error = NULL;
    uint32_t x[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) x[i] = input(i);
    check(tombac_device_open("cpu", &f.device, &error), &error);
    check(tombac_library_create_from_source(f.device, NULL, source, sizeof source - 1, NULL, &f.library, &error), &error);
    check(tombac_kernel_create(f.library, kernel, NULL, 0, &f.kernel, &error), &error);
    check(tombac_buffer_create(f.device, sizeof x, x, &f.in, &error), &error);
    check(tombac_buffer_create(f.device, sizeof x, NULL, &f.out, &error), &error);
    return f;
}

static void drop(fixture *f)
{
    tombac_buffer_release(f->in);
    tombac_buffer_release(f->out);
    tombac_kernel_release(f->kernel);
    tombac_library_release(f->library);
    tombac_device_release(f->device);
}

static tombac_status run(const fixture *f, tombac_buffer *out, tombac_size3 threads, tombac_size3 group, tombac_error **error)
{
    tombac_launch *launch = NULL;
    tombac_status status = tombac_launch_create(f->kernel, &launch, error);
    if (status == TOMBAC_OK) status = tombac_launch_set_buffer(launch, 0, f->in, 0, error);
    if (status == TOMBAC_OK) status = tombac_launch_set_buffer(launch, 1, out, 0, error);
    if (status == TOMBAC_OK) status = tombac_launch_set_threads(launch, threads, group, error);
    if (status == TOMBAC_OK) status = tombac_launch_submit(launch, error);
    if (status == TOMBAC_OK) status = tombac_launch_wait(launch, error);
    tombac_launch_release(launch);
    return status;
}

static void expect_turned(const uint32_t *y, uint32_t threads, uint32_t group)
{
    for (uint32_t i = 0; i < threads; i++) {
        uint32_t first = i / group * group, n = threads - first < group ? threads - first : group, t = n - 1 - (i - first);
        assert_int_equal(y[i], input(first + t) * 3 + t);
    }
}

static void turn(const fixture *f, uint32_t threads, uint32_t group)
{
    tombac_error *error = NULL;
    check(run(f, f->out, (tombac_size3){threads, 1, 1}, (tombac_size3){group, 1, 1}, &error), &error);
    expect_turned(tombac_buffer_contents(f->out), threads, group);
}

static void whole_groups_need_nothing(void **state)
{
    fixture f = make("turn");
    turn(&f, 1024, 128);
    turn(&f, 96, 32);
    turn(&f, 64, 128); /* one threadgroup, smaller than launched */
    assert_int_equal(runs_of("compile"), 1);
    assert_int_equal(runs_of("finish"), 0);
    drop(&f);
}

static void others_need_it_once(void **state)
{
    fixture f = make("turn");
    turn(&f, 1000, 128); /* the last threadgroup has 104 threads */
    assert_int_equal(runs_of("finish"), 1);
    turn(&f, 1000, 100);
    turn(&f, 7, 7);
    turn(&f, 1024, 128);
    assert_int_equal(runs_of("finish"), 1);
    drop(&f);
}

static void the_cache_keeps_it(void **state)
{
    fixture f = make("turn");
    turn(&f, 500, 100);
    assert_int_equal(runs_of("compile"), 1);
    assert_int_equal(runs_of("finish"), 1);
    drop(&f);
}

static void rows_of_a_box(void **state)
{
    static const tombac_size3 grids[][2] = {{{64, 32, 1}, {16, 16, 1}}, {{64, 32, 1}, {8, 8, 1}}, {{64, 32, 1}, {32, 4, 1}},
        {{64, 32, 1}, {4, 8, 1}}, {{40, 32, 1}, {16, 16, 1}}, {{61, 17, 1}, {16, 16, 1}}};
    static const int finished[] = {0, 0, 0, 1, 1, 1}; /* rows of 4 have no code of their own; at edges of 8 threads there is */
    fixture f = make("square");
    int before = runs_of("finish");
    for (size_t n = 0; n < sizeof grids / sizeof *grids; n++) {
        tombac_error *error = NULL;
        uint32_t width = (uint32_t)grids[n][0].x, height = (uint32_t)grids[n][0].y;
        static const uint32_t primes[] = {2, 3, 5, 7};
        check(run(&f, f.out, grids[n][0], grids[n][1], &error), &error);
        const uint32_t *y = tombac_buffer_contents(f.out);
        for (uint32_t i = 0; i < width * height; i++)
            assert_int_equal(y[i], input(i) * primes[i % width & 3] + i / width);
        assert_int_equal(runs_of("finish") - before, finished[n]);
    }
    drop(&f);
}

/* The text and the place of an assertion are constants of the code that runs. */
static void it_tells_its_own_texts(void **state)
{
    fixture f = make("refuse");
    tombac_error *error = NULL;
    assert_int_equal(run(&f, f.out, (tombac_size3){40, 1, 1}, (tombac_size3){40, 1, 1}, &error), TOMBAC_ERROR_KERNEL);
    assert_non_null(strstr(tombac_error_message(error), "i != 33"));
    tombac_error_release(error);
    drop(&f);
}

static void without_a_compiler(void **state)
{
    char *compiler = strdup(getenv("TOMBAC_CC"));
    setenv("TOMBAC_DEFER", "1", 1); /* another kernel to the cache */
    fixture f = make("turn");
    setenv("TOMBAC_CC", "/nonexistent/tombac-cc", 1);
    turn(&f, 1024, 128);
    turn(&f, 1000, 128); /* the same bitcode, finished before */
    drop(&f);
    setenv("TOMBAC_CC", compiler, 1);
    char command[250];
    snprintf(command, sizeof command, "rm -rf %s/cache", folder);
    assert_int_equal(system(command), 0);
    f = make("turn");
    setenv("TOMBAC_CC", "/nonexistent/tombac-cc", 1);
    tombac_error *error = NULL;
    assert_int_equal(run(&f, f.out, (tombac_size3){7, 1, 1}, (tombac_size3){7, 1, 1}, &error), TOMBAC_ERROR_COMPILER);
    assert_string_equal(tombac_error_kernel(error), "turn");
    tombac_error_release(error);
    setenv("TOMBAC_CC", compiler, 1);
    turn(&f, 7, 7); /* it is tried again */
    drop(&f);
    free(compiler);
    setenv("TOMBAC_DEFER", "0", 1);
}

static void *turn_alone(void *fixture_)
{
    const fixture *f = fixture_;
    tombac_buffer *out = NULL;
    tombac_error *error = NULL;
    bool good = tombac_buffer_create(f->device, COUNT * sizeof(uint32_t), NULL, &out, &error) == TOMBAC_OK;
    for (uint32_t n = 1; good && n < 60; n++) {
        uint32_t group = n < 30 ? 128 : 3 * n, threads = 1024;
        if (group > 128) group = 128 - n;
        good = run(f, out, (tombac_size3){threads, 1, 1}, (tombac_size3){group, 1, 1}, &error) == TOMBAC_OK;
        const uint32_t *y = good ? tombac_buffer_contents(out) : NULL;
        for (uint32_t i = 0; good && i < threads; i++) {
            uint32_t first = i / group * group, rest = threads - first < group ? threads - first : group;
            good = y[i] == input(first + rest - 1 - (i - first)) * 3 + rest - 1 - (i - first);
        }
    }
    tombac_buffer_release(out);
    tombac_error_release(error);
    return good ? fixture_ : NULL;
}

static void threads_share_it(void **state)
{
    char command[250];
    snprintf(command, sizeof command, "rm -rf %s/cache", folder);
    assert_int_equal(system(command), 0);
    fixture f = make("turn");
    int before = runs_of("finish");
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&threads[i], NULL, turn_alone, &f), 0);
    for (int i = 0; i < 4; i++) {
        void *good;
        pthread_join(threads[i], &good);
        assert_non_null(good);
    }
    assert_int_equal(runs_of("finish") - before, 1);
    drop(&f);
}

static void it_can_be_switched_off(void **state)
{
    setenv("TOMBAC_DEFER", "never", 1);
    fixture f = make("turn");
    int before = runs_of("finish");
    turn(&f, 1000, 128);
    assert_int_equal(runs_of("finish") - before, 0);
    drop(&f);
    setenv("TOMBAC_DEFER", "0", 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_groups_need_nothing),
        cmocka_unit_test(others_need_it_once),
        cmocka_unit_test(the_cache_keeps_it),
        cmocka_unit_test(rows_of_a_box),
        cmocka_unit_test(it_tells_its_own_texts),
        cmocka_unit_test(without_a_compiler),
        cmocka_unit_test(threads_share_it),
        cmocka_unit_test(it_can_be_switched_off),
    };
    return cmocka_run_group_tests(tests, set_up, clean_up);
}
