/* Scheduling of one threadgroup.
 *
 * SIMD-groups take turns. In its turn a SIMD-group runs each ready thread until it waits or ends; when none
 * is ready, the threads that wait at the lowest site are its active lanes: their operation is computed, they
 * are ready again. Threads at a threadgroup barrier stay there until every live thread of the threadgroup
 * waits at the same one; copies of a barrier that templates and inlining make of one line of the source are the same. When nothing can run and that does not hold, threads wait at different barriers,
 * which is reported. A thread whose countdown ended gives up its turn, so that a thread that spins on another
 * one's store does not keep that one from running.
 *
 * Kernels without sites need no waiting: their threads run one after the other on one stack. */
#include "runtime/driver/check/check.h"

#include "runtime/driver/check/operations.h"

#include <stdarg.h>
#include <string.h>
#include <time.h>

bool check_deadline_passed(const check_run *run)
{
    if (!run->deadline) return false;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9 > run->deadline;
}

/* ---- On a thread's stack ---- */

static void settle(check_thread *thread)
{
    check_unset_settle(thread);
    check_races_settle(thread);
}

static void leave(check_thread *thread)
{
    check_fiber_switch(thread->fiber, &thread->run->scheduler);
}

_Noreturn void check_stop(
    check_thread *thread, tombac_status status, const tb_check_place *place, const char *format, ...)
{
    check_run *run = thread->run;
    tb_text text = {0};
    va_list arguments;
    va_start(arguments, format);
    tb_text_vprintf(&text, format, arguments);
    va_end(arguments);
    const uint32_t *p = thread->shared.position, *g = run->dispatch.threadgroup_position_in_grid;
    if (run->status == TOMBAC_OK) {
        run->status = tb_fail(run->error, status, "%s (thread %u,%u,%u of threadgroup %u,%u,%u)",
            tb_text_string(&text), p[0], p[1], p[2], g[0], g[1], g[2]);
        if (place && place->line) tb_error_set_location(run->error, place->file, place->line, 0);
        tb_error_set_thread(run->error, p, g);
    }
    tb_text_free(&text);
    for (;;) leave(thread); /* nobody comes back */
}

static void run_thread(void *argument)
{
    check_thread *thread = argument;
    check_run *run = thread->run;
    check_fiber_arrived(&run->scheduler);
    run->code->entry(&run->dispatch, run->arguments, &thread->shared);
    settle(thread);
    thread->state = CHECK_ENDED;
    for (;;) leave(thread);
}

/* All threads in turn on one stack; they never wait. */
static void run_all(void *argument)
{
    check_run *run = argument;
    check_fiber_arrived(&run->scheduler);
    for (uint32_t i = 0; i < run->thread_count; i++) {
        run->code->entry(&run->dispatch, run->arguments, &run->threads[i].shared);
        settle(&run->threads[i]);
    }
    for (;;) check_fiber_switch(&run->stacks.fibers[0], &run->scheduler);
}

uint64_t tombac_check_wait(
    tb_check_thread *shared, const tb_check_site *site, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    check_thread *thread = (check_thread *)shared;
    settle(thread);
    thread->site = site;
    thread->operands[0] = a;
    thread->operands[1] = b;
    thread->operands[2] = c;
    thread->operands[3] = d;
    thread->state = site->operation == TB_CHECK_THREADGROUP_BARRIER ? CHECK_BARRIER : CHECK_WAITING;
    leave(thread);
    return thread->result;
}

void tombac_check_tick(tb_check_thread *shared, const tb_check_place *place)
{
    check_thread *thread = (check_thread *)shared;
    shared->countdown = CHECK_COUNTDOWN;
    settle(thread);
    if (check_deadline_passed(thread->run)) {
        check_stop(thread, TOMBAC_ERROR_TIMEOUT, place, "the kernel was stopped in a loop after %g s",
            thread->run->request->time_limit);
    }
    if (!thread->run->code->info->has_sites) return;
    thread->yielded = true;
    leave(thread);
}

/* ---- On the scheduler's stack ---- */

static uint32_t threads_in(const check_run *run, uint32_t first)
{
    uint32_t left = run->thread_count - first;
    return left < TB_SIMD_WIDTH ? left : TB_SIMD_WIDTH;
}

/* Runs every ready thread once; false where the launch failed. */
static bool run_ready(check_run *run, uint32_t first, bool *yielded)
{
    for (uint32_t i = 0; i < threads_in(run, first); i++) {
        check_thread *thread = &run->threads[first + i];
        if (thread->state != CHECK_READY) continue;
        check_fiber_switch(&run->scheduler, thread->fiber);
        if (run->status != TOMBAC_OK) return false;
        if (thread->yielded) *yielded = true;
        thread->yielded = false;
    }
    return true;
}

