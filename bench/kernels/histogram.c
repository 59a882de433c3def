/* histogram.metal in C. */
#include <stdatomic.h>
#include <tombac/kernel.h>

kernel void histogram(const uchar *image, atomic_uint *bins, uint threads)
{
    uint i = thread_position_in_grid().x;
    for (uint k = 0; k < 16; k++)
        atomic_fetch_add_explicit(&bins[image[i + k * threads]], 1u, memory_order_relaxed);
}

kernel void histogram_local(const uchar *image, atomic_uint *bins, uint threads) /* 256 threads */
{
    threadgroup atomic_uint counts[256];
    uint i = thread_position_in_grid().x, t = thread_index_in_threadgroup();
    atomic_store_explicit(&counts[t], 0u, memory_order_relaxed);
    threadgroup_barrier(mem_threadgroup);
    for (uint k = 0; k < 64; k++)
        atomic_fetch_add_explicit(&counts[image[i + k * threads]], 1u, memory_order_relaxed);
    threadgroup_barrier(mem_threadgroup);
    uint count = atomic_load_explicit(&counts[t], memory_order_relaxed);
    atomic_fetch_add_explicit(&bins[t], count, memory_order_relaxed);
}
