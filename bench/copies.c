/* What the machine itself gains from more cores: a case computed by several independent copies of Tombac at a time, each on one
 * thread and on data of its own, against one copy alone. No way to share one run among the cores can gain more, as far as
 * the copies' data fit where the run's do; caches, memory and the clock are shared here as there.
 *
 * The time of a sample is that of the slowest copy, or the processor time of the process for each copy: a launch may run on
 * another thread than the one that waits for it. */
#include "bench.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

typedef struct copy {
    pthread_barrier_t *start;
    void *state;
    unsigned repeats;
    double seconds;
    bool failed;
} copy;

static double now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *run_copy(void *argument)
{
    copy *c = argument;
    pthread_barrier_wait(c->start);
    double begin = now(CLOCK_MONOTONIC);
    for (unsigned i = 0; i < c->repeats && !c->failed; i++) c->failed = !bench_peer_tombac.run(c->state);
    c->seconds = now(CLOCK_MONOTONIC) - begin;
    return NULL;
}

/* One sample of `count` copies at a time; 0: it failed. */
static double sample(copy *copies, unsigned count, bool processor_time)
{
    pthread_t threads[MAX_COPIES];
    pthread_barrier_t start;
    unsigned started = 0;
    double begin = now(CLOCK_PROCESS_CPUTIME_ID), slowest = 0;
    if (pthread_barrier_init(&start, NULL, count)) return 0;
    for (unsigned i = 0; i < count; i++) copies[i].start = &start;
    while (started < count && !pthread_create(&threads[started], NULL, run_copy, &copies[started])) started++;
    if (started < count) { /* the others wait at the barrier for good */
        for (unsigned i = 0; i < started; i++) {
            pthread_cancel(threads[i]);
            pthread_detach(threads[i]);
        }
        return 0;
    }
    bool failed = false;
    for (unsigned i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
        failed |= copies[i].failed;
        if (copies[i].seconds > slowest) slowest = copies[i].seconds;
    }
    pthread_barrier_destroy(&start);
    if (failed) return 0;
    return (processor_time ? (now(CLOCK_PROCESS_CPUTIME_ID) - begin) / count : slowest) / copies->repeats;
}

static double least(copy *copies, unsigned count, unsigned rounds, bool processor_time)
{
    double best = 0;
    for (unsigned i = 0; i < rounds; i++) {
        double found = sample(copies, count, processor_time);
        if (found == 0) return 0;
        if (best == 0 || found < best) best = found;
    }
    return best;
}

double bench_copies(const bench_case *c, const bench_settings *settings)
{
    copy copies[MAX_COPIES] = {0};
    unsigned count = settings->copies < MAX_COPIES ? settings->copies : MAX_COPIES, opened = 0;
    double gain = 0;
    const char *why;
    if (count < 2) return 0;
    for (; opened < count; opened++) {
        copies[opened] = (copy){.repeats = 1, .state = bench_peer_tombac.open(c, 1, &why)};
        if (!copies[opened].state) break;
        for (unsigned i = 0; i < c->buffer_count; i++) {
            size_t size = bench_buffer_size(&c->buffers[i]);
            void *data = malloc(size);
            if (data) bench_fill(c, i, data);
            if (!data || !bench_peer_tombac.write(copies[opened].state, i, data, size)) copies[opened].failed = true;
            free(data);
        }
    }
    double one = opened == count ? least(copies, 1, 2, settings->processor_time) : 0;
    if (one > 0) {
        double wanted = settings->sample_seconds / one;
        for (unsigned i = 0; i < count; i++) copies[i].repeats = wanted > 10000 ? 10000 : (unsigned)wanted + 1;
        one = least(copies, 1, settings->rounds, settings->processor_time);
        double all = one > 0 ? least(copies, count, settings->rounds, settings->processor_time) : 0;
        if (all > 0) gain = count * one / all;
    }
    for (unsigned i = 0; i < opened; i++) bench_peer_tombac.close(copies[i].state);
    return gain;
}
