/* Fibers; see fiber.h. The switch is the classic one: callee-saved registers and the floating-point control
 * words go onto the old stack, the stack pointers are exchanged, the same come off the new one. */
#include "runtime/driver/check/fiber.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define FIBER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FIBER_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define FIBER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define FIBER_TSAN 1
#endif
#endif
#ifdef FIBER_ASAN
void __sanitizer_start_switch_fiber(void **save, const void *bottom, size_t size);
void __sanitizer_finish_switch_fiber(void *save, const void **old_bottom, size_t *old_size);
void __asan_unpoison_memory_region(const volatile void *address, size_t size);
#endif
#ifdef FIBER_TSAN
void *__tsan_get_current_fiber(void);
void *__tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void *fiber);
void __tsan_switch_to_fiber(void *fiber, unsigned flags);
#endif

/* void tombac_fiber_exchange(void **save, void *load)
 *
 * Pushes rbp, rbx, r12 to r15, MXCSR and the x87 control word, stores rsp to *save, takes `load` as rsp and
 * pops the same. All other registers are the caller's to save; nothing is kept below rsp. */
void tombac_fiber_exchange(void **save, void *load);
void tombac_fiber_start(void);
__asm__(".text\n"
        ".hidden tombac_fiber_exchange\n.globl tombac_fiber_exchange\n.type tombac_fiber_exchange,@function\n"
        "tombac_fiber_exchange:\n"
        "    endbr64\n"
        "    pushq %rbp\n    pushq %rbx\n    pushq %r12\n    pushq %r13\n    pushq %r14\n    pushq %r15\n"
        "    subq $8, %rsp\n    stmxcsr (%rsp)\n    fnstcw 4(%rsp)\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    ldmxcsr (%rsp)\n    fldcw 4(%rsp)\n    addq $8, %rsp\n"
        "    popq %r15\n    popq %r14\n    popq %r13\n    popq %r12\n    popq %rbx\n    popq %rbp\n"
        "    retq\n"
        ".size tombac_fiber_exchange,.-tombac_fiber_exchange\n"
        /* The first return of a new fiber comes here: r12 is the entry, r13 its argument; the stack is
           aligned. */
        ".hidden tombac_fiber_start\n.globl tombac_fiber_start\n.type tombac_fiber_start,@function\n"
        "tombac_fiber_start:\n"
        "    endbr64\n"
        "    movq %r13, %rdi\n    xorl %ebp, %ebp\n    callq *%r12\n    ud2\n"
        ".size tombac_fiber_start,.-tombac_fiber_start\n");

tombac_status check_stacks_create(check_stacks *stacks, size_t count, size_t size, bool shadows, tombac_error **error)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    *stacks = (check_stacks){.count = count};
    if (size > SIZE_MAX / 4 || !count) return tb_fail_memory(error);
    stacks->size = (size + page - 1) / page * page;
    stacks->stride = stacks->size + page;
    if (stacks->stride > SIZE_MAX / 2 / count) return tb_fail_memory(error);
    stacks->fibers = calloc(count, sizeof *stacks->fibers);
    if (!stacks->fibers) return tb_fail_memory(error);
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK;
    void *memory = mmap(NULL, stacks->stride * count, PROT_NONE, flags, -1, 0);
    if (memory == MAP_FAILED) {
        free(stacks->fibers);
        *stacks = (check_stacks){0};
        return tb_fail_memory(error);
    }
    stacks->memory = memory;
    if (shadows) {
        memory = mmap(NULL, stacks->stride * count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) {
            check_stacks_destroy(stacks);
            return tb_fail_memory(error);
        }
        stacks->shadows = memory;
    }
    for (size_t i = 0; i < count; i++) {
        char *stack = stacks->memory + i * stacks->stride + page;
        stacks->fibers[i] = (check_fiber){.stack = stack, .stack_size = stacks->size};
        if (shadows) stacks->fibers[i].shadow = stacks->shadows + (stack - stacks->memory);
        if (mprotect(stack, stacks->size, PROT_READ | PROT_WRITE)) {
            check_stacks_destroy(stacks);
            return tb_fail_memory(error);
        }
#ifdef FIBER_TSAN
        stacks->fibers[i].tool = __tsan_create_fiber(0);
#endif
    }
    return TOMBAC_OK;
}

void check_stacks_destroy(check_stacks *stacks)
{
#ifdef FIBER_TSAN
    for (size_t i = 0; stacks->fibers && i < stacks->count; i++) {
        if (stacks->fibers[i].tool) __tsan_destroy_fiber(stacks->fibers[i].tool);
    }
#endif
    if (stacks->memory) munmap(stacks->memory, stacks->stride * stacks->count);
    if (stacks->shadows) munmap(stacks->shadows, stacks->stride * stacks->count);
    free(stacks->fibers);
    *stacks = (check_stacks){0};
}

void check_fiber_prepare(check_fiber *fiber, void (*entry)(void *argument), void *argument)
{
#ifdef FIBER_ASAN
    __asan_unpoison_memory_region(
        fiber->stack, fiber->stack_size); /* frames that were left without returning */
#endif
    uint64_t *top = (uint64_t *)(void *)(fiber->stack + fiber->stack_size); /* page aligned */
    *--top = 0; /* keeps rsp 16-byte aligned in tombac_fiber_start */
    *--top = 0;
    *--top = (uint64_t)(uintptr_t)&tombac_fiber_start; /* return address */
    *--top = 0;                                        /* rbp */
    *--top = 0;                                        /* rbx */
    *--top = (uint64_t)(uintptr_t)entry;               /* r12 */
    *--top = (uint64_t)(uintptr_t)argument;            /* r13 */
    *--top = 0;                                        /* r14 */
    *--top = 0;                                        /* r15 */
    uint32_t mxcsr;
    uint16_t x87;
    __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(mxcsr), "=m"(x87));
    *--top = (uint64_t)x87 << 32 | mxcsr;
    fiber->stack_pointer = top;
}

void check_fiber_arrived(check_fiber *from)
{
#ifdef FIBER_ASAN
    __sanitizer_finish_switch_fiber(NULL, (const void **)&from->stack, &from->stack_size);
#endif
    (void)from;
}

void check_fiber_switch(check_fiber *from, check_fiber *to)
{
#ifdef FIBER_ASAN
    void *fake = NULL;
    __sanitizer_start_switch_fiber(&fake, to->stack, to->stack_size);
#endif
#ifdef FIBER_TSAN
    __tsan_switch_to_fiber(to->tool, 0);
#endif
    tombac_fiber_exchange(&from->stack_pointer, to->stack_pointer);
#ifdef FIBER_ASAN
    __sanitizer_finish_switch_fiber(fake, NULL, NULL);
#endif
}

void check_fiber_adopt(check_fiber *fiber)
{
    *fiber = (check_fiber){0};
#ifdef FIBER_TSAN
    fiber->tool = __tsan_get_current_fiber();
#endif
#ifdef FIBER_ASAN
    pthread_attr_t attributes;
    void *base;
    size_t size;
    if (!pthread_getattr_np(pthread_self(), &attributes)) {
        if (!pthread_attr_getstack(&attributes, &base, &size)) {
            fiber->stack = base;
            fiber->stack_size = size;
        }
        pthread_attr_destroy(&attributes);
    }
#endif
}
