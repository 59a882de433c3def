/* What the runtime asks of an engine's driver: take object code, run grids of it.
 *
 * A driver is a constant table of functions without state of its own; what must be kept between calls hangs
 * on the rt_code that `load` makes. The runtime validates everything first (manifest, bindings, geometry), so
 * a driver may rely on what is promised here. Drivers of the library are listed in driver/drivers.c. */
#ifndef RT_DRIVER_DRIVER_H
#define RT_DRIVER_DRIVER_H

#include "artifact/abi.h"
#include "base/error.h"
#include "runtime/manifest.h"

/* Loaded object code; each driver defines its own struct and casts. */
typedef struct rt_code rt_code;

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
    double *seconds;   /* a driver that knows what the kernel alone took says it here; else the clock around `run` counts */
    rt_log log;
} rt_run;

typedef struct rt_driver {
    const char *name; /* of the device, and of the engine that tombac-cc compiles for: "check", "cpu" */
    bool line_tables; /* compile with -g, because failures are reported with source locations */
    bool specialises; /* kernels may be compiled again for the values of their arguments (specialise.h) */
    bool (*available)(void); /* whether this machine can run it; NULL: always */

    /* Optional: what must live as long as a device. `open` may fail with the reason why the device cannot be used. */
    tombac_status (*open)(void **state, tombac_error **error);
    void (*close)(void *state);
    /* Optional: the target to compile for, as tombac-cc's --target takes it; NULL: the processor's level. */
    const char *(*target)(void *state);

    /* Loads an ELF object; `object` need not outlive the call, `manifest` outlives the code. A damaged object
     * or an unknown symbol is TOMBAC_ERROR_ARTIFACT. */
    tombac_status (*load)(
        const void *object, size_t size, const rt_manifest *manifest, rt_code **code, tombac_error **error);
    /* Instead of `load`, for drivers with `open`: the same with the device's state, which outlives the code. */
    tombac_status (*load_on)(void *state, const void *object, size_t size, const rt_manifest *manifest,
        rt_code **code, tombac_error **error);


    /* Runs one grid to its end. May be called by several threads for one code at the same time. A failure of
     * the kernel is TOMBAC_ERROR_KERNEL with the source location where known; the runtime adds the kernel's
     * name. */
    tombac_status (*run)(rt_code *code, const rt_run *run, tombac_error **error);

    void (*unload)(rt_code *code);
} rt_driver;

/* The drivers of this library, best first: tombac_device_open(NULL) takes [0]. NULL-terminated. */
extern const rt_driver *const rt_drivers[];

#endif
