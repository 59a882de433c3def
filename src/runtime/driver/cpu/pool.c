/* The pool of threads; see pool.h. Jobs with items left stand in a list; idle threads look at a counter of jobs for some
 * microseconds, then sleep on a condition variable. Items are taken by an atomic counter without the lock.
 *
 * Waking a thread takes tens of microseconds, as long as a small job. So a job is shown to others at once only if it
 * is known to last (its pace, from the last time), and after ALONE_NANOSECONDS if it is not known. */
#include "runtime/driver/cpu/pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

enum { MAX_THREADS = 1024, ALONE_NANOSECONDS = 10000, CHUNK_NANOSECONDS = 2000, SPINS = 1500 };

typedef struct running {
    const cpu_job *job;
    _Alignas(64) atomic_uint_least64_t next; /* first item that nobody has taken */
    _Alignas(64) atomic_bool stopped;
    unsigned threads;    /* who may share */
    atomic_uint helpers; /* pool threads inside; changed under the lock */
    struct running *following;
} running;

struct cpu_pool {
    pthread_mutex_t lock;
    pthread_cond_t work, finished; /* a job was added or the pool ends; a helper left a job */
    running *jobs;
    cpu_watch *watch;
    atomic_uint published; /* jobs so far, and 1 for the end; changed under the lock */
    bool ends;
    unsigned users, thread_count, sleeping;
    pthread_t threads[];
};

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static cpu_pool *the_pool; /* under pool_lock */

/* ---- Working ---- */

/* An eighth of a fair share of what is left, at least one. */
static uint64_t take(running *r, uint64_t *first)
{
    uint64_t next = atomic_load_explicit(&r->next, memory_order_relaxed), some;
    do {
        if (next >= r->job->count) return 0;
        some = (r->job->count - next) / (8 * (uint64_t)r->threads);
        if (!some) some = 1;
    } while (!atomic_compare_exchange_weak_explicit(
        &r->next, &next, next + some, memory_order_relaxed, memory_order_relaxed));
    *first = next;
    return some;
}

/* Returns how many items. */
static uint64_t work(running *r, void *worker)
{
    uint64_t first, count, all = 0;
    while (!atomic_load_explicit(&r->stopped, memory_order_relaxed) && (count = take(r, &first))) {
        if (!r->job->run(r->job->context, worker, first, count)) atomic_store(&r->stopped, true);
        all += count;
    }
    return all;
}

static bool has_items(running *r)
{
    return !atomic_load_explicit(&r->stopped, memory_order_relaxed) &&
           atomic_load_explicit(&r->next, memory_order_relaxed) < r->job->count;
}

static void pause_briefly(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

static void help(cpu_pool *pool, running *r)
{
    atomic_fetch_add_explicit(&r->helpers, 1, memory_order_relaxed);
    pthread_mutex_unlock(&pool->lock);
    void *worker = r->job->enter(r->job->context);
    if (worker) {
        work(r, worker);
        r->job->leave(r->job->context, worker);
    }
    pthread_mutex_lock(&pool->lock);
    if (atomic_fetch_sub_explicit(&r->helpers, 1, memory_order_release) == 1)
        pthread_cond_broadcast(&pool->finished); /* `r` may be gone */
    if (!worker) pthread_cond_wait(&pool->work, &pool->lock); /* short of memory: do not spin */
}

/* Until there is a new job, for a while. Called and left with the lock held; there was no job when it was taken. */
static void spin(cpu_pool *pool)
{
    unsigned seen = atomic_load_explicit(&pool->published, memory_order_relaxed);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < SPINS && atomic_load_explicit(&pool->published, memory_order_relaxed) == seen; i++)
        pause_briefly();
    pthread_mutex_lock(&pool->lock);
}

static running *find_job(cpu_pool *pool)
{
    running *r = pool->jobs;
    while (r && !has_items(r)) r = r->following;
    return r;
}

