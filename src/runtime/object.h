/* The runtime's objects, as its own files see them. References point one way, so they form no cycles:
 * launch -> kernel -> library -> device, buffer -> device, launch -> buffer. */
#ifndef RT_OBJECT_H
#define RT_OBJECT_H

#include "runtime/cache.h"
#include "runtime/driver/driver.h"
#include "runtime/queue.h"

#include <pthread.h>
#include <stdatomic.h>

typedef atomic_size_t rt_references;

static inline void rt_retain(rt_references *references)
{
    atomic_fetch_add_explicit(references, 1, memory_order_relaxed);
}

/* True for the last reference; all that other threads did with the object is visible then. */
static inline bool rt_release(rt_references *references)
{
    return atomic_fetch_sub_explicit(references, 1, memory_order_acq_rel) == 1;
}

struct tombac_device {
    rt_references references;
    const rt_driver *driver;
    void *driver_state; /* what driver->open made */
    rt_cache cache;
    rt_queue *queue;
    size_t max_buffer_size;
    double time_limit; /* of a launch, seconds; 0: none */
};

struct tombac_library {
    rt_references references;
    tombac_device *device;
    rt_source source;
    rt_listing listing;
};

struct tombac_kernel {
    rt_references references;
    tombac_library *library;
    rt_manifest manifest;
    char *reflection; /* the manifest's text */
    rt_code *code;
};

struct tombac_buffer {
    rt_references references;
    tombac_device *device;
    void *contents;
    size_t size;
    size_t mapped; /* bytes of the mapping; 0: contents are from aligned_alloc */
};

/* The cache that a library's compilations use; one without a folder if they must not use any. */
const rt_cache *rt_library_cache(const tombac_library *library, const rt_compiler *compiler);

/* `error` for a NULL argument of a public call. */
tombac_status rt_missing(const char *call, const char *what, tombac_error **error);

#endif
