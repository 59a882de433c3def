/* Prefix sums: out[i] = in[0] + ... + in[i] (inclusive), or up to in[i - 1] (exclusive).
 *
 * Reduce, then scan (D. Merrill, A. Grimshaw, "Parallel scan for stream architectures", 2009), in three
 * launches: the sum of every block; the prefix sums of these sums, by one threadgroup; every block's own
 * prefix sums on top of what lies before it. Within a block each SIMD-group has a part of its own and goes
 * through it row by row, a row being one element for each lane, with the sum of the rows before in a
 * register. in and out may be the same buffer. */
#include <tombac/kernel.h>

enum { GROUP = 256, SIMDGROUPS = GROUP / 32, ROWS = 16, PART = 32 * ROWS, BLOCK = SIMDGROUPS * PART };

#define SCAN(T)                                                                                              \
    /* The sum of the SIMD-group's part, which begins at `first`. */                                         \
    static T sum_of_part_##T(const T *in, uint first, uint n)                                                \
    {                                                                                                        \
        T sum = 0;                                                                                           \
        for (uint i = first + thread_index_in_simdgroup(); i < min(first + PART, n); i += 32) sum += in[i];  \
        return simd_sum(sum);                                                                                \
    }                                                                                                        \
    kernel threads_required(GROUP) requires(len(in) >= n) void scan_sums_##T(const T *in, T *sums, uint n)   \
    {                                                                                                        \
        threadgroup T parts[SIMDGROUPS];                                                                     \
        uint group = threadgroup_position_in_grid().x, simdgroup = simdgroup_index_in_threadgroup();         \
        parts[simdgroup] = sum_of_part_##T(in, group * BLOCK + simdgroup * PART, n);                         \
        threadgroup_barrier(mem_threadgroup);                                                                \
        T sum = 0;                                                                                           \
        for (uint s = 0; s < SIMDGROUPS; s++) sum += parts[s];                                               \
        if (thread_index_in_threadgroup() == 0) sums[group] = sum;                                           \
    }                                                                                                        \
    /* Replaces sums by their exclusive prefix sums; *total, behind them, becomes the sum of all. */         \
    kernel threads_required(32) requires(len(sums) > n) void scan_spine_##T(T *sums, uint n)                 \
    {                                                                                                        \
        uint lane = thread_index_in_simdgroup();                                                             \
        T before = 0;                                                                                        \
        for (uint first = 0; first < n; first += 32) {                                                       \
            T value = first + lane < n ? sums[first + lane] : 0;                                             \
            T upto = simd_prefix_inclusive_sum(value);                                                       \
            if (first + lane < n) sums[first + lane] = before + (upto - value);                              \
            before += simd_broadcast(upto, 31);                                                              \
        }                                                                                                    \
        if (lane == 0) sums[n] = before;                                                                     \
    }                                                                                                        \
    kernel threads_required(GROUP) requires(len(in) >= n, len(out) >= n) void scan_blocks_##T(               \
        const T *in, T *out, const T *sums, uint n, uint inclusive)                                          \
    {                                                                                                        \
        threadgroup T parts[SIMDGROUPS];                                                                     \
        uint group = threadgroup_position_in_grid().x, simdgroup = simdgroup_index_in_threadgroup();         \
        uint lane = thread_index_in_simdgroup(), first = group * BLOCK + simdgroup * PART;                   \
        parts[simdgroup] = sum_of_part_##T(in, first, n);                                                    \
        threadgroup_barrier(mem_threadgroup);                                                                \
        T before = sums[group];                                                                              \
        for (uint s = 0; s < simdgroup; s++) before += parts[s];                                             \
        for (uint row = first; row < min(first + PART, n); row += 32) {                                      \
            uint i = row + lane;                                                                             \
            T value = i < n ? in[i] : 0, upto = simd_prefix_inclusive_sum(value);                            \
            T upto_last = simd_shuffle_up(upto, 1);                                                          \
            if (i < n) out[i] = inclusive ? before + upto : before + (lane ? upto_last : 0);                 \
            before += simd_broadcast(upto, 31);                                                              \
        }                                                                                                    \
    }
for_each_type(SCAN, float, int, uint)
