/* What threads do together: positions, threadgroup memory and barriers, SIMD-groups, quad-groups, atomics, matrices. */
#include <stdatomic.h>
#include <tombac/kernel.h>

static void put3(uint *out, uint3 v)
{
    out[0] = v.x;
    out[1] = v.y;
    out[2] = v.z;
}

kernel void positions(uint *out)
{
    uint *o = out + thread_index_in_grid() * 36;
    put3(o, thread_position_in_grid());
    put3(o + 3, thread_position_in_threadgroup());
    put3(o + 6, threadgroup_position_in_grid());
    put3(o + 9, threads_per_threadgroup());
    put3(o + 12, dispatch_threads_per_threadgroup());
    put3(o + 15, threads_per_grid());
    put3(o + 18, threadgroups_per_grid());
    put3(o + 21, grid_origin());
    o[24] = thread_index_in_threadgroup();
    o[25] = thread_index_in_simdgroup();
    o[26] = simdgroup_index_in_threadgroup();
    o[27] = simdgroups_per_threadgroup();
    o[28] = dispatch_simdgroups_per_threadgroup();
    o[29] = threads_per_simdgroup();
    o[30] = thread_execution_width();
    o[31] = thread_index_in_quadgroup();
    o[32] = quadgroup_index_in_threadgroup();
    o[33] = quadgroups_per_threadgroup();
    o[34] = dispatch_quadgroups_per_threadgroup();
    o[35] = (uint)thread_index_in_grid();
}

static int read_back(const int *memory, uint i)
{
    return memory[i];
}

kernel void reverse(const int *in, int *out, threadgroup_memory(int) sized)
{
    threadgroup int fixed[256];
    int *alias = fixed;
    uint i = thread_index_in_threadgroup(), n = threads_per_threadgroup().x, at = thread_position_in_grid().x;
    fixed[i] = in[at];
    sized[n - 1 - i] = in[at] * 2;
    threadgroup_barrier(mem_threadgroup);
    out[at * 2] = read_back(fixed, n - 1 - i);
    out[at * 2 + 1] = read_back(sized, i);
    threadgroup_barrier(mem_threadgroup | mem_device);
    alias[i] = out[(at - i + (i + 1) % n) * 2];
    threadgroup_barrier(mem_threadgroup);
    out[at * 2 + 1] += read_back(alias, i);
}

