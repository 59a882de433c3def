/* Memory and the order of its uses.
 *
 * Each storage knows its frontier: the last write that has not ended, and the reads that came after it. A new
 * read follows the write; a new write follows all of the frontier and replaces it. Everything here is guarded
 * by the device's `hazards` lock, under which an operation registers all its accesses at once, so that no
 * cycles can arise. Views of one storage count as the storage: as in Metal, hazards are tracked by
 * allocation. */
#ifndef RT_HAZARD_H
#define RT_HAZARD_H

#include "runtime/object.h"

struct rt_access {
    rt_storage *storage; /* retained */
    bool write;
    tombac_operation *operation;
    rt_access *next, **link; /* in the frontier; link NULL: not in it */
};

struct rt_storage {
    rt_references references;
    tombac_device *device;
    rt_memory memory;
    size_t mapped;                             /* bytes of the mapping; 0: contents are from aligned_alloc */
    void (*free)(void *context, void *memory); /* memory of the caller */
    void *context;

    rt_access *writer, *readers;
    tombac_operation *failure; /* a write that failed and that nobody was told of yet */
    size_t host_readers;
    bool host_writer;
    /* Sequences that are being recorded, or recorded and not submitted. */
    size_t recorders;
    const void *recorder; /* the only one, or NULL */
    bool recorded_write;
};

/* Adds an access to a list of `count`, merging those of one storage. The list must have room. Retains the
 * storage. */
void rt_access_add(
    rt_access *list, size_t *count, tombac_operation *operation, rt_storage *storage, bool write);
/* The locks of the operation's device and of all that its memory belongs to, in the order of their addresses. Two operations with
 * memory in common have a lock in common, so the order is total also over several devices. */
void rt_hazard_lock(const tombac_operation *operation);
void rt_hazard_unlock(const tombac_operation *operation);
/* The following with the locks held. */
/* Refuses storages that the host has views of: TOMBAC_ERROR_BUSY. */
tombac_status rt_hazard_check(const tombac_operation *operation, tombac_error **error);
/* How many edges rt_hazard_register needs at most. */
size_t rt_hazard_edges(const tombac_operation *operation);
/* Links the operation behind everything that it has to follow. */
void rt_hazard_register(tombac_operation *operation);
/* At the end of an operation: it leaves the frontiers; if `failed`, what it would have written is marked. */
void rt_hazard_retire(tombac_operation *operation, tombac_operation *failed);

#endif
