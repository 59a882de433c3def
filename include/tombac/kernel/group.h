/* What threads do together: barriers, fences, SIMD-group and quad-group functions. Every function works on the
 * threads that execute it together (docs/operations.md). */
#ifndef TOMBAC_KERNEL_GROUP_H
#define TOMBAC_KERNEL_GROUP_H

/* ---- Barriers and fences ---- */
typedef enum mem_flags {
    mem_none = 0,
    mem_device = 1,
    mem_threadgroup = 2,
    mem_texture = 4
} mem_flags;
__TB_CONVERGENT void __tombac_c_threadgroup_barrier(uint) __asm__("__tombac_threadgroup_barrier");
__TB_CONVERGENT void __tombac_c_simdgroup_barrier(uint) __asm__("__tombac_simdgroup_barrier");
__attribute__((nothrow)) void __tombac_c_fence(uint, uint, uint) __asm__("__tombac_fence");
/* Flags may be joined with |. */
__TB_FN void threadgroup_barrier(uint flags) { __tombac_c_threadgroup_barrier(flags & 7u); }
__TB_FN void simdgroup_barrier(uint flags) { __tombac_c_simdgroup_barrier(flags & 7u); }
__TB_FN void atomic_thread_fence(memory_order order)
{
    __tombac_c_fence(mem_device | mem_threadgroup, order, thread_scope_device);
}
__TB_FN void memory_fence(uint flags, memory_order order, thread_scope scope)
{
    __tombac_c_fence(flags & 7u, order, scope);
}

/* ---- Reductions and scans, P is simd or quad ---- */
#define __TB_SCALAR_SUFFIXES(X, NAME)                                                                        \
    X(char, NAME, "s8")                                                                                      \
    X(uchar, NAME, "u8") X(short, NAME, "s16") X(ushort, NAME, "u16") X(int, NAME, "s32") X(uint, NAME, "u32") \
        X(long, NAME, "s64") X(ulong, NAME, "u64") X(half, NAME, "f16") X(float, NAME, "f32")
#define __TB_VECTOR_FORMS(NAME, T)                                                                           \
    __TB_FN T##2 NAME(T##2 v) { return (T##2){NAME(v.x), NAME(v.y)}; }                                       \
    __TB_FN T##3 NAME(T##3 v) { return (T##3){NAME(v.x), NAME(v.y), NAME(v.z)}; }                            \
    __TB_FN T##4 NAME(T##4 v) { return (T##4){NAME(v.x), NAME(v.y), NAME(v.z), NAME(v.w)}; }
