/* Threads that wait for each other, on the host.
 *
 *     tombac_run_threads(n, 1, 1, 256, 1, 1, sum, x, &total, n);
 *
 * calls sum(x, &total, n) once for each thread of a grid of n threads in threadgroups of 256. Each thread of
 * the running threadgroup has a context and a stack of its own; it runs until it ends or waits at a barrier
 * or at a function of its SIMD-group. No two run at the same time, so a run is the same each time, under a
 * debugger too.
 *
 * Who takes part in a SIMD-group function: when every thread of the SIMD-group ended or waits, those that
 * wait at the place that comes first in the text of their function meet. That is what devices do in code that
 * the SIMD-group runs together, and in branches of it. Two things cannot be seen from outside of a function:
 * threads that wait in different functions, or (without optimisation) on different ways to the same place,
 * are reported; threads that reach a place in different rounds of a loop meet there, which on a device they
 * do not. A thread that spins until another one stores something spins for ever.
 *
 * A threadgroup's barrier opens when every thread that has not ended waits at it. Waiting at two is reported.
 * Reports go to standard error and end the program, as assert does.
 *
 * gcc passes the call as a nested function that needs nothing of its surroundings, clang as a block
 * (-fblocks). Memory checkers are told of the stacks: AddressSanitizer, ThreadSanitizer, and valgrind where
 * its header is installed. */
#ifndef TOMBAC_KERNEL_HOST_THREADS_H
#define TOMBAC_KERNEL_HOST_THREADS_H

#include <stdarg.h>
#include <sys/mman.h>
#include <ucontext.h>

#if defined(__has_include) && !defined(__cppcheck__) /* which reads a division here */
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#endif
#endif
#ifndef VALGRIND_STACK_REGISTER
#define VALGRIND_STACK_REGISTER(first, last) 0u
#define VALGRIND_STACK_DEREGISTER(id) ((void)(id))
#endif

/* ---- Places, threads, the run ---- */

typedef struct tombac_host_site {
    const char *file, *function, *what;
    unsigned line, order; /* order: as in the text */
} tombac_host_site;

/* What a thread brings to a SIMD-group function, and takes away: up to two values of up to 32 bytes and two
 * numbers. */
typedef struct tombac_host_operation {
    int code, kind, count, width; /* kind and number of a value's elements; width 32 or 4 */
    uint amount, modulo;
    unsigned char value[32], filling[32];
} tombac_host_operation;

typedef enum tombac_host_state {
    TOMBAC_HOST_READY,
    TOMBAC_HOST_MEETS,
    TOMBAC_HOST_BARRIER,
    TOMBAC_HOST_ENDED
} tombac_host_state;

typedef struct tombac_host_thread {
    ucontext_t context;
    tombac_host_state state;
    uint inside[3];
    const tombac_host_site *site;
    const void *from, *caller; /* the way to the site: addresses of the calls, how deep in the stack */
    size_t depth;
    tombac_host_operation operation;
    char *stack; /* above it a page that nobody may touch */
    unsigned valgrind;
    void *sanitizer;
} tombac_host_thread;

#ifdef __clang__
#if !__has_extension(blocks)
#define tombac_run_threads(...) _Static_assert(0, "tombac_run_threads needs -fblocks with clang")
typedef void (*tombac_host_body)(void *);
#else
/* Blocks that capture nothing need one name of the blocks' run-time library, unless that is linked. */
__asm__(".pushsection .data\n.weak _NSConcreteGlobalBlock\n.balign 8\n_NSConcreteGlobalBlock: .zero "
        "256\n.popsection");
typedef void (^tombac_host_body)(void *);
#endif
#else
typedef void (*tombac_host_body)(void *);
#endif

enum { TOMBAC_HOST_STACK = 256 * 1024, TOMBAC_HOST_PAGE = 4096, TOMBAC_HOST_MOST = 1024 };

