/* Kernels that are made in the background: the caller goes on, several are made at once, who wants a kernel
 * that is being made waits for it, nothing is made twice, failures come with their kernel. The fake compiler
 * waits for files that the test makes, so nothing here depends on time. */
#include "graph.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

typedef struct session {
    const world *world;
    tombac_device *device;
    tombac_library *library;
} session;

/* A library of `text`, where %s stands for the world's folder. */
static session open_session(const world *w, const char *text, bool no_cache)
{
    session s = {.world = w, .device = open_device()};
    const tombac_compile_options options = {.no_cache = no_cache};
    tb_text source = {0};
    for (const char *hole; (hole = strstr(text, "%s")); text = hole + 2) {
        tb_text_append(&source, text, (size_t)(hole - text));
        tb_text_puts(&source, w->folder);
    }
    tb_text_puts(&source, text);
    REQUIRE(tombac_library_create_from_source(
        s.device, NULL, source.data, source.size, &options, &s.library, &require_error));
    tb_text_free(&source);
    world_clear_runs(w);
    return s;
}

static void close_session(session *s)
{
    tombac_library_release(s->library);
    tombac_device_release(s->device);
}

static tombac_operation *prepare(session *s, const char *name)
{
    tombac_operation *operation = NULL;
    REQUIRE(tombac_kernel_prepare(s->library, name, NULL, 0, &operation, &require_error));
    return operation;
}

static void wait_for(tombac_operation *operation)
{
    REQUIRE(tombac_operation_wait(operation, 30, &require_error));
}

static tombac_kernel *kernel_of(tombac_operation *operation)
{
    tombac_kernel *kernel = NULL;
    REQUIRE(tombac_operation_get_kernel(operation, &kernel, &require_error));
    return kernel;
}

static void run(tombac_kernel *kernel, const char *printed)
{
    tombac_launch *launch = NULL;
    REQUIRE(tombac_launch_create(kernel, &launch, &require_error));
    REQUIRE(tombac_launch_set_grid(launch, tombac_for_elements(1, 1), &require_error));
    REQUIRE(tombac_launch_submit(launch, &require_error));
    REQUIRE(tombac_launch_wait(launch, &require_error));
    assert_string_equal(tombac_launch_log(launch), printed);
    tombac_launch_release(launch);
}

static void expect_runs(const session *s, const char *runs)
{
    assert_string_equal(world_runs(s->world), runs);
}

/* The kernel slow is ready when the file go exists. */
static const char two[] = "kernel slow\nkernel quick\nin slow await %s/go\nobject FAKE show\n";

static void test_goes_on(void **state)
{
    session s = open_session(*state, two, false);
    tombac_operation *slow = prepare(&s, "slow");
    assert_string_equal(tombac_operation_name(slow), "slow");
    expect_runs(&s, ""); /* lazy */
    REQUIRE(tombac_operation_submit(slow, &require_error));
    tombac_kernel *quick = open_kernel(s.library, "quick"), *kernel = NULL;
    run(quick, "FAKE show"); /* compiled and run meanwhile */
    bool ended = true;
    REQUIRE(tombac_operation_poll(slow, &ended, &require_error));
    assert_false(ended);
    tombac_error *error = NULL;
    tombac_status status = tombac_operation_get_kernel(slow, &kernel, &error);
    expect_failure(status, error, TOMBAC_ERROR_TIMEOUT, "kernel 'slow' has not ended");
    error = NULL;
    status = tombac_operation_wait(slow, 0.01, &error);
    expect_failure(status, error, TOMBAC_ERROR_TIMEOUT, "kernel 'slow' has not ended");
    world_write(s.world, "go", "");
    wait_for(slow);
    kernel = kernel_of(slow);
    run(kernel, "FAKE show");
    assert_true(tombac_operation_get_times(slow).compile_seconds > 0);
    expect_runs(&s, "cc");
    tombac_kernel_release(kernel);
    tombac_kernel_release(quick);
    tombac_operation_release(slow);
    close_session(&s);
}

static void *create_slow(void *context)
{
    session *s = context;
    return open_kernel(s->library, "slow");
}