#define REDUCE_ONE(OP) out[at + (k++) * n] = OP(x);
#define REDUCE_GROUP(P)                                                                                      \
    REDUCE_ONE(P##_sum)                                                                                      \
    REDUCE_ONE(P##_product)                                                                                  \
    REDUCE_ONE(P##_min)                                                                                      \
    REDUCE_ONE(P##_max)                                                                                      \
    REDUCE_ONE(P##_prefix_inclusive_sum)                                                                     \
    REDUCE_ONE(P##_prefix_exclusive_sum)                                                                     \
    REDUCE_ONE(P##_prefix_inclusive_product)                                                                 \
    REDUCE_ONE(P##_prefix_exclusive_product)
#define REDUCE(T)                                                                                            \
    kernel void reduce_##T(const T *in, T *out)                                                             \
    {                                                                                                        \
        uint at = thread_position_in_grid().x, n = threads_per_grid().x, k = 0;                              \
        T x = in[at];                                                                                        \
        REDUCE_GROUP(simd)                                                                                   \
        REDUCE_GROUP(quad)                                                                                   \
    }
for_each_type(REDUCE, char, uchar, short, ushort, int, uint, long, ulong, half, float)

#define BITS(T)                                                                                              \
    kernel void bits_##T(const T *in, T *out)                                                               \
    {                                                                                                        \
        uint at = thread_position_in_grid().x, n = threads_per_grid().x, k = 0;                              \
        T x = in[at];                                                                                        \
        REDUCE_ONE(simd_and)                                                                                 \
        REDUCE_ONE(simd_or)                                                                                  \
        REDUCE_ONE(simd_xor)                                                                                 \
        REDUCE_ONE(quad_and)                                                                                 \
        REDUCE_ONE(quad_or)                                                                                  \
        REDUCE_ONE(quad_xor)                                                                                 \
    }
for_each_type(BITS, char, uchar, short, ushort, int, uint, long, ulong)

#define MOVE_GROUP(P, LANE, BLOCK)                                                                           \
    out[at + (k++) * n] = P##_broadcast(x, 1);                                                               \
    out[at + (k++) * n] = P##_shuffle(x, (ushort)(LANE));                                                    \
    out[at + (k++) * n] = P##_shuffle_up(x, 1);                                                              \
    out[at + (k++) * n] = P##_shuffle_down(x, 1);                                                            \
    out[at + (k++) * n] = P##_shuffle_xor(x, 3);                                                             \
    out[at + (k++) * n] = P##_shuffle_rotate_up(x, 1);                                                       \
    out[at + (k++) * n] = P##_shuffle_rotate_down(x, 1);                                                     \
    out[at + (k++) * n] = P##_shuffle_and_fill_up(x, f, 1, BLOCK);                                           \
    out[at + (k++) * n] = P##_shuffle_and_fill_down(x, f, 1, BLOCK);                                         \
    out[at + (k++) * n] = P##_broadcast_first(x);
#define MOVE(T)                                                                                              \
    kernel void move_##T(const T *in, const T *fill, T *out)                                                \
    {                                                                                                        \
        uint at = thread_position_in_grid().x, n = threads_per_grid().x, k = 0;                              \
        T x = in[at], f = fill[at];                                                                          \
        MOVE_GROUP(simd, at * 7 % 32, 8)                                                                     \
        MOVE_GROUP(quad, at * 3 % 4, 2)                                                                      \
    }
for_each_type(MOVE, char, uchar, short, ushort, int, uint, half, float)

kernel void votes(const int *in, ulong *out)
{
    uint at = thread_position_in_grid().x, n = threads_per_grid().x;
    bool odd = in[at] % 2 != 0;
    out[at] = simd_ballot(odd);
    out[at + n] = quad_ballot(odd);
    out[at + 2 * n] = (ulong)simd_all(odd) + 2 * (ulong)simd_any(odd) + 4 * (ulong)simd_is_first();
    out[at + 3 * n] = (ulong)quad_all(odd) + 2 * (ulong)quad_any(odd) + 4 * (ulong)quad_is_first();
    out[at + 4 * n] = simd_active_threads_mask();
    if (odd) out[at + 4 * n] = simd_active_threads_mask();
    out[at + 5 * n] = quad_active_threads_mask();
}

#define ATOMIC(T)                                                                                            \
    kernel void counters_##T(const T *in, _Atomic(T) *cells, T *old)                                          \
    {                                                                                                        \
        threadgroup _Atomic(T) local;                                                                        \
        uint at = thread_position_in_grid().x;                                                               \
        if (thread_index_in_threadgroup() == 0) atomic_store_explicit(&local, (T)0, memory_order_relaxed);   \
        threadgroup_barrier(mem_threadgroup);                                                                \
        T x = in[at];                                                                                        \
        old[at] = atomic_fetch_add_explicit(&cells[0], (T)1, memory_order_relaxed);                          \
        atomic_fetch_sub(&cells[1], x);                                                                      \
        atomic_fetch_add_explicit(&local, x, memory_order_relaxed);                                          \
        T seen = atomic_load(&cells[2]);                                                                     \
        while (!atomic_compare_exchange_weak_explicit(                                                       \
            &cells[2], &seen, (T)(seen + x), memory_order_relaxed, memory_order_relaxed)) {                  \
        }                                                                                                    \
        T expected = (T)0;                                                                                   \
        if (atomic_compare_exchange_strong(&cells[3], &expected, (T)7))                                      \
            atomic_fetch_add_explicit(&cells[4], (T)1, memory_order_relaxed);                                \
        T swapped = atomic_exchange(&cells[5], x);                                                           \
        atomic_fetch_add(&cells[6], swapped);                                                                \
        threadgroup_barrier(mem_threadgroup);                                                                \
        if (thread_index_in_threadgroup() == 0)                                                              \
            atomic_fetch_add(&cells[7], atomic_load_explicit(&local, memory_order_relaxed));                 \
    }
for_each_type(ATOMIC, int, uint, long, ulong)
#ifndef OLDER_METAL /* before metal4.1 threadgroup memory has no atomic floats */
ATOMIC(float)
#endif

#define ATOMIC_BITS(T)                                                                                       \
    kernel void counter_bits_##T(const T *in, _Atomic(T) *cells)                                             \
    {                                                                                                        \
        T x = in[thread_position_in_grid().x];                                                               \
        atomic_fetch_and_explicit(&cells[0], x, memory_order_relaxed);                                       \
        atomic_fetch_or(&cells[1], x);                                                                       \
        atomic_fetch_xor_explicit(&cells[2], x, memory_order_relaxed);                                       \
        atomic_fetch_min(&cells[3], x);                                                                      \
        atomic_fetch_max_explicit(&cells[4], x, memory_order_relaxed);                                       \
    }
for_each_type(ATOMIC_BITS, int, uint, long, ulong)

/* The last threadgroup to arrive adds up what the others wrote: fences order it. */
kernel void last_arrives(const uint *in, uint *partial, atomic_uint *arrived, uint *total)
{
    threadgroup uint last;
    uint group = threadgroup_position_in_grid().x, groups = threadgroups_per_grid().x;
    uint sum = simd_sum(in[thread_position_in_grid().x]);
    if (thread_index_in_threadgroup() == 0) {
        partial[group] = sum;
        atomic_thread_fence(memory_order_release);
        last = atomic_fetch_add_explicit(arrived, 1u, memory_order_relaxed) == groups - 1;
    }
    threadgroup_barrier(mem_threadgroup);
    if (last && thread_index_in_threadgroup() == 0) {
        memory_fence(mem_device, memory_order_acquire, thread_scope_device);
        uint all = 0;
        for (uint i = 0; i < groups; i++) all += partial[i];
        *total = all;
    }
}

kernel threads_required(32) void multiply_float(const float *a, const float *b, const float *c, float *d)
{
    simdgroup_float8x8 x, y, z;
    simdgroup_load(&x, a, 8);
    simdgroup_load(&y, b, 8, true);
    simdgroup_load(&z, c, 8);
    simdgroup_multiply_accumulate(&z, x, y, z);
    simdgroup_store(z, d, 8);
    simdgroup_multiply(&z, x, y);
    simdgroup_store(z, d + 64, 8, true);
    simdgroup_store(simdgroup_filled_float8x8(2.5f), d + 128, 8);
    simdgroup_store(simdgroup_diagonal_float8x8(3.0f), d + 192, 8);
}

kernel threads_required(32) void multiply_half(const half *a, const half *b, float *d, half *e)
{
    simdgroup_half8x8 x, y, w;
    simdgroup_float8x8 z = simdgroup_filled_float8x8(1.0f);
    simdgroup_load(&x, a, 8);
    simdgroup_load(&y, b, 8);
    simdgroup_multiply_accumulate(&z, x, y, z);
    simdgroup_store(z, d, 8);
    simdgroup_multiply(&w, x, y);
    simdgroup_store(w, e, 8);
}
