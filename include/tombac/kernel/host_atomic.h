/* Atomics on the host: <stdatomic.h>, and what it lacks: float, sums of float, least and largest. */
#ifndef TOMBAC_KERNEL_HOST_ATOMIC_H
#define TOMBAC_KERNEL_HOST_ATOMIC_H

#include <stdatomic.h>

typedef _Atomic(float) atomic_float;

/* The old value; tombac_old and tombac_x are the names of both operands in NEXT. */
#define TOMBAC_HOST_UPDATE(p, x, NEXT)                                                                       \
    __extension__({                                                                                          \
        __auto_type tombac_cell = (p);                                                                       \
        __typeof__(atomic_load(tombac_cell)) tombac_x = (x), tombac_old = atomic_load(tombac_cell);          \
        while (!atomic_compare_exchange_weak(tombac_cell, &tombac_old, (NEXT))) continue;                    \
        tombac_old;                                                                                          \
    })
#define atomic_fetch_min(p, x) TOMBAC_HOST_UPDATE(p, x, tombac_x < tombac_old ? tombac_x : tombac_old)
#define atomic_fetch_max(p, x) TOMBAC_HOST_UPDATE(p, x, tombac_x > tombac_old ? tombac_x : tombac_old)
#define atomic_fetch_min_explicit(p, x, order) ((void)(order), atomic_fetch_min(p, x))
#define atomic_fetch_max_explicit(p, x, order) ((void)(order), atomic_fetch_max(p, x))

/* Sums of integers wrap, which C's own + of signed ones does not. */
#define TOMBAC_HOST_SUMS(T, U)                                                                               \
    TOMBAC_HOST_FN T tombac_host_plus_##T(T x, T y)                                                          \
    {                                                                                                        \
        return (T)((U)x + (U)y);                                                                             \
    }                                                                                                        \
    TOMBAC_HOST_FN T tombac_host_minus_##T(T x, T y)                                                         \
    {                                                                                                        \
        return (T)((U)x - (U)y);                                                                             \
    }
TOMBAC_HOST_SUMS(int, uint)
TOMBAC_HOST_SUMS(uint, uint)
TOMBAC_HOST_SUMS(long, ulong)
TOMBAC_HOST_SUMS(ulong, ulong)
TOMBAC_HOST_SUMS(float, float)
#undef TOMBAC_HOST_SUMS
#define TOMBAC_HOST_SUM_OF(x, WHAT)                                                                          \
    _Generic((x),                                                                                            \
        int: tombac_host_##WHAT##_int,                                                                       \
        uint: tombac_host_##WHAT##_uint,                                                                     \
        long: tombac_host_##WHAT##_long,                                                                     \
        ulong: tombac_host_##WHAT##_ulong,                                                                   \
        float: tombac_host_##WHAT##_float)
#undef atomic_fetch_add
#undef atomic_fetch_sub
#undef atomic_fetch_add_explicit
#undef atomic_fetch_sub_explicit
#define atomic_fetch_add(p, x)                                                                               \
    TOMBAC_HOST_UPDATE(p, x, TOMBAC_HOST_SUM_OF(tombac_old, plus)(tombac_old, tombac_x))
#define atomic_fetch_sub(p, x)                                                                               \
    TOMBAC_HOST_UPDATE(p, x, TOMBAC_HOST_SUM_OF(tombac_old, minus)(tombac_old, tombac_x))
#define atomic_fetch_add_explicit(p, x, order) ((void)(order), atomic_fetch_add(p, x))
#define atomic_fetch_sub_explicit(p, x, order) ((void)(order), atomic_fetch_sub(p, x))
#endif
