/* Threads that run threadgroups.
 *
 * A job is a number of equal, independent items; the thread that brings the job works on it itself and is
 * helped by the pool's threads where that pays. Items are handed out in runs that shrink towards the end, so
 * that uneven ones even out. Any number of jobs may run at the same time. A job that is over before a few
 * microseconds have passed wakes nobody; one that is known to last longer is shared from the start.
 *
 * The pool belongs to the process: it starts with the first user and ends with the last, since threads per
 * kernel or per device would multiply. TOMBAC_THREADS limits its size; the default is one thread for each
 * processor that the process may use. */
#ifndef RT_DRIVER_CPU_POOL_H
#define RT_DRIVER_CPU_POOL_H

#include "runtime/driver/cpu/watch.h"

#include <stdatomic.h>
#include <stdint.h>

typedef struct cpu_pool cpu_pool;

/* One more user; NULL if memory is short. */
cpu_pool *cpu_pool_acquire(void);
void cpu_pool_release(cpu_pool *pool);
cpu_watch *cpu_pool_watch(cpu_pool *pool);
/* Threads that may work on a job, its owner among them. */
unsigned cpu_pool_size(const cpu_pool *pool);

typedef struct cpu_job {
    uint64_t count; /* items */
    /* Runs items first to first + count - 1; `worker` is what `enter` gave this thread. False stops the job.
     */
    bool (*run)(void *context, void *worker, uint64_t first, uint64_t count);
    /* Called once per thread that takes part, before its first item; NULL: this thread takes no part. */
    void *(*enter)(void *context);
    void (*leave)(void *context, void *worker);
    void *context;
    atomic_uint *pace; /* nanoseconds that an item took the last time, kept here by the pool; 0: not known. NULL: nobody knows */
} cpu_job;

/* Returns when all items have run or the job was stopped. False if no thread at all could enter. */
bool cpu_pool_run(cpu_pool *pool, const cpu_job *job);

#endif
