/* A launch: what launch.c (bindings, geometry), launch_check.c (validation) and launch_run.c (the operation
 * that is made of it) know of it. */
#ifndef RT_LAUNCH_H
#define RT_LAUNCH_H

#include "runtime/hazard.h"
#include "runtime/operation.h"
#include "runtime/specialise.h"

/* A copy of the caller's bytes, shared by a launch and the operations made of it. */
typedef struct rt_bytes {
    rt_references references;
    size_t size;
    _Alignas(64) unsigned char data[];
} rt_bytes;

rt_bytes *rt_bytes_create(const void *data, size_t size); /* NULL: no memory */
void rt_bytes_release(rt_bytes *bytes);

/* What the caller bound to one argument. */
typedef struct rt_slot {
    bool set, is_tensor;
    tombac_buffer *buffer; /* or NULL */
    size_t offset;
    rt_bytes *bytes; /* or NULL */
    size_t size;     /* of bytes or threadgroup memory */
} rt_slot;

typedef enum rt_grid { RT_GRID_NONE, RT_GRID_THREADS, RT_GRID_THREADGROUPS } rt_grid;

struct tombac_launch {
    tombac_kernel *kernel;
    char *name;     /* or NULL */
    rt_slot *slots; /* one per argument */
    rt_grid grid;
    tombac_size3 grid_size, threadgroup;
    double time_limit;      /* seconds; negative: the device's */
    tombac_operation *last; /* of tombac_launch_submit, or NULL */
};

/* One run of a kernel, with all that it needs. */
typedef struct rt_launch_run {
    tombac_operation operation; /* first */
    tombac_kernel *kernel;
    rt_bytes **bytes; /* one per argument */
    rt_run run;
    rt_special *special; /* the code to run, or NULL: the kernel's own */
    bool empty;  /* the grid has no threads */
    tb_text log; /* guarded by the operation's mutex */
    bool log_full;
    rt_binding *bindings;
} rt_launch_run;

/* launch.c: what launch_tensor.c needs, too. */
void rt_slot_clear(rt_slot *slot);
tombac_status rt_launch_check_changeable(const tombac_launch *launch, const char *call, tombac_error **error);
/* The argument [[buffer(index)]] for what is in `slot`, which must suit its kind and the kernel's device. */
tombac_status rt_launch_find_bindable(
    const tombac_launch *launch, uint32_t index, const rt_slot *slot, ptrdiff_t *found, tombac_error **error);
/* The argument that an index names: the active one if there are several, -1 if there is none. */
ptrdiff_t rt_launch_find(const tombac_launch *launch, bool threadgroup, uint32_t index);
/* Is it a constant `ulong random_seed`, which gets a fresh value where none is bound? */
bool rt_argument_is_seed(const rt_argument *argument);
/* Checks bindings, geometry and contracts; fills bindings and run; *empty: the grid has no threads. own[i], NULL before, are
 * bytes that were made for argument i: the caller's, also after a failure. */
tombac_status rt_launch_check(const tombac_launch *launch, rt_binding *bindings, rt_bytes **own, rt_run *run,
    bool *empty, tombac_error **error);

/* The kernel's code, or that for the values of its arguments. */
rt_code *rt_launch_code(const rt_launch_run *launch);

#endif
