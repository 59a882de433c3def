/* Operations on the fake device: laziness, order by hazards against a sequential model, concurrency,
 * composition, failures and whom they stop, results by wait, poll, callback and event descriptor, times. */
#include "graph.h"

#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static const char *text_of(tombac_buffer *buffer)
{
    const void *data = NULL;
    REQUIRE(tombac_buffer_begin_read(buffer, &data, &require_error));
    REQUIRE(tombac_buffer_end_read(buffer, &require_error));
    return data;
}

/* ---- Laziness and life ---- */

static void test_lazy(void **state)
{
    graph g = graph_open();
    tombac_buffer *buffer = make_buffer(&g, 64);
    tombac_launch *launch = make_launch(&g, "append a 0", "w", &buffer);
    tombac_operation *dropped = operation_of(launch), *kept = operation_of(launch);
    assert_string_equal(tombac_operation_name(kept), "k");
    tombac_operation_release(dropped);
    assert_string_equal(text_of(buffer), "");
    tombac_launch_release(launch); /* the operation needs it no more */
    bool ended = true;
    REQUIRE(tombac_operation_poll(kept, &ended, &require_error));
    assert_false(ended);
    REQUIRE(tombac_operation_submit(kept, &require_error));
    REQUIRE(tombac_operation_submit(kept, &require_error)); /* runs once all the same */
    REQUIRE(tombac_operation_wait(kept, -1, &require_error));
    REQUIRE(tombac_operation_poll(kept, &ended, &require_error));
    assert_true(ended);
    assert_string_equal(text_of(buffer), "a");
    tombac_operation_release(kept);
    tombac_buffer_release(buffer);
    graph_close(&g);
}

static void test_dropped_while_running(void **state)
{
    graph g = graph_open();
    tombac_buffer *buffer = make_buffer(&g, 64);
    for (int i = 0; i < 3; i++) {
        tombac_operation *operation = make_operation(&g, "append a 50", "w", &buffer);
        REQUIRE(tombac_operation_submit(operation, &require_error));
        tombac_operation_release(operation);
    }
    assert_string_equal(text_of(buffer), "aaa");
    tombac_operation *last = make_operation(&g, "append a 100", "w", &buffer);
    REQUIRE(tombac_operation_submit(last, &require_error));
    tombac_operation_release(last);
    tombac_buffer_release(buffer);
    graph_close(&g); /* everything goes when the operation ends, on the device's own thread */
    nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
}

/* ---- Order ---- */

enum { BUFFERS = 6, STEPS = 1500 };

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* What the launches would do one after the other is computed beside them. */
static void test_hazards_against_model(void **state)
{
    graph g = graph_open();
    tombac_buffer *buffers[BUFFERS];
    uint32_t model[BUFFERS] = {0}, seed = 7;
    for (int i = 0; i < BUFFERS; i++) buffers[i] = make_buffer(&g, 4);
    tombac_launch *launch = make_launch(&g, "fold", "rw", (tombac_buffer *[]){buffers[0], buffers[1]});
    for (int i = 0; i < STEPS; i++) {
        uint32_t from = next_random(&seed) % BUFFERS,
                 to = (from + 1 + next_random(&seed) % (BUFFERS - 1)) % BUFFERS;
        REQUIRE(tombac_launch_set_buffer(launch, 0, buffers[from], 0, &require_error));
        REQUIRE(tombac_launch_set_buffer(launch, 1, buffers[to], 0, &require_error));
        tombac_operation *operation = operation_of(launch);
        REQUIRE(tombac_operation_submit(operation, &require_error));
        tombac_operation_release(operation);
        model[to] = model[to] * 31 + model[from] + 1;
    }
    for (int i = 0; i < BUFFERS; i++) {
        assert_int_equal(*(const uint32_t *)text_of(buffers[i]), model[i]);
        tombac_buffer_release(buffers[i]);
    }
    tombac_launch_release(launch);
    graph_close(&g);
}

static void test_independent_run_together(void **state)
{
    graph g = graph_open();
    tombac_buffer *shared = make_buffer(&g, 4);
    tombac_operation *operations[4];
    for (int i = 0; i < 4; i++) operations[i] = make_operation(&g, "sleep 250", i < 2 ? "r" : "", &shared);
    double begin = clock_now();
    for (int i = 0; i < 4; i++) REQUIRE(tombac_operation_submit(operations[i], &require_error));
    for (int i = 0; i < 4; i++) REQUIRE(tombac_operation_wait(operations[i], -1, &require_error));
    assert_true(clock_now() - begin < 0.75); /* one after the other they take a second */
    for (int i = 0; i < 4; i++) tombac_operation_release(operations[i]);
    tombac_buffer_release(shared);
    graph_close(&g);
}

