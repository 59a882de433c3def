/* Many threads do everything at once with a few buffers, in random order: launches, chains, sequences, host views,
 * things that fail and things that are dropped. Whatever is refused is refused by one of the named reasons; what
 * was said to have run has run exactly once; nobody writes what the host has a view of; nothing is left over. */
#include "graph.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { THREADS = 64, BUFFERS = 6 };
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { STEPS = 60 };
#else
enum { STEPS = 300 };
#endif

/* Each buffer is a number; `counted` is how often a launch that adds 1 to it went well. */
typedef struct arena {
    graph g;
    tombac_buffer *buffers[BUFFERS];
    tombac_launch *count[BUFFERS], *read[BUFFERS], *fail[BUFFERS]; /* only to make operations of: shared, never changed */
    atomic_uint counted[BUFFERS], callbacks, submitted;
    atomic_uint views;
} arena;

typedef struct player {
    arena *arena;
    uint32_t seed;
    const char *problem;
} player;

static uint32_t draw(player *p, uint32_t limit)
{
    p->seed = p->seed * 1664525u + 1013904223u;
    return (p->seed >> 8) % limit;
}

#define PROBLEM(condition, text)                                                                             \
    do {                                                                                                     \
        if (condition) p->problem = text;                                                                    \
    } while (0)

/* What may come of anything here. */
static bool is_allowed(tombac_status status)
{
    return status == TOMBAC_OK || status == TOMBAC_ERROR_BUSY || status == TOMBAC_ERROR_DEPENDENCY || status == TOMBAC_ERROR_KERNEL;
}

static void note_count(void *context, tombac_operation *operation, tombac_status status)
{
    if (status == TOMBAC_OK) atomic_fetch_add((atomic_uint *)context, 1);
}

static void note_end(void *context, tombac_operation *operation, tombac_status status)
{
    atomic_fetch_add(&((arena *)context)->callbacks, 1);
}

/* An operation that counts, reads or fails. */
static tombac_operation *make_one(player *p)
{
    arena *a = p->arena;
    uint32_t which = draw(p, BUFFERS), kind = draw(p, 256);
    tombac_operation *made = NULL;
    tombac_launch *launch = kind < 140 ? a->count[which] : kind < 254 ? a->read[which] : a->fail[which];
    if (tombac_launch_operation(launch, &made, NULL) != TOMBAC_OK) {
        p->problem = "an operation could not be made";
        return NULL;
    }
    if (kind < 140) PROBLEM(tombac_operation_on_end(made, note_count, &a->counted[which], NULL) != TOMBAC_OK, "no callback");
    return made;
}

static void submit_and_perhaps_wait(player *p, tombac_operation *operation)
{
    tombac_status status = TOMBAC_OK;
    PROBLEM(tombac_operation_on_end(operation, note_end, p->arena, NULL) != TOMBAC_OK, "no callback");
    atomic_fetch_add(&p->arena->submitted, 1);
    status = tombac_operation_submit(operation, NULL);
    PROBLEM(!is_allowed(status), "a submission failed oddly");
    if (draw(p, 3) == 0) status = tombac_operation_wait(operation, 60, NULL);
    PROBLEM(!is_allowed(status), "an operation failed oddly");
}

static void launch(player *p)
{
    tombac_operation *operation = make_one(p);
    if (operation && draw(p, 8)) submit_and_perhaps_wait(p, operation); /* else it is dropped */
    tombac_operation_release(operation);
}

/* Two or three, one behind the other or together. */
static void compose(player *p)
{
    tombac_operation *parts[3] = {make_one(p), make_one(p), make_one(p)}, *all = NULL;
    if (parts[0] && parts[1] && parts[2]) {
        if (draw(p, 2)) PROBLEM(tombac_operation_then(parts[0], parts[1], NULL) != TOMBAC_OK, "then");
        PROBLEM(tombac_operation_all(parts, 3, &all, NULL) != TOMBAC_OK, "all");
    }
    uint32_t early = draw(p, 4);
    if (early < 3) tombac_operation_release(parts[early]);
    if (all && draw(p, 8)) submit_and_perhaps_wait(p, all);
    tombac_operation_release(all);
    for (uint32_t i = 0; i < 3; i++)
        if (i != early) tombac_operation_release(parts[i]);
}

