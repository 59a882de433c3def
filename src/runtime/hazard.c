/* Frontiers of storages; see hazard.h. */
#include "runtime/hazard.h"

#include "runtime/operation.h"

void rt_access_add(
    rt_access *list, size_t *count, tombac_operation *operation, rt_storage *storage, bool write)
{
    for (size_t i = 0; i < *count; i++) {
        if (list[i].storage != storage) continue;
        list[i].write = list[i].write || write;
        return;
    }
    rt_retain(&storage->references);
    list[(*count)++] = (rt_access){.storage = storage, .write = write, .operation = operation};
}

/* ---- Locks ---- */

/* Of the operation's devices the next by address; NULL after the last. */
static tombac_device *next_device(const tombac_operation *operation, const tombac_device *after)
{
    tombac_device *next = (uintptr_t)operation->device > (uintptr_t)after ? operation->device : NULL;
    for (size_t i = 0; i < operation->access_count; i++) {
        tombac_device *device = operation->accesses[i].storage->device;
        if ((uintptr_t)device > (uintptr_t)after && (!next || (uintptr_t)device < (uintptr_t)next)) next = device;
    }
    return next;
}

void rt_hazard_lock(const tombac_operation *operation)
{
    for (tombac_device *d = NULL; (d = next_device(operation, d));) pthread_mutex_lock(&d->hazards);
}

void rt_hazard_unlock(const tombac_operation *operation)
{
    for (tombac_device *d = NULL; (d = next_device(operation, d));) pthread_mutex_unlock(&d->hazards);
}

/* ---- Frontiers ---- */

static void enter(rt_access *access, rt_access **list)
{
    access->next = *list;
    access->link = list;
    if (access->next) access->next->link = &access->next;
    *list = access;
}

static void leave(rt_access *access)
{
    if (!access->link) return;
    *access->link = access->next;
    if (access->next) access->next->link = access->link;
    access->link = NULL;
}

tombac_status rt_hazard_check(const tombac_operation *operation, tombac_error **error)
{
    for (size_t i = 0; i < operation->access_count; i++) {
        const rt_access *access = &operation->accesses[i];
        const rt_storage *storage = access->storage;
        if (!storage->host_writer && !(access->write && storage->host_readers)) continue;
        tb_text who = {0};
        rt_operation_describe(operation, &who);
        tombac_status status = tb_fail(error, TOMBAC_ERROR_BUSY,
            "%s %s a buffer of %zu bytes while the host has a %s view of it; end the view first",
            tb_text_string(&who), access->write ? "writes" : "reads", storage->memory.size,
            storage->host_writer ? "write" : "read");
        tb_text_free(&who);
        return status;
    }
    return TOMBAC_OK;
}

size_t rt_hazard_edges(const tombac_operation *operation)
{
    size_t count = 0;
    for (size_t i = 0; i < operation->access_count; i++) {
        const rt_access *access = &operation->accesses[i];
        count += access->storage->writer != NULL;
        for (const rt_access *r = access->storage->readers; r && access->write; r = r->next) count++;
    }
    return count;
}

static void follow(tombac_operation *operation, const rt_access *earlier, bool carries)
{
    rt_operation_link(earlier->operation, &operation->edges[operation->edge_count++], operation, carries);
}

/* A failed write nobody was told of stops what touches its memory; once somebody was told, it is forgotten.
 */
static void heed_failure(tombac_operation *operation, rt_storage *storage)
{
    tombac_operation *failure = storage->failure;
    if (!failure) return;
    if (!atomic_load(&failure->observed)) {
        rt_operation_stop(operation, failure);
        return;
    }
    storage->failure = NULL;
    tombac_operation_release(failure);
}

void rt_hazard_register(tombac_operation *operation)
{
    for (size_t i = 0; i < operation->access_count; i++) {
        rt_access *access = &operation->accesses[i];
        rt_storage *storage = access->storage;
        heed_failure(operation, storage);
        if (storage->writer) follow(operation, storage->writer, true);
        if (!access->write) {
            enter(access, &storage->readers);
            continue;
        }
        while (storage->readers) {
            follow(operation, storage->readers, false);
            leave(storage->readers);
        }
        if (storage->writer) leave(storage->writer);
        enter(access, &storage->writer);
    }
}

void rt_hazard_retire(tombac_operation *operation, tombac_operation *failed)
{
    for (size_t i = 0; i < operation->access_count; i++) {
        rt_access *access = &operation->accesses[i];
        leave(access);
        if (!failed || !access->write || atomic_load(&failed->observed)) continue;
        tombac_operation *before = access->storage->failure;
        access->storage->failure = tombac_operation_retain(failed);
        tombac_operation_release(before);
    }
}
