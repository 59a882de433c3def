/* Tombac: run Apple Metal compute kernels on machines that are not Macs.
 *
 * The life of a launch, and the calls in this header in the order in which one needs them:
 *
 *     tombac_device  *device;   where kernels run:  "cpu", "check", ...
 *     tombac_library *library;  a Metal source, compiled kernel by kernel on demand
 *     tombac_kernel  *kernel;   one kernel of it, with its function constants fixed
 *     tombac_buffer  *buffer;   device memory
 *     tombac_launch  *launch;   one kernel with its arguments and its grid; submit it, wait for it
 *
 * Conventions
 *   - Objects are opaque and reference counted: a _create/_open call gives one reference, _retain adds one, _release
 *     takes one away (NULL is allowed). An object keeps alive what it needs (a kernel its library, ...).
 *   - A call that can fail returns tombac_status and takes `tombac_error **error` last. On failure, if `error` is not
 *     NULL, *error receives a new error object that the caller releases; outputs are untouched. On success *error
 *     is untouched. The library never prints and never aborts.
 *   - Strings are UTF-8 and zero-terminated; returned `const char *` live as long as their object.
 *   - Sizes and offsets are bytes in size_t unless a name says otherwise.
 *   - Threads: every call may be made from any thread. One launch object must not be changed by two threads at once;
 *     all other objects may be shared.
 *   - Environment: TOMBAC_CC (path of tombac-cc), TOMBAC_CC_TIME and TOMBAC_CC_MEMORY (limits of one compilation in seconds,
 *     60, and bytes of address space, 8 GiB; 0: none), TOMBAC_CACHE and TOMBAC_CACHE_SIZE (the compile cache's folder and
 *     limit in bytes, 1G; 0: off), TOMBAC_TIME_LIMIT (seconds that a launch may take; read by tombac_device_open).
 */
#ifndef TOMBAC_TOMBAC_H
#define TOMBAC_TOMBAC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TOMBAC_API __attribute__((visibility("default")))

/* ---- Status and errors ---------------------------------------------------------------------------------------- */

typedef enum tombac_status {
    TOMBAC_OK = 0,
    TOMBAC_ERROR_ARGUMENT,    /* the caller passed something that no call can accept (NULL, a bad number, ...) */
    TOMBAC_ERROR_MEMORY,      /* out of memory, or a size that overflows */
    TOMBAC_ERROR_IO,          /* a file could not be read or written */
    TOMBAC_ERROR_NOT_FOUND,   /* no device, kernel, argument or function constant of that name */
    TOMBAC_ERROR_SOURCE,      /* the source does not compile; the message holds the diagnostics */
    TOMBAC_ERROR_UNSUPPORTED, /* valid Metal that Tombac refuses, by name */
    TOMBAC_ERROR_COMPILER,    /* the compiler is not installed, crashed, or ran over its limits */
    TOMBAC_ERROR_BINDING,     /* an argument is missing, extra, too small or of the wrong kind */
    TOMBAC_ERROR_GEOMETRY,    /* a zero or too large threadgroup, a grid that overflows */
    TOMBAC_ERROR_KERNEL,      /* the kernel failed while it ran */
    TOMBAC_ERROR_TIMEOUT,     /* a time limit passed */
    TOMBAC_ERROR_ARTIFACT     /* a compiled artifact is damaged, foreign or stale */
} tombac_status;

typedef struct tombac_error tombac_error;

/* A short fixed name of a status, as "source error". Never NULL. */
TOMBAC_API const char *tombac_status_name(tombac_status status);
TOMBAC_API tombac_status tombac_error_status(const tombac_error *error);
/* The whole message for a person: one line, or several where it holds compiler diagnostics. */
TOMBAC_API const char *tombac_error_message(const tombac_error *error);
/* The kernel that the error is about, or NULL. */
TOMBAC_API const char *tombac_error_kernel(const tombac_error *error);
/* Source file (or NULL), line and column (or 0) that the error is about. */
TOMBAC_API const char *tombac_error_file(const tombac_error *error);
TOMBAC_API unsigned tombac_error_line(const tombac_error *error);
TOMBAC_API unsigned tombac_error_column(const tombac_error *error);
TOMBAC_API void tombac_error_release(tombac_error *error);

/* ---- Devices --------------------------------------------------------------------------------------------------- */

typedef struct tombac_device tombac_device;

/* Opens a device by name: "check" (scalar, checks everything), "cpu" (fast), or NULL for the best one present. */
TOMBAC_API tombac_status tombac_device_open(const char *name, tombac_device **device, tombac_error **error);
TOMBAC_API tombac_device *tombac_device_retain(tombac_device *device);
TOMBAC_API void tombac_device_release(tombac_device *device);
TOMBAC_API const char *tombac_device_name(const tombac_device *device);
/* Number of device names that tombac_device_open accepts on this machine, and the i-th of them. */
TOMBAC_API size_t tombac_device_count(void);
TOMBAC_API const char *tombac_device_name_at(size_t index);