static void *thread_main(void *argument)
{
    cpu_pool *pool = argument;
    pthread_mutex_lock(&pool->lock);
    while (!pool->ends) {
        running *r = find_job(pool);
        if (r) {
            help(pool, r);
            if (!find_job(pool) && !pool->ends) spin(pool);
            continue;
        }
        pool->sleeping++;
        pthread_cond_wait(&pool->work, &pool->lock);
        pool->sleeping--;
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* ---- Jobs ---- */

static uint64_t nanoseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Few items at a time for a short while, as long as nobody else would have been of use. Returns how many. */
static uint64_t work_alone(running *r, void *worker, uint64_t pace, uint64_t begin)
{
    uint64_t chunk = pace && pace < CHUNK_NANOSECONDS ? CHUNK_NANOSECONDS / pace : 1, all = 0;
    while (has_items(r) && nanoseconds() - begin < ALONE_NANOSECONDS) {
        uint64_t count = r->job->count - all < chunk ? r->job->count - all : chunk;
        atomic_store_explicit(&r->next, all + count, memory_order_relaxed);
        if (!r->job->run(r->job->context, worker, all, count)) atomic_store(&r->stopped, true);
        all += count;
    }
    return all;
}

/* Of the job as a whole on one thread. */
static bool is_long(const cpu_job *job, uint64_t pace)
{
    return job->count > 1 && pace && job->count > ALONE_NANOSECONDS / pace;
}

static void note_pace(const cpu_job *job, uint64_t items, uint64_t duration)
{
    if (!job->pace || !items) return;
    uint64_t pace = duration / items;
    atomic_store_explicit(job->pace, pace < 1 ? 1 : pace > UINT32_MAX ? UINT32_MAX : (unsigned)pace, memory_order_relaxed);
}

static void publish(cpu_pool *pool, running *r)
{
    pthread_mutex_lock(&pool->lock);
    running **end = &pool->jobs;
    while (*end) end = &(*end)->following;
    *end = r;
    atomic_fetch_add_explicit(&pool->published, 1, memory_order_relaxed);
    uint64_t left = r->job->count - atomic_load_explicit(&r->next, memory_order_relaxed);
    if (left > pool->sleeping)
        pthread_cond_broadcast(&pool->work);
    else
        for (uint64_t i = 1; i < left; i++) pthread_cond_signal(&pool->work); /* this thread takes one */
    pthread_mutex_unlock(&pool->lock);
}

static void withdraw(cpu_pool *pool, running *r)
{
    pthread_mutex_lock(&pool->lock);
    running **at = &pool->jobs;
    while (*at != r) at = &(*at)->following;
    *at = r->following;
    pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < SPINS && atomic_load_explicit(&r->helpers, memory_order_acquire); i++) pause_briefly();
    pthread_mutex_lock(&pool->lock); /* who left last must have let go of it */
    while (atomic_load_explicit(&r->helpers, memory_order_relaxed)) pthread_cond_wait(&pool->finished, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

static void share(cpu_pool *pool, running *r, void *worker)
{
    uint64_t pace = r->job->pace ? atomic_load_explicit(r->job->pace, memory_order_relaxed) : 0;
    uint64_t begin = nanoseconds(), items = is_long(r->job, pace) ? 0 : work_alone(r, worker, pace, begin);
    bool published = has_items(r);
    if (published) {
        publish(pool, r);
        items += work(r, worker);
    }
    note_pace(r->job, items, nanoseconds() - begin);
    if (published) withdraw(pool, r);
}

bool cpu_pool_run(cpu_pool *pool, const cpu_job *job)
{
    running r = {.job = job, .threads = pool->thread_count + 1};
    void *worker = job->enter(job->context);
    if (!worker) return false;
    if (pool->thread_count)
        share(pool, &r, worker);
    else
        work(&r, worker);
    job->leave(job->context, worker);
    return true;
}

/* ---- The pool ---- */

static unsigned wanted_threads(void)
{
    const char *given = getenv("TOMBAC_THREADS");
    char *end;
    unsigned long number = given ? strtoul(given, &end, 10) : 0;
    if (number >= 1) return number > MAX_THREADS ? MAX_THREADS : (unsigned)number;
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set)) return 1;
    int count = CPU_COUNT(&set);
    return count < 1 ? 1 : (unsigned)count;
}

static cpu_pool *create(void)
{
    unsigned others = wanted_threads() - 1; /* the caller is one */
    cpu_pool *pool = calloc(1, sizeof *pool + others * sizeof *pool->threads);
    if (!pool) return NULL;
    pool->watch = cpu_watch_create();
    if (!pool->watch) {
        free(pool);
        return NULL;
    }
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->finished, NULL);
    sigset_t all, before; /* signals are the program's own threads' matter */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(
        &attributes, (size_t)64 << 20); /* private arrays of 32 threads; untouched pages cost nothing */
    while (pool->thread_count < others &&
           !pthread_create(&pool->threads[pool->thread_count], &attributes, thread_main, pool))
        pool->thread_count++; /* fewer threads than wanted are fine */
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return pool;
}

static void destroy(cpu_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->ends = true;
    atomic_fetch_add_explicit(&pool->published, 1, memory_order_relaxed);
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 0; i < pool->thread_count; i++) pthread_join(pool->threads[i], NULL);
    cpu_watch_destroy(pool->watch);
    pthread_cond_destroy(&pool->finished);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

cpu_pool *cpu_pool_acquire(void)
{
    pthread_mutex_lock(&pool_lock);
    if (!the_pool) the_pool = create();
    if (the_pool) the_pool->users++;
    cpu_pool *pool = the_pool;
    pthread_mutex_unlock(&pool_lock);
    return pool;
}

cpu_watch *cpu_pool_watch(cpu_pool *pool)
{
    return pool->watch;
}

unsigned cpu_pool_size(const cpu_pool *pool)
{
    return pool->thread_count + 1;
}

void cpu_pool_release(cpu_pool *pool)
{
    if (!pool) return;
    pthread_mutex_lock(&pool_lock);
    bool last = !--pool->users;
    if (last) the_pool = NULL;
    pthread_mutex_unlock(&pool_lock);
    if (last) destroy(pool);
}