#define __TB_REDUCE_ONE(T, NAME, SUFFIX)                                                                     \
    __TB_CONVERGENT T __tombac_c_##NAME##_##T(T) __asm__("__tombac_" #NAME "." SUFFIX);                      \
    __TB_FN T NAME(T x) { return __tombac_c_##NAME##_##T(x); }                                               \
    __TB_VECTOR_FORMS(NAME, T)
#define __TB_REDUCE(NAME) __TB_SCALAR_SUFFIXES(__TB_REDUCE_ONE, NAME)
#define __TB_REDUCTIONS(P)                                                                                   \
    __TB_REDUCE(P##_sum)                                                                                     \
    __TB_REDUCE(P##_product)                                                                                 \
    __TB_REDUCE(P##_min)                                                                                     \
    __TB_REDUCE(P##_max)                                                                                     \
    __TB_REDUCE(P##_prefix_inclusive_sum)                                                                    \
    __TB_REDUCE(P##_prefix_exclusive_sum)                                                                    \
    __TB_REDUCE(P##_prefix_inclusive_product)                                                                \
    __TB_REDUCE(P##_prefix_exclusive_product)
__TB_REDUCTIONS(simd)
__TB_REDUCTIONS(quad)
#undef __TB_REDUCTIONS
#undef __TB_REDUCE
#undef __TB_REDUCE_ONE
#undef __TB_SCALAR_SUFFIXES

/* ---- Bits: declared on unsigned types, for signed ones by conversion ---- */
#define __TB_WORDS(X, NAME) X(uchar, NAME, "u8") X(ushort, NAME, "u16") X(uint, NAME, "u32") X(ulong, NAME, "u64")
#define __TB_DECLARE_BITS(U, NAME, SUFFIX)                                                                   \
    __TB_CONVERGENT U __tombac_c_##NAME##_##U(U) __asm__("__tombac_" #NAME "." SUFFIX);
#define __TB_BITS_OF(T, U, NAME)                                                                             \
    __TB_FN T NAME(T x) { return (T)__tombac_c_##NAME##_##U((U)x); }                                         \
    __TB_VECTOR_FORMS(NAME, T)
#define __TB_BITWISE(NAME)                                                                                   \
    __TB_WORDS(__TB_DECLARE_BITS, NAME)                                                                      \
    __TB_BITS_OF(char, uchar, NAME)                                                                          \
    __TB_BITS_OF(uchar, uchar, NAME) __TB_BITS_OF(short, ushort, NAME) __TB_BITS_OF(ushort, ushort, NAME)    \
        __TB_BITS_OF(int, uint, NAME) __TB_BITS_OF(uint, uint, NAME) __TB_BITS_OF(long, ulong, NAME)         \
            __TB_BITS_OF(ulong, ulong, NAME)
__TB_BITWISE(simd_and)
__TB_BITWISE(simd_or)
__TB_BITWISE(simd_xor)
__TB_BITWISE(quad_and)
__TB_BITWISE(quad_or)
__TB_BITWISE(quad_xor)
#undef __TB_BITWISE
#undef __TB_BITS_OF

/* ---- Moving data: bits move, whatever the type ---- */
#define __TB_MOVED(X, NAME)                                                                                  \
    X(char, uchar, NAME)                                                                                     \
    X(uchar, uchar, NAME) X(short, ushort, NAME) X(ushort, ushort, NAME) X(int, uint, NAME)                  \
        X(uint, uint, NAME) X(long, ulong, NAME) X(ulong, ulong, NAME) X(half, ushort, NAME)                 \
            X(float, uint, NAME)
#define __TB_DECLARE_MOVE(U, NAME, SUFFIX)                                                                   \
    __TB_CONVERGENT U __tombac_c_##NAME##_##U(U, ushort) __asm__("__tombac_" #NAME "." SUFFIX);
#define __TB_MOVE_OF(T, U, NAME)                                                                             \
    __TB_FN T NAME(T x, ushort n)                                                                            \
    {                                                                                                        \
        return __builtin_bit_cast(T, __tombac_c_##NAME##_##U(__builtin_bit_cast(U, x), n));                  \
    }                                                                                                        \
    __TB_FN T##2 NAME(T##2 v, ushort n) { return (T##2){NAME(v.x, n), NAME(v.y, n)}; }                       \
    __TB_FN T##3 NAME(T##3 v, ushort n) { return (T##3){NAME(v.x, n), NAME(v.y, n), NAME(v.z, n)}; }         \
    __TB_FN T##4 NAME(T##4 v, ushort n)                                                                      \
    {                                                                                                        \
        return (T##4){NAME(v.x, n), NAME(v.y, n), NAME(v.z, n), NAME(v.w, n)};                               \
    }
#define __TB_MOVE(NAME)                                                                                      \
    __TB_WORDS(__TB_DECLARE_MOVE, NAME)                                                                      \
    __TB_MOVED(__TB_MOVE_OF, NAME)
#define __TB_DECLARE_FILL(U, NAME, SUFFIX)                                                                   \
    __TB_CONVERGENT U __tombac_c_##NAME##_##U(U, U, ushort, ushort) __asm__("__tombac_" #NAME "." SUFFIX);
#define __TB_FILL_OF(T, U, NAME)                                                                             \
    __TB_FN T NAME(T x, T filling, ushort delta, ushort modulo)                                              \
    {                                                                                                        \
        return __builtin_bit_cast(T, __tombac_c_##NAME##_##U(__builtin_bit_cast(U, x),                       \
                                         __builtin_bit_cast(U, filling), delta, modulo));                    \
    }
#define __TB_FILL(NAME)                                                                                      \
    __TB_WORDS(__TB_DECLARE_FILL, NAME)                                                                      \
    __TB_MOVED(__TB_FILL_OF, NAME)
#define __TB_FIRST_OF(T, U, NAME)                                                                            \
    __TB_FN T NAME(T x)                                                                                      \
    {                                                                                                        \
        return __builtin_bit_cast(T, __tombac_c_##NAME##_##U(__builtin_bit_cast(U, x)));                     \
    }                                                                                                        \
    __TB_VECTOR_FORMS(NAME, T)
#define __TB_FIRST(NAME)                                                                                     \
    __TB_WORDS(__TB_DECLARE_BITS, NAME)                                                                      \
    __TB_MOVED(__TB_FIRST_OF, NAME)
#define __TB_MOVES(P)                                                                                        \
    __TB_MOVE(P##_broadcast)                                                                                 \
    __TB_MOVE(P##_shuffle)                                                                                   \
    __TB_MOVE(P##_shuffle_up)                                                                                \
    __TB_MOVE(P##_shuffle_down)                                                                              \
    __TB_MOVE(P##_shuffle_xor)                                                                               \
    __TB_MOVE(P##_shuffle_rotate_up)                                                                         \
    __TB_MOVE(P##_shuffle_rotate_down)                                                                       \
    __TB_FILL(P##_shuffle_and_fill_up)                                                                       \
    __TB_FILL(P##_shuffle_and_fill_down)                                                                     \
    __TB_FIRST(P##_broadcast_first)
__TB_MOVES(simd)
__TB_MOVES(quad)
#undef __TB_MOVES
#undef __TB_MOVE
#undef __TB_MOVE_OF
#undef __TB_MOVED
#undef __TB_FILL
#undef __TB_FILL_OF
#undef __TB_FIRST
#undef __TB_FIRST_OF
#undef __TB_WORDS
#undef __TB_DECLARE_BITS
#undef __TB_DECLARE_MOVE
#undef __TB_DECLARE_FILL
#undef __TB_VECTOR_FORMS

/* ---- Votes: a ballot has one bit per lane ---- */
#define __TB_VOTES(P)                                                                                        \
    __TB_CONVERGENT ulong P##_ballot(bool) __asm__("__tombac_" #P "_ballot");                                \
    __TB_CONVERGENT ulong P##_active_threads_mask(void) __asm__("__tombac_" #P "_active_threads_mask");      \
    __TB_CONVERGENT bool P##_all(bool) __asm__("__tombac_" #P "_all");                                       \
    __TB_CONVERGENT bool P##_any(bool) __asm__("__tombac_" #P "_any");                                       \
    __TB_CONVERGENT bool P##_is_first(void) __asm__("__tombac_" #P "_is_first");
__TB_VOTES(simd)
__TB_VOTES(quad)
#undef __TB_VOTES
#endif
