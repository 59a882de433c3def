/* Fibers: threads of control that run one at a time on one OS thread and switch by hand.
 *
 * The stacks of one set lie side by side, each above a guard page, so that running over a stack faults
 * instead of damaging a neighbour. A set is made once and reused; only touched pages cost memory. x86-64,
 * System V ABI. */
#ifndef RT_CHECK_FIBER_H
#define RT_CHECK_FIBER_H

#include "base/error.h"

#include <stdbool.h>

typedef struct check_fiber {
    void *stack_pointer; /* where it was left; NULL: it runs or never started */
    char *stack;         /* lowest usable byte; NULL for the OS thread's own stack */
    size_t stack_size;
    char *shadow; /* as much memory again, for what is known of each byte of the stack; NULL: none was wanted */
    void *tool; /* what a sanitizer keeps for it */
} check_fiber;

typedef struct check_stacks {
    char *memory, *shadows;
    size_t count, stride, size;
    check_fiber *fibers;
} check_stacks;

/* `count` stacks of at least `size` usable bytes, with shadows or without. */
tombac_status check_stacks_create(check_stacks *stacks, size_t count, size_t size, bool shadows, tombac_error **error);
void check_stacks_destroy(check_stacks *stacks);

/* Makes the fiber call entry(argument) on an empty stack when it is next switched to; entry must not return.
 * What the fiber did before is forgotten. */
void check_fiber_prepare(check_fiber *fiber, void (*entry)(void *argument), void *argument);
/* Leaves `from` (which runs now) and goes on in `to`; returns when somebody switches back to `from`. */
void check_fiber_switch(check_fiber *from, check_fiber *to);
/* A fiber calls it first of all, with the fiber that switched to it. */
void check_fiber_arrived(check_fiber *from);
/* Describes the OS thread's own stack, which is a fiber too. */
void check_fiber_adopt(check_fiber *fiber);

#endif