enum { THREADS = 64, EACH = 50 };
typedef struct work {
    tombac_launch *launch;
    tombac_operation *operations[EACH];
} work;

static void *submit_all(void *argument)
{
    work *w = argument;
    for (int i = 0; i < EACH; i++)
        if (tombac_operation_submit(w->operations[i], NULL) != TOMBAC_OK) return "submit";
    for (int i = 0; i < EACH; i++)
        if (tombac_operation_wait(w->operations[i], -1, NULL) != TOMBAC_OK) return "wait";
    return NULL;
}

static void test_many_threads(void **state)
{
    graph g = graph_open();
    tombac_buffer *buffer = make_buffer(&g, 4);
    tombac_launch *launch = make_launch(&g, "count", "w", &buffer);
    static work works[THREADS];
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; t++)
        for (int i = 0; i < EACH; i++) works[t].operations[i] = operation_of(launch);
    for (int t = 0; t < THREADS; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, submit_all, &works[t]), 0);
    for (int t = 0; t < THREADS; t++) {
        void *problem;
        pthread_join(threads[t], &problem);
        assert_null(problem);
        for (int i = 0; i < EACH; i++) tombac_operation_release(works[t].operations[i]);
    }
    assert_int_equal(*(const uint32_t *)text_of(buffer), THREADS * EACH);
    tombac_launch_release(launch);
    tombac_buffer_release(buffer);
    graph_close(&g);
}

/* ---- Composition ---- */

typedef struct notes {
    tombac_operation *operation; /* for a continuation to return */
    atomic_int calls, releases;
    tombac_status status;
    const char *text; /* what a buffer held then */
} notes;

static tombac_status look(void *context, tombac_error **error)
{
    notes *n = context;
    atomic_fetch_add(&n->calls, 1);
    return n->status == TOMBAC_OK ? TOMBAC_OK
                                  : tombac_error_create(n->status, "the host did not like it", error);
}

static tombac_status give_next(void *context, tombac_operation **next, tombac_error **error)
{
    notes *n = context;
    atomic_fetch_add(&n->calls, 1);
    *next = n->operation;
    return TOMBAC_OK;
}

static void let_go(void *context)
{
    atomic_fetch_add(&((notes *)context)->releases, 1);
}

static void test_then(void **state)
{
    graph g = graph_open();
    tombac_buffer *a = make_buffer(&g, 64), *b = make_buffer(&g, 64);
    tombac_operation *first = make_operation(&g, "append a 100", "w", &a);
    tombac_operation *second = make_operation(&g, "append b 0", "w", &b); /* no hazard between them */
    REQUIRE(tombac_operation_then(first, second, &require_error));
    tombac_error *error = NULL;
    tombac_status status = tombac_operation_then(second, first, &error);
    expect_failure(status, error, TOMBAC_ERROR_ARGUMENT, "is part of another operation");
    status = tombac_operation_then(first, first, &error);
    expect_failure(status, error, TOMBAC_ERROR_ARGUMENT, "after itself");
    REQUIRE(tombac_operation_wait(second, -1, &require_error));
    assert_string_equal(tombac_buffer_contents(a), "a"); /* has ended, so no view is needed */
    assert_string_equal(tombac_buffer_contents(b), "b");
    status = tombac_operation_then(first, second, &error);
    expect_failure(status, error, TOMBAC_ERROR_ARGUMENT, "was submitted already");
    tombac_operation_release(first);
    tombac_operation_release(second);
    tombac_buffer_release(a);
    tombac_buffer_release(b);
    graph_close(&g);
}

static void test_long_chain(void **state)
{
    graph g = graph_open();
    enum { LENGTH = 20000 };
    tombac_buffer *buffer = make_buffer(&g, 4), *other = make_buffer(&g, 4);
    tombac_launch *launch = make_launch(&g, "count", "w", &buffer);
    tombac_operation *last = NULL;
    for (int i = 0; i < LENGTH; i++) {
        tombac_operation *next = operation_of(launch);
        if (last) REQUIRE(tombac_operation_then(last, next, &require_error));
        tombac_operation_release(last);
        last = next;
    }
    REQUIRE(tombac_operation_wait(last, -1, &require_error));
    assert_int_equal(*(const uint32_t *)text_of(buffer), LENGTH);
    tombac_operation_release(last);
    tombac_launch_release(launch);
    tombac_buffer_release(buffer);
    tombac_buffer_release(other);
    graph_close(&g);
}

