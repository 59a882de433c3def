/** @file
 * Tombac: run Apple Metal compute kernels on machines that are not Macs.
 *
 * The life of a launch, and the calls in this header in the order in which one needs them:
 *
 *     tombac_device  *device;   where kernels run:  "cpu", "check", ...
 *     tombac_library *library;  a Metal source, compiled kernel by kernel on demand
 *     tombac_kernel  *kernel;   one kernel of it, with its function constants fixed
 *     tombac_buffer  *buffer;   device memory, plain or with a type of element
 *     tombac_launch  *launch;   one kernel with its arguments and its grid; submit it, wait for it
 *     tombac_operation *operation;  a launch, or what is made of several, as a thing that runs later
 *     tombac_sequence  *sequence;   many launches that are submitted together
 *
 * A kernel `twice` of a file, run on some numbers (this and the other examples are built and run by the tests):
 *
 * @code
 * tombac_status twice(tombac_device *device, float *numbers, uint32_t count, tombac_error **error)
 * {
 *     tombac_library *library = NULL;
 *     tombac_kernel *kernel = NULL;
 *     tombac_buffer *buffer = NULL;
 *     tombac_launch *launch = NULL;
 *     tombac_status status = tombac_library_create_from_file(device, "twice.metal", NULL, &library, error);
 *     if (status == TOMBAC_OK) status = tombac_kernel_create(library, "twice", NULL, 0, &kernel, error);
 *     if (status == TOMBAC_OK) status = tombac_buffer_create(device, count * sizeof *numbers, numbers, &buffer, error);
 *     if (status == TOMBAC_OK) status = tombac_launch_create(kernel, &launch, error);
 *     if (status == TOMBAC_OK) status = tombac_launch_set_buffer(launch, 0, buffer, 0, error);
 *     if (status == TOMBAC_OK) status = tombac_launch_set_grid(launch, tombac_for_elements(count, 256), error);
 *     if (status == TOMBAC_OK) status = tombac_launch_submit(launch, error);
 *     if (status == TOMBAC_OK) status = tombac_launch_wait(launch, error);
 *     for (uint32_t i = 0; i < count && status == TOMBAC_OK; i++) numbers[i] = ((float *)tombac_buffer_contents(buffer))[i];
 *     tombac_launch_release(launch);
 *     tombac_buffer_release(buffer);
 *     tombac_kernel_release(kernel);
 *     tombac_library_release(library);
 *     return status;
 * }
 * @endcode
 *
 * Conventions, which hold where a call does not say otherwise
 *   - Ownership: objects are opaque and reference counted. A call that makes one (_create, _open, _prepare, ...) gives one
 *     reference, _retain adds one and returns the object, _release takes one away; both allow NULL. An object keeps alive what it
 *     needs (a kernel its library, ...), so things may be released in any order. What the caller passes in (texts, bytes, lists)
 *     is copied. Returned `const char *` are UTF-8, zero-terminated, and live as long as their object.
 *   - Errors: a call that can fail returns tombac_status and takes `tombac_error **error` last. On failure, if `error` is not
 *     NULL, *error receives a new error object that the caller releases; outputs are untouched. On success *error is untouched.
 *     Every such call can fail with TOMBAC_ERROR_ARGUMENT (a NULL where none is allowed, a number out of range) and
 *     TOMBAC_ERROR_MEMORY; others are named with the call. Calls that return something else than a status cannot fail; given NULL
 *     they return 0, NULL or "". The library never prints and never aborts.
 *   - Units: sizes and offsets are bytes in size_t, counts are elements, times are seconds in double, by a monotonic clock.
 *   - Threads: every call may be made from any thread at any time. One launch or sequence object must not be used by two threads
 *     at once; all other objects may be shared. Host functions and callbacks run on threads of the device, unless said otherwise.
 *   - Environment: TOMBAC_CC (path of tombac-cc), TOMBAC_CC_TIME and TOMBAC_CC_MEMORY (limits of one compilation in seconds,
 *     60, and bytes of address space, 8 GiB; 0: none), TOMBAC_CACHE and TOMBAC_CACHE_SIZE (the compile cache's folder and
 *     limit in bytes, 1G; 0: off), TOMBAC_TIME_LIMIT (seconds that a launch may take), TOMBAC_TRACE (a file for a record of
 *     what ran when) and TOMBAC_SPECIALISE (see "Specialisation"), these read by tombac_device_open; TOMBAC_DEFER (read by
 *     tombac_kernel_create: "never" compiles all of a kernel at once; otherwise the code of larger kernels for threadgroups that do
 *     not consist of whole SIMD-groups is made when a launch first needs it, which then takes as long); TOMBAC_NCCL (see "Several devices");
 *     TOMBAC_PERF (1:
 *     /tmp/perf-PID.map names kernels for perf).
 */
#ifndef TOMBAC_TOMBAC_H
#define TOMBAC_TOMBAC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Marks what the shared library exports. */
#define TOMBAC_API __attribute__((visibility("default")))

/* ---- Status and errors ---------------------------------------------------------------------------------------- */

/** What became of a call or an operation. The numbers stay; later versions may add some. */
typedef enum tombac_status {
    TOMBAC_OK = 0,            /**< it went well */
    TOMBAC_ERROR_ARGUMENT,    /**< the caller passed something that no call can accept (NULL, a bad number, ...) */
    TOMBAC_ERROR_MEMORY,      /**< out of memory, or a size that overflows */
    TOMBAC_ERROR_IO,          /**< a file could not be read or written */
    TOMBAC_ERROR_NOT_FOUND,   /**< no device, kernel, argument or function constant of that name */
    TOMBAC_ERROR_SOURCE,      /**< the source does not compile; the message holds the diagnostics */
    TOMBAC_ERROR_UNSUPPORTED, /**< valid Metal that Tombac refuses, by name */
    TOMBAC_ERROR_COMPILER,    /**< the compiler is not installed, crashed, or ran over its limits */
    TOMBAC_ERROR_BINDING,     /**< an argument is missing, extra, too small or of the wrong kind */
    TOMBAC_ERROR_GEOMETRY,    /**< a zero or too large threadgroup, a grid that overflows */
    TOMBAC_ERROR_KERNEL,      /**< the kernel failed while it ran */
    TOMBAC_ERROR_TIMEOUT,     /**< a time limit passed */
    TOMBAC_ERROR_ARTIFACT,    /**< a compiled artifact is damaged, foreign or stale */
    TOMBAC_ERROR_BUSY,        /**< two uses of a buffer that exclude each other: a host view, a recording, an operation */
    TOMBAC_ERROR_DEPENDENCY,  /**< not run, because an operation that it depends on failed; the message says which */
    TOMBAC_ERROR_CONTRACT     /**< a relation that the kernel requires of its arguments does not hold */
} tombac_status;

/** Why something failed. An error object never changes, so it may be read by several threads. */
typedef struct tombac_error tombac_error;

