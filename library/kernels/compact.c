/* Stream compaction: the elements whose flag is not zero, in their order, without gaps.
 *
 * Where an element goes is the number of those kept before it: prefix sums of the flags (G. E. Blelloch,
 * "Prefix sums and their applications", 1990), in the three steps of scan.c. Within a row of 32 a ballot says
 * who is kept, and a lane counts the bits below its own. */
#include <tombac/kernel.h>

enum { GROUP = 256, SIMDGROUPS = GROUP / 32, ROWS = 16, PART = 32 * ROWS, BLOCK = SIMDGROUPS * PART };

static uint kept_in_part(const uchar *flags, uint first, uint n)
{
    uint kept = 0;
    for (uint i = first + thread_index_in_simdgroup(); i < min(first + PART, n); i += 32)
        kept += flags[i] != 0;
    return simd_sum(kept);
}

kernel threads_required(GROUP)
    requires(len(flags) >= n) void compact_count(const uchar *flags, uint *sums, uint n)
{
    threadgroup uint parts[SIMDGROUPS];
    uint group = threadgroup_position_in_grid().x, simdgroup = simdgroup_index_in_threadgroup(), sum = 0;
    parts[simdgroup] = kept_in_part(flags, group * BLOCK + simdgroup * PART, n);
    threadgroup_barrier(mem_threadgroup);
    for (uint s = 0; s < SIMDGROUPS; s++) sum += parts[s];
    if (thread_index_in_threadgroup() == 0) sums[group] = sum;
}

#define COMPACT(T)                                                                                           \
    kernel threads_required(GROUP) requires(len(in) >= n, len(flags) >= n) void compact_move_##T(            \
        const T *in, const uchar *flags, T *out, const uint *sums, uint n)                                   \
    {                                                                                                        \
        threadgroup uint parts[SIMDGROUPS];                                                                  \
        uint group = threadgroup_position_in_grid().x, simdgroup = simdgroup_index_in_threadgroup();         \
        uint lane = thread_index_in_simdgroup(), first = group * BLOCK + simdgroup * PART;                   \
        parts[simdgroup] = kept_in_part(flags, first, n);                                                    \
        threadgroup_barrier(mem_threadgroup);                                                                \
        uint before = sums[group];                                                                           \
        for (uint s = 0; s < simdgroup; s++) before += parts[s];                                             \
        for (uint row = first; row < min(first + PART, n); row += 32) {                                      \
            uint i = row + lane;                                                                             \
            bool kept = i < n && flags[i] != 0;                                                              \
            uint lanes = (uint)simd_ballot(kept);                                                            \
            if (kept) out[before + popcount(lanes & ((1u << lane) - 1))] = in[i];                            \
            before += popcount(lanes);                                                                       \
        }                                                                                                    \
    }
for_each_type(COMPACT, float, int, uint)