static struct {
    tombac_host_thread *threads, *now; /* now: the running one, NULL outside of tombac_run_threads */
    uint count;                        /* of the running threadgroup */
    char *stacks;
    ucontext_t scheduler;
    const void *bottom; /* of the scheduler's stack, for AddressSanitizer */
    size_t size;
    void *sanitizer;
    tombac_host_body body;
    void *arguments;
} tombac_hosted __attribute__((unused));

__attribute__((noreturn, unused, format(printf, 2, 3))) static void tombac_host_fail(
    const tombac_host_site *site, const char *format, ...)
{
    va_list list;
    fflush(stdout);
    if (site) fprintf(stderr, "%s:%u: ", site->file, site->line);
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
    abort();
}

/* ---- Switching, as the sanitizers want to know of it ---- */

#if defined(__SANITIZE_ADDRESS__)
#define TOMBAC_HOST_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TOMBAC_HOST_ASAN
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define TOMBAC_HOST_TSAN
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TOMBAC_HOST_TSAN
#endif
#endif
#ifdef TOMBAC_HOST_ASAN
void __sanitizer_start_switch_fiber(void **, const void *, size_t);
void __sanitizer_finish_switch_fiber(void *, const void **, size_t *);
#define TOMBAC_HOST_START(save, to, size) __sanitizer_start_switch_fiber((save), (to), (size))
#define TOMBAC_HOST_ARRIVE(saved, from, size) __sanitizer_finish_switch_fiber((saved), (from), (size))
#else
#define TOMBAC_HOST_START(save, to, size) ((void)0)
#define TOMBAC_HOST_ARRIVE(saved, from, size) ((void)0)
#endif
#ifdef TOMBAC_HOST_TSAN
void *__tsan_get_current_fiber(void);
void *__tsan_create_fiber(unsigned);
void __tsan_destroy_fiber(void *);
void __tsan_switch_to_fiber(void *, unsigned);
#else
#define __tsan_get_current_fiber() NULL
#define __tsan_create_fiber(flags) NULL
#define __tsan_destroy_fiber(fiber) ((void)(fiber))
#define __tsan_switch_to_fiber(fiber, flags) ((void)(fiber))
#endif

/* From a thread to the scheduler; the thread ends, or goes on here when it may run again. */
TOMBAC_HOST_FN void tombac_host_leave(tombac_host_thread *thread)
{
    void *fake = NULL;
    (void)fake;
    TOMBAC_HOST_START(
        thread->state == TOMBAC_HOST_ENDED ? NULL : &fake, tombac_hosted.bottom, tombac_hosted.size);
    __tsan_switch_to_fiber(tombac_hosted.sanitizer, 0);
    swapcontext(&thread->context, &tombac_hosted.scheduler);
    TOMBAC_HOST_ARRIVE(fake, &tombac_hosted.bottom, &tombac_hosted.size);
}

TOMBAC_HOST_FN void tombac_host_begin(void)
{
    TOMBAC_HOST_ARRIVE(NULL, &tombac_hosted.bottom, &tombac_hosted.size);
    tombac_hosted.body(tombac_hosted.arguments);
    tombac_hosted.now->state = TOMBAC_HOST_ENDED;
    tombac_host_leave(tombac_hosted.now);
}

/* Runs a thread until it waits or ends. */
TOMBAC_HOST_FN void tombac_host_enter(tombac_host_thread *thread)
{
    void *fake = NULL;
    (void)fake;
    memcpy(tombac_host.inside, thread->inside, sizeof thread->inside);
    tombac_hosted.now = thread;
    TOMBAC_HOST_START(&fake, thread->stack, TOMBAC_HOST_STACK);
    __tsan_switch_to_fiber(thread->sanitizer, 0);
    swapcontext(&tombac_hosted.scheduler, &thread->context);
    TOMBAC_HOST_ARRIVE(fake, NULL, NULL);
    tombac_hosted.now = NULL;
}

