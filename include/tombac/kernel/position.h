/* Where a thread stands, and how large the launch is. Values are Metal's attributes of the same names, as
 * functions that may be called anywhere in a kernel or helper. */
#ifndef TOMBAC_KERNEL_POSITION_H
#define TOMBAC_KERNEL_POSITION_H

#define __TB_READ(NAME, LABEL) __TB_PURE uint __tombac_c_##NAME(void) __asm__("__tombac_" LABEL)
__TB_READ(lane, "lane");
__TB_READ(simdgroup, "simdgroup");
__TB_READ(thread_index, "thread_index");
__TB_READ(simdgroups, "simdgroups_per_threadgroup");
__TB_READ(simdgroups_launched, "dispatch_simdgroups_per_threadgroup");
__TB_READ(thread_count, "thread_count");
#define __TB_READ3(NAME, LABEL)                                                                              \
    __TB_READ(NAME##_x, LABEL "_x");                                                                         \
    __TB_READ(NAME##_y, LABEL "_y");                                                                         \
    __TB_READ(NAME##_z, LABEL "_z")
#define __TB_POSITION3(FUNCTION, NAME, LABEL)                                                                \
    __TB_READ3(NAME, LABEL);                                                                                 \
    static inline __attribute__((always_inline, unused, const)) uint3 FUNCTION(void)                         \
    {                                                                                                        \
        return (uint3){__tombac_c_##NAME##_x(), __tombac_c_##NAME##_y(), __tombac_c_##NAME##_z()};           \
    }
__TB_POSITION3(thread_position_in_threadgroup, inside, "thread_position")
__TB_POSITION3(threadgroup_position_in_grid, group, "threadgroup_position_in_grid")
__TB_POSITION3(threads_per_threadgroup, size, "threads_per_threadgroup")
__TB_POSITION3(dispatch_threads_per_threadgroup, launched, "dispatch_threads_per_threadgroup")
__TB_POSITION3(threads_per_grid, grid, "threads_per_grid")
__TB_POSITION3(threadgroups_per_grid, groups, "threadgroups_per_grid")
__TB_POSITION3(grid_origin, origin, "grid_origin")
#undef __TB_POSITION3
#undef __TB_READ3
#undef __TB_READ

#define __TB_POSITION static inline __attribute__((always_inline, unused, const))
__TB_POSITION uint3 thread_position_in_grid(void)
{
    return (uint3){__tombac_c_group_x() * __tombac_c_launched_x() + __tombac_c_inside_x(),
        __tombac_c_group_y() * __tombac_c_launched_y() + __tombac_c_inside_y(),
        __tombac_c_group_z() * __tombac_c_launched_z() + __tombac_c_inside_z()};
}
/* x counts fastest, then y, then z. */
__TB_POSITION size_t thread_index_in_grid(void)
{
    uint3 p = thread_position_in_grid();
    return ((size_t)p.z * __tombac_c_grid_y() + p.y) * __tombac_c_grid_x() + p.x;
}
__TB_POSITION uint thread_index_in_threadgroup(void) { return __tombac_c_thread_index(); }
__TB_POSITION uint thread_index_in_simdgroup(void) { return __tombac_c_lane(); }
__TB_POSITION uint simdgroup_index_in_threadgroup(void) { return __tombac_c_simdgroup(); }
__TB_POSITION uint simdgroups_per_threadgroup(void) { return __tombac_c_simdgroups(); }
__TB_POSITION uint dispatch_simdgroups_per_threadgroup(void) { return __tombac_c_simdgroups_launched(); }
__TB_POSITION uint threads_per_simdgroup(void) { return 32; }
__TB_POSITION uint thread_execution_width(void) { return 32; }
__TB_POSITION uint thread_index_in_quadgroup(void) { return __tombac_c_lane() & 3u; }
__TB_POSITION uint quadgroup_index_in_threadgroup(void) { return __tombac_c_thread_index() >> 2; }
__TB_POSITION uint quadgroups_per_threadgroup(void) { return (__tombac_c_thread_count() + 3u) >> 2; }
__TB_POSITION uint dispatch_quadgroups_per_threadgroup(void)
{
    return (__tombac_c_launched_x() * __tombac_c_launched_y() * __tombac_c_launched_z() + 3u) >> 2;
}
#undef __TB_POSITION
#endif
