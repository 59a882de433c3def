/* Kernels as the check engine's compiler would write them, by hand: what the scheduler must do with waits,
 * whatever the compiler makes of them. Each is compiled to an object of its own with KERNEL defined. */
#include "artifact/check.h"

#include <stddef.h>

uint64_t tombac_check_wait(tb_check_thread *, const tb_check_site *, uint64_t, uint64_t, uint64_t, uint64_t);
void tombac_check_tick(tb_check_thread *, const tb_check_place *);
void tombac_check_touch(tb_check_thread *, uint64_t, uint64_t, uint32_t, const tb_check_place *);
void tombac_check_log_begin(tb_check_thread *, uint32_t, const char *);
void tombac_check_log_argument(tb_check_thread *, uint32_t, uint64_t);
void tombac_check_log_end(tb_check_thread *);

#define SITE(name, number, op, ty)                                                                           \
    static const tb_check_site name = {{"kernel.metal", 10 * number}, number, op, ty, 32, 2}
SITE(sum, 1, TB_CHECK_sum, TB_CHECK_u32);
SITE(latch, 2, TB_CHECK_CONVERGE, 0);
SITE(mask, 3, TB_CHECK_active_threads_mask, 0);
SITE(barrier, 4, TB_CHECK_THREADGROUP_BARRIER, 0);
SITE(other_barrier, 5, TB_CHECK_THREADGROUP_BARRIER, 0);
SITE(matrix, 6, TB_CHECK_MATRIX_MULTIPLY, TB_CHECK_f32);

static const char format[] = "%d|%5.2f|%s|%x|%c|%lu|%%|%d";
static const char word[] = "word";
static const tb_check_table tables[] = {{format, sizeof format}, {word, sizeof word}};
const tb_check_info tombac_check_info = {4096, KERNEL != 6, tables, 2};

void tombac_check_thread(const tb_dispatch *dispatch, void *const *arguments, tb_check_thread *t);

#define WAIT(site, a) tombac_check_wait(t, &site, a, 0, 0, 0)

/* Loops of lane-dependent length: in iteration i take part the lanes with more than i iterations. */
static void trips(uint32_t *out, tb_check_thread *t)
{
    uint32_t total = 0;
    for (uint32_t i = 0; i < t->lane % 4; i++) {
        total = total * 3 + (uint32_t)WAIT(sum, t->lane);
        WAIT(latch, 0);
    }
    out[t->index] = total ^ (uint32_t)WAIT(mask, 0);
}

/* Some threads return early, the others rotate values through threadgroup memory. */
static void rotate(uint32_t *out, tb_check_thread *t, uint32_t count)
{
    uint32_t *shared = t->threadgroup_memory;
    if (t->index % 5 == 4) return;
    shared[t->index] = t->index * t->index;
    WAIT(barrier, 0);
    out[t->index] = shared[(t->index / 5 * 5 + (t->index + 1) % 4) % count];
    WAIT(barrier, 0);
    shared[t->index] = 0;
}

/* The last thread releases the others, which spin: they must give up their turn. */
static void spin(uint32_t *out, tb_check_thread *t, uint32_t count)
{
    volatile uint32_t *flag = t->threadgroup_memory;
    if (t->index == count - 1) *flag = 1;
    while (!*flag) {
        if (!--t->countdown) tombac_check_tick(t, &latch.place);
    }
    out[t->index] = (uint32_t)WAIT(mask, 0);
}

static void forever(tb_check_thread *t)
{
    for (;;) {
        if (!--t->countdown) tombac_check_tick(t, &latch.place);
    }
}

static void print(tb_check_thread *t)
{
    if (t->index != 3) return;
    double value = 2.5;
    uint64_t bits;
    __builtin_memcpy(&bits, &value, 8);
    tombac_check_log_begin(t, 0, format);
    tombac_check_log_argument(t, 0, (uint64_t)-7);
    tombac_check_log_argument(t, 2, bits);
    tombac_check_log_argument(t, 3, (uint64_t)(uintptr_t)word);
    tombac_check_log_argument(t, 1, 255);
    tombac_check_log_argument(t, 0, 'z');
    tombac_check_log_argument(t, 1, 1ull << 40);
    tombac_check_log_end(t); /* the last conversion has no argument */
}

void tombac_check_thread(const tb_dispatch *dispatch, void *const *arguments, tb_check_thread *t)
{
    uint32_t *out = arguments[0];
    switch (KERNEL) {
    case 0: trips(out, t); break;
    case 1: rotate(out, t, dispatch->thread_count); break;
    case 2: /* divergent barrier */
        if (t->index & 1)
            WAIT(barrier, 0);
        else
            WAIT(other_barrier, 0);
        break;
    case 3: spin(out, t, dispatch->thread_count); break;
    case 4: forever(t); break;
    case 5: print(t); break;
    case 6: /* no waiting at all: where a thread is in the grid */
        out[dispatch->threadgroup_position_in_grid[0] * dispatch->dispatch_threads_per_threadgroup[0] +
            t->index] = dispatch->threads_per_threadgroup[0] * 1000 + t->lane * 10 + t->simdgroup;
        break;
    case 7: WAIT(matrix, 0); break; /* a partial SIMD-group */
    case 8:                         /* past the end */
        tombac_check_touch(
            t, (uint64_t)(uintptr_t)(out + 64), 4, TB_CHECK_STORE | TB_CHECK_DEVICE << 8, &sum.place);
        break;
    default: break;
    }
}
