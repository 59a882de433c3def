/* Data races of one launch: two threads access the same bytes, one of them writes, not both by atomic operations, and
 * nothing orders the two accesses.
 *
 * What orders accesses:
 *   - one thread's own order;
 *   - a threadgroup barrier for the threads of a threadgroup, a SIMD-group barrier for those of a SIMD-group, in the memory that
 *     their flags name; between a read and a later write any barrier, or in a SIMD-group any of its operations, since
 *     the read has its value by then;
 *   - between threads that no barrier joins: a fence or barrier, then an atomic operation, by the first; an atomic operation,
 *     then a fence or barrier, by the second. Operations with an order carry their fence. Which atomic variable it is is not
 *     looked at, and what one thread of a SIMD-group (in device memory: of a threadgroup) does counts for all of it: that may hide a race,
 *     but never makes one up.
 *
 * Two plain writes of the same value are no race, nor is a plain write that changes nothing beside plain reads: kernels set
 * flags in this way.
 *
 * Each 4 bytes of memory have marks: the last write, and two reads since. (After Flanagan and Freund, "FastTrack", PLDI 2009, with
 * counts of barriers in the place of vector clocks.) So a race is found if it happens among the last accesses of a place, in
 * the one order in which this engine runs threads, whatever that order is. */
#ifndef RT_CHECK_RACE_H
#define RT_CHECK_RACE_H

#include "artifact/check.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct check_run check_run;
typedef struct check_thread check_thread;
typedef struct check_races check_races;

/* For a launch whose ranges are known: run->races, which stays NULL where the environment says that races are not to be looked for
 * (TOMBAC_RACES=0). A set is kept for the next launch of the kernel, if it is small. */
tombac_status check_races_open(check_run *run, tombac_error **error);
void check_races_close(check_run *run);
void check_races_destroy(check_races *races);

/* A threadgroup begins. */
void check_races_begin(check_races *races, const check_run *run);
/* All threads of the threadgroup have met at a barrier with these flags; those of one SIMD-group have at theirs, or in another
 * operation (flags 0). */
void check_races_barrier(check_races *races, uint32_t flags);
void check_races_meeting(check_races *races, uint32_t simdgroup, uint32_t flags);
/* On the thread's stack, before anybody else runs: what it wrote last is looked at. May end the launch. */
void check_races_settle(check_thread *thread);

/* What kernels call (artifact/check.h). */
void tombac_check_race(tb_check_thread *thread, uint64_t address, uint64_t size, uint32_t how, const tb_check_place *place);
void tombac_check_fence(tb_check_thread *thread);

#endif
