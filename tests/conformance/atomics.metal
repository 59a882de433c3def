// Atomic operations: type x address space x operation, compare-exchange loops, and the patterns that use them.
#include <metal_stdlib>
using namespace metal;

#define RELAXED memory_order_relaxed

// One operation by all threads on cell i % cells; `old` gets what it returned.
#define FETCH(NAME, T, A, OPERATION)                                                                          \
    kernel void device_##NAME(device A *cell [[buffer(0)]], device T *old [[buffer(1)]],                      \
        const device T *in [[buffer(2)]], constant uint &cells [[buffer(3)]], uint i [[thread_position_in_grid]]) \
    {                                                                                                         \
        old[i] = OPERATION(&cell[i % cells], in[i], RELAXED);                                                 \
    }                                                                                                         \
    kernel void threadgroup_##NAME(device T *cell [[buffer(0)]], device T *old [[buffer(1)]],                 \
        const device T *in [[buffer(2)]], constant uint &cells [[buffer(3)]], uint i [[thread_position_in_grid]]) \
    {                                                                                                         \
        threadgroup A local[8];                                                                               \
        if (i < cells) atomic_store_explicit(&local[i], cell[i], RELAXED);                                    \
        threadgroup_barrier(mem_flags::mem_threadgroup);                                                      \
        old[i] = OPERATION(&local[i % cells], in[i], RELAXED);                                                \
        threadgroup_barrier(mem_flags::mem_threadgroup);                                                      \
        if (i < cells) cell[i] = atomic_load_explicit(&local[i], RELAXED);                                    \
    }

