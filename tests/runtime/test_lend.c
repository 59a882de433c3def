/* A launch may run on the thread that waits for it, and nothing else may: no host function, no callback, nothing in a wait
 * with a limit, nothing on a small stack. */
#include "graph.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ROUNDS = 300 };

static uint32_t thread_number(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

/* The number of rounds in which the kernel ran on the thread that waited at most `seconds`. */
static unsigned count_here(graph *g, double seconds)
{
    tombac_buffer *buffer = make_buffer(g, 4);
    tombac_launch *launch = make_launch(g, "thread", "w", &buffer);
    const uint32_t *ran = tombac_buffer_contents(buffer);
    unsigned here = 0;
    for (int i = 0; i < ROUNDS; i++) {
        tombac_operation *operation = operation_of(launch);
        REQUIRE(tombac_operation_submit(operation, &require_error));
        REQUIRE(tombac_operation_wait(operation, seconds, &require_error));
        assert_int_not_equal(*ran, 0);
        here += *ran == thread_number();
        tombac_operation_release(operation);
    }
    tombac_launch_release(launch);
    tombac_buffer_release(buffer);
    return here;
}

/* Another thread may be faster, but not every time. */
static void test_launch(void **state)
{
    graph g = graph_open();
    assert_true(count_here(&g, -1) > 0);
    graph_close(&g);
}

static void test_limited(void **state)
{
    graph g = graph_open();
    assert_int_equal(count_here(&g, 100), 0);
    graph_close(&g);
}

static void *on_small_stack(void *unused)
{
    graph g = graph_open();
    unsigned here = count_here(&g, -1);
    graph_close(&g);
    return here == 0 ? &on_small_stack : NULL;
}

static void test_small_stack(void **state)
{
    pthread_attr_t attributes;
    pthread_t thread;
    void *good = NULL;
    pthread_attr_init(&attributes);
    assert_int_equal(pthread_attr_setstacksize(&attributes, (size_t)1 << 20), 0);
    assert_int_equal(pthread_create(&thread, &attributes, on_small_stack, NULL), 0);
    pthread_join(thread, &good);
    pthread_attr_destroy(&attributes);
    assert_non_null(good);
}

typedef struct heard {
    atomic_uint calls;
    uint32_t thread;
} heard;

static void hear(void *context, tombac_operation *operation, tombac_status status)
{
    heard *h = context;
    assert_int_equal(status, TOMBAC_OK);
    h->thread = thread_number();
    atomic_fetch_add(&h->calls, 1);
}

static void test_callback(void **state)
{
    graph g = graph_open();
    for (int i = 0; i < ROUNDS; i++) {
        heard h = {0};
        tombac_operation *operation = make_operation(&g, "sleep 0", "", NULL);
        REQUIRE(tombac_operation_on_end(operation, hear, &h, &require_error));
        REQUIRE(tombac_operation_submit(operation, &require_error));
        REQUIRE(tombac_operation_wait(operation, -1, &require_error));
        tombac_operation_release(operation);
        while (!atomic_load(&h.calls)) usleep(10);
        assert_int_not_equal(h.thread, thread_number());
    }
    graph_close(&g);
}

static tombac_status note_thread(void *context, tombac_error **error)
{
    *(uint32_t *)context = thread_number();
    return TOMBAC_OK;
}

static void test_host_function(void **state)
{
    graph g = graph_open();
    for (int i = 0; i < ROUNDS; i++) {
        uint32_t thread = 0;
        tombac_operation *first = make_operation(&g, "sleep 0", "", NULL), *map = NULL;
        REQUIRE(tombac_operation_map(first, note_thread, &thread, NULL, &map, &require_error));
        REQUIRE(tombac_operation_wait(map, -1, &require_error));
        assert_int_not_equal(thread, 0);
        assert_int_not_equal(thread, thread_number());
        tombac_operation_release(first);
        tombac_operation_release(map);
    }
    graph_close(&g);
}

/* Launches that depend on each other, against the same on the host. */
static void test_sequence(void **state)
{
    enum { LENGTH = 40 };
    graph g = graph_open();
    tombac_buffer *buffers[2] = {make_buffer(&g, 4), make_buffer(&g, 4)};
    uint32_t *in = tombac_buffer_contents(buffers[0]), *out = tombac_buffer_contents(buffers[1]), expected = 0;
    *in = 5;
    tombac_launch *launch = make_launch(&g, "fold", "rw", buffers);
    for (int round = 0; round < 20; round++) {
        tombac_sequence *sequence = NULL;
        tombac_operation *whole = NULL;
        REQUIRE(tombac_sequence_begin(g.device, &sequence, &require_error));
        for (int i = 0; i < LENGTH; i++, expected = expected * 31 + 6)
            REQUIRE(tombac_sequence_add(sequence, launch, &require_error));
        REQUIRE(tombac_sequence_end(sequence, &whole, &require_error));
        REQUIRE(tombac_operation_wait(whole, -1, &require_error));
        assert_int_equal(*out, expected);
        tombac_operation_release(whole);
    }
    tombac_launch_release(launch);
    tombac_buffer_release(buffers[0]);
    tombac_buffer_release(buffers[1]);
    graph_close(&g);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
    const struct CMUnitTest tests[] = {TEST(test_launch), TEST(test_limited), TEST(test_small_stack), TEST(test_callback),
        TEST(test_host_function), TEST(test_sequence)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
