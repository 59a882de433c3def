/* The runtime's objects, as its own files see them. References point one way, so they form no cycles:
 * launch -> kernel -> library -> device, buffer -> storage -> device, launch -> buffer; an operation refers to what it needs
 * until it has ended, and storages refer to failed operations. */
#ifndef RT_OBJECT_H
#define RT_OBJECT_H

#include "runtime/cache.h"
#include "runtime/driver/driver.h"
#include "runtime/queue.h"

#include <pthread.h>
#include <stdatomic.h>

typedef atomic_size_t rt_references;
typedef struct rt_storage rt_storage; /* hazard.h */
typedef struct rt_access rt_access;
typedef struct rt_trace rt_trace; /* trace.h */
typedef struct rt_bundle rt_bundle; /* bundle.h */
typedef struct rt_making rt_making; /* kernel_table.c */
typedef struct rt_special_table rt_special_table; /* specialise.h */
typedef struct rt_specialiser rt_specialiser;
typedef struct rt_rest rt_rest; /* rest.h */

static inline void rt_retain(rt_references *references)
{
    atomic_fetch_add_explicit(references, 1, memory_order_relaxed);
}

/* True for the last reference; all that other threads did with the object is visible then. */
static inline bool rt_release(rt_references *references)
{
    return atomic_fetch_sub_explicit(references, 1, memory_order_acq_rel) == 1;
}

/* What a typed buffer consists of; owns its names. */
typedef struct rt_element {
    tombac_type type;
    uint32_t vector_length;
    bool packed;
    size_t size, alignment;
    char *name;
    tombac_member *members; /* in declaration order, with names of their own */
    size_t member_count;
} rt_element;

struct tombac_device {
    rt_references references;
    const rt_driver *driver;
    const char *name;   /* the driver's, or one of its names */
    void *driver_state; /* what driver->open made */
    bool opened;
    rt_cache cache;
    rt_queue *queue;
    rt_queue *compilations; /* kernels that are prepared; threads of their own, so that launches go on */
    size_t max_buffer_size;
    double time_limit; /* of a launch, seconds; 0: none */
    pthread_mutex_t hazards; /* see hazard.h */
    rt_trace *trace;         /* or NULL */
    _Atomic uint32_t specialise_after; /* launches, for kernels made from now on; 0: never */
    pthread_mutex_t specialising;
    rt_specialiser *specialiser; /* or NULL; under `specialising` */
};

struct tombac_library {
    rt_references references;
    tombac_device *device;
    rt_source source;
    rt_listing listing;
    rt_bundle *bundle; /* compiled already; NULL: from source */
    pthread_mutex_t mutex; /* guards the rest: kernel_table.h */
    pthread_cond_t made;
    tombac_kernel *kernels; /* those that live; not retained */
    rt_making *making;      /* those that are being made */
};

struct tombac_kernel {
    rt_references references;
    tombac_library *library;
    rt_manifest manifest;
    char *reflection; /* the manifest's text */
    rt_code *code;
    rt_special_table *specials; /* or NULL */
    rt_rest *rest; /* code that was left out; NULL: none */
    double compile_seconds; /* that making it took, the cache and the compiler together */
    rt_value *values;       /* of its function constants, sorted by index */
    size_t value_count;
    tombac_kernel *next, **link; /* in its library's list; link NULL: not in it */
};

struct tombac_buffer {
    rt_references references;
    rt_storage *storage;
    size_t offset, size; /* of a view; else 0 and the storage's */
    rt_element element;
    bool typed;
    size_t count; /* of elements; bytes if not typed */
};

/* The cache that a library's compilations use; one without a folder if they must not use any. */
const rt_cache *rt_library_cache(const tombac_library *library, const rt_compiler *compiler);

void rt_storage_release(rt_storage *storage);

/* `error` for a NULL argument of a public call. */
tombac_status rt_missing(const char *call, const char *what, tombac_error **error);

#endif
