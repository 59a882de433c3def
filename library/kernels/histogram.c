/* Histogram: how often each value occurs.
 *
 * Each threadgroup counts its share, which is one piece of the input, in threadgroup memory, where its threads alone meet,
 * and adds what it found to the whole at the end: one addition to device memory for each bin and threadgroup instead of one
 * for each element. Values of n bins and more are not counted, and not looked for where a type has no such values. The bins
 * must have been set to zero. */
#include <stdatomic.h>
#include <tombac/kernel.h>

enum { GROUP = 256, MOST_BINS = 4096 };

#define HISTOGRAM(T)                                                                                         \
    kernel threads_required(GROUP) requires(len(in) >= n, len(bins) >= bin_count,                            \
        bin_count <= 4096) void histogram_##T(const T *in, atomic_uint *bins, uint n, uint bin_count)        \
    {                                                                                                        \
        threadgroup atomic_uint own[MOST_BINS];                                                              \
        uint t = thread_index_in_threadgroup(), groups = threadgroups_per_grid().x;                          \
        for (uint b = t; b < bin_count; b += GROUP)                                                          \
            atomic_store_explicit(&own[b], 0u, memory_order_relaxed);                                        \
        threadgroup_barrier(mem_threadgroup);                                                                \
        uint share = (n / groups / GROUP + 1) * GROUP;                                                       \
        uint begin = min(threadgroup_position_in_grid().x * share, n), end = begin + min(share, n - begin);  \
        if (sizeof(T) == 1 && bin_count >= 256) {                                                            \
            for (uint i = begin + t; i < end; i += GROUP)                                                    \
                atomic_fetch_add_explicit(&own[in[i]], 1u, memory_order_relaxed);                            \
        } else {                                                                                             \
            for (uint i = begin + t; i < end; i += GROUP)                                                    \
                if (in[i] < bin_count) atomic_fetch_add_explicit(&own[in[i]], 1u, memory_order_relaxed);     \
        }                                                                                                    \
        threadgroup_barrier(mem_threadgroup);                                                                \
        for (uint b = t; b < bin_count; b += GROUP) {                                                        \
            uint count = atomic_load_explicit(&own[b], memory_order_relaxed);                                \
            if (count) atomic_fetch_add_explicit(&bins[b], count, memory_order_relaxed);                     \
        }                                                                                                    \
    }
for_each_type(HISTOGRAM, uchar, ushort, uint)
