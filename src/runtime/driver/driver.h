/* What the runtime asks of an engine's driver: take object code, run grids of it.
 *
 * A driver is a constant table of functions without state of its own; what must be kept between calls hangs
 * on the rt_code that `load` makes. The runtime validates everything first (manifest, bindings, geometry), so
 * a driver may rely on what is promised here. Drivers of the library are listed in driver/drivers.c. */
#ifndef RT_DRIVER_DRIVER_H
#define RT_DRIVER_DRIVER_H

#include "artifact/abi.h"
#include "base/error.h"
#include "runtime/cache.h"
#include "runtime/manifest.h"

#include <stdatomic.h>

/* Loaded object code; each driver defines its own struct and casts. */
typedef struct rt_code rt_code;

/* One allocation of the host's memory. A driver whose kernels do not use it in place hangs its own copy on it;
 * who of the two has the newest content is the driver's knowledge (`to_host` and `host_wrote` below). */
typedef struct rt_memory {
    void *contents;
    size_t size;
    bool foreign;       /* the caller's own memory, used without a copy where that is possible */
    atomic_bool shared; /* the host has a bare pointer to it: it may read and write it between any two launches */
    void *mirror;       /* the driver's; NULL: none yet */
} rt_memory;

/* What one argument is bound to, in the order of rt_manifest.arguments. */
typedef struct rt_binding {
    void *address; /* buffer and constant arguments: the first byte; NULL for threadgroup and inactive
                      arguments */
    size_t
        size; /* bytes from `address` to the end of the buffer; threadgroup arguments: bytes of the block */
    /* The whole buffer that `address` points into (the same as above for bytes), so that two arguments in one
     * buffer can be told from two buffers that happen to lie side by side. NULL, 0 for threadgroup and
     * inactive arguments. */
    void *buffer;
    size_t buffer_size;
    rt_memory *memory; /* that the buffer is part of; NULL for bytes */
} rt_binding;

/* Takes what kernels print: whole lines, '\n' included, from any thread, at any time during `run`. */
typedef struct rt_log {
    void (*write)(void *context, const char *text, size_t size);
    void *context;
} rt_log;

typedef struct rt_run {
    /* The first block is filled in (grid_origin too), the second is zero: copy it per worker and fill that.
     * The grid is not empty; threads_per_grid and threadgroups_per_grid fit 32 bits per dimension (not their
     * product!). With set_threadgroups threads_per_grid is a multiple of the threadgroup's size, else edge
     * threadgroups are partial. */
    tb_dispatch dispatch;
    const rt_binding *bindings; /* one per argument of the manifest */
    /* Bytes of threadgroup memory of one threadgroup: first the static variables from offset 0 (size
     * static_threadgroup_memory), then each threadgroup argument's block, in the order of the arguments and
     * each aligned to 16; at most TB_MAX_THREADGROUP_MEMORY. The driver allocates it, 64-byte aligned. */
    size_t threadgroup_memory;
    double time_limit; /* seconds of wall clock, 0: none; past it TOMBAC_ERROR_TIMEOUT */
    double *seconds;   /* may be NULL; a driver that knows what the kernel alone took says it here; else the clock around `run` counts */
    rt_log log;
} rt_run;

/* A part of an allocation. */
typedef struct rt_part {
    rt_memory *memory;
    size_t offset, size;
} rt_part;

typedef enum rt_collective_kind { RT_ALL_REDUCE, RT_ALL_GATHER, RT_BROADCAST } rt_collective_kind;

/* What a group of devices computes together; `from` and `to` have a part for each. */
typedef struct rt_collective {
    rt_collective_kind kind;
    tombac_type type;
    tombac_reduction reduction;
    size_t count; /* elements in each `from` */
    size_t root;  /* broadcasts: the only `from` that is used */
    const rt_part *from, *to; /* for one device the same memory or no overlap, else no overlap at all */
} rt_collective;