/* Whoever wants the kernel while it is being made gets the same one, made once. */
static void test_shared(void **state)
{
    enum { THREADS = 8 };
    for (int no_cache = 0; no_cache < 2; no_cache++) {
        session s = open_session(*state, two, no_cache);
        char go[128];
        snprintf(go, sizeof go, "%s/go", s.world->folder);
        unlink(go);
        tombac_operation *operation = prepare(&s, "slow");
        REQUIRE(tombac_operation_submit(operation, &require_error));
        pthread_t threads[THREADS];
        void *kernels[THREADS];
        for (int i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, create_slow, &s), 0);
        world_write(s.world, "go", "");
        for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_join(threads[i], &kernels[i]), 0);
        wait_for(operation);
        tombac_kernel *kernel = kernel_of(operation), *again = open_kernel(s.library, "slow");
        assert_ptr_equal(again, kernel);
        for (int i = 0; i < THREADS; i++) {
            assert_ptr_equal(kernels[i], kernel);
            tombac_kernel_release(kernels[i]);
        }
        expect_runs(&s, "c");
        tombac_kernel_release(again);
        tombac_operation_release(operation);
        run(kernel, "FAKE show"); /* outlives its preparation */
        tombac_kernel_release(kernel);
        kernel = open_kernel(s.library, "slow"); /* made anew: nobody had it any more */
        expect_runs(&s, no_cache ? "cc" : "c");
        tombac_kernel_release(kernel);
        char folder[128];
        snprintf(folder, sizeof folder, "rm -r %s/cache", s.world->folder);
        assert_int_equal(system(folder), 0);
        close_session(&s);
    }
}

/* Kernels with other constants are others. */
static void test_constants(void **state)
{
    session s = open_session(*state, "kernel k\nconstant size 1 uint u32 1\nobject FAKE show\n", true);
    const uint32_t values[2] = {1, 2};
    tombac_kernel *kernels[3];
    for (int i = 0; i < 3; i++) {
        const tombac_constant constant = {"size", 0, &values[i % 2], 4};
        REQUIRE(tombac_kernel_create(s.library, "k", &constant, 1, &kernels[i], &require_error));
    }
    tombac_kernel *without = open_kernel(s.library, "k");
    assert_ptr_equal(kernels[0], kernels[2]);
    assert_ptr_not_equal(kernels[0], kernels[1]);
    assert_ptr_not_equal(kernels[0], without);
    expect_runs(&s, "ccc");
    for (int i = 0; i < 3; i++) tombac_kernel_release(kernels[i]);
    tombac_kernel_release(without);
    close_session(&s);
}

typedef struct report {
    size_t calls, total;
    char ok[8], failed[8];
    atomic_bool inside;
} report;

static void note(void *context, const char *kernel, size_t ended, size_t total, tombac_status status)
{
    report *r = context;
    assert_false(atomic_exchange(&r->inside, true)); /* one call at a time */
    assert_int_equal(ended, ++r->calls);
    r->total = total;
    strcat(status == TOMBAC_OK ? r->ok : r->failed, kernel);
    atomic_store(&r->inside, false);
}

static int by_letter(const void *a, const void *b)
{
    return *(const char *)a - *(const char *)b;
}

/* Two kernels whose compilations wait for each other, one that fails, and one more. */
static void test_prewarm(void **state)
{
    session s = open_session(*state,
        "kernel a\nkernel b\nkernel c\nkernel d\nin a touch %s/a\nin a await %s/b\nin b touch %s/b\nin b await %s/a\n"
        "in c fail-compile 3 x.metal:5:6: error: bad c\nobject FAKE show\n",
        true);
    report r = {0};
    tombac_operation *all = NULL;
    tombac_error *error = NULL;
    REQUIRE(tombac_library_prewarm(s.library, NULL, 0, note, &r, &all, &require_error));
    tombac_status status = tombac_operation_wait(all, 60, &error);
    assert_string_equal(tombac_error_kernel(error), "c");
    assert_int_equal(tombac_error_line(error), 5);
    expect_failure(status, error, TOMBAC_ERROR_SOURCE, "bad c");
    assert_int_equal(r.calls, 4);
    assert_int_equal(r.total, 4);
    qsort(r.ok, strlen(r.ok), 1, by_letter);
    assert_string_equal(r.ok, "abd");
    assert_string_equal(r.failed, "c");
    expect_runs(&s, "cccc");
    tombac_kernel *a = open_kernel(s.library, "a"); /* kept loaded, though nothing is cached */
    expect_runs(&s, "cccc");
    run(a, "FAKE show");
    tombac_kernel_release(a);
    tombac_operation_release(all);
    a = open_kernel(s.library, "a");
    expect_runs(&s, "ccccc");
    tombac_kernel_release(a);
    const tombac_variant variants[] = {{"b", NULL, 0}, {"d", NULL, 0}, {"b", NULL, 0}};
    REQUIRE(tombac_library_prewarm(s.library, variants, 3, NULL, NULL, &all, &require_error));
    wait_for(all);
    expect_runs(&s, "ccccccc"); /* b once */
    tombac_operation_release(all);
    close_session(&s);
}

