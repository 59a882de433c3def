/* <tombac/kernel.h> for host compilers: a kernel is an ordinary function, which a unit test calls once per thread
 * of a grid, under gdb, valgrind or a sanitizer:
 *
 *     #include "saxpy.c"
 *
 *     tombac_for_each_thread(n, 1, 1, 256, 1, 1) saxpy(2.0f, x, y, n);
 *
 * The loop runs the grid's threads one after the other, threadgroup by threadgroup, and sets the positions that the kernel
 * reads; they are kept in one variable of the file that includes this header. That is right for threads that do
 * not wait for each other. Those that do (barriers, SIMD-groups, quad-groups, matrices) run by
 *
 *     tombac_run_threads(n, 1, 1, 256, 1, 1, sum, x, &total, n);
 *
 * each on a stack of its own (host_threads.h). Nothing needs to be linked.
 *
 * Include <tombac/tombac.h>, if it is wanted, before this: `kernel` is a macro here.
 *
 * Needs C23's attributes and bool: gcc -std=gnu2x, clang -std=gnu23. Vectors of clang have operators and swizzles;
 * with gcc they are structures with members x, y, z, w. */
#ifndef TOMBAC_KERNEL_HOST_H
#define TOMBAC_KERNEL_HOST_H

#include <assert.h>
#include <float.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Words ---- */
#define kernel
#define threadgroup static        /* one for all threads: threadgroups run one after the other */
#define threadgroup_memory(T) T * /* a parameter's type */
#define function_constant(index) static __attribute__((unused)) /* a variable, which the test sets */
#define is_function_constant_defined(name) ((void)sizeof(name), true)
#define requires(...)
#define threads_required(...)
#define threads_at_most(n)
#define math_mode(mode)
#define TOMBAC_HOST_FN static inline __attribute__((unused))

/* ---- Types ---- */
typedef _Float16 half;
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
#ifdef __clang__
#define TOMBAC_HOST_VECTORS(T)                                                                               \
    typedef T T##2 __attribute__((ext_vector_type(2)));                                                      \
    typedef T T##3 __attribute__((ext_vector_type(3)));                                                      \
    typedef T T##4 __attribute__((ext_vector_type(4)));
#else
#define TOMBAC_HOST_VECTORS(T)                                                                               \
    typedef struct T##2 {                                                                                    \
        T x, y;                                                                                              \
    } __attribute__((aligned(2 * sizeof(T)))) T##2;                                                          \
    typedef struct T##3 {                                                                                    \
        T x, y, z;                                                                                           \
    } __attribute__((aligned(4 * sizeof(T)))) T##3;                                                          \
    typedef struct T##4 {                                                                                    \
        T x, y, z, w;                                                                                        \
    } __attribute__((aligned(4 * sizeof(T)))) T##4;
#endif
#define TOMBAC_HOST_PACKED(T)                                                                                \
    typedef struct packed_##T##2 {                                                                           \
        T x, y;                                                                                              \
    } packed_##T##2;                                                                                         \
    typedef struct packed_##T##3 {                                                                           \
        T x, y, z;                                                                                           \
    } packed_##T##3;                                                                                         \
    typedef struct packed_##T##4 {                                                                           \
        T x, y, z, w;                                                                                        \
    } packed_##T##4;
#define declare_slice(T)                                                                                     \
    struct tombac_slice_##T {                                                                                \
        T *pointer;                                                                                          \
        size_t count;                                                                                        \
    };                                                                                                       \
    struct tombac_slice_const_##T {                                                                          \
        const T *pointer;                                                                                    \
        size_t count;                                                                                        \
    }
#define TOMBAC_HOST_TYPE(T)                                                                                  \
    TOMBAC_HOST_VECTORS(T)                                                                                   \
    TOMBAC_HOST_PACKED(T)                                                                                    \
    declare_slice(T);                                                                                        \
    declare_slice(T##2);                                                                                     \
    declare_slice(T##3);                                                                                     \
    declare_slice(T##4);
TOMBAC_HOST_TYPE(char)
TOMBAC_HOST_TYPE(uchar)
TOMBAC_HOST_TYPE(short)
TOMBAC_HOST_TYPE(ushort)
TOMBAC_HOST_TYPE(int)
TOMBAC_HOST_TYPE(uint)
TOMBAC_HOST_TYPE(long)
TOMBAC_HOST_TYPE(ulong)
TOMBAC_HOST_TYPE(half)
TOMBAC_HOST_TYPE(float)
declare_slice(int8_t);
declare_slice(uint8_t);
declare_slice(int16_t);
declare_slice(uint16_t);
declare_slice(int32_t);
declare_slice(uint32_t);
declare_slice(int64_t);
declare_slice(uint64_t);

#define slice(T) struct tombac_slice_##T
#define slice_const(T) struct tombac_slice_const_##T
/* On the host a failed check ends the program, as assert does. */
TOMBAC_HOST_FN size_t tombac_checked_index(
    size_t index, size_t count, const char *condition, const char *file, unsigned line)
{
    if (index < count) return index;
    fprintf(stderr, "%s:%u: assertion failed: %s (%zu, %zu)\n", file, line, condition, index, count);
    abort();
}
#define as_type(T, x) TOMBAC_HOST_BITS(T, x, __COUNTER__)
#define TOMBAC_HOST_BITS(T, x, N) TOMBAC_HOST_BITS_(T, x, N)
#define TOMBAC_HOST_BITS_(T, x, N)                                                                           \
    __extension__({                                                                                          \
        __typeof__(x) tombac_from##N = (x);                                                                  \
        T tombac_to##N;                                                                                      \
        _Static_assert(sizeof(T) == sizeof tombac_from##N, "as_type needs types of the same size");          \
        memcpy(&tombac_to##N, &tombac_from##N, sizeof(T));                                                   \
        tombac_to##N;                                                                                        \
    })

#include "each.h"
#include "host_math.h"

#include "host_integer.h"
#include "host_vector.h"
#include "host_position.h"
#include "host_atomic.h"
#include "host_threads.h"

#include "host_group.h"

#include "host_collective.h"
#endif
