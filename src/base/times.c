/* The stopwatch of times.h: clock_gettime for the clock, getrusage for processor time. */
#include "base/times.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>

static double seconds_of(const struct rusage *usage)
{
    return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
           1e-6 * (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec);
}

static tb_instant now(void)
{
    struct timespec clock = {0}, own = {0};
    struct rusage children = {0};
    clock_gettime(CLOCK_MONOTONIC, &clock);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own);
    getrusage(RUSAGE_CHILDREN, &children);
    return (tb_instant){.wall = (double)clock.tv_sec + 1e-9 * (double)clock.tv_nsec,
        .own = (double)own.tv_sec + 1e-9 * (double)own.tv_nsec,
        .children = seconds_of(&children)};
}

static size_t find(tb_times *times, const char *name)
{
    for (size_t i = 0; i < times->count; i++)
        if (!strcmp(times->phases[i].name, name)) return i;
    if (times->count == TB_TIMES_PHASES) return TB_TIMES_PHASES - 1;
    times->phases[times->count].name = name;
    return times->count++;
}

void tb_times_begin(tb_times *times, const char *name)
{
    if (!times) return;
    tb_instant instant = now();
    if (times->running) {
        tb_instant *spent = &times->phases[times->current].spent;
        spent->wall += instant.wall - times->begun.wall;
        spent->own += instant.own - times->begun.own;
        spent->children += instant.children - times->begun.children;
    }
    times->running = name != NULL;
    if (name) times->current = find(times, name);
    times->begun = instant;
}

void tb_times_size(tb_times *times, uint64_t size)
{
    if (times && times->running) times->phases[times->current].size += size;
}
