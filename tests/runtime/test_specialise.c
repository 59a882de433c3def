/* Background specialisation with a compiler and a driver that stand in: which code runs after how many launches, with which
 * command line it was made, what is kept, what is forgotten, what fails. The kernel prints its own object, which shows the
 * command line. */
#include "fake.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#define SOURCE                                                                                                   \
    "kernel k\nargument constant n 0 uint u32 1 4 4 r\nargument buffer a 1 float f32 1 4 4 w\n"                  \
    "argument constant table 2 uint u32 1 4 4 -\nobject FAKE show \nshow\n"

typedef struct fixture {
    tombac_device *device;
    tombac_library *library;
    tombac_kernel *kernel;
    tombac_buffer *buffer;
} fixture;

static fixture make(const char *source, uint32_t after, bool no_specialise)
{
    fixture f = {0};
    tombac_compile_options options = {.no_specialise = no_specialise};
    assert_int_equal(tombac_device_open("other", &f.device, NULL), TOMBAC_OK);
    assert_int_equal(tombac_device_specialise_after(f.device, after, NULL), TOMBAC_OK);
    assert_int_equal(tombac_library_create_from_source(
                         f.device, NULL, source, strlen(source), &options, &f.library, NULL),
        TOMBAC_OK);
    f.kernel = open_kernel(f.library, "k");
    assert_int_equal(tombac_buffer_create(f.device, 64, NULL, &f.buffer, NULL), TOMBAC_OK);
    return f;
}

static void drop(fixture *f)
{
    tombac_buffer_release(f->buffer);
    tombac_kernel_release(f->kernel);
    tombac_library_release(f->library);
    tombac_device_release(f->device);
}

static tombac_launch *launch_of(const fixture *f, uint32_t n, uint32_t threads)
{
    tombac_launch *launch = NULL;
    assert_int_equal(tombac_launch_create(f->kernel, &launch, NULL), TOMBAC_OK);
    assert_int_equal(tombac_launch_set_bytes(launch, 0, &n, sizeof n, NULL), TOMBAC_OK);
    assert_int_equal(tombac_launch_set_buffer(launch, 1, f->buffer, 0, NULL), TOMBAC_OK);
    assert_int_equal(tombac_launch_set_buffer(launch, 2, f->buffer, 0, NULL), TOMBAC_OK);
    assert_int_equal(
        tombac_launch_set_threads(launch, (tombac_size3){threads, 1, 1}, (tombac_size3){8, 1, 1}, NULL), TOMBAC_OK);
    return launch;
}

/* Runs it and expects `part` in the command line that the code was made with; NULL: none for special values. */
static void expect_code(tombac_launch *launch, const char *part)
{
    assert_int_equal(tombac_launch_submit(launch, NULL), TOMBAC_OK);
    assert_int_equal(tombac_launch_wait(launch, NULL), TOMBAC_OK);
    const char *log = tombac_launch_log(launch);
    assert_non_null(strstr(log, "FAKE show"));
    if (part ? !strstr(log, part) : strstr(log, "--argument") || strstr(log, "--threadgroup"))
        fail_msg("'%s' instead of '%s'", log, part ? part : "(the kernel's own code)");
}

static void run_once(const fixture *f, uint32_t n, uint32_t threads, const char *part)
{
    tombac_launch *launch = launch_of(f, n, threads);
    expect_code(launch, part);
    tombac_launch_release(launch);
}

static tombac_specialisation settle(const fixture *f)
{
    assert_int_equal(tombac_kernel_await_specialisation(f->kernel, 60, NULL), TOMBAC_OK);
    return tombac_kernel_get_specialisation(f->kernel);
}

static void test_values(void **state)
{
    fixture f = make(SOURCE, 3, false);
    for (int i = 0; i < 3; i++) run_once(&f, 7, 64, NULL);
    tombac_specialisation facts = settle(&f);
    assert_int_equal(facts.ready, 1);
    assert_int_equal(facts.failed + facts.pending, 0);
    assert_int_equal(facts.launches, 0);
    run_once(&f, 7, 64, "--argument 0=0x07000000 --threadgroup 8,1,1 ");
    run_once(&f, 8, 64, NULL);
    run_once(&f, 7, 128, "--argument 0=0x07000000 --threadgroup 8,1,1 "); /* the grid may differ */
    run_once(&f, 7, 63, NULL);                                           /* but not be cut by its edge */
    run_once(&f, 7, 63, NULL);
    run_once(&f, 7, 61, NULL);
    assert_int_equal(settle(&f).ready, 2);
    tombac_launch *cut = launch_of(&f, 7, 62);
    expect_code(cut, "--argument 0=0x07000000 -");
    assert_null(strstr(tombac_launch_log(cut), "--threadgroup"));
    tombac_launch_release(cut);
    assert_int_equal(tombac_kernel_get_specialisation(f.kernel).launches, 3);
    drop(&f);
}

