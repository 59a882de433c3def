/* Prefix sums in two kernels: those of each block of 256, and the additions of what lies before a block. The
 * sums of the blocks are made into prefix sums by the same two, until one block is left. W. D. Hillis, G. L.
 * Steele, "Data parallel algorithms", 1986. */
#include <tombac/kernel.h>

enum { BLOCK = 256 };

kernel threads_required(BLOCK)
    requires(len(in) >= n, len(out) >= n) void scan_blocks(const uint *in, uint *out, uint *sums, uint n)
{
    threadgroup uint now[BLOCK];
    uint t = thread_index_in_threadgroup(), i = thread_position_in_grid().x;
    now[t] = i < n ? in[i] : 0;
    threadgroup_barrier(mem_threadgroup);
    for (uint distance = 1; distance < BLOCK; distance *= 2) {
        uint before = t >= distance ? now[t - distance] : 0;
        threadgroup_barrier(mem_threadgroup);
        now[t] += before;
        threadgroup_barrier(mem_threadgroup);
    }
    if (i < n) out[i] = now[t];
    if (t == BLOCK - 1) sums[threadgroup_position_in_grid().x] = now[t];
}

kernel requires(len(out) >= n) void add_before(const uint *sums, uint *out, uint n)
{
    uint i = thread_position_in_grid().x;
    if (i >= BLOCK && i < n) out[i] += sums[i / BLOCK - 1];
}