typedef struct tombac_device_limits {
    uint32_t max_threads_per_threadgroup;   /* product of the three sizes: 1024 */
    uint32_t simd_width;                    /* threads per SIMD-group: 32 */
    size_t max_threadgroup_memory;          /* bytes: 32768 */
    size_t max_buffer_size;                 /* bytes */
} tombac_device_limits;
TOMBAC_API tombac_device_limits tombac_device_get_limits(const tombac_device *device);

/* ---- Libraries: Metal source ----------------------------------------------------------------------------------- */

typedef struct tombac_library tombac_library;

typedef enum tombac_math { TOMBAC_MATH_FAST = 0, TOMBAC_MATH_RELAXED, TOMBAC_MATH_SAFE } tombac_math;

typedef struct tombac_compile_options {
    const char *standard;               /* "metal3.2", "macos-metal2.4", ...; NULL: metal3.2 */
    tombac_math math;
    const char *const *defines;         /* "NAME" or "NAME=VALUE" */
    size_t define_count;
    const char *const *include_folders;
    size_t include_folder_count;
    bool no_cache;                      /* neither read nor write the compile cache */
} tombac_compile_options;               /* all zero: the defaults */

/* Opens a Metal source; lists its kernels but compiles none of them. `options` may be NULL. Fails with
 * TOMBAC_ERROR_SOURCE if it cannot be preprocessed. `name` stands for the file in messages (NULL: "source"). */
TOMBAC_API tombac_status tombac_library_create_from_file(tombac_device *device, const char *path,
    const tombac_compile_options *options, tombac_library **library, tombac_error **error);
TOMBAC_API tombac_status tombac_library_create_from_source(tombac_device *device, const char *name, const char *source,
    size_t size, const tombac_compile_options *options, tombac_library **library, tombac_error **error);
TOMBAC_API tombac_library *tombac_library_retain(tombac_library *library);
TOMBAC_API void tombac_library_release(tombac_library *library);
/* The kernels' names as the host sees them (host_name), in source order. */
TOMBAC_API size_t tombac_library_kernel_count(const tombac_library *library);
TOMBAC_API const char *tombac_library_kernel_name(const tombac_library *library, size_t index);

/* ---- Kernels --------------------------------------------------------------------------------------------------- */

typedef struct tombac_kernel tombac_kernel;

/* Scalar types of constants and arguments. BF16 is brain floating point, BOOL one byte. */
typedef enum tombac_type {
    TOMBAC_TYPE_OTHER = 0, /* a struct or anything else that is no scalar or vector of scalars */
    TOMBAC_TYPE_BOOL, TOMBAC_TYPE_I8, TOMBAC_TYPE_U8, TOMBAC_TYPE_I16, TOMBAC_TYPE_U16, TOMBAC_TYPE_I32, TOMBAC_TYPE_U32,
    TOMBAC_TYPE_I64, TOMBAC_TYPE_U64, TOMBAC_TYPE_F16, TOMBAC_TYPE_BF16, TOMBAC_TYPE_F32
} tombac_type;
/* Bytes of one scalar, 0 for TOMBAC_TYPE_OTHER; and its name as in "f32". */
TOMBAC_API size_t tombac_type_size(tombac_type type);
TOMBAC_API const char *tombac_type_name(tombac_type type);

/* A value for a function constant, found by name, or by index where `name` is NULL. `data` holds `size` bytes of the
 * constant's own type. */
typedef struct tombac_constant {
    const char *name;
    uint32_t index;
    const void *data;
    size_t size;
} tombac_constant;

/* What a source declares as a function constant. */
typedef struct tombac_constant_info {
    const char *name;
    uint32_t index;
    tombac_type type;         /* scalar type */
    uint32_t vector_length;   /* 1 for scalars */
    const char *type_name;    /* as written in Metal: "bool", "float4" */
} tombac_constant_info;
/* The function constants of the whole source, in source order; `index` counts them, it is not the constant's index. */
TOMBAC_API size_t tombac_library_constant_count(const tombac_library *library);
TOMBAC_API tombac_status tombac_library_get_constant(
    const tombac_library *library, size_t index, tombac_constant_info *constant, tombac_error **error);

/* Compiles one kernel (or takes it from the cache). */
TOMBAC_API tombac_status tombac_kernel_create(tombac_library *library, const char *name, const tombac_constant *constants,
    size_t constant_count, tombac_kernel **kernel, tombac_error **error);
TOMBAC_API tombac_kernel *tombac_kernel_retain(tombac_kernel *kernel);
TOMBAC_API void tombac_kernel_release(tombac_kernel *kernel);
TOMBAC_API const char *tombac_kernel_name(const tombac_kernel *kernel);
/* The largest threadgroup that this kernel may be launched with. */
TOMBAC_API uint32_t tombac_kernel_max_threads_per_threadgroup(const tombac_kernel *kernel);
/* Bytes of threadgroup memory that the kernel declares itself. */
TOMBAC_API size_t tombac_kernel_static_threadgroup_memory(const tombac_kernel *kernel);

typedef enum tombac_argument_kind {
    TOMBAC_ARGUMENT_BUFFER = 0,  /* a pointer or reference to device memory */
    TOMBAC_ARGUMENT_CONSTANT,    /* a pointer or reference to constant memory: a buffer, or bytes */
    TOMBAC_ARGUMENT_THREADGROUP  /* threadgroup memory, sized at launch */
} tombac_argument_kind;

