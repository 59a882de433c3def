/* Radix sort of 32-bit keys, with or without a value each; stable.
 *
 * Four passes, from the lowest byte to the highest; each puts the keys in the order of one byte (D. Merrill,
 * A. Grimshaw, "High performance and scalable radix sorting", 2011). A SIMD-group has a part of the keys. A
 * pass counts each SIMD-group's 256 digits (sort_count); prefix sums over all counts, in the order of the
 * digits and within a digit of the SIMD-groups, say where each SIMD-group's keys of a digit begin (the
 * kernels of scan.c); then each key moves (sort_move). Lanes with equal digits find each other by ballots,
 * one for each bit: the keys of a row keep their order, and one lane counts for all.
 *
 * Keys compare as unsigned numbers: an int's sign is turned; a float's too, and if it was set all other bits,
 * so that -0 comes before +0, NaN of negative sign first and others last. */
#include <tombac/kernel.h>

enum { GROUP = 256, SIMDGROUPS = GROUP / 32, ROWS = 32, PART = 32 * ROWS, DIGITS = 256 };

static uint ordered_uint(uint key)
{
    return key;
}
static uint ordered_int(int key)
{
    return (uint)key ^ 0x80000000u;
}
static uint ordered_float(float key)
{
    uint bits = as_type(uint, key);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

/* The lanes whose digit is the same, of those that take part. */
static uint equal_lanes(uint digit, bool takes_part)
{
    uint lanes = (uint)simd_ballot(takes_part);
    for (uint bit = 0; bit < 8; bit++) {
        uint ones = (uint)simd_ballot(digit >> bit & 1);
        lanes &= digit >> bit & 1 ? ones : ~ones;
    }
    return lanes;
}

/* Which of the SIMD-groups of the whole grid this is: the owner of part [*, * + PART). */
static uint own_part(void)
{
    return threadgroup_position_in_grid().x * SIMDGROUPS + simdgroup_index_in_threadgroup();
}

#define SORT_COUNT(T)                                                                                        \
    kernel threads_required(GROUP) requires(len(keys) >= n, len(counts) >= 256 * parts) void sort_count_##T( \
        const T *keys, uint *counts, uint n, uint parts, uint shift)                                         \
    {                                                                                                        \
        threadgroup uint own[SIMDGROUPS][DIGITS];                                                            \
        uint lane = thread_index_in_simdgroup(), part = own_part(), first = part * PART;                     \
        uint *count = own[simdgroup_index_in_threadgroup()];                                                 \
        for (uint d = lane; d < DIGITS; d += 32) count[d] = 0;                                               \
        simdgroup_barrier(mem_threadgroup);                                                                  \
        for (uint row = first; row < min(first + PART, n); row += 32) {                                      \
            bool takes_part = row + lane < n;                                                                \
            uint digit = takes_part ? ordered_##T(keys[row + lane]) >> shift & 255 : 0;                      \
            uint lanes = equal_lanes(digit, takes_part);                                                     \
            if (takes_part && ctz(lanes) == lane) count[digit] += popcount(lanes);                           \
            simdgroup_barrier(mem_threadgroup);                                                              \
        }                                                                                                    \
        if (part >= parts) return;                                                                           \
        for (uint d = lane; d < DIGITS; d += 32) counts[d * parts + part] = count[d];                        \
    }

/* PARAMETERS and MOVE deal with the values. */
#define SORT_MOVE(T, NAME, PARAMETERS, MOVE)                                                                 \
    kernel threads_required(GROUP)                                                                           \
        requires(len(keys) >= n, len(counts) >= 256 * parts, len(to) >= n) void sort_##NAME##_##T(           \
            const T *keys, T *to, const uint *counts PARAMETERS, uint n, uint parts, uint shift)             \
    {                                                                                                        \
        threadgroup uint own[SIMDGROUPS][DIGITS];                                                            \
        uint lane = thread_index_in_simdgroup(), part = own_part(), first = part * PART;                     \
        uint *next = own[simdgroup_index_in_threadgroup()];                                                  \
        if (part < parts)                                                                                    \
            for (uint d = lane; d < DIGITS; d += 32) next[d] = counts[d * parts + part];                     \
        simdgroup_barrier(mem_threadgroup);                                                                  \
        for (uint row = first; row < min(first + PART, n); row += 32) {                                      \
            bool takes_part = row + lane < n;                                                                \
            uint i = min(row + lane, n - 1);                                                                 \
            T key = keys[i];                                                                                 \
            uint digit = ordered_##T(key) >> shift & 255, lanes = equal_lanes(digit, takes_part);            \
            uint place = next[digit] + popcount(lanes & ((1u << lane) - 1));                                 \
            simdgroup_barrier(mem_threadgroup);                                                              \
            if (takes_part) {                                                                                \
                to[place] = key;                                                                             \
                MOVE;                                                                                        \
                if (ctz(lanes) == lane) next[digit] = place + popcount(lanes);                               \
            }                                                                                                \
            simdgroup_barrier(mem_threadgroup);                                                              \
        }                                                                                                    \
    }
#define NOTHING
#define VALUES , const uint *values, uint *values_to
#define SORT(T)                                                                                              \
    SORT_COUNT(T)                                                                                            \
    SORT_MOVE(T, move, NOTHING, (void)0)                                                                     \
    SORT_MOVE(T, pairs, VALUES, values_to[place] = values[i])
for_each_type(SORT, float, int, uint)