/* A launch that is submitted again, and bytes for both constant arguments. */
static void test_one_launch(void **state)
{
    fixture f = make(SOURCE, 2, false);
    tombac_launch *launch = launch_of(&f, 1, 8);
    uint64_t table = 0x0807060504030201;
    assert_int_equal(tombac_launch_set_bytes(launch, 2, &table, sizeof table, NULL), TOMBAC_OK);
    expect_code(launch, NULL);
    expect_code(launch, NULL);
    settle(&f);
    expect_code(launch, "--argument 0=0x01000000 --argument 2=0x0102030405060708 --threadgroup 8,1,1 ");
    uint32_t other = 2;
    assert_int_equal(tombac_launch_set_bytes(launch, 0, &other, sizeof other, NULL), TOMBAC_OK);
    expect_code(launch, NULL);
    tombac_launch_release(launch);
    drop(&f);
}

/* What is in buffers may change, so nothing is known of it; only of the threadgroups, unless the grid's edge cuts them. */
static void test_buffers_are_not_fixed(void **state)
{
    fixture f = make(SOURCE, 2, false);
    tombac_launch *launch = launch_of(&f, 1, 9);
    assert_int_equal(tombac_launch_set_buffer(launch, 0, f.buffer, 0, NULL), TOMBAC_OK);
    for (int i = 0; i < 5; i++) expect_code(launch, NULL);
    tombac_specialisation facts = settle(&f);
    assert_int_equal(facts.ready + facts.failed + facts.pending, 0);
    tombac_launch_release(launch);
    launch = launch_of(&f, 1, 16);
    assert_int_equal(tombac_launch_set_buffer(launch, 0, f.buffer, 0, NULL), TOMBAC_OK);
    for (int i = 0; i < 2; i++) expect_code(launch, NULL);
    assert_int_equal(settle(&f).ready, 1);
    expect_code(launch, "--threadgroup 8,1,1 ");
    assert_null(strstr(tombac_launch_log(launch), "--argument"));
    tombac_launch_release(launch);
    drop(&f);
}

static void test_cache(void **state)
{
    for (int i = 0; i < 2; i++) {
        fixture f = make(SOURCE, 1, false);
        run_once(&f, 5, 8, NULL);
        assert_int_equal(settle(&f).ready, 1);
        run_once(&f, 5, 8, "--argument 0=0x05000000");
        drop(&f);
        assert_string_equal(world_runs(*state), "lcc");
    }
}

static void test_off(void **state)
{
    fixture never[2] = {make(SOURCE, 0, false), make(SOURCE, 1, true)};
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 100; k++) run_once(&never[i], 5, 8, NULL);
        tombac_specialisation facts = settle(&never[i]);
        assert_int_equal(facts.ready + facts.failed + facts.pending, 0);
        drop(&never[i]);
    }
    setenv("TOMBAC_SPECIALISE", "0", 1);
    tombac_device *device = NULL;
    assert_int_equal(tombac_device_open("other", &device, NULL), TOMBAC_OK);
    unsetenv("TOMBAC_SPECIALISE");
    tombac_library *library = open_library(device, SOURCE);
    fixture f = {device, library, open_kernel(library, "k"), NULL};
    assert_int_equal(tombac_buffer_create(device, 64, NULL, &f.buffer, NULL), TOMBAC_OK);
    for (int k = 0; k < 100; k++) run_once(&f, 5, 8, NULL);
    assert_int_equal(settle(&f).ready, 0);
    drop(&f);
}

static void test_failure(void **state)
{
    static const char *const sources[] = {SOURCE "fail-special 3 x.metal:1:1: error: no\n", SOURCE "fail-special 5 crash\n"};
    for (size_t i = 0; i < 2; i++) {
        fixture f = make(sources[i], 2, false);
        for (int k = 0; k < 2; k++) run_once(&f, 5, 8, NULL);
        tombac_specialisation facts = settle(&f);
        assert_int_equal(facts.failed, 1);
        assert_int_equal(facts.ready, 0);
        for (int k = 0; k < 10; k++) run_once(&f, 5, 8, NULL);
        assert_int_equal(settle(&f).failed, 1); /* and not tried again */
        drop(&f);
    }
    assert_string_equal(world_runs(*state), "lcclcc");
}

static void test_no_compiler(void **state)
{
    fixture f = make(SOURCE, 1, false);
    setenv("TOMBAC_CC", "/nonexistent/tombac-cc", 1);
    run_once(&f, 5, 8, NULL);
    assert_int_equal(settle(&f).failed, 1);
    run_once(&f, 5, 8, NULL);
    drop(&f);
    setenv("TOMBAC_CC", TEST_FAKE_CC, 1);
}