/** A short fixed name of a status, as "source error". Never NULL. */
TOMBAC_API const char *tombac_status_name(tombac_status status);
/** Its status; TOMBAC_OK for NULL. */
TOMBAC_API tombac_status tombac_error_status(const tombac_error *error);
/** The whole message for a person: one line, or several where it holds compiler diagnostics. */
TOMBAC_API const char *tombac_error_message(const tombac_error *error);
/** The kernel that the error is about, or NULL. */
TOMBAC_API const char *tombac_error_kernel(const tombac_error *error);
/** The name of the operation that failed (tombac_launch_set_name; else NULL). */
TOMBAC_API const char *tombac_error_operation(const tombac_error *error);
/** True if the failing thread is known; then its position in its threadgroup and the threadgroup's in the grid are stored
 * (either may be NULL). The device "check" knows it. */
TOMBAC_API bool tombac_error_thread(const tombac_error *error, uint32_t thread[3], uint32_t threadgroup[3]);
/** The source file that the error is about, or NULL. */
TOMBAC_API const char *tombac_error_file(const tombac_error *error);
/** Line in that file, from 1; 0: not known. */
TOMBAC_API unsigned tombac_error_line(const tombac_error *error);
/** Column in that line, from 1; 0: not known. */
TOMBAC_API unsigned tombac_error_column(const tombac_error *error);
/** Frees the error object and its texts. */
TOMBAC_API void tombac_error_release(tombac_error *error);
/** For host functions (tombac_operation_map): stores a new error where `error` is not NULL, and returns `status`. */
TOMBAC_API tombac_status tombac_error_create(tombac_status status, const char *message, tombac_error **error);

/* ---- Devices --------------------------------------------------------------------------------------------------- */

/** Where kernels run, with the compile cache and the threads that belong to it. */
typedef struct tombac_device tombac_device;

/** Opens a device by name: "check" (scalar, checks everything), "cpu" (fast), "cuda" or "cuda:0" (the first NVIDIA GPU),
 * "cuda:1", ..., or NULL for the best one present. Several may be open, also several times the same. TOMBAC_ERROR_NOT_FOUND:
 * no such name; TOMBAC_ERROR_UNSUPPORTED: this machine cannot run it, the message says why; TOMBAC_ERROR_IO: TOMBAC_TRACE
 * cannot be written. */
TOMBAC_API tombac_status tombac_device_open(const char *name, tombac_device **device, tombac_error **error);
/** One more reference. */
TOMBAC_API tombac_device *tombac_device_retain(tombac_device *device);
/** One reference less. The last one, also of all objects on the device, waits for its threads to end. */
TOMBAC_API void tombac_device_release(tombac_device *device);
/** The name that opens it again: "cpu", "cuda:1". */
TOMBAC_API const char *tombac_device_name(const tombac_device *device);
/** Number of device names that tombac_device_open accepts on this machine, as far as can be told without opening them. */
TOMBAC_API size_t tombac_device_count(void);
/** The i-th of them, best first; NULL past the end. The text lives as long as the process. */
TOMBAC_API const char *tombac_device_name_at(size_t index);

/** What a device can do at most. */
typedef struct tombac_device_limits {
    uint32_t max_threads_per_threadgroup;   /**< product of the three sizes: 1024 */
    uint32_t simd_width;                    /**< threads per SIMD-group: 32 */
    size_t max_threadgroup_memory;          /**< bytes: 32768 */
    size_t max_buffer_size;                 /**< bytes */
} tombac_device_limits;
/** The limits of an open device. */
TOMBAC_API tombac_device_limits tombac_device_get_limits(const tombac_device *device);

/** What a device can do, by name: the rows that `tombac info` shows, as "max_threads_per_threadgroup", "bfloat", "gpu_family"
 * (docs/command.md says how a kernel asks). */
typedef struct tombac_capability {
    const char *name;        /**< one of the table's */
    uint64_t value;          /**< a number, a number of bytes, a version (320 is 3.2), or 1 or 0 */
    const char *meaning;     /**< in a few words */
    const char *enforced_by; /**< what becomes of a kernel or a launch that goes beyond it; may be "" */
} tombac_capability;
/** How many there are; the same for every device. */
TOMBAC_API size_t tombac_capability_count(void);
/** The one at `index`; TOMBAC_ERROR_NOT_FOUND: past the end. The texts live as long as the process. */
TOMBAC_API tombac_status tombac_device_get_capability(
    const tombac_device *device, size_t index, tombac_capability *capability, tombac_error **error);
/** The value of the capability of that name, 0 if there is none. */
TOMBAC_API uint64_t tombac_device_capability(const tombac_device *device, const char *name);

/** Records from now on what runs on the device into `path`, as JSON for chrome://tracing and Perfetto: one event for each
 * operation with its queue and run times, and for each kernel that is made. An existing trace is continued; any other file is
 * TOMBAC_ERROR_IO. Written now and then, and when the device is freed. Call it before the device is used. */
TOMBAC_API tombac_status tombac_device_trace(tombac_device *device, const char *path, tombac_error **error);

/* ---- Libraries: Metal source ----------------------------------------------------------------------------------- */

/** A source with its options, or an opened artifact, on a device: where kernels come from. */
typedef struct tombac_library tombac_library;

/** Metal's floating-point modes. */
typedef enum tombac_math {
    TOMBAC_MATH_FAST = 0, /**< as -ffast-math: reassociation, no NaN or infinity, approximate functions; the default, as in Metal */
    TOMBAC_MATH_RELAXED,  /**< the same, but NaN and infinity are honoured */
    TOMBAC_MATH_SAFE      /**< IEEE 754 and precise functions */
} tombac_math;

/** How a source is compiled. All zero are the defaults. */
typedef struct tombac_compile_options {
    const char *standard;               /**< "metal3.2", "macos-metal2.4", ...; NULL: metal3.2 */
    tombac_math math;                   /**< TOMBAC_MATH_FAST if not set */
    const char *const *defines;         /**< "NAME" or "NAME=VALUE"; may be NULL if there are none */
    size_t define_count;                /**< how many */
    const char *const *include_folders; /**< searched for headers, in this order, after the source's own folder */
    size_t include_folder_count;        /**< how many */
    bool no_cache;                      /**< neither read nor write the compile cache */
    bool no_specialise;                 /**< see "Specialisation" */
    bool debug;                         /**< code for a debugger: source lines and variables, hardly optimised */
} tombac_compile_options;

/** Opens a source file, Metal or (NAME.c) C; lists its kernels but compiles none of them. Runs the compiler for some
 * milliseconds unless the cache knows the file. `options` may be NULL. TOMBAC_ERROR_IO: the file cannot be read;
 * TOMBAC_ERROR_SOURCE: it cannot be preprocessed, the message holds the diagnostics; TOMBAC_ERROR_UNSUPPORTED: it needs
 * something that is refused by name; TOMBAC_ERROR_COMPILER: the compiler is missing, crashed or ran over its limits. */