/* The running thread waits at a site; `operation` is its own until it goes on. */
__attribute__((noinline, unused)) static tombac_host_operation *tombac_host_wait(const tombac_host_site *site,
    const void *caller, tombac_host_state state, const tombac_host_operation *operation)
{
    tombac_host_thread *thread = tombac_hosted.now;
    if (!thread)
        tombac_host_fail(
            site, "%s: threads wait for each other here, for which tombac_run_threads is needed", site->what);
    thread->site = site;
    thread->state = state;
    thread->from = __builtin_return_address(0);
    thread->caller = caller;
    thread->depth = (size_t)(thread->stack + TOMBAC_HOST_STACK - (char *)__builtin_frame_address(0));
    if (operation) thread->operation = *operation;
    tombac_host_leave(thread);
    return &thread->operation;
}

/* ---- Scheduling a threadgroup ---- */

static void tombac_host_meet(tombac_host_thread *lanes, uint count, uint active); /* host_group.h */

#define TOMBAC_HOST_AT(t) (t)->inside[0], (t)->inside[1], (t)->inside[2]

/* Both wait at functions of their SIMD-group: is it known which place comes first? */
TOMBAC_HOST_FN void tombac_host_compare(const tombac_host_thread *a, const tombac_host_thread *b)
{
    if (strcmp(a->site->function, b->site->function) != 0)
        tombac_host_fail(a->site,
            "thread %u,%u,%u waits at %s, thread %u,%u,%u of its SIMD-group in another function at %s (line "
            "%u): which of "
            "them comes first is not known on the host",
            TOMBAC_HOST_AT(a), a->site->what, TOMBAC_HOST_AT(b), b->site->what, b->site->line);
#ifndef __OPTIMIZE__
    if (a->site == b->site && (a->from != b->from || a->caller != b->caller || a->depth != b->depth))
        tombac_host_fail(a->site,
            "threads %u,%u,%u and %u,%u,%u of a SIMD-group came to %s on different ways: whether they meet "
            "is not known on "
            "the host",
            TOMBAC_HOST_AT(a), TOMBAC_HOST_AT(b), a->site->what);
#endif
}

/* Those of a SIMD-group that wait at its first place meet; false where none waits. */
TOMBAC_HOST_FN bool tombac_host_release(tombac_host_thread *lanes, uint count)
{
    const tombac_host_thread *first = NULL;
    uint active = 0;
    for (uint i = 0; i < count; i++) {
        if (lanes[i].state != TOMBAC_HOST_MEETS) continue;
        if (first) tombac_host_compare(first, &lanes[i]);
        if (!first || lanes[i].site->order < first->site->order) {
            first = &lanes[i];
            active = 0;
        }
        if (lanes[i].site == first->site) active |= 1u << i;
    }
    if (active) tombac_host_meet(lanes, count, active);
    for (uint i = 0; i < count; i++)
        if (active >> i & 1) lanes[i].state = TOMBAC_HOST_READY;
    return active != 0;
}

TOMBAC_HOST_FN void tombac_host_run_simdgroup(tombac_host_thread *lanes, uint count)
{
    do {
        for (uint i = 0; i < count; i++)
            if (lanes[i].state == TOMBAC_HOST_READY) tombac_host_enter(&lanes[i]);
    } while (tombac_host_release(lanes, count));
}

/* All threads ended or wait at barriers: false where all ended. */
TOMBAC_HOST_FN bool tombac_host_open_barrier(void)
{
    const tombac_host_thread *first = NULL;
    for (uint i = 0; i < tombac_hosted.count; i++) {
        tombac_host_thread *t = &tombac_hosted.threads[i];
        if (t->state == TOMBAC_HOST_ENDED) continue;
        if (!first) first = t;
        if (t->site != first->site)
            tombac_host_fail(first->site,
                "divergent barrier: thread %u,%u,%u waits at the barrier of line %u, thread %u,%u,%u at that "
                "of line %u",
                TOMBAC_HOST_AT(first), first->site->line, TOMBAC_HOST_AT(t), t->site->line);
        t->state = TOMBAC_HOST_READY;
    }
    return first != NULL;
}