static void test_map(void **state)
{
    graph g = graph_open();
    tombac_operation *first = make_operation(&g, "sleep 50", "", NULL), *mapped = NULL;
    notes n = {0};
    REQUIRE(tombac_operation_map(first, look, &n, let_go, &mapped, &require_error));
    assert_int_equal(n.calls, 0);
    REQUIRE(tombac_operation_wait(mapped, -1, &require_error));
    assert_int_equal(n.calls, 1);
    assert_int_equal(n.releases, 1);
    tombac_operation_release(mapped);
    /* A result that has ended serves again; the function's own failure is reported. */
    notes bad = {.status = TOMBAC_ERROR_IO};
    REQUIRE(tombac_operation_map(first, look, &bad, let_go, &mapped, &require_error));
    tombac_error *error = NULL;
    tombac_status status = tombac_operation_wait(mapped, -1, &error);
    expect_failure(status, error, TOMBAC_ERROR_IO, "the host did not like it");
    tombac_operation_release(mapped);
    notes dropped = {0};
    REQUIRE(tombac_operation_map(first, look, &dropped, let_go, &mapped, &require_error));
    tombac_operation_release(mapped);
    assert_int_equal(dropped.calls, 0);
    assert_int_equal(dropped.releases, 1);
    tombac_operation_release(first);
    graph_close(&g);
}

static void test_continue(void **state)
{
    graph g = graph_open();
    tombac_buffer *buffer = make_buffer(&g, 64);
    tombac_operation *first = make_operation(&g, "append a 20", "w", &buffer), *whole = NULL;
    notes n = {.operation = make_operation(&g, "append b 50", "w", &buffer)};
    REQUIRE(tombac_operation_continue(first, give_next, &n, let_go, &whole, &require_error));
    REQUIRE(tombac_operation_wait(whole, -1, &require_error));
    assert_string_equal(tombac_buffer_contents(buffer), "ab");
    assert_int_equal(n.calls, 1);
    tombac_operation_release(whole);
    notes failing = {.operation = make_operation(&g, "fail", "w", &buffer)};
    REQUIRE(tombac_operation_continue(first, give_next, &failing, NULL, &whole, &require_error));
    tombac_error *error = NULL;
    tombac_status status = tombac_operation_wait(whole, -1, &error);
    assert_int_equal(tombac_error_line(error), 7);
    expect_failure(status, error, TOMBAC_ERROR_KERNEL, "it failed");
    tombac_operation_release(whole);
    notes nothing = {0};
    REQUIRE(tombac_operation_continue(first, give_next, &nothing, NULL, &whole, &require_error));
    REQUIRE(tombac_operation_wait(whole, -1, &require_error));
    tombac_operation_release(whole);
    tombac_operation_release(first);
    tombac_buffer_release(buffer);
    graph_close(&g);
}

static void test_all(void **state)
{
    graph g = graph_open();
    tombac_buffer *a = make_buffer(&g, 64), *b = make_buffer(&g, 64);
    tombac_operation *parts[3] = {make_operation(&g, "append a 60", "w", &a),
        make_operation(&g, "append b 30", "w", &b), make_operation(&g, "fail", "", NULL)};
    tombac_operation *both = NULL, *bad = NULL;
    REQUIRE(tombac_operation_all(parts, 2, &both, &require_error));
    REQUIRE(tombac_operation_all(parts, 3, &bad, &require_error));
    REQUIRE(tombac_operation_wait(both, -1, &require_error));
    assert_string_equal(tombac_buffer_contents(a), "a");
    assert_string_equal(tombac_buffer_contents(b), "b");
    tombac_error *error = NULL;
    tombac_status status = tombac_operation_wait(bad, -1, &error);
    assert_string_equal(tombac_error_kernel(error), "k");
    expect_failure(status, error, TOMBAC_ERROR_KERNEL, "it failed");
    assert_string_equal(tombac_buffer_contents(a), "a"); /* shared, so run once */
    for (int i = 0; i < 3; i++) tombac_operation_release(parts[i]);
    tombac_operation_release(both);
    tombac_operation_release(bad);
    tombac_buffer_release(a);
    tombac_buffer_release(b);
    graph_close(&g);
}

