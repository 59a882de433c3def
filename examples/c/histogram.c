/* How often each byte occurs: a histogram per threadgroup in its own memory, added to the whole at the end. */
#include <stdatomic.h>
#include <tombac/kernel.h>

kernel threads_required(256) void histogram(slice_const(uchar) in, slice(uint) bins)
{
    threadgroup atomic_uint local[256];
    uint t = thread_index_in_threadgroup();
    atomic_store_explicit(&local[t], 0u, memory_order_relaxed);
    threadgroup_barrier(mem_threadgroup);
    for (size_t i = thread_position_in_grid().x; i < in.count; i += threads_per_grid().x)
        atomic_fetch_add_explicit(&local[at(in, i)], 1u, memory_order_relaxed);
    threadgroup_barrier(mem_threadgroup);
    atomic_uint *bin = (atomic_uint *)&at(bins, t);
    atomic_fetch_add_explicit(bin, atomic_load_explicit(&local[t], memory_order_relaxed), memory_order_relaxed);
}