TOMBAC_API tombac_status tombac_library_create_from_file(tombac_device *device, const char *path,
    const tombac_compile_options *options, tombac_library **library, tombac_error **error);
/** The same for a text of `size` bytes. `name` stands for the file in messages (NULL: "source"); includes in quotes are
 * searched in its folder. */
TOMBAC_API tombac_status tombac_library_create_from_source(tombac_device *device, const char *name, const char *source,
    size_t size, const tombac_compile_options *options, tombac_library **library, tombac_error **error);
/** Opens a .tombac file that `tombac build` made; needs no compiler. Its kernels exist for the devices, processors and function
 * constants that they were built for. TOMBAC_ERROR_IO: it cannot be read; TOMBAC_ERROR_ARTIFACT: it is damaged, foreign or newer,
 * the message says which. */
TOMBAC_API tombac_status tombac_library_open_artifact(
    tombac_device *device, const char *path, tombac_library **library, tombac_error **error);
/** The same for `size` bytes in memory, which are copied; `name` stands for them in messages (NULL: "artifact"). */
TOMBAC_API tombac_status tombac_library_open_artifact_memory(tombac_device *device, const char *name, const void *bytes,
    size_t size, tombac_library **library, tombac_error **error);
/** One more reference. */
TOMBAC_API tombac_library *tombac_library_retain(tombac_library *library);
/** One reference less. */
TOMBAC_API void tombac_library_release(tombac_library *library);
/** Number of kernels in the source. */
TOMBAC_API size_t tombac_library_kernel_count(const tombac_library *library);
/** Name of a kernel as the host sees it (host_name), in source order; NULL past the end. */
TOMBAC_API const char *tombac_library_kernel_name(const tombac_library *library, size_t index);

/* ---- Kernels --------------------------------------------------------------------------------------------------- */

/** Compiled code of one kernel, with its function constants fixed; it never changes. */
typedef struct tombac_kernel tombac_kernel;

/** Scalar types of constants and arguments. BF16 is brain floating point, BOOL one byte. */
typedef enum tombac_type {
    TOMBAC_TYPE_OTHER = 0, /**< a struct or anything else that is no scalar or vector of scalars */
    TOMBAC_TYPE_BOOL, TOMBAC_TYPE_I8, TOMBAC_TYPE_U8, TOMBAC_TYPE_I16, TOMBAC_TYPE_U16, TOMBAC_TYPE_I32, TOMBAC_TYPE_U32,
    TOMBAC_TYPE_I64, TOMBAC_TYPE_U64, TOMBAC_TYPE_F16, TOMBAC_TYPE_BF16, TOMBAC_TYPE_F32
} tombac_type;
/** Bytes of one scalar, 0 for TOMBAC_TYPE_OTHER. */
TOMBAC_API size_t tombac_type_size(tombac_type type);
/** Its name, as "f32". Never NULL; lives as long as the process. */
TOMBAC_API const char *tombac_type_name(tombac_type type);

/** A value for a function constant, found by name, or by index where `name` is NULL. `data` holds `size` bytes of the
 * constant's own type. */
typedef struct tombac_constant {
    const char *name; /**< NULL: found by index */
    uint32_t index;   /**< [[function_constant(index)]] */
    const void *data; /**< the value in memory order */
    size_t size;      /**< its bytes */
} tombac_constant;

/** What a source declares as a function constant. */
typedef struct tombac_constant_info {
    const char *name;         /**< as declared */
    uint32_t index;           /**< [[function_constant(index)]] */
    tombac_type type;         /**< scalar type */
    uint32_t vector_length;   /**< 1 for scalars */
    const char *type_name;    /**< as written in Metal: "bool", "float4" */
} tombac_constant_info;
/** Number of function constants in the whole source. */
TOMBAC_API size_t tombac_library_constant_count(const tombac_library *library);
/** Describes one of them, in source order; `index` counts them, it is not the constant's index. TOMBAC_ERROR_NOT_FOUND: past
 * the end. The texts live as long as the library. */
TOMBAC_API tombac_status tombac_library_get_constant(
    const tombac_library *library, size_t index, tombac_constant_info *constant, tombac_error **error);

/** Compiles one kernel, or takes it from the cache; tombac_kernel_prepare does that in the background. Who asks for a kernel
 * that exists already, with the same constants, gets the same one; who asks for one that is just being made waits for it.
 * TOMBAC_ERROR_NOT_FOUND: no kernel or constant of that name; TOMBAC_ERROR_SOURCE: it does not compile;
 * TOMBAC_ERROR_UNSUPPORTED: it needs something that is refused by name; TOMBAC_ERROR_COMPILER: the compiler is missing,
 * crashed or ran over its limits; TOMBAC_ERROR_IO: the source changed since the library was made; TOMBAC_ERROR_ARTIFACT: an
 * opened artifact has no code for this device and these constants. */
TOMBAC_API tombac_status tombac_kernel_create(tombac_library *library, const char *name, const tombac_constant *constants,
    size_t constant_count, tombac_kernel **kernel, tombac_error **error);
/** One more reference. */
TOMBAC_API tombac_kernel *tombac_kernel_retain(tombac_kernel *kernel);
/** One reference less. Operations that were submitted keep their kernel. */
TOMBAC_API void tombac_kernel_release(tombac_kernel *kernel);
/** The name that it was made by. */
TOMBAC_API const char *tombac_kernel_name(const tombac_kernel *kernel);
/** The largest threadgroup that this kernel may be launched with, in threads. */
TOMBAC_API uint32_t tombac_kernel_max_threads_per_threadgroup(const tombac_kernel *kernel);
/** Bytes of threadgroup memory that the kernel declares itself. */
TOMBAC_API size_t tombac_kernel_static_threadgroup_memory(const tombac_kernel *kernel);

/** What an argument is bound to. */
typedef enum tombac_argument_kind {
    TOMBAC_ARGUMENT_BUFFER = 0,  /**< a pointer or reference to device memory */
    TOMBAC_ARGUMENT_CONSTANT,    /**< a pointer or reference to constant memory: a buffer, or bytes */
    TOMBAC_ARGUMENT_THREADGROUP, /**< threadgroup memory, sized at launch */
    TOMBAC_ARGUMENT_TENSOR       /**< a tensor in device or constant memory, see tombac_launch_set_tensor */
} tombac_argument_kind;

/** The largest rank of a tensor. */
enum { TOMBAC_MAX_TENSOR_RANK = 16 };