/* Two devices in one graph. */
static void test_two_devices(void **state)
{
    graph g = graph_open(), h = {0};
    REQUIRE(tombac_device_open("other", &h.device, &require_error));
    tombac_buffer *a = make_buffer(&g, 64), *b = make_buffer(&h, 64);
    tombac_operation *first = make_operation(&g, "append a 80", "w", &a);
    tombac_operation *second = make_operation(&h, "append b 0", "w", &b), *both = NULL;
    REQUIRE(tombac_operation_then(first, second, &require_error));
    REQUIRE(tombac_operation_all((tombac_operation *[]){second, first}, 2, &both, &require_error));
    REQUIRE(tombac_operation_wait(both, -1, &require_error));
    assert_string_equal(tombac_buffer_contents(a), "a");
    assert_string_equal(tombac_buffer_contents(b), "b");
    tombac_operation_release(first);
    tombac_operation_release(second);
    tombac_operation_release(both);
    tombac_buffer_release(a);
    tombac_buffer_release(b);
    graph_close(&g);
    graph_close(&h);
}

/* ---- Failures ---- */

static void test_dependents_stop(void **state)
{
    graph g = graph_open();
    tombac_buffer *a = make_buffer(&g, 64), *b = make_buffer(&g, 64), *free_one = make_buffer(&g, 64);
    tombac_launch *failing = make_launch(&g, "fail", "w", &a);
    REQUIRE(tombac_launch_set_name(failing, "first step", &require_error));
    tombac_operation *bad = operation_of(failing);
    tombac_operation *reader = make_operation(&g, "fold", "rw", (tombac_buffer *[]){a, b});
    tombac_operation *further = make_operation(&g, "append x 0", "w", &b);
    tombac_operation *apart = make_operation(&g, "append y 0", "w", &free_one);
    REQUIRE(tombac_operation_submit(bad, &require_error));
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL); /* it has failed long ago, but nobody knows */
    REQUIRE(tombac_operation_submit(reader, &require_error));
    REQUIRE(tombac_operation_submit(further, &require_error));
    REQUIRE(tombac_operation_submit(apart, &require_error));
    REQUIRE(tombac_operation_wait(apart, -1, &require_error));
    tombac_error *error = NULL;
    tombac_status status = tombac_operation_wait(further, -1, &error);
    assert_string_equal(tombac_error_file(error), "k.metal");
    expect_failure(status, error, TOMBAC_ERROR_DEPENDENCY,
        "kernel 'k' was not run, because operation 'first step' (kernel 'k') failed: it failed");
    status = tombac_operation_wait(reader, -1, &error);
    expect_failure(status, error, TOMBAC_ERROR_DEPENDENCY, "operation 'first step'");
    status = tombac_operation_wait(bad, -1, &error);
    assert_string_equal(tombac_error_operation(error), "first step");
    expect_failure(status, error, TOMBAC_ERROR_KERNEL, "it failed");
    assert_string_equal(text_of(b), ""); /* nothing ran */
    assert_string_equal(text_of(free_one), "y");
    /* Everybody knows now; device and buffers are usable. */
    tombac_operation *again = make_operation(&g, "append z 0", "w", &a);
    REQUIRE(tombac_operation_wait(again, -1, &require_error));
    assert_string_equal(text_of(a), "z");
    tombac_operation *all[] = {bad, reader, further, apart, again};
    for (int i = 0; i < 5; i++) tombac_operation_release(all[i]);
    tombac_launch_release(failing);
    tombac_buffer_release(a);
    tombac_buffer_release(b);
    tombac_buffer_release(free_one);
    graph_close(&g);
}

/* What a failed reader leaves behind is whole, so a later writer runs. */
static void test_failed_reader_stops_nobody(void **state)
{
    graph g = graph_open();
    tombac_buffer *a = make_buffer(&g, 64);
    tombac_operation *reader = make_operation(&g, "fail", "r", &a),
                     *writer = make_operation(&g, "append w 0", "w", &a);
    REQUIRE(tombac_operation_submit(reader, &require_error));
    REQUIRE(tombac_operation_wait(writer, -1, &require_error));
    assert_int_equal(tombac_operation_wait(reader, -1, NULL), TOMBAC_ERROR_KERNEL);
    tombac_operation_release(reader);
    tombac_operation_release(writer);
    tombac_buffer_release(a);
    graph_close(&g);
}

