/* C11's <stdatomic.h> on the device, for objects in device and threadgroup memory: int, uint, long, ulong, float.
 * All become atomic instructions of device scope. Functions without _explicit are sequentially consistent. */
#ifndef TOMBAC_KERNEL_ATOMIC_H
#define TOMBAC_KERNEL_ATOMIC_H

typedef enum memory_order {
    memory_order_relaxed = 0,
    memory_order_consume = 2,
    memory_order_acquire = 2,
    memory_order_release = 3,
    memory_order_acq_rel = 4,
    memory_order_seq_cst = 5
} memory_order;
typedef enum thread_scope {
    thread_scope_thread = 0,
    thread_scope_threadgroup = 1,
    thread_scope_device = 2,
    thread_scope_simdgroup = 4
} thread_scope;

typedef _Atomic(int) atomic_int;
typedef _Atomic(uint) atomic_uint;
typedef _Atomic(long) atomic_long;
typedef _Atomic(ulong) atomic_ulong;
typedef _Atomic(float) atomic_float;

/* The cell of an atomic T in memory; a float is handled by its bits, except in sums. */
#define __TB_CELL(C, p) ((volatile C *)(p))
#define __TB_SCOPE __MEMORY_SCOPE_DEVICE
#define __TB_ATOMIC(T, C)                                                                                    \
    __TB_FN void atomic_init(volatile _Atomic(T) *p, T x) { *(volatile T *)p = x; }                          \
    __TB_FN T atomic_load_explicit(const volatile _Atomic(T) *p, memory_order o)                             \
    {                                                                                                        \
        return __builtin_bit_cast(                                                                           \
            T, __scoped_atomic_load_n((const volatile C *)p, (int)o, __TB_SCOPE));                           \
    }                                                                                                        \
    __TB_FN void atomic_store_explicit(volatile _Atomic(T) *p, T x, memory_order o)                          \
    {                                                                                                        \
        __scoped_atomic_store_n(__TB_CELL(C, p), __builtin_bit_cast(C, x), (int)o, __TB_SCOPE);              \
    }                                                                                                        \
    __TB_FN T atomic_exchange_explicit(volatile _Atomic(T) *p, T x, memory_order o)                          \
    {                                                                                                        \
        return __builtin_bit_cast(T,                                                                         \
            __scoped_atomic_exchange_n(__TB_CELL(C, p), __builtin_bit_cast(C, x), (int)o, __TB_SCOPE));      \
    }                                                                                                        \
    __TB_COMPARE(T, C, weak, true)                                                                           \
    __TB_COMPARE(T, C, strong, false)                                                                        \
    __TB_FETCH(T, add)                                                                                       \
    __TB_FETCH(T, sub)                                                                                       \
    __TB_FN T atomic_load(const volatile _Atomic(T) *p)                                                      \
    {                                                                                                        \
        return atomic_load_explicit(p, memory_order_seq_cst);                                                \
    }                                                                                                        \
    __TB_FN void atomic_store(volatile _Atomic(T) *p, T x)                                                   \
    {                                                                                                        \
        atomic_store_explicit(p, x, memory_order_seq_cst);                                                   \
    }                                                                                                        \
    __TB_FN T atomic_exchange(volatile _Atomic(T) *p, T x)                                                   \
    {                                                                                                        \
        return atomic_exchange_explicit(p, x, memory_order_seq_cst);                                         \
    }
#define __TB_COMPARE(T, C, KIND, WEAK)                                                                       \
    __TB_FN bool atomic_compare_exchange_##KIND##_explicit(                                                  \
        volatile _Atomic(T) *p, T *expected, T desired, memory_order success, memory_order failure)          \
    {                                                                                                        \
        C found = __builtin_bit_cast(C, *expected);                                                          \
        bool done = __scoped_atomic_compare_exchange_n(__TB_CELL(C, p), &found,                              \
            __builtin_bit_cast(C, desired), WEAK, (int)success, (int)failure, __TB_SCOPE);                   \
        *expected = __builtin_bit_cast(T, found);                                                            \
        return done;                                                                                         \
    }                                                                                                        \
    __TB_FN bool atomic_compare_exchange_##KIND(volatile _Atomic(T) *p, T *expected, T desired)              \
    {                                                                                                        \
        return atomic_compare_exchange_##KIND##_explicit(                                                    \
            p, expected, desired, memory_order_seq_cst, memory_order_seq_cst);                               \
    }
#define __TB_FETCH(T, OP)                                                                                    \
    __TB_FN T atomic_fetch_##OP##_explicit(volatile _Atomic(T) *p, T x, memory_order o)                      \
    {                                                                                                        \
        return __scoped_atomic_fetch_##OP((volatile T *)p, x, (int)o, __TB_SCOPE);                           \
    }                                                                                                        \
    __TB_FN T atomic_fetch_##OP(volatile _Atomic(T) *p, T x)                                                 \
    {                                                                                                        \
        return atomic_fetch_##OP##_explicit(p, x, memory_order_seq_cst);                                     \
    }
#define __TB_ATOMIC_INTEGER(T)                                                                               \
    __TB_ATOMIC(T, T)                                                                                        \
    __TB_FETCH(T, and)                                                                                       \
    __TB_FETCH(T, or)                                                                                        \
    __TB_FETCH(T, xor)                                                                                       \
    __TB_FETCH(T, min)                                                                                       \
    __TB_FETCH(T, max)
__TB_ATOMIC_INTEGER(int)
__TB_ATOMIC_INTEGER(uint)
__TB_ATOMIC_INTEGER(long)
__TB_ATOMIC_INTEGER(ulong)
__TB_ATOMIC(float, uint)
#undef __TB_ATOMIC_INTEGER
#undef __TB_ATOMIC
#undef __TB_COMPARE
#undef __TB_FETCH
#undef __TB_CELL
#undef __TB_SCOPE

typedef struct atomic_flag {
    atomic_uint value;
} atomic_flag;
__TB_FN bool atomic_flag_test_and_set_explicit(volatile atomic_flag *f, memory_order o)
{
    return atomic_exchange_explicit(&f->value, 1u, o) != 0;
}
__TB_FN void atomic_flag_clear_explicit(volatile atomic_flag *f, memory_order o)
{
    atomic_store_explicit(&f->value, 0u, o);
}
__TB_FN bool atomic_flag_test_and_set(volatile atomic_flag *f)
{
    return atomic_flag_test_and_set_explicit(f, memory_order_seq_cst);
}
__TB_FN void atomic_flag_clear(volatile atomic_flag *f)
{
    atomic_flag_clear_explicit(f, memory_order_seq_cst);
}
#endif