/** What a kernel expects at one binding. The texts live as long as the kernel. */
typedef struct tombac_argument {
    const char *name;         /**< as declared */
    tombac_argument_kind kind; /**< which call binds it */
    uint32_t index;           /**< [[buffer(index)]] or [[threadgroup(index)]], given or implicit */
    bool writable;            /**< a device pointer that is not const, or a tensor of such elements */
    bool reference;           /**< declared as T &, so exactly one element */
    bool active;              /**< false: a function constant removed the argument */
    tombac_type type;         /**< scalar type of the element */
    uint32_t vector_length;   /**< 1 for scalars, 2 to 4 for vectors; 0 where type is TOMBAC_TYPE_OTHER */
    bool packed;              /**< a packed vector */
    size_t element_size;      /**< bytes of one element, 0 if unknown (void *) */
    size_t element_alignment; /**< bytes */
    const char *type_name;    /**< as written in Metal: "float4", "args_t" */
    uint32_t rank;            /**< tensors: number of dimensions, else 0; the fields above describe an element */
    const size_t *extents;    /**< tensors: extents that the kernel fixes, SIZE_MAX where the host chooses; else NULL */
} tombac_argument;
/** Number of arguments that are bound by the host; positions in the grid are none. */
TOMBAC_API size_t tombac_kernel_argument_count(const tombac_kernel *kernel);
/** Describes one of them; `index` counts arguments in the order of declaration. TOMBAC_ERROR_NOT_FOUND: past the end. */
TOMBAC_API tombac_status tombac_kernel_get_argument(
    const tombac_kernel *kernel, size_t index, tombac_argument *argument, tombac_error **error);
/** What a kernel takes of a GPU, and how many threadgroups a multiprocessor holds at the same time. */
typedef struct tombac_resources {
    uint32_t registers;                       /**< of a thread */
    size_t private_memory;                    /**< of a thread, bytes: its arrays, and registers that did not fit */
    uint32_t threadgroups_per_multiprocessor; /**< resident at the same time */
    uint32_t max_threads_per_multiprocessor;  /**< that could be resident */
    uint32_t multiprocessors;                 /**< of the GPU */
} tombac_resources;
/** For threadgroups of `threads` threads with `threadgroup_memory` bytes, the kernel's own included. TOMBAC_ERROR_GEOMETRY: more
 * than the kernel can have; TOMBAC_ERROR_UNSUPPORTED: the kernel's device is no GPU. */
TOMBAC_API tombac_status tombac_kernel_get_resources(const tombac_kernel *kernel, uint32_t threads, size_t threadgroup_memory,
    tombac_resources *resources, tombac_error **error);
/** The whole reflection (arguments, struct members, constants, attributes) as a JSON text. */
TOMBAC_API const char *tombac_kernel_reflection_json(const tombac_kernel *kernel);

/* ---- Specialisation -------------------------------------------------------------------------------------------- */

/** On the device "cpu", a kernel that has been launched many times with the same bytes for its arguments in constant memory
 * (tombac_launch_set_bytes; it may have none) and the same size of threadgroup is compiled once more with these as constants, in the background,
 * and later launches with them run that code: strides and sizes that the compiler knows can make it several times as fast.
 * Launches never wait for it, and if it cannot be made nothing changes. Where the compile cache is on, the code is
 * kept there. Results are the same, bit for bit, in every math mode. For kernels of libraries from source. */

/** What a device starts with: TOMBAC_SPECIALISE, if that is set, else 64. */
TOMBAC_API uint32_t tombac_default_specialise_after(void);
/** After how many launches, for kernels that are made from now on; 0: never. */
TOMBAC_API tombac_status tombac_device_specialise_after(tombac_device *device, uint32_t launches, tombac_error **error);

/** How far specialisation of a kernel is. */
typedef struct tombac_specialisation {
    uint32_t ready;    /**< sets of values that there is code for; least recently used ones go */
    uint32_t pending;  /**< being compiled, or waiting for it */
    uint32_t failed;   /**< could not be compiled; these stay with the kernel's own code */
    uint64_t launches; /**< operations that were made with such code */
} tombac_specialisation;
/** The numbers of this moment. */
TOMBAC_API tombac_specialisation tombac_kernel_get_specialisation(const tombac_kernel *kernel);
/** Waits until nothing is pending, at most `seconds` (negative: without limit); TOMBAC_ERROR_TIMEOUT. For measurements. */
TOMBAC_API tombac_status tombac_kernel_await_specialisation(tombac_kernel *kernel, double seconds, tombac_error **error);

/* ---- Buffers --------------------------------------------------------------------------------------------------- */

/** Memory that kernels and the host share, plain or with a type of element; or a part of another buffer's. */
typedef struct tombac_buffer tombac_buffer;

/** Device memory of `size` bytes (0 is allowed), a copy of `data`, or zeros where `data` is NULL. TOMBAC_ERROR_MEMORY also
 * where it is more than the device's limit. */
TOMBAC_API tombac_status tombac_buffer_create(
    tombac_device *device, size_t size, const void *data, tombac_buffer **buffer, tombac_error **error);
/** One more reference. */
TOMBAC_API tombac_buffer *tombac_buffer_retain(tombac_buffer *buffer);
/** One reference less. Operations that were submitted, and views, keep the memory. */
TOMBAC_API void tombac_buffer_release(tombac_buffer *buffer);
/** Its size in bytes; of a view, that of its part. */
TOMBAC_API size_t tombac_buffer_size(const tombac_buffer *buffer);
/** The device that it was made for; the buffer keeps it. */
TOMBAC_API tombac_device *tombac_buffer_device(const tombac_buffer *buffer);
/** The host's view, unguarded: valid until the buffer is released; do not touch it while an operation that uses it runs.
 * tombac_buffer_begin_read and _begin_write below wait and check, and are cheaper on devices with memory of their own: once
 * this call was made, such a device must copy the buffer at every launch, because the host may touch it at any time. NULL
 * where bringing the content from the device fails. */
TOMBAC_API void *tombac_buffer_contents(tombac_buffer *buffer);

/* ---- Typed buffers --------------------------------------------------------------------------------------------- */

/** A member of a struct element: place and bytes, arrays as a whole. */
typedef struct tombac_member {
    const char *name; /**< as declared in Metal */
    size_t offset;    /**< bytes from the beginning of the element */
    size_t size;      /**< bytes */
} tombac_member;

/** What a buffer consists of. A launch compares it with what its kernel expects and refuses a buffer of another type. */
typedef struct tombac_element {
    tombac_type type;       /**< scalar type; TOMBAC_TYPE_OTHER for structs */
    uint32_t vector_length; /**< 1 to 4; 0 for structs */
    bool packed;            /**< a packed vector of three takes 3 scalars, else 4 */
    size_t size;            /**< bytes from one element to the next */
    size_t alignment;       /**< bytes; 0: not known */
    const char *name;       /**< for messages, may be NULL */
    const tombac_member *members; /**< of structs; may be NULL, then only the size is compared */
    size_t member_count;    /**< how many */
} tombac_element;