static void test_stopped_chain(void **state)
{
    graph g = graph_open();
    tombac_operation *bad = make_operation(&g, "fail", "", NULL),
                     *next = make_operation(&g, "sleep 0", "", NULL);
    tombac_operation *mapped = NULL;
    notes n = {0};
    REQUIRE(tombac_operation_then(bad, next, &require_error));
    REQUIRE(tombac_operation_map(next, look, &n, let_go, &mapped, &require_error));
    tombac_error *error = NULL;
    tombac_status status = tombac_operation_wait(mapped, -1, &error);
    expect_failure(status, error, TOMBAC_ERROR_DEPENDENCY, "because kernel 'k' failed: it failed");
    assert_int_equal(n.calls, 0);
    assert_int_equal(n.releases, 1);
    tombac_operation_release(bad);
    tombac_operation_release(next);
    tombac_operation_release(mapped);
    graph_close(&g);
}

/* ---- Results ---- */

static void test_wait_limit(void **state)
{
    graph g = graph_open();
    tombac_operation *operation = make_operation(&g, "sleep 200", "", NULL);
    tombac_error *error = NULL;
    double begin = clock_now();
    tombac_status status = tombac_operation_wait(operation, 0.05, &error);
    double waited = clock_now() - begin;
    expect_failure(status, error, TOMBAC_ERROR_TIMEOUT, "kernel 'k' has not ended after 0.05 s");
    assert_true(waited >= 0.05 && waited < 0.19);
    REQUIRE(tombac_operation_wait(operation, 60, &require_error));
    tombac_times times = tombac_operation_get_times(operation);
    assert_true(times.device_seconds >= 0.19 && times.device_seconds < 10);
    assert_true(times.queue_seconds >= 0 && times.queue_seconds < 10);
    assert_true(times.compile_seconds > 0 && times.compile_seconds < 60);
    tombac_operation_release(operation);
    graph_close(&g);
}

static void test_queue_time(void **state)
{
    graph g = graph_open();
    tombac_buffer *a = make_buffer(&g, 4);
    tombac_operation *first = make_operation(&g, "sleep 150", "w", &a),
                     *second = make_operation(&g, "sleep 0", "w", &a);
    assert_true(tombac_operation_get_times(first).device_seconds == 0);
    REQUIRE(tombac_operation_submit(first, &require_error));
    REQUIRE(tombac_operation_wait(second, -1, &require_error));
    assert_true(tombac_operation_get_times(second).queue_seconds > 0.1);
    assert_true(tombac_operation_get_times(second).device_seconds < 0.1);
    tombac_operation_release(first);
    tombac_operation_release(second);
    tombac_buffer_release(a);
    graph_close(&g);
}

typedef struct heard {
    atomic_int calls;
    tombac_status status;
    tombac_operation *operation;
} heard;

static void hear(void *context, tombac_operation *operation, tombac_status status)
{
    heard *h = context;
    h->status = status;
    h->operation = operation;
    atomic_fetch_add(&h->calls, 1);
}

