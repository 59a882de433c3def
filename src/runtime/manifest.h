/* The manifest of a compiled kernel: docs/architecture.md "Manifest", from JSON text to structs and fully
 * validated, so that runtime and drivers need no further checks. Also the listing that `tombac-cc list`
 * prints. */
#ifndef RT_MANIFEST_H
#define RT_MANIFEST_H

#include "base/error.h"

#include <stdint.h>

typedef struct rt_member rt_member;
struct rt_member {
    char *name, *type_name;
    size_t offset, size;
    size_t count; /* array length, or 1 */
    tombac_type type;
    uint32_t vector_length;
    bool packed;
    rt_member *members;
    size_t member_count;
};

typedef struct rt_argument {
    char *name, *type_name;
    tombac_argument_kind kind;
    uint32_t index;
    bool writable, reference, active, packed;
    tombac_type type;
    uint32_t vector_length;
    size_t size, alignment; /* of one element; size 0: unknown (void *) */
    rt_member *members;
    size_t member_count;
    uint32_t rank;   /* tensors: dimensions, else 0 */
    size_t *extents; /* tensors: fixed ones, SIZE_MAX where the host chooses */
    uint64_t most;   /* tensors: the largest number of the type in which extents are counted */
    size_t layout;   /* tensors: the argument that takes extents and strides, 64 bits each */
    bool is_layout;  /* such an argument: hidden from the host, a reference to constant memory */
} rt_argument;

typedef struct rt_constant {
    char *name, *type_name;
    uint32_t index;
    tombac_type type;
    uint32_t vector_length;
    bool used, set; /* in manifests only */
} rt_constant;

typedef struct rt_dependency {
    char *path;
    uint64_t size, hash; /* XXH3-64 of the content */
    bool absent;         /* there was no such file */
} rt_dependency;

typedef struct rt_manifest {
    char *engine, *target, *standard, *math;
    char *kernel, *function, *file;
    unsigned line;
    uint32_t max_threads;         /* per threadgroup, 1 to TB_MAX_THREADS_PER_THREADGROUP */
    uint32_t required_threads[3]; /* 0, 0, 0: none required */
    char **requirements; /* of [[tombac::requires("...")]], see contract.h */
    size_t requirement_count;
    size_t static_threadgroup_memory;
    bool threadgroup_barriers, simdgroup_operations;
    size_t context_size; /* bytes per SIMD-group (cpu) */
    rt_argument *arguments; /* the source's, then the layouts of tensors */
    size_t argument_count, visible_count;
    rt_constant *constants;
    size_t constant_count;
    rt_dependency *dependencies;
    size_t dependency_count;
} rt_manifest;

/* Parses and checks; `name` stands for the file in messages. Anything wrong is TOMBAC_ERROR_ARTIFACT. */
tombac_status rt_manifest_parse(
    const char *name, const void *json, size_t size, rt_manifest *manifest, tombac_error **error);
void rt_manifest_free(rt_manifest *manifest);

typedef struct rt_listed_kernel {
    char *name, *function, *file;
    unsigned line;
} rt_listed_kernel;

typedef struct rt_listing {
    rt_listed_kernel *kernels;
    size_t kernel_count;
    rt_constant *constants;
    size_t constant_count;
    rt_dependency *dependencies;
    size_t dependency_count;
} rt_listing;

/* The same for the text that `tombac-cc list` prints. */
tombac_status rt_listing_parse(
    const char *name, const void *json, size_t size, rt_listing *listing, tombac_error **error);
void rt_listing_free(rt_listing *listing);

#endif