/* Launches that count have no callback here, so sequences only read. */
static void record(player *p)
{
    arena *a = p->arena;
    tombac_sequence *sequence = NULL;
    tombac_operation *operation = NULL;
    tombac_status status = tombac_sequence_begin(a->g.device, &sequence, NULL);
    for (uint32_t i = draw(p, 8); i > 0 && status == TOMBAC_OK; i--)
        status = tombac_sequence_add(sequence, a->read[draw(p, BUFFERS)], NULL);
    PROBLEM(status != TOMBAC_OK && status != TOMBAC_ERROR_BUSY, "recording failed oddly");
    if (draw(p, 4) == 0) {
        tombac_sequence_release(sequence);
        return;
    }
    status = tombac_sequence_end(sequence, &operation, NULL);
    PROBLEM((status == TOMBAC_OK) != (operation != NULL), "a sequence without an operation");
    if (operation && draw(p, 8)) submit_and_perhaps_wait(p, operation);
    tombac_operation_release(operation);
}

static void look(player *p)
{
    arena *a = p->arena;
    uint32_t which = draw(p, BUFFERS);
    const void *seen = NULL;
    tombac_status status = tombac_buffer_begin_read(a->buffers[which], &seen, NULL);
    PROBLEM(!is_allowed(status), "a read view failed oddly");
    if (status != TOMBAC_OK) return;
    uint32_t before = *(const volatile uint32_t *)seen;
    usleep(draw(p, 50));
    PROBLEM(*(const volatile uint32_t *)seen != before, "somebody wrote under a read view");
    PROBLEM(tombac_buffer_end_read(a->buffers[which], NULL) != TOMBAC_OK, "a read view did not end");
    atomic_fetch_add(&a->views, 1);
}

static void touch(player *p)
{
    arena *a = p->arena;
    uint32_t which = draw(p, BUFFERS);
    void *mine = NULL;
    tombac_status status = tombac_buffer_begin_write(a->buffers[which], &mine, NULL);
    PROBLEM(!is_allowed(status), "a write view failed oddly");
    if (status != TOMBAC_OK) return;
    volatile uint32_t *number = mine;
    uint32_t before = *number;
    *number = before + 1000000;
    usleep(draw(p, 50));
    PROBLEM(*number != before + 1000000, "somebody wrote under a write view");
    *number = before;
    PROBLEM(tombac_buffer_end_write(a->buffers[which], NULL) != TOMBAC_OK, "a write view did not end");
    atomic_fetch_add(&a->views, 1);
}

static void *play(void *context)
{
    static void (*const moves[])(player *) = {launch, launch, launch, compose, record, look, touch};
    player *p = context;
    for (int i = 0; i < STEPS && !p->problem; i++) moves[draw(p, sizeof moves / sizeof *moves)](p);
    return NULL;
}

static void open_arena(arena *a)
{
    a->g = graph_open();
    for (int i = 0; i < BUFFERS; i++) {
        a->buffers[i] = make_buffer(&a->g, 4);
        a->count[i] = make_launch(&a->g, "count", "w", &a->buffers[i]);
        a->read[i] = make_launch(&a->g, "sleep 0", "r", &a->buffers[i]);
        a->fail[i] = make_launch(&a->g, "fail", "w", &a->buffers[i]);
    }
}

