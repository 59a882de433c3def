/* The cpu driver's pool: every item runs exactly once, whoever brings jobs, and a stopped job ends. */
#include "runtime/driver/cpu/pool.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

enum { ITEMS = 3000, CALLERS = 6, ROUNDS = 40 };

typedef struct counting {
    atomic_uint count[ITEMS];
    atomic_uint entered, left;
    uint64_t stop_at; /* the item that ends the job; ITEMS: none */
    bool slow;        /* long enough for other threads to come */
    bool refuse;      /* nobody can enter */
} counting;

static void *enter(void *context)
{
    counting *c = context;
    if (c->refuse) return NULL;
    atomic_fetch_add(&c->entered, 1);
    return c;
}

static void leave(void *context, void *worker)
{
    assert_ptr_equal(context, worker);
    atomic_fetch_add(&((counting *)context)->left, 1);
}

static bool run(void *context, void *worker, uint64_t first, uint64_t count)
{
    counting *c = context;
    for (uint64_t i = first; i < first + count; i++) {
        if (i == c->stop_at) return false;
        atomic_fetch_add(&c->count[i], 1);
        if (c->slow) nanosleep(&(struct timespec){.tv_nsec = 1000}, NULL);
    }
    return true;
}

static bool submit_paced(cpu_pool *pool, counting *c, uint64_t count, atomic_uint *pace)
{
    cpu_job job = {.count = count, .run = run, .enter = enter, .leave = leave, .context = c, .pace = pace};
    return cpu_pool_run(pool, &job);
}

static bool submit(cpu_pool *pool, counting *c, uint64_t count)
{
    return submit_paced(pool, c, count, NULL);
}

static counting *make(uint64_t stop_at, bool slow)
{
    counting *c = calloc(1, sizeof *c);
    assert_non_null(c);
    c->stop_at = stop_at;
    c->slow = slow;
    return c;
}

static void expect(counting *c, uint64_t ran, uint64_t total)
{
    for (uint64_t i = 0; i < total; i++) assert_int_equal(atomic_load(&c->count[i]), i < ran);
    assert_int_equal(atomic_load(&c->entered), atomic_load(&c->left));
    assert_true(atomic_load(&c->entered) >= 1);
    free(c);
}

static void test_sizes(void **unused)
{
    static const uint64_t sizes[] = {0, 1, 2, 7, 100, ITEMS};
    cpu_pool *pool = cpu_pool_acquire();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int slow = 0; slow < 2; slow++) {
            counting *c = make(ITEMS, slow);
            assert_true(submit(pool, c, sizes[i]));
            expect(c, sizes[i], ITEMS);
        }
    cpu_pool_release(pool);
}

/* With a pace that is unknown, right, or far from right. */
static void test_pace(void **unused)
{
    static const uint64_t sizes[] = {1, 2, 7, 100, ITEMS};
    cpu_pool *pool = cpu_pool_acquire();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (unsigned first = 0; first < 4; first++) {
            atomic_uint pace = (const unsigned[]){0, 1, 1000, 4000000000}[first];
            for (int round = 0; round < 3; round++) {
                counting *c = make(ITEMS, round == 1);
                assert_true(submit_paced(pool, c, sizes[i], &pace));
                assert_int_not_equal(atomic_load(&pace), 0);
                expect(c, sizes[i], ITEMS);
            }
        }
    cpu_pool_release(pool);
}

/* Each of two items waits for the other to begin. */
static bool meet(void *context, void *worker, uint64_t first, uint64_t count)
{
    counting *c = context;
    atomic_fetch_add(&c->count[0], 1);
    for (int i = 0; i < 10000 && atomic_load(&c->count[0]) < 2; i++) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    if (atomic_load(&c->count[0]) >= 2) atomic_fetch_add(&c->count[1], 1);
    return true;
}

/* A job that is known to be long is shared before its first item has ended. */
static void test_shared_at_once(void **unused)
{
    cpu_pool *pool = cpu_pool_acquire();
    atomic_uint pace = 1000000;
    counting *c = make(ITEMS, false);
    cpu_job job = {.count = 2, .run = meet, .enter = enter, .leave = leave, .context = c, .pace = &pace};
    assert_true(cpu_pool_run(pool, &job));
    assert_int_equal(atomic_load(&c->count[1]), 2);
    free(c);
    cpu_pool_release(pool);
}

static void test_stop(void **unused)
{
    cpu_pool *pool = cpu_pool_acquire();
    counting *c = make(0, false); /* the first item ends it at once */
    assert_true(submit(pool, c, ITEMS));
    assert_int_equal(atomic_load(&c->count[0]), 0);
    assert_int_equal(atomic_load(&c->entered), atomic_load(&c->left));
    free(c);
    c = make(ITEMS, false);
    c->refuse = true;
    assert_false(submit(pool, c, 10));
    free(c);
    cpu_pool_release(pool);
}

static void *caller(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) { /* the pool comes and goes with its users */
        cpu_pool *pool = cpu_pool_acquire();
        counting *c = make(ITEMS, i % 4 == 0);
        uint64_t size = (uint64_t)(i * 37 % 500);
        if (!submit(pool, c, size)) abort();
        expect(c, size, ITEMS);
        cpu_pool_release(pool);
    }
    return NULL;
}

static void test_callers(void **unused)
{
    pthread_t threads[CALLERS];
    for (int i = 0; i < CALLERS; i++) assert_int_equal(pthread_create(&threads[i], NULL, caller, NULL), 0);
    for (int i = 0; i < CALLERS; i++) pthread_join(threads[i], NULL);
}

int main(void)
{
    setenv("TOMBAC_THREADS", "4", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes), cmocka_unit_test(test_pace), cmocka_unit_test(test_shared_at_once), cmocka_unit_test(test_stop), cmocka_unit_test(test_callers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