__attribute__((noinline, unused)) static void tombac_host_prepare(tombac_host_thread *t)
{
    t->state = TOMBAC_HOST_READY;
    getcontext(&t->context);
    t->context.uc_stack.ss_sp = t->stack;
    t->context.uc_stack.ss_size = TOMBAC_HOST_STACK;
    t->context.uc_link = NULL;
    makecontext(&t->context, tombac_host_begin, 0);
}

TOMBAC_HOST_FN void tombac_host_run_group(void)
{
    uint x = tombac_host_size(0), y = tombac_host_size(1);
    tombac_hosted.count = tombac_host_threads();
    for (uint i = 0; i < tombac_hosted.count; i++) {
        tombac_host_thread *t = &tombac_hosted.threads[i];
        uint inside[3] = {i % x, i / x % y, i / x / y};
        memcpy(t->inside, inside, sizeof inside);
        __tsan_destroy_fiber(t->sanitizer);
        t->sanitizer = __tsan_create_fiber(0);
        tombac_host_prepare(t);
    }
    do
        for (uint i = 0; i < tombac_hosted.count; i += 32)
            tombac_host_run_simdgroup(
                &tombac_hosted.threads[i], tombac_hosted.count - i < 32 ? tombac_hosted.count - i : 32);
    while (tombac_host_open_barrier());
}

/* ---- A grid ---- */

TOMBAC_HOST_FN void tombac_host_run(
    size_t gx, size_t gy, size_t gz, size_t tx, size_t ty, size_t tz, tombac_host_body body, void *arguments)
{
    const size_t room = TOMBAC_HOST_STACK + TOMBAC_HOST_PAGE;
    size_t most = tx * ty * tz;
    if (tombac_hosted.now) tombac_host_fail(NULL, "tombac_run_threads was called in a kernel");
    if (!most || tx > TOMBAC_HOST_MOST || ty > TOMBAC_HOST_MOST || tz > TOMBAC_HOST_MOST ||
        most > TOMBAC_HOST_MOST)
        tombac_host_fail(NULL, "tombac_run_threads: a threadgroup has 1 to 1024 threads");
    tombac_host_start(gx, gy, gz, tx, ty, tz);
    tombac_hosted.body = body;
    tombac_hosted.arguments = arguments;
    tombac_hosted.sanitizer = __tsan_get_current_fiber();
    tombac_hosted.threads = (tombac_host_thread *)calloc(most, sizeof *tombac_hosted.threads);
    tombac_hosted.stacks = (char *)mmap(
        NULL, most * room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!tombac_hosted.threads || (void *)tombac_hosted.stacks == MAP_FAILED)
        tombac_host_fail(NULL, "tombac_run_threads: out of memory");
    for (size_t i = 0; i < most; i++) { /* stacks grow down, into the page below */
        tombac_host_thread *t = &tombac_hosted.threads[i];
        mprotect(tombac_hosted.stacks + i * room, TOMBAC_HOST_PAGE, PROT_NONE);
        t->stack = tombac_hosted.stacks + i * room + TOMBAC_HOST_PAGE;
        t->valgrind = VALGRIND_STACK_REGISTER(t->stack, t->stack + TOMBAC_HOST_STACK);
        t->sanitizer = __tsan_create_fiber(0);
    }
    uint *g = tombac_host.group;
    for (g[2] = 0; g[2] < tombac_host_groups(2); g[2]++)
        for (g[1] = 0; g[1] < tombac_host_groups(1); g[1]++)
            for (g[0] = 0; g[0] < tombac_host_groups(0); g[0]++) tombac_host_run_group();
    for (size_t i = 0; i < most; i++) {
        VALGRIND_STACK_DEREGISTER(tombac_hosted.threads[i].valgrind);
        __tsan_destroy_fiber(tombac_hosted.threads[i].sanitizer);
    }
    munmap(tombac_hosted.stacks, most * room);
    free(tombac_hosted.threads);
    tombac_hosted.threads = NULL;
}

