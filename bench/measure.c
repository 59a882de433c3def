/* Measures a case. Every peer computes it once from fresh data and is checked against the strict C loop; then
 * rounds follow, in each of which every peer takes one sample, beginning with another peer each time, so that
 * all see the same weather. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const bench_peer *const bench_peers[PEER_COUNT] = {
    &bench_peer_tombac, &bench_peer_loop, &bench_peer_loop_fast, &bench_peer_opencl, &bench_peer_blas,
    &bench_peer_tombac_c};
enum { TOMBAC = 0 };

typedef struct contender {
    const bench_peer *peer;
    void *state; /* NULL: out */
    unsigned repeats;
    double samples[MAX_ROUNDS];
} contender;

typedef struct data {
    void *fresh[MAX_BUFFERS], *expected[MAX_BUFFERS];
    void *found; /* room for the largest buffer */
} data;

/* The processor time of threads that still run is not counted yet: let them come to rest first. */
static double seconds(const bench_settings *settings)
{
    struct timespec t = {.tv_nsec = 200000};
    if (settings->processor_time) nanosleep(&t, NULL);
    clock_gettime(settings->processor_time ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void free_data(data *d)
{
    for (unsigned i = 0; i < MAX_BUFFERS; i++) {
        free(d->fresh[i]);
        free(d->expected[i]);
    }
    free(d->found);
}

static bool make_data(const bench_case *c, data *d)
{
    size_t largest = 1;
    for (unsigned i = 0; i < c->buffer_count; i++) {
        size_t size = bench_buffer_size(&c->buffers[i]);
        d->fresh[i] = aligned_alloc(64, (size + 63) / 64 * 64);
        d->expected[i] = aligned_alloc(64, (size + 63) / 64 * 64);
        if (!d->fresh[i] || !d->expected[i]) return false;
        bench_fill(c, i, d->fresh[i]);
        memcpy(d->expected[i], d->fresh[i], size);
        if (size > largest) largest = size;
    }
    d->found = malloc(largest);
    if (!d->found) return false;
    bench_loop_strict(c->name)(d->expected, c->scalars);
    return true;
}

/* Says what is wrong and returns a short reason, or NULL. */
static const char *check(const bench_case *c, const contender *p, const data *d)
{
    for (unsigned i = 0; i < c->buffer_count; i++)
        if (!p->peer->write(p->state, i, d->fresh[i], bench_buffer_size(&c->buffers[i]))) return "failed";
    if (!p->peer->run(p->state)) return "failed";
    for (unsigned i = 0; i < c->buffer_count; i++) {
        const bench_buffer *b = &c->buffers[i];
        if (!b->checked) continue;
        if (!p->peer->read(p->state, i, d->found, bench_buffer_size(b))) return "failed";
        size_t first = 0, wrong = bench_count_wrong(c, i, d->found, d->expected[i], &first);
        if ((double)wrong > c->may_differ * (double)b->count) {
            fprintf(stderr, "bench: %s: %s: %zu of %zu elements of buffer %u are wrong, the first at %zu\n",
                c->name, p->peer->name, wrong, b->count, i, first);
            return "wrong result";
        }
    }
    return NULL;
}

static bool sample(contender *p, const bench_settings *settings, double *result)
{
    double begin = seconds(settings);
    for (unsigned i = 0; i < p->repeats; i++)
        if (!p->peer->run(p->state)) return false;
    *result = (seconds(settings) - begin) / p->repeats;
    return true;
}

/* So many repeats that a sample lasts long enough; runs warm up on the way. */
static bool calibrate(contender *p, const bench_settings *settings)
{
    double wanted = settings->sample_seconds;
    double once;
    p->repeats = 1;
    if (!sample(p, settings, &once) || !sample(p, settings, &once)) return false;
    if (once < wanted) p->repeats = once < wanted / 10000 ? 10000 : (unsigned)(wanted / once) + 1;
    return true;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static const char *drop(contender *p, const char *why)
{
    p->peer->close(p->state);
    p->state = NULL;
    return why;
}

static void take_rounds(contender *peers, const bench_settings *settings, bench_row *row, unsigned form)
{
    for (unsigned round = 0; round < settings->rounds; round++) {
        for (unsigned i = 0; i < PEER_COUNT; i++) {
            unsigned which = (round + i) % PEER_COUNT;
            contender *p = &peers[which];
            if (p->state && !sample(p, settings, &p->samples[round]))
                row->results[which][form].missing = drop(p, "failed");
        }
    }
    for (unsigned i = 0; i < PEER_COUNT; i++) {
        if (!peers[i].state) continue;
        qsort(peers[i].samples, settings->rounds, sizeof(double), compare);
        row->results[i][form].minimum = peers[i].samples[0];
        row->results[i][form].median = peers[i].samples[settings->rounds / 2];
    }
}

/* form 0: one thread, 1: all cores. */
static void measure_form(
    const bench_case *c, const data *d, const bench_settings *settings, bench_row *row, unsigned form)
{
    contender peers[PEER_COUNT];
    for (unsigned i = 0; i < PEER_COUNT; i++) {
        contender *p = &peers[i];
        const char **missing = &row->results[i][form].missing;
        *p = (contender){.peer = bench_peers[i]};
        if (form == 1 && !p->peer->threaded) {
            *missing = "one thread only";
            continue;
        }
        p->state = p->peer->open(c, form ? settings->cores : 1, missing);
        if (!p->state) continue;
        *missing = check(c, p, d);
        if (!*missing && !calibrate(p, settings)) *missing = "failed";
        if (*missing) drop(p, *missing);
    }
    take_rounds(peers, settings, row, form);
    for (unsigned i = 0; i < PEER_COUNT; i++)
        if (peers[i].state) drop(&peers[i], NULL);
}

bool bench_measure(const bench_case *c, const bench_settings *settings, bench_row *row)
{
    data d = {0};
    *row = (bench_row){.c = c};
    bool made = make_data(c, &d);
    if (made) {
        measure_form(c, &d, settings, row, 0);
        if (settings->cores > 1)
            measure_form(c, &d, settings, row, 1);
        else
            for (unsigned i = 0; i < PEER_COUNT; i++) row->results[i][1].missing = "one core";
        row->copies = bench_copies(c, settings);
    } else {
        fprintf(stderr, "bench: %s: out of memory\n", c->name);
    }
    free_data(&d);
    return made && !row->results[TOMBAC][0].missing &&
           (settings->cores == 1 || !row->results[TOMBAC][1].missing);
}
