/* <tombac/ndrange.h>: kernels in C written for a range of work-items, as in OpenCL, SYCL and
 * KernelAbstractions. The host launches them with <tombac/portable.h>.
 *
 *     kernel void reverse_groups(ndrange range, read_only(float) in, float *out)
 *     {
 *         local_memory(float, tile, 256);
 *         work_items(range) tile[local_index()] = in[global_index(range)];
 *         synchronize();
 *         work_items(range) out[global_index(range)] = tile[group_items() - 1 - local_index()];
 *     }
 *
 * Whole workgroups run. The items of the last ones that lie outside of the range skip every statement that
 * work_items stands in front of, and take part in every synchronize(), which therefore stands outside of
 * these statements. Indices count from 0; x counts fastest. The parameter of type ndrange is filled by the
 * launch.
 *
 * In a kernel file, after <tombac/kernel.h>. */
#ifndef TOMBAC_NDRANGE_H
#define TOMBAC_NDRANGE_H

#define TOMBAC_ND_FN static inline __attribute__((unused))

typedef struct ndrange {
    uint x, y, z; /* items; 1 where the range has fewer dimensions */
} ndrange;

/* ---- Where an item stands: cartesian, and linear ---- */

TOMBAC_ND_FN uint3 global_id(void)
{
    return thread_position_in_grid();
}
TOMBAC_ND_FN uint3 local_id(void)
{
    return thread_position_in_threadgroup();
}
TOMBAC_ND_FN uint3 group_id(void)
{
    return threadgroup_position_in_grid();
}
TOMBAC_ND_FN uint3 group_size(void)
{
    return threads_per_threadgroup();
}
TOMBAC_ND_FN uint3 group_count(void)
{
    return threadgroups_per_grid();
}
TOMBAC_ND_FN size_t global_index(ndrange range)
{
    uint3 p = thread_position_in_grid();
    return ((size_t)p.z * range.y + p.y) * range.x + p.x;
}
TOMBAC_ND_FN uint local_index(void)
{
    return thread_index_in_threadgroup();
}
TOMBAC_ND_FN uint group_index(void)
{
    uint3 p = threadgroup_position_in_grid(), n = threadgroups_per_grid();
    return (p.z * n.y + p.y) * n.x + p.x;
}
/* Items of a workgroup, those outside of the range included. */
TOMBAC_ND_FN uint group_items(void)
{
    uint3 n = threads_per_threadgroup();
    return n.x * n.y * n.z;
}

/* ---- Statements ---- */

TOMBAC_ND_FN bool in_range(ndrange range)
{
    uint3 p = thread_position_in_grid();
    return p.x < range.x && p.y < range.y && p.z < range.z;
}
/* In front of a statement or block: only items of the range run it. */
#define work_items(range) if (in_range(range))
/* All items of the workgroup arrive, and see what the others wrote to local and to device memory. */
#define synchronize() threadgroup_barrier(mem_device | mem_threadgroup)
/* An array that the workgroup shares; its length is a constant. An array of an item's own is an ordinary
 * variable. */
#define local_memory(T, NAME, COUNT) threadgroup T NAME[COUNT]
/* A parameter's type: memory that nobody writes while the kernel runs, so that its loads may be moved and
 * kept. */
#define read_only(T) const T *restrict
/* In front of a loop: all its rounds one behind the other, or as many as are said. */
#define unroll_all _Pragma("unroll")
#endif
