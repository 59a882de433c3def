/* Positions on the host, and the loop that sets them. The state belongs to the file that includes the header; a
 * kernel file and its test are one translation unit. */
#ifndef TOMBAC_KERNEL_HOST_POSITION_H
#define TOMBAC_KERNEL_HOST_POSITION_H

typedef struct tombac_host_launch {
    uint grid[3], launched[3]; /* threads */
    uint group[3], inside[3];  /* the running thread */
    bool started;
} tombac_host_launch;
static tombac_host_launch tombac_host __attribute__((unused));

/* for-loop over the threads of a grid of (gx, gy, gz) threads in threadgroups of (tx, ty, tz); as in Metal's
 * dispatchThreads, threadgroups at the edges are smaller. */
#define tombac_for_each_thread(gx, gy, gz, tx, ty, tz)                                                       \
    for (tombac_host_start((gx), (gy), (gz), (tx), (ty), (tz)); tombac_host_next();)

TOMBAC_HOST_FN void tombac_host_start(size_t gx, size_t gy, size_t gz, size_t tx, size_t ty, size_t tz)
{
    tombac_host = (tombac_host_launch){.grid = {(uint)gx, (uint)gy, (uint)gz},
        .launched = {(uint)tx, (uint)ty, (uint)tz}};
}

/* Threads in the running threadgroup along an axis. */
TOMBAC_HOST_FN uint tombac_host_size(int d)
{
    uint rest = tombac_host.grid[d] - tombac_host.group[d] * tombac_host.launched[d];
    return rest < tombac_host.launched[d] ? rest : tombac_host.launched[d];
}
TOMBAC_HOST_FN uint tombac_host_groups(int d)
{
    uint n = tombac_host.grid[d], size = tombac_host.launched[d];
    return size ? n / size + (n % size != 0) : 0;
}

/* Moves to the next thread; false after the last. */
TOMBAC_HOST_FN bool tombac_host_next(void)
{
    if (!tombac_host.started) {
        tombac_host.started = true;
        return tombac_host_groups(0) && tombac_host_groups(1) && tombac_host_groups(2);
    }
    for (int d = 0; d < 3; d++) {
        if (++tombac_host.inside[d] < tombac_host_size(d)) return true;
        tombac_host.inside[d] = 0;
    }
    for (int d = 0; d < 3; d++) {
        if (++tombac_host.group[d] < tombac_host_groups(d)) return true;
        tombac_host.group[d] = 0;
    }
    return false;
}

#define TOMBAC_HOST_POSITION3(NAME, X)                                                                       \
    TOMBAC_HOST_FN uint tombac_host_##NAME(int d) { return X; }                                              \
    TOMBAC_HOST_FN uint3 NAME(void)                                                                          \
    {                                                                                                        \
        return (uint3){tombac_host_##NAME(0), tombac_host_##NAME(1), tombac_host_##NAME(2)};                 \
    }
TOMBAC_HOST_POSITION3(
    thread_position_in_grid, tombac_host.group[d] * tombac_host.launched[d] + tombac_host.inside[d])
TOMBAC_HOST_POSITION3(thread_position_in_threadgroup, tombac_host.inside[d])
TOMBAC_HOST_POSITION3(threadgroup_position_in_grid, tombac_host.group[d])
TOMBAC_HOST_POSITION3(threads_per_threadgroup, tombac_host_size(d))
TOMBAC_HOST_POSITION3(dispatch_threads_per_threadgroup, tombac_host.launched[d])
TOMBAC_HOST_POSITION3(threads_per_grid, tombac_host.grid[d])
TOMBAC_HOST_POSITION3(threadgroups_per_grid, tombac_host_groups(d))
TOMBAC_HOST_POSITION3(grid_origin, (uint)(d & 0))

TOMBAC_HOST_FN size_t thread_index_in_grid(void)
{
    size_t x = tombac_host_thread_position_in_grid(0), y = tombac_host_thread_position_in_grid(1);
    return (tombac_host_thread_position_in_grid(2) * (size_t)tombac_host.grid[1] + y) * tombac_host.grid[0] + x;
}
TOMBAC_HOST_FN uint thread_index_in_threadgroup(void)
{
    return (tombac_host.inside[2] * tombac_host_size(1) + tombac_host.inside[1]) * tombac_host_size(0) +
           tombac_host.inside[0];
}
TOMBAC_HOST_FN uint tombac_host_threads(void)
{
    return tombac_host_size(0) * tombac_host_size(1) * tombac_host_size(2);
}
TOMBAC_HOST_FN uint tombac_host_launched_threads(void)
{
    return tombac_host.launched[0] * tombac_host.launched[1] * tombac_host.launched[2];
}
TOMBAC_HOST_FN uint threads_per_simdgroup(void) { return 32; }
TOMBAC_HOST_FN uint thread_execution_width(void) { return 32; }
TOMBAC_HOST_FN uint thread_index_in_simdgroup(void) { return thread_index_in_threadgroup() % 32; }
TOMBAC_HOST_FN uint simdgroup_index_in_threadgroup(void) { return thread_index_in_threadgroup() / 32; }
TOMBAC_HOST_FN uint simdgroups_per_threadgroup(void) { return (tombac_host_threads() + 31) / 32; }
TOMBAC_HOST_FN uint dispatch_simdgroups_per_threadgroup(void)
{
    return (tombac_host_launched_threads() + 31) / 32;
}
TOMBAC_HOST_FN uint thread_index_in_quadgroup(void) { return thread_index_in_threadgroup() % 4; }
TOMBAC_HOST_FN uint quadgroup_index_in_threadgroup(void) { return thread_index_in_threadgroup() / 4; }
TOMBAC_HOST_FN uint quadgroups_per_threadgroup(void) { return (tombac_host_threads() + 3) / 4; }
TOMBAC_HOST_FN uint dispatch_quadgroups_per_threadgroup(void)
{
    return (tombac_host_launched_threads() + 3) / 4;
}
#endif