typedef struct rt_driver {
    const char *name; /* of the device, and of the engine that tombac-cc compiles for: "check", "cpu" */
    bool specialises; /* kernels may be compiled again for the values of their arguments (specialise.h) */
    bool any_thread; /* `run` may be called on the program's own threads too */
    bool (*available)(void); /* whether this machine can run it; NULL: always */

    /* Optional, where there can be several of it: how many there are, and the name of each, as many as are ever counted. */
    size_t (*count)(void);
    const char *const *names;

    /* Optional: what must live as long as device number `number` from 0. `open` may fail with the reason why the device cannot be
     * used. */
    tombac_status (*open)(size_t number, void **state, tombac_error **error);
    void (*close)(void *state);
    /* Optional: bytes of the device's own memory. */
    size_t (*memory)(void *state);
    /* For drivers that set rt_memory.mirror. No operation writes the memory during these calls, and none at all uses it
     * during the last two. `to_host` makes the host's content the newest; `host_wrote` says that it was changed;
     * `drop` frees what the driver keeps of it. */
    tombac_status (*to_host)(void *state, rt_memory *memory, tombac_error **error);
    void (*host_wrote)(void *state, rt_memory *memory);
    void (*drop)(void *state, rt_memory *memory);
    /* Optional: the target to compile for, as tombac-cc's --target takes it ("sm_90"; code for a lower number runs too); NULL: the
     * processor's level. */
    const char *(*target)(void *state);

    /* Loads an ELF object; `object` need not outlive the call, `manifest` outlives the code. A damaged object
     * or an unknown symbol is TOMBAC_ERROR_ARTIFACT. */
    tombac_status (*load)(
        const void *object, size_t size, const rt_manifest *manifest, rt_code **code, tombac_error **error);
    /* Instead of `load`, for drivers with `open`: the same with the device's state, which outlives the code, and the cache, where a
     * driver may keep what it makes of the object (a folder of NULL: off). */
    tombac_status (*load_on)(void *state, const rt_cache *cache, const void *object, size_t size,
        const rt_manifest *manifest, rt_code **code, tombac_error **error);


    /* Runs one grid to its end. May be called by several threads for one code at the same time. A failure of
     * the kernel is TOMBAC_ERROR_KERNEL with the source location where known; the runtime adds the kernel's
     * name. */
    tombac_status (*run)(rt_code *code, const rt_run *run, tombac_error **error);
    /* Optional, for drivers that are faster at it than by `run`: grids in order, each as if the one before had ended.
     * After a failure *failed is the number of the one that failed; `count` where that is not known. */
    tombac_status (*run_all)(void *state, rt_code *const *codes, const rt_run *const *runs, size_t count,
        size_t *failed, tombac_error **error);

    /* Optional: takes code of which a part was left out (abi.h). `lacks`: does a launch of this shape need that part, and is it not
     * there? `complete` loads it, as `load` does; launches of other shapes may run at the same time. */
    bool (*lacks)(const rt_code *code, const tb_dispatch *dispatch);
    tombac_status (*complete)(rt_code *code, const void *object, size_t size, tombac_error **error);

    void (*unload)(rt_code *code);
    /* Optional: as tombac_kernel_get_resources. */
    tombac_status (*resources)(
        rt_code *code, uint32_t threads, size_t threadgroup_memory, tombac_resources *resources, tombac_error **error);

    /* Optional: copies between two allocations of devices of this driver, which may be the same; *done stays false where it is
     * left to the caller, who copies on the host. No operation writes `from`, none uses `to`. */
    tombac_status (*copy)(
        void *from_state, const rt_part *from, void *to_state, const rt_part *to, bool *done, tombac_error **error);
    /* Optional: a group of different devices of this driver, which outlive it; TOMBAC_ERROR_UNSUPPORTED: not to be had. `collect`
     * as `copy`. */
    tombac_status (*group_open)(void *const *states, size_t count, void **group, tombac_error **error);
    void (*group_close)(void *group);
    tombac_status (*collect)(void *group, const rt_collective *what, bool *done, tombac_error **error);
} rt_driver;

/* The drivers of this library, best first: tombac_device_open(NULL) takes [0]. NULL-terminated. */
extern const rt_driver *const rt_drivers[];

#endif