static void test_refused(void **state)
{
    session s = open_session(*state, "kernel k\nobject FAKE show\n", true);
    tombac_operation *operation = NULL;
    tombac_kernel *kernel = NULL;
    tombac_error *error = NULL;
    tombac_status status = tombac_kernel_prepare(s.library, "x", NULL, 0, &operation, &error);
    expect_failure(status, error, TOMBAC_ERROR_NOT_FOUND, "no kernel 'x'");
    const tombac_constant wrong = {"none", 0, "", 1};
    const tombac_variant variants[] = {{"k", NULL, 0}, {"k", &wrong, 1}};
    error = NULL;
    status = tombac_library_prewarm(s.library, variants, 2, NULL, NULL, &operation, &error);
    expect_failure(status, error, TOMBAC_ERROR_NOT_FOUND, "none");
    assert_null(operation);
    REQUIRE(tombac_library_prewarm(s.library, NULL, 0, NULL, NULL, &operation, &require_error));
    error = NULL;
    status = tombac_operation_get_kernel(operation, &kernel, &error);
    expect_failure(status, error, TOMBAC_ERROR_ARGUMENT, "prepares no kernel");
    tombac_operation_release(operation); /* dropped: nothing was done */
    operation = prepare(&s, "k");
    tombac_operation_release(operation);
    expect_runs(&s, "");
    close_session(&s);
}

static tombac_status launch_it(void *context, tombac_operation **next, tombac_error **error)
{
    tombac_operation **preparation = context;
    tombac_kernel *kernel = NULL;
    tombac_launch *launch = NULL;
    tombac_status status = tombac_operation_get_kernel(*preparation, &kernel, error);
    if (status == TOMBAC_OK) status = tombac_launch_create(kernel, &launch, error);
    if (status == TOMBAC_OK) status = tombac_launch_set_grid(launch, tombac_for_elements(1, 1), error);
    if (status == TOMBAC_OK) status = tombac_launch_operation(launch, next, error);
    tombac_launch_release(launch);
    tombac_kernel_release(kernel);
    return status;
}

/* Compile, then launch, without a thread of the caller's; and a failure stops what was to come. */
static void test_chain(void **state)
{
    session s = open_session(
        *state, "kernel k\nkernel bad\nin bad fail-compile 3 bad source\nobject FAKE count\nargument buffer b 0 uint u32 1 4 4 w\n", true);
    for (int bad = 0; bad < 2; bad++) {
        tombac_operation *preparation = prepare(&s, bad ? "bad" : "k"), *whole = NULL;
        REQUIRE(tombac_operation_continue(preparation, launch_it, &preparation, NULL, &whole, &require_error));
        tombac_error *error = NULL;
        tombac_status status = tombac_operation_wait(whole, 30, &error);
        if (bad) /* stopped by the preparation; else the launch itself says what it lacks */
            expect_failure(status, error, TOMBAC_ERROR_DEPENDENCY, "kernel 'bad' failed: bad source");
        else
            expect_failure(status, error, TOMBAC_ERROR_BINDING, "'b'");
        tombac_operation_release(whole);
        tombac_operation_release(preparation);
    }
    close_session(&s);
}

/* The user lets go of everything at once; what was begun ends by itself. */
static void test_let_go(void **state)
{
    session s = open_session(*state, two, true);
    tombac_operation *operation = prepare(&s, "slow");
    REQUIRE(tombac_operation_submit(operation, &require_error));
    tombac_operation_release(operation);
    close_session(&s);
    world_write(*state, "go", "");
    for (int i = 0; i < 20000 && strcmp(world_runs(*state), "c") != 0; i++) usleep(1000);
    assert_string_equal(world_runs(*state), "c");
    usleep(50000); /* for the sanitizers: the last thread frees the device */
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)
    const struct CMUnitTest tests[] = {TEST(test_goes_on), TEST(test_shared), TEST(test_constants), TEST(test_prewarm),
        TEST(test_refused), TEST(test_chain), TEST(test_let_go)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