#define FETCH_INTEGER(SUFFIX, T, A)                                                                           \
    FETCH(add_##SUFFIX, T, A, atomic_fetch_add_explicit)                                                      \
    FETCH(sub_##SUFFIX, T, A, atomic_fetch_sub_explicit)                                                      \
    FETCH(min_##SUFFIX, T, A, atomic_fetch_min_explicit)                                                      \
    FETCH(max_##SUFFIX, T, A, atomic_fetch_max_explicit)                                                      \
    FETCH(and_##SUFFIX, T, A, atomic_fetch_and_explicit)                                                      \
    FETCH(or_##SUFFIX, T, A, atomic_fetch_or_explicit)                                                        \
    FETCH(xor_##SUFFIX, T, A, atomic_fetch_xor_explicit)                                                      \
    FETCH(exchange_##SUFFIX, T, A, atomic_exchange_explicit)

FETCH_INTEGER(int, int, atomic_int)
FETCH_INTEGER(uint, uint, atomic_uint)

// Updates whose result nobody looks at, at cells that many or few threads share; threads with a cell beyond do nothing.
#define UPDATE(NAME, T, A, OPERATION)                                                                         \
    kernel void device_update_##NAME(device A *cell [[buffer(0)]], const device uint *at [[buffer(1)]],       \
        const device T *in [[buffer(2)]], constant uint &cells [[buffer(3)]], uint i [[thread_position_in_grid]]) \
    {                                                                                                         \
        if (at[i] < cells) OPERATION(&cell[at[i]], in[i], RELAXED);                                           \
    }                                                                                                         \
    kernel void threadgroup_update_##NAME(device T *cell [[buffer(0)]], const device uint *at [[buffer(1)]],  \
        const device T *in [[buffer(2)]], constant uint &cells [[buffer(3)]], uint i [[thread_position_in_grid]]) \
    {                                                                                                         \
        threadgroup A local[64];                                                                              \
        if (i < cells) atomic_store_explicit(&local[i], cell[i], RELAXED);                                    \
        threadgroup_barrier(mem_flags::mem_threadgroup);                                                      \
        if (at[i] < cells) OPERATION(&local[at[i]], in[i], RELAXED);                                          \
        threadgroup_barrier(mem_flags::mem_threadgroup);                                                      \
        if (i < cells) cell[i] = atomic_load_explicit(&local[i], RELAXED);                                    \
    }
#define UPDATE_INTEGER(SUFFIX, T, A)                                                                          \
    UPDATE(add_##SUFFIX, T, A, atomic_fetch_add_explicit)                                                     \
    UPDATE(sub_##SUFFIX, T, A, atomic_fetch_sub_explicit)                                                     \
    UPDATE(min_##SUFFIX, T, A, atomic_fetch_min_explicit)                                                     \
    UPDATE(max_##SUFFIX, T, A, atomic_fetch_max_explicit)                                                     \
    UPDATE(and_##SUFFIX, T, A, atomic_fetch_and_explicit)                                                     \
    UPDATE(or_##SUFFIX, T, A, atomic_fetch_or_explicit)                                                       \
    UPDATE(xor_##SUFFIX, T, A, atomic_fetch_xor_explicit)
UPDATE_INTEGER(int, int, atomic_int)
UPDATE_INTEGER(uint, uint, atomic_uint)

// Floats: device memory; additions of integers are exact in any order.
#define FETCH_FLOAT(NAME, OPERATION)                                                                          \
    kernel void device_##NAME(device atomic_float *cell [[buffer(0)]], device float *old [[buffer(1)]],       \
        const device float *in [[buffer(2)]], constant uint &cells [[buffer(3)]], uint i [[thread_position_in_grid]]) \
    {                                                                                                         \
        old[i] = OPERATION(&cell[i % cells], in[i], RELAXED);                                                 \
    }
FETCH_FLOAT(add_float, atomic_fetch_add_explicit)
FETCH_FLOAT(sub_float, atomic_fetch_sub_explicit)
FETCH_FLOAT(exchange_float, atomic_exchange_explicit)

// 64-bit minimum and maximum return nothing.
kernel void min_ulong(device atomic_ulong *cell [[buffer(0)]], const device ulong *in [[buffer(1)]], uint i [[thread_position_in_grid]])
{
    atomic_min_explicit(&cell[i % 4], in[i], RELAXED);
}
kernel void max_ulong(device atomic_ulong *cell [[buffer(0)]], const device ulong *in [[buffer(1)]], uint i [[thread_position_in_grid]])
{
    atomic_max_explicit(&cell[i % 4], in[i], RELAXED);
}

// Compare-exchange loops: a float maximum, a product, a counter with an upper bound.
kernel void compare_exchange(device atomic_float *largest [[buffer(0)]], device atomic_uint *words [[buffer(1)]],
    const device float *values [[buffer(2)]], constant uint &bound [[buffer(3)]], uint i [[thread_position_in_grid]])
{
    float seen = atomic_load_explicit(largest, RELAXED);
    while (values[i] > seen && !atomic_compare_exchange_weak_explicit(largest, &seen, values[i], RELAXED, RELAXED)) {
    }
    uint v = atomic_load_explicit(&words[0], RELAXED);
    while (!atomic_compare_exchange_weak_explicit(&words[0], &v, v * 3, RELAXED, RELAXED)) {
    }
    uint c = atomic_load_explicit(&words[1], RELAXED);
    while (c < bound) {
        if (atomic_compare_exchange_weak_explicit(&words[1], &c, c + 1, RELAXED, RELAXED)) break;
    }
}

// An untyped cast to atomics, atomic<T>, and bool.
kernel void other_types(device uint *plain [[buffer(0)]], device atomic<int> *generic [[buffer(1)]],
    device atomic_bool *flag [[buffer(2)]], uint i [[thread_position_in_grid]])
{
    device atomic_uint *a = (device atomic_uint *)plain;
    atomic_fetch_or_explicit(a + i / 32, 1u << (i % 32), RELAXED);
    atomic_fetch_add_explicit(generic, -int(i), RELAXED);
    if (i == 77) atomic_store_explicit(flag, true, RELAXED);
}

// A histogram: first in threadgroup memory, then merged.
kernel void histogram(device atomic_uint *bins [[buffer(0)]], const device uchar *data [[buffer(1)]], constant uint &n [[buffer(2)]],
    uint i [[thread_position_in_grid]], uint l [[thread_position_in_threadgroup]], uint width [[threads_per_threadgroup]],
    uint total [[threads_per_grid]])
{
    threadgroup atomic_uint local[256];
    for (uint b = l; b < 256; b += width) atomic_store_explicit(&local[b], 0, RELAXED);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = i; k < n; k += total) atomic_fetch_add_explicit(&local[data[k]], 1, RELAXED);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint b = l; b < 256; b += width) {
        uint count = atomic_load_explicit(&local[b], RELAXED);
        if (count) atomic_fetch_add_explicit(&bins[b], count, RELAXED);
    }
}

// The last threadgroup to arrive sums what all have written; a fence publishes each part.
kernel void last_arriver(device atomic_uint *arrived [[buffer(0)]], device uint *parts [[buffer(1)]], device uint *result [[buffer(2)]],
    const device uint *in [[buffer(3)]], uint i [[thread_position_in_grid]], uint l [[thread_index_in_threadgroup]],
    uint g [[threadgroup_position_in_grid]], uint groups [[threadgroups_per_grid]], uint lane [[thread_index_in_simdgroup]],
    uint s [[simdgroup_index_in_threadgroup]], uint width [[threads_per_threadgroup]])
{
    threadgroup uint sums[32];
    threadgroup bool last;
    uint v = simd_sum(in[i]);
    if (lane == 0) sums[s] = v;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (l == 0) {
        uint total = 0;
        for (uint k = 0; k < (width + 31) / 32; k++) total += sums[k];
        parts[g] = total;
        atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
        last = atomic_fetch_add_explicit(arrived, 1, RELAXED) == groups - 1;
        atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
    if (last && l == 0) {
        uint total = 0;
        for (uint k = 0; k < groups; k++) total += ((volatile device uint *)parts)[k];
        *result = total;
    }
}

// Stream compaction: one atomic per SIMD-group, positions by a prefix.
kernel void compact(device atomic_uint *count [[buffer(0)]], device uint *out [[buffer(1)]], const device uint *in [[buffer(2)]],
    uint i [[thread_position_in_grid]])
{
    bool keep = in[i] % 3 == 0;
    uint before = simd_prefix_exclusive_sum(uint(keep)), all = simd_sum(uint(keep));
    uint base = 0;
    if (simd_is_first()) base = atomic_fetch_add_explicit(count, all, RELAXED);
    base = simd_broadcast_first(base);
    if (keep) out[base + before] = in[i];
}

// Every order; needs Metal 4.1. The loop multiplies by compare-exchange.
template <memory_order ORDER>
kernel void ordered(device atomic_uint *cell [[buffer(0)]], device uint *old [[buffer(1)]], uint i [[thread_position_in_grid]],
    uint l [[thread_index_in_threadgroup]])
{
    threadgroup atomic_uint local[2];
    if (l < 2) atomic_store_explicit(&local[l], 1, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    old[i] = atomic_fetch_add_explicit(&cell[0], 1, ORDER);
    atomic_fetch_or_explicit(&local[0], 2u << (l % 16), ORDER);
    uint v = atomic_load_explicit(&local[1], memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&local[1], &v, v * 5, ORDER, memory_order_relaxed)) {
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (l == 0) {
        atomic_fetch_xor_explicit(&cell[1], atomic_load_explicit(&local[0], memory_order_relaxed), ORDER);
        atomic_fetch_max_explicit(&cell[2], atomic_load_explicit(&local[1], memory_order_relaxed), ORDER);
    }
}
typedef decltype(ordered<memory_order_relaxed>) ordered_t;
template [[host_name("ordered_relaxed")]] kernel ordered_t ordered<memory_order_relaxed>;
template [[host_name("ordered_acquire")]] kernel ordered_t ordered<memory_order_acquire>;
template [[host_name("ordered_release")]] kernel ordered_t ordered<memory_order_release>;
template [[host_name("ordered_acq_rel")]] kernel ordered_t ordered<memory_order_acq_rel>;
template [[host_name("ordered_seq_cst")]] kernel ordered_t ordered<memory_order_seq_cst>;

// Sums up a binary tree: of two children, the second to arrive sees what the first has written, and goes on upwards.
kernel void tree_sums(device atomic_uint *arrived [[buffer(0)]], device uint *node [[buffer(1)]], constant uint &leaves [[buffer(2)]],
    uint i [[thread_position_in_grid]])
{
    uint n = leaves - 1 + i;
    while (n > 0) {
        n = (n - 1) / 2;
        if (atomic_fetch_add_explicit(&arrived[n], 1, memory_order_acq_rel) == 0) return;
        node[n] = node[2 * n + 1] + node[2 * n + 2];
    }
}