/* The operation of the lanes in `active`, all at `site`. */
static void meet(check_run *run, uint32_t first, const tb_check_site *site, uint32_t active)
{
    uint64_t operands[32][4], results[32];
    uint32_t count = threads_in(run, first);
    memset(operands, 0, sizeof operands);
    for (uint32_t i = 0; i < count; i++)
        memcpy(operands[i], run->threads[first + i].operands, sizeof operands[i]);
    if (!check_collective(site, active, (const uint64_t (*)[4])operands, results)) {
        const uint32_t *g = run->dispatch.threadgroup_position_in_grid;
        run->status = tb_fail(run->error, TOMBAC_ERROR_KERNEL,
            "a SIMD-group matrix operation needs all 32 threads, but only those of mask 0x%08x of SIMD-group "
            "%u take part "
            "(threadgroup %u,%u,%u)",
            active, first / TB_SIMD_WIDTH, g[0], g[1], g[2]);
        tb_error_set_location(run->error, site->place.file, site->place.line, 0);
        return;
    }
    if (site->operation != TB_CHECK_CONVERGE)
        check_races_meeting(run->races, first / TB_SIMD_WIDTH, site->operation == TB_CHECK_SIMDGROUP_BARRIER ? site->flags : 0);
    for (uint32_t i = 0; i < count; i++) {
        if (!(active >> i & 1)) continue;
        run->threads[first + i].result = results[i];
        run->threads[first + i].state = CHECK_READY;
    }
}

/* Releases the threads at the lowest site; false where none waits. */
static bool release_lowest(check_run *run, uint32_t first)
{
    const tb_check_site *lowest = NULL;
    uint32_t active = 0;
    for (uint32_t i = 0; i < threads_in(run, first); i++) {
        const check_thread *thread = &run->threads[first + i];
        if (thread->state != CHECK_WAITING) continue;
        if (!lowest || thread->site->order < lowest->order) {
            lowest = thread->site;
            active = 0;
        }
        if (thread->site->order == lowest->order) active |= UINT32_C(1) << i;
    }
    if (lowest) meet(run, first, lowest, active);
    return lowest != NULL;
}

/* One turn: until every thread of the SIMD-group ended or waits at a barrier, or one gave up its turn. True
 * where threads are left that can run in the next turn. */
static bool take_turn(check_run *run, uint32_t first)
{
    do {
        bool yielded = false;
        if (!run_ready(run, first, &yielded)) return false;
        if (yielded) return true;
    } while (release_lowest(run, first) && run->status == TOMBAC_OK);
    return false;
}

static void report_divergent_barrier(check_run *run, const check_thread *a, const check_thread *b)
{
    const uint32_t *g = run->dispatch.threadgroup_position_in_grid, *p = a->shared.position,
                   *q = b->shared.position;
    run->status = tb_fail(run->error, TOMBAC_ERROR_KERNEL,
        "divergent barrier: thread %u,%u,%u waits at the barrier of line %u, thread %u,%u,%u at that of line "
        "%u "
        "(threadgroup %u,%u,%u)",
        p[0], p[1], p[2], a->site->place.line, q[0], q[1], q[2], b->site->place.line, g[0], g[1], g[2]);
    tb_error_set_location(run->error, a->site->place.file, a->site->place.line, 0);
}

/* A barrier of a template, or of a function that is called at several places, is in the code more than once. Threads of
 * different SIMD-groups may wait at different copies: for the hardware they have all arrived. */
static bool same_barrier(const check_run *run, const check_thread *one, const check_thread *other)
{
    const tb_check_site *a = one->site, *b = other->site;
    bool together = (one - run->threads) / TB_SIMD_WIDTH == (other - run->threads) / TB_SIMD_WIDTH;
    if (a->order == b->order || together) return a->order == b->order;
    return a->place.file && b->place.file && a->place.line == b->place.line && !strcmp(a->place.file, b->place.file);
}

/* All live threads wait at barriers. True where they were released. */
static bool release_barrier(check_run *run)
{
    const check_thread *one = NULL;
    for (uint32_t i = 0; i < run->thread_count; i++) {
        const check_thread *thread = &run->threads[i];
        if (thread->state != CHECK_BARRIER) continue;
        if (one && !same_barrier(run, one, thread)) {
            report_divergent_barrier(run, one, thread);
            return false;
        }
        if (!one || i % TB_SIMD_WIDTH == 0) one = thread;
    }
    if (one) check_races_barrier(run->races, one->site->flags);
    for (uint32_t i = 0; i < run->thread_count; i++) {
        if (run->threads[i].state == CHECK_BARRIER) run->threads[i].state = CHECK_READY;
    }
    return one != NULL;
}

static void run_fibers(check_run *run)
{
    for (uint32_t i = 0; i < run->thread_count; i++) {
        check_thread *thread = &run->threads[i];
        thread->fiber = &run->stacks.fibers[i];
        check_fiber_prepare(thread->fiber, run_thread, thread);
    }
    do {
        bool again = true;
        while (again && run->status == TOMBAC_OK) {
            again = false;
            for (uint32_t first = 0; first < run->thread_count && run->status == TOMBAC_OK;
                first += TB_SIMD_WIDTH) {
                if (take_turn(run, first)) again = true;
            }
        }
    } while (run->status == TOMBAC_OK && release_barrier(run));
}

void check_schedule(check_run *run)
{
    check_fiber_adopt(&run->scheduler);
    if (run->code->info->has_sites) {
        run_fibers(run);
        return;
    }
    check_fiber *fiber = &run->stacks.fibers[0];
    for (uint32_t i = 0; i < run->thread_count; i++) run->threads[i].fiber = fiber;
    check_fiber_prepare(fiber, run_all, run);
    check_fiber_switch(&run->scheduler, fiber);
}