typedef struct tombac_argument {
    const char *name;
    tombac_argument_kind kind;
    uint32_t index;           /* [[buffer(index)]] or [[threadgroup(index)]], given or implicit */
    bool writable;            /* a device pointer that is not const */
    bool reference;           /* declared as T &, so exactly one element */
    bool active;              /* false: a function constant removed the argument */
    tombac_type type;         /* scalar type of the element */
    uint32_t vector_length;   /* 1 for scalars, 2 to 4 for vectors; 0 where type is TOMBAC_TYPE_OTHER */
    bool packed;              /* a packed vector */
    size_t element_size;      /* bytes of one element, 0 if unknown (void *) */
    size_t element_alignment;
    const char *type_name;    /* as written in Metal: "float4", "args_t" */
} tombac_argument;
TOMBAC_API size_t tombac_kernel_argument_count(const tombac_kernel *kernel);
/* `index` counts arguments in the order of declaration. */
TOMBAC_API tombac_status tombac_kernel_get_argument(
    const tombac_kernel *kernel, size_t index, tombac_argument *argument, tombac_error **error);
/* The whole reflection (arguments, struct members, constants, attributes) as a JSON text. */
TOMBAC_API const char *tombac_kernel_reflection_json(const tombac_kernel *kernel);

/* ---- Buffers --------------------------------------------------------------------------------------------------- */

typedef struct tombac_buffer tombac_buffer;

/* Device memory of `size` bytes (0 is allowed), a copy of `data`, or zeros where `data` is NULL. */
TOMBAC_API tombac_status tombac_buffer_create(
    tombac_device *device, size_t size, const void *data, tombac_buffer **buffer, tombac_error **error);
TOMBAC_API tombac_buffer *tombac_buffer_retain(tombac_buffer *buffer);
TOMBAC_API void tombac_buffer_release(tombac_buffer *buffer);
TOMBAC_API size_t tombac_buffer_size(const tombac_buffer *buffer);
/* The host's view. Valid until the buffer is released; do not touch it while a launch that uses it runs. */
TOMBAC_API void *tombac_buffer_contents(tombac_buffer *buffer);

/* ---- Launches -------------------------------------------------------------------------------------------------- */

typedef struct tombac_launch tombac_launch;
typedef struct tombac_size3 { uint32_t x, y, z; } tombac_size3;

TOMBAC_API tombac_status tombac_launch_create(tombac_kernel *kernel, tombac_launch **launch, tombac_error **error);
TOMBAC_API void tombac_launch_release(tombac_launch *launch);
/* Binds [[buffer(index)]] to a buffer from `offset` on, or to a copy of `size` bytes. */
TOMBAC_API tombac_status tombac_launch_set_buffer(
    tombac_launch *launch, uint32_t index, tombac_buffer *buffer, size_t offset, tombac_error **error);
TOMBAC_API tombac_status tombac_launch_set_bytes(
    tombac_launch *launch, uint32_t index, const void *data, size_t size, tombac_error **error);
/* Gives [[threadgroup(index)]] `size` bytes of threadgroup memory. */
TOMBAC_API tombac_status tombac_launch_set_threadgroup_memory(
    tombac_launch *launch, uint32_t index, size_t size, tombac_error **error);
/* Metal's dispatchThreads: a grid of threads; threadgroups at its edges may be smaller than `threadgroup`. */
TOMBAC_API tombac_status tombac_launch_set_threads(
    tombac_launch *launch, tombac_size3 threads, tombac_size3 threadgroup, tombac_error **error);
/* Metal's dispatchThreadgroups: a grid of whole threadgroups. */
TOMBAC_API tombac_status tombac_launch_set_threadgroups(
    tombac_launch *launch, tombac_size3 threadgroups, tombac_size3 threadgroup, tombac_error **error);
/* Checks every argument and the geometry, and starts the launch. A launch may be submitted again after it ended. */
TOMBAC_API tombac_status tombac_launch_submit(tombac_launch *launch, tombac_error **error);
/* Waits for the end; reports the kernel's failure if it failed. */
TOMBAC_API tombac_status tombac_launch_wait(tombac_launch *launch, tombac_error **error);
/* Seconds that the last run took on the device, measured by a monotonic clock around the kernel's execution. */
TOMBAC_API double tombac_launch_seconds(const tombac_launch *launch);
/* What the kernel printed with os_log during the last run: one text, lines end in '\n'. Never NULL. */
TOMBAC_API const char *tombac_launch_log(const tombac_launch *launch);

/* ---- The compile cache ----------------------------------------------------------------------------------------- */

/* The folder in use: $TOMBAC_CACHE, else $XDG_CACHE_HOME/tombac, else ~/.cache/tombac. Never NULL; "" where none. The text is
 * the calling thread's until its next call. */
TOMBAC_API const char *tombac_cache_folder(void);
TOMBAC_API const char *tombac_version(void);

#ifdef __cplusplus
}
#endif
#endif