/* ---- The call: arguments are evaluated once and kept in a structure ---- */
#ifndef tombac_run_threads
#define tombac_run_threads(gx, gy, gz, tx, ty, tz, KERNEL, ...)                                              \
    __extension__({                                                                                          \
        TOMBAC_HOST_EACH(TOMBAC_HOST_KEEP __VA_OPT__(, ) __VA_ARGS__)                                        \
        struct tombac_host_kept {                                                                            \
            TOMBAC_HOST_EACH(TOMBAC_HOST_MEMBER __VA_OPT__(, ) __VA_ARGS__)                                  \
            char tombac_none;                                                                                \
        } tombac_kept = {TOMBAC_HOST_EACH(TOMBAC_HOST_INITIAL __VA_OPT__(, ) __VA_ARGS__) 0};                \
        TOMBAC_HOST_BODY(KERNEL __VA_OPT__(, ) __VA_ARGS__)                                                  \
        tombac_host_run((gx), (gy), (gz), (tx), (ty), (tz), tombac_body, &tombac_kept);                      \
    })
#endif
#define TOMBAC_HOST_KEEP(N, x) __auto_type tombac_argument##N = (x);
#define TOMBAC_HOST_MEMBER(N, x) __typeof__(tombac_argument##N) tombac_member##N;
#define TOMBAC_HOST_INITIAL(N, x) .tombac_member##N = tombac_argument##N,
#define TOMBAC_HOST_PASS(N, x) , tombac_all->tombac_member##N
#ifdef __clang__
#define TOMBAC_HOST_BODY(KERNEL, ...)                                                                        \
    tombac_host_body tombac_body = ^(void *tombac_pointer) {                                                 \
      struct tombac_host_kept *tombac_all = (struct tombac_host_kept *)tombac_pointer;                       \
      (void)tombac_all;                                                                                      \
      TOMBAC_HOST_INVOKE(KERNEL, 0 TOMBAC_HOST_EACH(TOMBAC_HOST_PASS __VA_OPT__(, ) __VA_ARGS__));           \
    };
#else
#define TOMBAC_HOST_BODY(KERNEL, ...)                                                                        \
    void tombac_body(void *tombac_pointer)                                                                   \
    {                                                                                                        \
        struct tombac_host_kept *tombac_all = (struct tombac_host_kept *)tombac_pointer;                     \
        (void)tombac_all;                                                                                    \
        TOMBAC_HOST_INVOKE(KERNEL, 0 TOMBAC_HOST_EACH(TOMBAC_HOST_PASS __VA_OPT__(, ) __VA_ARGS__));         \
    }
#endif
#define TOMBAC_HOST_INVOKE(...) TOMBAC_HOST_INVOKE_(__VA_ARGS__)
#define TOMBAC_HOST_INVOKE_(KERNEL, NONE, ...) KERNEL(__VA_ARGS__)
/* M(number, argument) for up to 30 arguments. */
#define TOMBAC_HOST_EACH(M, ...) __VA_OPT__(TOMBAC_HOST_EACH_(M, __VA_ARGS__))
#define TOMBAC_HOST_EACH_(M, ...)                                                                            \
    TOMBAC_HOST_COUNTED(TOMBAC_HOST_COUNT(__VA_ARGS__, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18,   \
                            17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1),                      \
        M, __VA_ARGS__)
#define TOMBAC_HOST_COUNT(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17,    \
    a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, N, ...)                                      \
    N
