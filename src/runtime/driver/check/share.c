/* Who touched which byte of threadgroup memory since the last barrier: finds reads of what nothing wrote, and accesses that race.
 *
 * Two accesses of a byte by different threads race if one of them writes, not both are atomic, and nothing
 * between them makes one thread wait for the other: a threadgroup barrier, which after a write must order threadgroup memory, or, within one
 * SIMD-group, anything that its threads do together. Per byte the last write and the last reads are kept (as in Oclgrind's
 * detector), with the barrier period in which they happened; periods are numbered through all threadgroups of a launch, so that
 * cells need no clearing. Two writes by one line of the kernel are let pass: threads often store the same value. */
#include "runtime/driver/check/check.h"

#include <stdlib.h>

enum { MANY = UINT16_MAX };

typedef struct touch {
    uint32_t period; /* 0: never */
    uint32_t meeting;
    uint16_t thread; /* MANY: several */
    uint16_t simdgroup;
    bool atomic;
    const tb_check_place *place;
} touch;

struct check_cell {
    touch write, read;
};

tombac_status check_share_begin(check_run *run, tombac_error **error)
{
    size_t size = run->request->threadgroup_memory;
    if (!size) return TOMBAC_OK;
    run->cells = calloc(size, sizeof *run->cells);
    return run->cells ? TOMBAC_OK : tb_fail_memory(error);
}

void check_share_next_threadgroup(check_run *run)
{
    run->first_period = run->ordered = ++run->period;
    for (uint32_t i = 0; i < TB_MAX_THREADS_PER_THREADGROUP / TB_SIMD_WIDTH; i++) run->meetings[i] = 0;
}

/* Did `earlier` happen after period `since` began, by a thread that the running one did not wait for since? */
static bool races(const check_thread *thread, const touch *earlier, uint32_t since, bool atomic)
{
    const check_run *run = thread->run;
    if (earlier->period < since || earlier->thread == thread->shared.index) return false;
    if (earlier->atomic && atomic) return false;
    bool together = earlier->simdgroup == thread->shared.simdgroup;
    return !(together && earlier->meeting != run->meetings[thread->shared.simdgroup]);
}

static void note(check_thread *thread, check_fault *fault, const tb_check_place *place, const tb_check_place *other)
{
    if (fault->count++) return;
    fault->first = *place;
    fault->other = other ? *other : (tb_check_place){0};
    fault->thread = thread->shared.index;
}

/* Several threads that read in one period count as MANY, of no SIMD-group if they are of different ones. */
static void merge(touch *read, const touch *now)
{
    if (read->period != now->period || read->thread == now->thread) {
        *read = *now;
        return;
    }
    if (read->simdgroup == now->simdgroup && read->meeting != now->meeting) {
        *read = *now; /* the others were waited for */
        return;
    }
    read->thread = MANY;
    read->atomic &= now->atomic;
    if (read->simdgroup != now->simdgroup) read->simdgroup = MANY;
}

void tombac_check_share(
    tb_check_thread *shared, uint64_t address, uint64_t size, uint32_t access, const tb_check_place *place)
{
    check_thread *thread = (check_thread *)shared;
    check_run *run = thread->run;
    uint64_t begin = address - shared->memory_begin;
    if (!run->cells || begin >= shared->memory_size) return;
    if (size > shared->memory_size - begin) size = shared->memory_size - begin;
    bool writes = access != TB_CHECK_LOAD, reads = access != TB_CHECK_STORE, atomic = access == TB_CHECK_ATOMIC;
    touch now = {run->period, run->meetings[shared->simdgroup], (uint16_t)shared->index,
        (uint16_t)shared->simdgroup, atomic, place};
    bool fresh = false, race = false;
    const tb_check_place *other = NULL;
    for (check_cell *cell = run->cells + begin; cell < run->cells + begin + size; cell++) {
        bool known = cell->write.period >= run->first_period;
        fresh |= reads && !atomic && !known;
        bool with_write = races(thread, &cell->write, run->ordered, atomic) && (reads || cell->write.place != place);
        bool with_read = writes && races(thread, &cell->read, run->period, atomic);
        race |= with_write || with_read;
        if (with_write || with_read) other = with_write ? cell->write.place : cell->read.place;
        if (reads) merge(&cell->read, &now);
        if (writes) cell->write = now;
    }
    if (fresh) note(thread, &run->faults[TB_CHECK_FRESH_READ], place, NULL);
    if (race) note(thread, &run->faults[TB_CHECK_RACE], place, other);
}
