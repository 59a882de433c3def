/* A launch, as launch.c (life and execution) and launch_check.c (validation) see it. */
#ifndef RT_LAUNCH_H
#define RT_LAUNCH_H

#include "runtime/object.h"

/* What the caller bound to one argument. */
typedef struct rt_slot {
    bool set;
    tombac_buffer *buffer; /* or NULL */
    size_t offset;
    void *bytes; /* 64-byte aligned copy, or NULL */
    size_t size; /* of bytes or threadgroup memory */
} rt_slot;

typedef enum rt_grid { RT_GRID_NONE, RT_GRID_THREADS, RT_GRID_THREADGROUPS } rt_grid;
typedef enum rt_launch_state { RT_LAUNCH_NEW, RT_LAUNCH_PENDING, RT_LAUNCH_ENDED } rt_launch_state;

struct tombac_launch {
    rt_queue_item item;       /* first: the queue's pointer is the launch's */
    rt_references references; /* the caller's, and the queue's while pending */
    tombac_kernel *kernel;
    rt_slot *slots;       /* one per argument */
    rt_binding *bindings; /* what the driver gets */
    rt_grid grid;
    tombac_size3 grid_size, threadgroup;
    rt_run run;

    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t ended;
    rt_launch_state state;
    tombac_error *failure; /* of the last run, or NULL */
    tombac_status status;
    double seconds;
    tb_text log;
    bool log_full;
};

/* The argument that an index names: the active one if there are several, -1 if there is none. */
ptrdiff_t rt_launch_find(const tombac_launch *launch, bool threadgroup, uint32_t index);
/* Checks bindings and geometry, and fills bindings and run; *empty: the grid has no threads. */
tombac_status rt_launch_check(tombac_launch *launch, bool *empty, tombac_error **error);

#endif