#define TOMBAC_HOST_COUNTED(N, ...) TOMBAC_HOST_COUNTED_(N, __VA_ARGS__)
#define TOMBAC_HOST_COUNTED_(N, ...) TOMBAC_HOST_EACH_##N(__VA_ARGS__)
#define TOMBAC_HOST_EACH_1(M, x) M(1, x)
#define TOMBAC_HOST_EACH_2(M, x, ...) M(2, x) TOMBAC_HOST_EACH_1(M, __VA_ARGS__)
#define TOMBAC_HOST_EACH_3(M, x, ...) M(3, x) TOMBAC_HOST_EACH_2(M, __VA_ARGS__)
#define TOMBAC_HOST_EACH_4(M, x, ...) M(4, x) TOMBAC_HOST_EACH_3(M, __VA_ARGS__)
#define TOMBAC_HOST_EACH_5(M, x, ...) M(5, x) TOMBAC_HOST_EACH_4(M, __VA_ARGS__)
#define TOMBAC_HOST_EACH_6(M, x, ...) M(6, x) TOMBAC_HOST_EACH_5(M, __VA_ARGS__)
#define TOMBAC_HOST_EACH_7(M, x, ...) M(7, x) TOMBAC_HOST_EACH_6(M, __VA_ARGS__)
#define TOMBAC_HOST_EACH_8(M, x, ...) M(8, x) TOMBAC_HOST_EACH_7(M, __VA_ARGS__)
#define TOMBAC_HOST_EACH_9(M, x, ...) M(9, x) TOMBAC_HOST_EACH_8(M, __VA_ARGS__)
#define TOMBAC_HOST_EACH_10(M, x, ...) M(10, x) TOMBAC_HOST_EACH_9(M, __VA_ARGS__)
#define TOMBAC_HOST_EACH_11(M, x, ...) M(11, x) TOMBAC_HOST_EACH_10(M, __VA_ARGS__)
#define TOMBAC_HOST_EACH_12(M, x, ...) M(12, x) TOMBAC_HOST_EACH_11(M, __VA_ARGS__)
#define TOMBAC_HOST_EACH_13(M, x, ...) M(13, x) TOMBAC_HOST_EACH_12(M, __VA_ARGS__)
#define TOMBAC_HOST_EACH_14(M, x, ...) M(14, x) TOMBAC_HOST_EACH_13(M, __VA_ARGS__)
#define TOMBAC_HOST_EACH_15(M, x, ...) M(15, x) TOMBAC_HOST_EACH_14(M, __VA_ARGS__)
#define TOMBAC_HOST_EACH_16(M, x, ...) M(16, x) TOMBAC_HOST_EACH_15(M, __VA_ARGS__)
#define TOMBAC_HOST_EACH_17(M, x, ...) M(17, x) TOMBAC_HOST_EACH_16(M, __VA_ARGS__)
#define TOMBAC_HOST_EACH_18(M, x, ...) M(18, x) TOMBAC_HOST_EACH_17(M, __VA_ARGS__)
#define TOMBAC_HOST_EACH_19(M, x, ...) M(19, x) TOMBAC_HOST_EACH_18(M, __VA_ARGS__)
#define TOMBAC_HOST_EACH_20(M, x, ...) M(20, x) TOMBAC_HOST_EACH_19(M, __VA_ARGS__)
#define TOMBAC_HOST_EACH_21(M, x, ...) M(21, x) TOMBAC_HOST_EACH_20(M, __VA_ARGS__)
#define TOMBAC_HOST_EACH_22(M, x, ...) M(22, x) TOMBAC_HOST_EACH_21(M, __VA_ARGS__)
#define TOMBAC_HOST_EACH_23(M, x, ...) M(23, x) TOMBAC_HOST_EACH_22(M, __VA_ARGS__)
#define TOMBAC_HOST_EACH_24(M, x, ...) M(24, x) TOMBAC_HOST_EACH_23(M, __VA_ARGS__)
#define TOMBAC_HOST_EACH_25(M, x, ...) M(25, x) TOMBAC_HOST_EACH_24(M, __VA_ARGS__)
#define TOMBAC_HOST_EACH_26(M, x, ...) M(26, x) TOMBAC_HOST_EACH_25(M, __VA_ARGS__)
#define TOMBAC_HOST_EACH_27(M, x, ...) M(27, x) TOMBAC_HOST_EACH_26(M, __VA_ARGS__)
#define TOMBAC_HOST_EACH_28(M, x, ...) M(28, x) TOMBAC_HOST_EACH_27(M, __VA_ARGS__)
#define TOMBAC_HOST_EACH_29(M, x, ...) M(29, x) TOMBAC_HOST_EACH_28(M, __VA_ARGS__)
#define TOMBAC_HOST_EACH_30(M, x, ...) M(30, x) TOMBAC_HOST_EACH_29(M, __VA_ARGS__)
#endif