/* Code from a header that is not the kernel's any more must not run. */
static void test_changed_header(void **state)
{
    char source[512];
    snprintf(source, sizeof source, SOURCE "include %s\n", world_write(*state, "h.h", "one"));
    fixture f = make(source, 1, false);
    world_write(*state, "h.h", "another");
    run_once(&f, 5, 8, NULL);
    assert_int_equal(settle(&f).failed, 1);
    run_once(&f, 5, 8, NULL);
    drop(&f);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A kernel that is released takes its compilation along, at once. */
static void test_hanging_compiler(void **state)
{
    fixture f = make(SOURCE "hang-special\n", 1, false);
    run_once(&f, 5, 8, NULL);
    run_once(&f, 6, 8, NULL);
    tombac_error *error = NULL;
    tombac_status status = tombac_kernel_await_specialisation(f.kernel, 0.05, &error);
    expect_failure(status, error, TOMBAC_ERROR_TIMEOUT, "still being specialised");
    assert_int_equal(tombac_kernel_get_specialisation(f.kernel).pending, 2);
    double begin = now();
    drop(&f);
    assert_true(now() - begin < 20); /* the stand-in sleeps for 1000 s */
}

/* Many values: the least recently used go, further ones want more launches, and each launch gets its own code or none. */
static void test_many_values(void **state)
{
    fixture f = make(SOURCE, 1, false);
    char part[40];
    for (int round = 0; round < 2; round++)
        for (uint32_t n = 0; n < 24; n++) {
            run_once(&f, n, 8, NULL);
            if (!round && n >= 16) run_once(&f, n, 8, NULL);
            assert_true(settle(&f).ready <= 16);
            snprintf(part, sizeof part, "--argument 0=0x%02x000000 ", n);
            if (!round) run_once(&f, n, 8, part);
        }
    drop(&f);
}

typedef struct caller {
    const fixture *f;
    uint32_t n;
    int special, wrong;
} caller;

static void *call(void *argument)
{
    caller *c = argument;
    char part[40];
    for (int i = 0; i < 300; i++) {
        uint32_t n = c->n + (uint32_t)(i / 3) % 2;
        tombac_launch *launch = launch_of(c->f, n, 8);
        snprintf(part, sizeof part, "--argument 0=0x%02x000000 ", n);
        if (tombac_launch_submit(launch, NULL) != TOMBAC_OK || tombac_launch_wait(launch, NULL) != TOMBAC_OK) c->wrong++;
        const char *log = tombac_launch_log(launch);
        bool special = strstr(log, "--argument");
        c->special += special;
        c->wrong += special && !strstr(log, part);
        tombac_launch_release(launch);
        if (i == 150) tombac_kernel_await_specialisation(c->f->kernel, 60, NULL);
    }
    return NULL;
}

static void test_threads(void **state)
{
    fixture f = make(SOURCE, 5, false);
    enum { CALLERS = 8 };
    caller callers[CALLERS];
    pthread_t threads[CALLERS];
    for (uint32_t i = 0; i < CALLERS; i++) {
        callers[i] = (caller){.f = &f, .n = i % 4};
        assert_int_equal(pthread_create(&threads[i], NULL, call, &callers[i]), 0);
    }
    for (int i = 0; i < CALLERS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(callers[i].wrong, 0);
        assert_true(callers[i].special > 0);
    }
    tombac_specialisation facts = settle(&f);
    assert_int_equal(facts.ready, 5);
    assert_int_equal(facts.failed, 0);
    drop(&f);
}

/* Operations run the code that they were made with, even if it has left the table and the kernel was released. */
static void test_operation_keeps_code(void **state)
{
    fixture f = make(SOURCE, 1, false);
    run_once(&f, 5, 8, NULL);
    settle(&f);
    tombac_launch *launch = launch_of(&f, 5, 8);
    tombac_operation *operation = NULL;
    assert_int_equal(tombac_launch_operation(launch, &operation, NULL), TOMBAC_OK);
    tombac_launch_release(launch);
    for (uint32_t n = 100; n < 120; n++) {
        run_once(&f, n, 8, NULL);
        settle(&f);
    }
    drop(&f);
    assert_int_equal(tombac_operation_wait(operation, 60, NULL), TOMBAC_OK);
    assert_non_null(strstr(tombac_operation_log(operation), "--argument 0=0x05000000"));
    tombac_operation_release(operation);
}

static void test_arguments(void **state)
{
    tombac_error *error = NULL;
    tombac_status status = tombac_device_specialise_after(NULL, 1, &error);
    expect_failure(status, error, TOMBAC_ERROR_ARGUMENT, "'device' is NULL");
    error = NULL;
    status = tombac_kernel_await_specialisation(NULL, 1, &error);
    expect_failure(status, error, TOMBAC_ERROR_ARGUMENT, "'kernel' is NULL");
    assert_int_equal(tombac_kernel_get_specialisation(NULL).ready, 0);
}

#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, world_setup, world_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_values), TEST(test_one_launch), TEST(test_buffers_are_not_fixed),
        TEST(test_cache), TEST(test_off), TEST(test_failure), TEST(test_no_compiler), TEST(test_changed_header),
        TEST(test_hanging_compiler), TEST(test_many_values), TEST(test_threads), TEST(test_operation_keeps_code),
        TEST(test_arguments)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
