/* The watch; see watch.h. One thread sleeps until the earliest deadline in the list. */
#include "runtime/driver/cpu/watch.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

struct cpu_watch {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* by the monotonic clock: an alarm was set, or the watch ends */
    cpu_alarm *alarms;
    pthread_t thread;
    bool runs, ends;
};

double cpu_watch_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Sets the words whose time has come; the earliest deadline that is left, negative: none. */
static double ring(cpu_watch *w)
{
    double now = cpu_watch_now(), earliest = -1;
    for (cpu_alarm *a = w->alarms; a; a = a->next) {
        if (atomic_load_explicit(&a->word, memory_order_relaxed)) continue;
        if (a->deadline <= now)
            atomic_store_explicit(&a->word, 1, memory_order_relaxed);
        else if (earliest < 0 || a->deadline < earliest)
            earliest = a->deadline;
    }
    return earliest;
}

static void *thread_main(void *argument)
{
    cpu_watch *w = argument;
    pthread_mutex_lock(&w->lock);
    while (!w->ends) {
        double until = ring(w);
        if (until < 0) {
            pthread_cond_wait(&w->changed, &w->lock);
            continue;
        }
        if (until > 1e9) until = 1e9; /* a timespec surely holds it; then it looks again */
        struct timespec t = {.tv_sec = (time_t)until, .tv_nsec = (long)((until - (double)(time_t)until) * 1e9)};
        pthread_cond_timedwait(&w->changed, &w->lock, &t);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

cpu_watch *cpu_watch_create(void)
{
    pthread_condattr_t attributes;
    cpu_watch *w = calloc(1, sizeof *w);
    if (!w) return NULL;
    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&w->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    return w;
}

void cpu_watch_destroy(cpu_watch *w)
{
    if (!w) return;
    pthread_mutex_lock(&w->lock);
    w->ends = true;
    pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&w->lock);
    if (w->runs) pthread_join(w->thread, NULL);
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

static bool start(cpu_watch *w)
{
    sigset_t all, before; /* signals are the program's own threads' matter */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    w->runs = !pthread_create(&w->thread, NULL, thread_main, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return w->runs;
}

bool cpu_watch_set(cpu_watch *w, cpu_alarm *alarm, double deadline)
{
    alarm->deadline = deadline;
    atomic_store_explicit(&alarm->word, 0, memory_order_relaxed);
    pthread_mutex_lock(&w->lock);
    bool runs = w->runs || start(w);
    if (runs) {
        alarm->next = w->alarms;
        w->alarms = alarm;
        pthread_cond_signal(&w->changed);
    }
    pthread_mutex_unlock(&w->lock);
    return runs;
}

void cpu_watch_clear(cpu_watch *w, cpu_alarm *alarm)
{
    pthread_mutex_lock(&w->lock);
    cpu_alarm **at = &w->alarms;
    while (*at && *at != alarm) at = &(*at)->next;
    if (*at) *at = alarm->next;
    pthread_mutex_unlock(&w->lock);
}