static void wait_for_call(heard *h)
{
    for (int i = 0; i < 5000 && !atomic_load(&h->calls); i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    assert_int_equal(atomic_load(&h->calls), 1);
}

static void test_callbacks(void **state)
{
    graph g = graph_open();
    tombac_operation *good = make_operation(&g, "sleep 20", "", NULL),
                     *bad = make_operation(&g, "fail", "", NULL);
    tombac_operation *dropped = make_operation(&g, "sleep 0", "", NULL);
    heard a = {0}, b = {0}, c = {0}, never = {0}, late = {0};
    REQUIRE(tombac_operation_on_end(good, hear, &a, &require_error));
    REQUIRE(tombac_operation_on_end(good, hear, &c, &require_error));
    REQUIRE(tombac_operation_on_end(bad, hear, &b, &require_error));
    REQUIRE(tombac_operation_on_end(dropped, hear, &never, &require_error));
    tombac_operation_release(dropped);
    REQUIRE(tombac_operation_submit(good, &require_error));
    REQUIRE(tombac_operation_submit(bad, &require_error));
    wait_for_call(&a);
    wait_for_call(&b);
    wait_for_call(&c);
    assert_int_equal(a.status, TOMBAC_OK);
    assert_ptr_equal(a.operation, good);
    assert_int_equal(b.status, TOMBAC_ERROR_KERNEL);
    REQUIRE(tombac_operation_on_end(bad, hear, &late, &require_error)); /* at once */
    assert_int_equal(late.calls, 1);
    assert_int_equal(never.calls, 0);
    tombac_operation_release(good);
    tombac_operation_release(bad);
    graph_close(&g);
}

static void test_event(void **state)
{
    graph g = graph_open();
    tombac_operation *operation = make_operation(&g, "sleep 100", "", NULL);
    int descriptor = -1, again = -1;
    REQUIRE(tombac_operation_event(operation, &descriptor, &require_error));
    REQUIRE(tombac_operation_submit(operation, &require_error));
    struct pollfd waiting = {.fd = descriptor, .events = POLLIN};
    assert_int_equal(poll(&waiting, 1, 0), 0);
    assert_int_equal(poll(&waiting, 1, 10000), 1);
    bool ended = false;
    REQUIRE(tombac_operation_poll(operation, &ended, &require_error));
    assert_true(ended);
    REQUIRE(tombac_operation_event(operation, &again, &require_error));
    assert_int_equal(again, descriptor);
    tombac_operation_release(operation);
    tombac_operation *other = make_operation(&g, "sleep 0", "", NULL);
    REQUIRE(tombac_operation_wait(other, -1, &require_error));
    REQUIRE(tombac_operation_event(other, &descriptor, &require_error)); /* asked for after the end */
    waiting.fd = descriptor;
    assert_int_equal(poll(&waiting, 1, 0), 1);
    tombac_operation_release(other);
    graph_close(&g);
}

/* Bytes of memory that the process has in use. */
static size_t resident(void)
{
    size_t whole = 0, pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%zu %zu", &whole, &pages), 2);
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Nothing is kept of launches that have ended. */
static void test_no_growth(void **state)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    enum { LAUNCHES = 20000 };
#else
    enum { LAUNCHES = 1000000 };
#endif
    graph g = graph_open();
    tombac_buffer *buffer = make_buffer(&g, 4);
    tombac_launch *launch = make_launch(&g, "count", "w", &buffer);
    size_t before = 0, resident_before = 0;
    for (int i = 0; i < LAUNCHES; i++) {
        if (i == LAUNCHES / 10) before = mallinfo2().uordblks, resident_before = resident();
        tombac_operation *operation = NULL;
        REQUIRE(tombac_launch_operation(launch, &operation, &require_error));
        REQUIRE(tombac_operation_submit(operation, &require_error));
        if (i % 64 == 0) REQUIRE(tombac_operation_wait(operation, -1, &require_error));
        tombac_operation_release(operation);
    }
    assert_int_equal(*(const uint32_t *)text_of(buffer), LAUNCHES);
    assert_true(mallinfo2().uordblks <= before + 200000); /* some operations in flight */
    const size_t allowed = LAUNCHES < 1000000 ? (size_t)1 << 30 : (size_t)1 << 20; /* sanitizers keep freed memory */
    size_t resident_after = resident();
    if (resident_after > resident_before + allowed)
        fail_msg("%zu bytes in use after %d launches, %zu before", resident_after, (int)LAUNCHES, resident_before);
    tombac_launch_release(launch);
    tombac_buffer_release(buffer);
    graph_close(&g);
}

static void test_arguments(void **state)
{
    graph g = graph_open();
    tombac_operation *operation = make_operation(&g, "sleep 0", "", NULL), *made = NULL;
    notes n = {0};
    assert_int_equal(tombac_operation_submit(NULL, NULL), TOMBAC_ERROR_ARGUMENT);
    assert_int_equal(tombac_operation_wait(NULL, 0, NULL), TOMBAC_ERROR_ARGUMENT);
    assert_int_equal(tombac_operation_then(NULL, operation, NULL), TOMBAC_ERROR_ARGUMENT);
    assert_int_equal(tombac_operation_map(operation, NULL, &n, let_go, &made, NULL), TOMBAC_ERROR_ARGUMENT);
    assert_int_equal(tombac_operation_all(&made, 1, &made, NULL), TOMBAC_ERROR_ARGUMENT);
    assert_int_equal(tombac_operation_all(&operation, 0, &made, NULL), TOMBAC_ERROR_ARGUMENT);
    assert_int_equal(n.releases, 0);
    tombac_operation_release(operation);
    graph_close(&g);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)
    const struct CMUnitTest tests[] = {TEST(test_lazy), TEST(test_dropped_while_running),
        TEST(test_hazards_against_model), TEST(test_independent_run_together), TEST(test_many_threads),
        TEST(test_then), TEST(test_long_chain), TEST(test_map), TEST(test_continue), TEST(test_all),
        TEST(test_two_devices), TEST(test_dependents_stop), TEST(test_failed_reader_stops_nobody),
        TEST(test_stopped_chain), TEST(test_wait_limit), TEST(test_queue_time), TEST(test_callbacks),
        TEST(test_event), TEST(test_arguments), TEST(test_no_growth)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