static void test_chaos(void **state)
{
    static arena a;
    static player players[THREADS];
    pthread_t threads[THREADS];
    open_arena(&a);
    for (uint32_t t = 0; t < THREADS; t++) {
        players[t] = (player){.arena = &a, .seed = 77 * t + 1};
        assert_int_equal(pthread_create(&threads[t], NULL, play, &players[t]), 0);
    }
    for (int t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        if (players[t].problem) fail_msg("thread %d: %s", t, players[t].problem);
    }
    for (int i = 0; i < BUFFERS; i++) { /* waits for what nobody waited for; an untold failure may come up first */
        void *mine = NULL;
        tombac_status status = TOMBAC_ERROR_DEPENDENCY;
        for (int tries = 0; tries < 3 && status == TOMBAC_ERROR_DEPENDENCY; tries++)
            status = tombac_buffer_begin_write(a.buffers[i], &mine, NULL);
        assert_int_equal(status, TOMBAC_OK);
        assert_int_equal(tombac_buffer_end_write(a.buffers[i], NULL), TOMBAC_OK);
    }
    for (int i = 0; i < 20000 && atomic_load(&a.callbacks) != atomic_load(&a.submitted); i++) usleep(1000);
    assert_int_equal(a.callbacks, a.submitted); /* once each */
    assert_true(a.views > 0);
    for (int i = 0; i < BUFFERS; i++) {
        for (int k = 0; k < 20000 && *(uint32_t *)tombac_buffer_contents(a.buffers[i]) != atomic_load(&a.counted[i]); k++)
            usleep(1000); /* callbacks come after the end */
        assert_int_equal(*(uint32_t *)tombac_buffer_contents(a.buffers[i]), a.counted[i]);
        assert_true(a.counted[i] > 0);
        tombac_launch_release(a.count[i]);
        tombac_launch_release(a.read[i]);
        tombac_launch_release(a.fail[i]);
        tombac_buffer_release(a.buffers[i]);
    }
    graph_close(&a.g);
}

/* ---- Waiting where one must not ---- */

typedef struct waiter {
    tombac_operation *other;
    tombac_buffer *buffer;
    tombac_status waited, viewed, polled;
    char message[256];
} waiter;

static tombac_status wait_inside(void *context, tombac_error **error)
{
    waiter *w = context;
    tombac_error *why = NULL;
    const void *seen;
    w->polled = tombac_operation_wait(w->other, 0, NULL);
    w->waited = tombac_operation_wait(w->other, -1, &why);
    snprintf(w->message, sizeof w->message, "%s", tombac_error_message(why));
    tombac_error_release(why);
    w->viewed = tombac_buffer_begin_read(w->buffer, &seen, NULL);
    return TOMBAC_OK;
}

static void test_waiting_inside(void **state)
{
    graph g = graph_open();
    tombac_buffer *buffer = make_buffer(&g, 64);
    waiter w = {.other = make_operation(&g, "append a 300", "w", &buffer), .buffer = buffer};
    tombac_operation *first = make_operation(&g, "sleep 0", "", NULL), *host = NULL;
    REQUIRE(tombac_operation_map(first, wait_inside, &w, NULL, &host, &require_error));
    REQUIRE(tombac_operation_submit(w.other, &require_error));
    REQUIRE(tombac_operation_wait(host, 30, &require_error));
    assert_int_equal(w.polled, TOMBAC_ERROR_TIMEOUT); /* looking is allowed */
    assert_int_equal(w.waited, TOMBAC_ERROR_ARGUMENT);
    assert_non_null(strstr(w.message, "a host function or callback must not wait for kernel 'k'"));
    assert_int_equal(w.viewed, TOMBAC_ERROR_ARGUMENT);
    REQUIRE(tombac_operation_wait(w.other, -1, &require_error));
    void *mine;
    REQUIRE(tombac_buffer_begin_write(buffer, &mine, &require_error)); /* the refused view is not open */
    REQUIRE(tombac_buffer_end_write(buffer, &require_error));
    tombac_error *error = NULL;
    double not_a_number = strtod("nan", NULL);
    tombac_status status = tombac_operation_wait(w.other, not_a_number, &error);
    expect_failure(status, error, TOMBAC_ERROR_ARGUMENT, "not a number");
    tombac_operation_release(host);
    tombac_operation_release(first);
    tombac_operation_release(w.other);
    tombac_buffer_release(buffer);
    graph_close(&g);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)
    const struct CMUnitTest tests[] = {TEST(test_chaos), TEST(test_waiting_inside)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