/** A scalar element, as in `const tombac_element floats = TOMBAC_ELEMENT(TOMBAC_TYPE_F32, float);`. */
#define TOMBAC_ELEMENT(scalar, ctype) {scalar, 1, false, sizeof(ctype), sizeof(ctype), #ctype, NULL, 0}
/** A vector of 2 to 4 scalars, not packed: TOMBAC_ELEMENT_VECTOR(TOMBAC_TYPE_F32, float, 4). */
#define TOMBAC_ELEMENT_VECTOR(scalar, ctype, length)                                                                     \
    {scalar, length, false, sizeof(ctype) * ((length) == 3 ? 4 : (length)), sizeof(ctype) * ((length) == 3 ? 4 : (length)), \
        #ctype, NULL, 0}
/** A member of a C struct, for TOMBAC_ELEMENT_STRUCT. */
#define TOMBAC_MEMBER(ctype, member) {#member, offsetof(ctype, member), sizeof(((ctype *)0)->member)}
/** A C struct with an array of its members: TOMBAC_ELEMENT_STRUCT(particle, members). */
#define TOMBAC_ELEMENT_STRUCT(ctype, members)                                                                            \
    {TOMBAC_TYPE_OTHER, 0, false, sizeof(ctype), _Alignof(ctype), #ctype, members, sizeof(members) / sizeof *(members)}

/** A buffer of floats, filled in place:
 *
 * @code
 * tombac_status counting(tombac_device *device, size_t count, tombac_buffer **buffer, tombac_error **error)
 * {
 *     static const tombac_element floats = TOMBAC_ELEMENT(TOMBAC_TYPE_F32, float);
 *     void *data;
 *     tombac_status status = tombac_buffer_create_elements(device, &floats, count, NULL, buffer, error);
 *     if (status == TOMBAC_OK) status = tombac_buffer_begin_write(*buffer, &data, error);
 *     if (status != TOMBAC_OK) return status;
 *     for (size_t i = 0; i < count; i++) ((float *)data)[i] = (float)i;
 *     return tombac_buffer_end_write(*buffer, error);
 * }
 * @endcode
 */
/** `count` elements (0 is allowed): a copy of `data`, or zeros where it is NULL. TOMBAC_ERROR_MEMORY if the size overflows or
 * is more than the device's limit. */
TOMBAC_API tombac_status tombac_buffer_create_elements(tombac_device *device, const tombac_element *element, size_t count,
    const void *data, tombac_buffer **buffer, tombac_error **error);
/** The caller's own memory, used in place. As in Metal, address and size must be multiples of the page size. `element` may be
 * NULL. `release` (may be NULL) is called once when no operation and no view needs the memory any more, from any thread; never
 * if this call fails. */
TOMBAC_API tombac_status tombac_buffer_create_no_copy(tombac_device *device, const tombac_element *element, void *memory,
    size_t size, void (*release)(void *context, void *memory), void *context, tombac_buffer **buffer,
    tombac_error **error);
/** A part of a buffer as a buffer of its own: `count` elements from `offset` bytes on, of the parent's type, or of another where
 * `element` is given (bytes, if neither has one). Both share the memory, and hazards are tracked for all of it. */
TOMBAC_API tombac_status tombac_buffer_create_view(tombac_buffer *parent, const tombac_element *element, size_t offset,
    size_t count, tombac_buffer **view, tombac_error **error);
/** Number of elements; bytes if the buffer has no type. */
TOMBAC_API size_t tombac_buffer_count(const tombac_buffer *buffer);

/** Begins a read view: waits for the pending writes of the memory, then *data points to the buffer's first byte, until
 * tombac_buffer_end_read. Views count per memory, so a view of any part is one of the whole; several read views may be open,
 * from several threads. While one is, nothing that writes the memory can be submitted. TOMBAC_ERROR_BUSY: a write view is
 * open, or a sequence that is not yet submitted has recorded a write; TOMBAC_ERROR_DEPENDENCY: the memory was to be written
 * by an operation that failed, and nobody was told yet (the next call succeeds); TOMBAC_ERROR_ARGUMENT: it would have to
 * wait, on a thread of the device. End the view before the last release of the buffer. */
TOMBAC_API tombac_status tombac_buffer_begin_read(tombac_buffer *buffer, const void **data, tombac_error **error);
/** Ends one read view. TOMBAC_ERROR_ARGUMENT: none is open. */
TOMBAC_API tombac_status tombac_buffer_end_read(tombac_buffer *buffer, tombac_error **error);
/** Begins a write view: the only one, without read views beside it. Waits for all pending uses of the memory; what was in it
 * is there to be read too. While it is open, nothing that uses the memory can be submitted. Errors as for
 * tombac_buffer_begin_read; TOMBAC_ERROR_BUSY also where a sequence that is not yet submitted has recorded a read. */
TOMBAC_API tombac_status tombac_buffer_begin_write(tombac_buffer *buffer, void **data, tombac_error **error);
/** Ends the write view; operations that are submitted later see what was written. TOMBAC_ERROR_ARGUMENT: none is open. */
TOMBAC_API tombac_status tombac_buffer_end_write(tombac_buffer *buffer, tombac_error **error);

/* ---- Launches -------------------------------------------------------------------------------------------------- */

/** A kernel with what is bound to its arguments and the grid that it shall run on: a description, for one thread at a time. */
typedef struct tombac_launch tombac_launch;
/** A size or position in up to three dimensions; dimensions that are not used have size 1. */
typedef struct tombac_size3 {
    uint32_t x; /**< fastest */
    uint32_t y; /**< next */
    uint32_t z; /**< slowest */
} tombac_size3;

/** A launch without bindings and grid. */
TOMBAC_API tombac_status tombac_launch_create(tombac_kernel *kernel, tombac_launch **launch, tombac_error **error);
/** Frees the launch; what was submitted goes on. */
TOMBAC_API void tombac_launch_release(tombac_launch *launch);
/** Binds [[buffer(index)]] to a buffer from `offset` bytes on; the launch holds the buffer. What was bound before is replaced.
 * TOMBAC_ERROR_BINDING: there is no such argument, or the buffer is another device's. As all that change a launch, it fails with
 * TOMBAC_ERROR_ARGUMENT while a run begun by tombac_launch_submit goes on. */
TOMBAC_API tombac_status tombac_launch_set_buffer(
    tombac_launch *launch, uint32_t index, tombac_buffer *buffer, size_t offset, tombac_error **error);
/** Binds [[buffer(index)]] to a copy of `size` bytes, for arguments in constant memory and buffers that are only read. */
TOMBAC_API tombac_status tombac_launch_set_bytes(
    tombac_launch *launch, uint32_t index, const void *data, size_t size, tombac_error **error);
/** A tensor (of Metal 4) in a buffer. The first dimension is the innermost: a matrix of `rows` rows has the extents
 * {columns, rows}. */
typedef struct tombac_tensor {
    tombac_type type;      /**< of an element */
    uint32_t rank;         /**< 1 to TOMBAC_MAX_TENSOR_RANK */
    const size_t *extents; /**< `rank` of them */
    const size_t *strides; /**< from one element to the next along each dimension, in elements; NULL: packed */
} tombac_tensor;
/** Binds the tensor argument [[buffer(index)]]; `offset` in bytes is where its first element lies. Refused with
 * TOMBAC_ERROR_BINDING unless type, rank and fixed extents are the kernel's, and all of its elements lie in the buffer. */
TOMBAC_API tombac_status tombac_launch_set_tensor(tombac_launch *launch, uint32_t index, tombac_buffer *buffer, size_t offset,
    const tombac_tensor *tensor, tombac_error **error);
/** A number that no other call returned, from the system's source. A constant `ulong random_seed` of a kernel to which nothing is
 * bound gets one at every run (<tombac/random.h>). */
TOMBAC_API uint64_t tombac_fresh_seed(void);
/** Gives [[threadgroup(index)]] `size` bytes of threadgroup memory. */
TOMBAC_API tombac_status tombac_launch_set_threadgroup_memory(
    tombac_launch *launch, uint32_t index, size_t size, tombac_error **error);
/** Metal's dispatchThreads: a grid of threads; threadgroups at its edges may be smaller than `threadgroup`. */
TOMBAC_API tombac_status tombac_launch_set_threads(
    tombac_launch *launch, tombac_size3 threads, tombac_size3 threadgroup, tombac_error **error);
/** Metal's dispatchThreadgroups: a grid of whole threadgroups. */
TOMBAC_API tombac_status tombac_launch_set_threadgroups(
    tombac_launch *launch, tombac_size3 threadgroups, tombac_size3 threadgroup, tombac_error **error);
/** Seconds that a run may take on the device (0: no limit); past it, it is stopped and fails with TOMBAC_ERROR_TIMEOUT. Not set:
 * the device's limit, from TOMBAC_TIME_LIMIT. */
TOMBAC_API tombac_status tombac_launch_set_time_limit(tombac_launch *launch, double seconds, tombac_error **error);
/** A name for messages and traces, beside the kernel's; NULL: none. */
TOMBAC_API tombac_status tombac_launch_set_name(tombac_launch *launch, const char *name, tombac_error **error);
/** Checks every argument and the geometry, and starts the launch; it may be submitted again after it ended.
 * TOMBAC_ERROR_BINDING: an argument is missing, too small, or of another type; TOMBAC_ERROR_GEOMETRY: a threadgroup or grid
 * that the kernel or the device cannot have; TOMBAC_ERROR_CONTRACT: a relation that the kernel requires does not hold;
 * TOMBAC_ERROR_BUSY: the host has a view of a buffer. */
TOMBAC_API tombac_status tombac_launch_submit(tombac_launch *launch, tombac_error **error);
/** Waits for the end of what tombac_launch_submit began. TOMBAC_ERROR_KERNEL: it failed while it ran; TOMBAC_ERROR_TIMEOUT:
 * it ran over its time limit; TOMBAC_ERROR_DEPENDENCY: not run, because an operation that it depends on failed. */
TOMBAC_API tombac_status tombac_launch_wait(tombac_launch *launch, tombac_error **error);
/** Seconds that the last run took on the device, measured by a monotonic clock around the kernel's execution. */
TOMBAC_API double tombac_launch_seconds(const tombac_launch *launch);
/** What the kernel printed with os_log during the last run: one text, lines end in '\n'. Never NULL. */
TOMBAC_API const char *tombac_launch_log(const tombac_launch *launch);

/* ---- Launch geometry ------------------------------------------------------------------------------------------- */

/** A grid of threads and the threadgroups that it is cut into. */
typedef struct tombac_grid {
    tombac_size3 threads;     /**< of the grid */
    tombac_size3 threadgroup; /**< threads of each */
} tombac_grid;

/** A grid of one thread for each element. */
static inline tombac_grid tombac_for_elements(uint32_t count, uint32_t threadgroup)
{
    tombac_grid grid = {{count, 1, 1}, {threadgroup, 1, 1}};
    return grid;
}
/** The same for `width` times `height` elements. */
static inline tombac_grid tombac_for_elements_2d(uint32_t width, uint32_t height, uint32_t group_x, uint32_t group_y)
{
    tombac_grid grid = {{width, height, 1}, {group_x, group_y, 1}};
    return grid;
}
/** The same in three dimensions. */
static inline tombac_grid tombac_for_elements_3d(tombac_size3 threads, tombac_size3 threadgroup)
{
    tombac_grid grid = {threads, threadgroup};
    return grid;
}
/** tombac_launch_set_threads with both of them. */
static inline tombac_status tombac_launch_set_grid(tombac_launch *launch, tombac_grid grid, tombac_error **error)
{
    return tombac_launch_set_threads(launch, grid.threads, grid.threadgroup, error);
}

/* ---- Operations ------------------------------------------------------------------------------------------------ */

/** Something that runs once, later. Making one submits nothing, and releasing one that was not submitted undoes it. A submitted
 * operation keeps alive what it needs and ends even if nobody holds it.
 *
 * Order: operations that use the same buffers run in the order of their submission, from whatever thread, if one of them writes
 * (device arguments that are not const count as written); all others run at the same time.
 *
 * Failure: an operation that depends on a failed one (reads or overwrites what it was to write, or was put behind it) does not
 * run; it ends with TOMBAC_ERROR_DEPENDENCY, and the message says which failure stopped it. This holds until somebody was told
 * of the failure: by a wait, a poll, a callback or a host view. After that the buffers may be used again. */
typedef struct tombac_operation tombac_operation;

/** One launch several times, each behind the one before, and a host function at the end:
 *
 * @code
 * tombac_status say_done(void *context, tombac_error **error)
 * {
 *     *(bool *)context = true;
 *     return TOMBAC_OK;
 * }
 *
 * tombac_status repeat(tombac_launch *launch, int times, bool *done, tombac_error **error)
 * {
 *     tombac_operation *last = NULL, *all = NULL;
 *     tombac_status status = tombac_launch_operation(launch, &last, error);
 *     for (int i = 1; i < times && status == TOMBAC_OK; i++) {
 *         tombac_operation *next = NULL;
 *         status = tombac_launch_operation(launch, &next, error);
 *         if (status == TOMBAC_OK) status = tombac_operation_then(last, next, error);
 *         tombac_operation_release(last);
 *         last = next;
 *     }
 *     if (status == TOMBAC_OK) status = tombac_operation_map(last, say_done, done, NULL, &all, error);
 *     if (status == TOMBAC_OK) status = tombac_operation_wait(all, 60, error);
 *     tombac_operation_release(last);
 *     tombac_operation_release(all);
 *     return status;
 * }
 * @endcode
 */
/** The launch as it stands, checked as by tombac_launch_submit; the launch may be changed and used again at once. */
TOMBAC_API tombac_status tombac_launch_operation(
    const tombac_launch *launch, tombac_operation **operation, tombac_error **error);
/** One more reference. */
TOMBAC_API tombac_operation *tombac_operation_retain(tombac_operation *operation);
/** One reference less. The last one drops an operation that was not submitted; one that was goes on. */
TOMBAC_API void tombac_operation_release(tombac_operation *operation);
/** The name that was given, else the kernel's, else "". */
TOMBAC_API const char *tombac_operation_name(const tombac_operation *operation);

/** Starts it, and first all that it is made of. Submitting again does nothing. If this fails, as with TOMBAC_ERROR_BUSY where a
 * host view is open, the operation has ended with that failure. */
TOMBAC_API tombac_status tombac_operation_submit(tombac_operation *operation, tombac_error **error);
/** Submits it if need be and waits for the end, at most `seconds` (negative: without limit). The result, or
 * TOMBAC_ERROR_TIMEOUT while it goes on; each call that finds a failure gets an error object of its own. On a thread of the
 * device, as in host functions and callbacks, TOMBAC_ERROR_ARGUMENT where it would have to wait: that could last for ever. */
TOMBAC_API tombac_status tombac_operation_wait(tombac_operation *operation, double seconds, tombac_error **error);
/** Looks whether it has ended, without waiting, and if so reports the result. Before its submission it has not. */
TOMBAC_API tombac_status tombac_operation_poll(tombac_operation *operation, bool *ended, tombac_error **error);
/** Calls `function` once at the end, on a thread of the device (at once, on this thread, if it has ended). Never, if the
 * operation is released without having been submitted. The function may make and submit operations but must not wait for
 * any. */
TOMBAC_API tombac_status tombac_operation_on_end(tombac_operation *operation,
    void (*function)(void *context, tombac_operation *operation, tombac_status status), void *context,
    tombac_error **error);
/** An eventfd that becomes readable at the end and stays so (do not read it), for poll, epoll and event loops. It belongs to
 * the operation: do not close it, and do not use it after the last release. TOMBAC_ERROR_IO: the process has no descriptor
 * left. */
TOMBAC_API tombac_status tombac_operation_event(tombac_operation *operation, int *descriptor, tombac_error **error);
/** What its kernel printed; "" for others and before the end. */
TOMBAC_API const char *tombac_operation_log(const tombac_operation *operation);

/** Where the time of an operation went. */
typedef struct tombac_times {
    double queue_seconds;   /**< from submission to the start, other operations included */
    double device_seconds;  /**< in the kernel, or in the host function or the preparation */
    double compile_seconds; /**< that making its kernel took, before */
} tombac_times;
/** All zero before the end. */
TOMBAC_API tombac_times tombac_operation_get_times(const tombac_operation *operation);

/** Puts `first` before `second`, which was not submitted yet: submitting the second submits the first, and it runs only if the
 * first succeeds. */
TOMBAC_API tombac_status tombac_operation_then(tombac_operation *first, tombac_operation *second, tombac_error **error);
/** A host function after the success of `first`. It runs on a thread of the device; what it returns (with
 * an error by tombac_error_create, if it likes) is the operation's result. `release` (may be NULL) is called once with the
 * context when the operation has ended or was dropped; never if this call fails. */
TOMBAC_API tombac_status tombac_operation_map(tombac_operation *first,
    tombac_status (*function)(void *context, tombac_error **error), void *context, void (*release)(void *context),
    tombac_operation **operation, tombac_error **error);
/** The same with a function that decides, after the success of `first`, what comes next: it makes an operation (or leaves *next
 * NULL), which is submitted and whose result counts. */
TOMBAC_API tombac_status tombac_operation_continue(tombac_operation *first,
    tombac_status (*make)(void *context, tombac_operation **next, tombac_error **error), void *context,
    void (*release)(void *context), tombac_operation **operation, tombac_error **error);
/** Ends when all of `operations` have ended; the first failure in the order of the list is its own. One operation may be part of
 * several others; it runs once. */
TOMBAC_API tombac_status tombac_operation_all(tombac_operation *const *operations, size_t count,
    tombac_operation **operation, tombac_error **error);

/* ---- Kernels made in the background ----------------------------------------------------------------------------- */

/** Compiling a kernel takes a tenth of a second and more. A program that does not want to stand still meanwhile prepares its
 * kernels: a preparation is an operation, with all that operations can, which runs on threads of its own beside the launches.
 *
 * @code
 * void show(void *context, const char *kernel, size_t ended, size_t total, tombac_status status)
 * {
 *     printf("%zu of %zu: %s%s\n", ended, total, kernel, status == TOMBAC_OK ? "" : " failed");
 * }
 *
 * tombac_status start(tombac_library *library, tombac_operation **ready, tombac_error **error)
 * {
 *     tombac_status status = tombac_library_prewarm(library, NULL, 0, show, NULL, ready, error);
 *     return status == TOMBAC_OK ? tombac_operation_submit(*ready, error) : status;
 * }
 * @endcode
 */
/** Makes a kernel as tombac_kernel_create does. What is wrong with the name or the constants is reported at once, what is wrong
 * with the source when the operation has ended. */
TOMBAC_API tombac_status tombac_kernel_prepare(tombac_library *library, const char *name, const tombac_constant *constants,
    size_t constant_count, tombac_operation **operation, tombac_error **error);
/** The kernel that an ended preparation made, to be released; else its failure, or TOMBAC_ERROR_TIMEOUT while it goes on. */
TOMBAC_API tombac_status tombac_operation_get_kernel(
    tombac_operation *operation, tombac_kernel **kernel, tombac_error **error);

/** A kernel with the values of its function constants, as tombac_kernel_create takes them. */
typedef struct tombac_variant {
    const char *kernel;               /**< name */
    const tombac_constant *constants; /**< may be NULL if there are none */
    size_t constant_count;            /**< how many */
} tombac_variant;
/** Called after each kernel of a prewarming, from threads of the device, but one call at a time. Must not wait for operations. */
typedef void (*tombac_progress)(void *context, const char *kernel, size_t ended, size_t total, tombac_status status);
/** All of `variants` (NULL: every kernel of the library, without constants), as many at a time as there are processors, as one
 * operation; it fails with the first failure in the order of the list, but prepares the others all the same. Its kernels stay
 * loaded until it is released, and tombac_kernel_create gives them at once. `progress` may be NULL. */
TOMBAC_API tombac_status tombac_library_prewarm(tombac_library *library, const tombac_variant *variants, size_t count,
    tombac_progress progress, void *context, tombac_operation **operation, tombac_error **error);

/* ---- Sequences ------------------------------------------------------------------------------------------------- */

/** Many launches as one operation: cheaper to submit, and nothing else gets between them. Buffers order them as always.
 *
 * From the first use that is recorded until the operation is submitted or dropped, a buffer is reserved: host views and other
 * recordings that conflict with it (one of the two writes) are refused with TOMBAC_ERROR_BUSY. */
typedef struct tombac_sequence tombac_sequence;

/** @code
 * tombac_status many(tombac_device *device, tombac_launch *launch, int times, tombac_error **error)
 * {
 *     tombac_sequence *sequence = NULL;
 *     tombac_operation *operation = NULL;
 *     tombac_status status = tombac_sequence_begin(device, &sequence, error);
 *     for (int i = 0; i < times && status == TOMBAC_OK; i++) status = tombac_sequence_add(sequence, launch, error);
 *     if (status == TOMBAC_OK)
 *         status = tombac_sequence_end(sequence, &operation, error);
 *     else
 *         tombac_sequence_release(sequence);
 *     if (status == TOMBAC_OK) status = tombac_operation_wait(operation, -1, error);
 *     tombac_operation_release(operation);
 *     return status;
 * }
 * @endcode
 */

TOMBAC_API tombac_status tombac_sequence_begin(tombac_device *device, tombac_sequence **sequence, tombac_error **error);
/** Checks and records the launch as it stands. A failure discards the whole recording and gives its buffers free; later calls
 * report it again. */
TOMBAC_API tombac_status tombac_sequence_add(
    tombac_sequence *sequence, const tombac_launch *launch, tombac_error **error);
/** Makes the operation, which fails with the first failure of its launches. The sequence is released in any case. */
TOMBAC_API tombac_status tombac_sequence_end(
    tombac_sequence *sequence, tombac_operation **operation, tombac_error **error);
/** Discards what was recorded. */
TOMBAC_API void tombac_sequence_release(tombac_sequence *sequence);

/* ---- Several devices ------------------------------------------------------------------------------------------- */

/** Copies `size` bytes, within a buffer's device or from one device to another, as an operation. Between two GPUs the bytes go
 * directly where the machine can do that. Memory is ordered on both devices as by a launch that reads `from` and writes `to`.
 * TOMBAC_ERROR_ARGUMENT: a range is not in its buffer, or both overlap.
 *
 * @code
 * tombac_status hand_over(tombac_buffer *from, tombac_buffer *to, tombac_error **error)
 * {
 *     tombac_operation *copy = NULL;
 *     tombac_status status = tombac_buffer_copy(from, 0, to, 0, tombac_buffer_size(from), &copy, error);
 *     if (status == TOMBAC_OK) status = tombac_operation_wait(copy, -1, error);
 *     tombac_operation_release(copy);
 *     return status;
 * }
 * @endcode
 */
TOMBAC_API tombac_status tombac_buffer_copy(tombac_buffer *from, size_t from_offset, tombac_buffer *to, size_t to_offset,
    size_t size, tombac_operation **operation, tombac_error **error);

/** Devices that combine what their buffers hold: one member for each, numbered from 0 in the order given. */
typedef struct tombac_group tombac_group;
/** How a group moves its data. */
typedef enum tombac_transport {
    TOMBAC_TRANSPORT_ANY = 0, /**< NCCL where it can be had, else the host */
    TOMBAC_TRANSPORT_NCCL,    /**< NVIDIA's library libnccl.so.2 (TOMBAC_NCCL names another file), on different GPUs */
    TOMBAC_TRANSPORT_HOST     /**< through the host's memory: any devices, also of several kinds or the same several times */
} tombac_transport;
/** What becomes of elements at the same place. Sums of integers wrap; half and brain floats are added in single precision and
 * rounded once by the host, after each addition by NCCL. In which order floats are added is not defined; nor is the minimum or
 * maximum where one of them is a NaN. */
typedef enum tombac_reduction { TOMBAC_REDUCE_SUM = 0, TOMBAC_REDUCE_MIN, TOMBAC_REDUCE_MAX } tombac_reduction;

/** The sum of what several devices have computed, in place, in each of their buffers:
 *
 * @code
 * tombac_status add_up(tombac_device *const *devices, size_t count, tombac_buffer *const *sums, size_t length, tombac_error **error)
 * {
 *     tombac_group *group = NULL;
 *     tombac_operation *operation = NULL;
 *     tombac_status status = tombac_group_create(devices, count, TOMBAC_TRANSPORT_ANY, &group, error);
 *     if (status == TOMBAC_OK)
 *         status = tombac_group_all_reduce(
 *             group, TOMBAC_REDUCE_SUM, TOMBAC_TYPE_F32, length, sums, sums, &operation, error);
 *     if (status == TOMBAC_OK) status = tombac_operation_wait(operation, -1, error);
 *     tombac_operation_release(operation);
 *     tombac_group_release(group);
 *     return status;
 * }
 * @endcode
 */
/** A group of `count` devices. TOMBAC_ERROR_UNSUPPORTED, "no NCCL: ...": NCCL was asked for, and is not there or cannot serve
 * these devices; with TOMBAC_TRANSPORT_ANY the host serves instead. */
TOMBAC_API tombac_status tombac_group_create(tombac_device *const *devices, size_t count, tombac_transport transport,
    tombac_group **group, tombac_error **error);
/** One more reference. */
TOMBAC_API tombac_group *tombac_group_retain(tombac_group *group);
/** One reference less. Operations that were submitted keep their group. */
TOMBAC_API void tombac_group_release(tombac_group *group);
/** Number of members. */
TOMBAC_API size_t tombac_group_size(const tombac_group *group);
/** TOMBAC_TRANSPORT_NCCL or TOMBAC_TRANSPORT_HOST; never _ANY. */
TOMBAC_API tombac_transport tombac_group_transport(const tombac_group *group);
/** Why NCCL does not serve a group that would take any transport, as "no NCCL: ..."; else "". */
TOMBAC_API const char *tombac_group_note(const tombac_group *group);

/** The following take a buffer of each member, in the order of the devices, and begin at the first byte (see
 * tombac_buffer_create_view). Operations, as launches are; all buffers are ordered as by one launch. `from` and `to` may name the
 * same memory for the same member; any other overlap is refused with TOMBAC_ERROR_ARGUMENT, as are buffers that are too small.
 * TOMBAC_ERROR_BINDING: a buffer of another device or of another type of element. One group runs one after the other. */
/** Every `to` gets, for each of `count` elements, the sum, the minimum or the maximum of all `from`. Any type but bool. */
TOMBAC_API tombac_status tombac_group_all_reduce(tombac_group *group, tombac_reduction reduction, tombac_type type,
    size_t count, tombac_buffer *const *from, tombac_buffer *const *to, tombac_operation **operation, tombac_error **error);
/** Every `to` gets `count` elements of each `from`, one member's behind the other's. In place is where a member's `from` is its
 * own part of its `to`. */
TOMBAC_API tombac_status tombac_group_all_gather(tombac_group *group, tombac_type type, size_t count,
    tombac_buffer *const *from, tombac_buffer *const *to, tombac_operation **operation, tombac_error **error);
/** Every buffer gets `count` elements of that of member `root`. */
TOMBAC_API tombac_status tombac_group_broadcast(tombac_group *group, size_t root, tombac_type type, size_t count,
    tombac_buffer *const *buffers, tombac_operation **operation, tombac_error **error);

/* ---- The compile cache ----------------------------------------------------------------------------------------- */

/** The folder in use: $TOMBAC_CACHE, else $XDG_CACHE_HOME/tombac, else ~/.cache/tombac. Never NULL; "" where none. The text is
 * the calling thread's until its next call. */
TOMBAC_API const char *tombac_cache_folder(void);
/** The library's version, as "0.1.0"; lives as long as the process. */
TOMBAC_API const char *tombac_version(void);

#ifdef __cplusplus
}
#endif
#endif
