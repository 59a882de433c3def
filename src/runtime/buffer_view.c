/* Host access to buffers: read and write views. A view waits for the operations that were submitted before
 * it, keeps later conflicting ones from being submitted, and is refused while a recording or another view
 * excludes it. */
#include "runtime/hazard.h"
#include "runtime/operation.h"

static tombac_status busy(const rt_storage *storage, bool write, const char *why, tombac_error **error)
{
    return tb_fail(error, TOMBAC_ERROR_BUSY, "the buffer of %zu bytes cannot be %s by the host: %s",
        storage->memory.size, write ? "written" : "read", why);
}

/* With the lock held. */
static tombac_status check(const rt_storage *storage, bool write, tombac_error **error)
{
    if (storage->host_writer) return busy(storage, write, "a write view of it is open", error);
    if (write && storage->host_readers) return busy(storage, write, "a read view of it is open", error);
    if (storage->recorded_write)
        return busy(storage, write, "a sequence that is not submitted yet writes it", error);
    if (write && storage->recorders)
        return busy(storage, write, "a sequence that is not submitted yet reads it", error);
    return TOMBAC_OK;
}

/* The next operation to wait for, retained, or NULL. With the lock held. */
static tombac_operation *pending(const rt_storage *storage, bool write)
{
    const rt_access *access = storage->writer;
    if (!access && write) access = storage->readers;
    return access ? tombac_operation_retain(access->operation) : NULL;
}

/* A failed write nobody was told of is told now. With the lock held. */
static tombac_status report_failure(rt_storage *storage, tombac_error **error)
{
    tombac_operation *failure = storage->failure;
    storage->failure = NULL;
    tombac_status status = TOMBAC_OK;
    if (failure && !atomic_exchange(&failure->observed, true)) {
        tb_text who = {0};
        rt_operation_describe(failure, &who);
        status = tb_fail(error, TOMBAC_ERROR_DEPENDENCY, "the buffer was not written, because %s failed: %s",
            tb_text_string(&who), tombac_error_message(failure->error));
        tb_error_set_kernel(error, tombac_error_kernel(failure->error));
        tb_error_set_location(error, tombac_error_file(failure->error), tombac_error_line(failure->error),
            tombac_error_column(failure->error));
        tb_text_free(&who);
    }
    tombac_operation_release(failure);
    return status;
}

static tombac_status wait_and_open(rt_storage *storage, bool write, tombac_error **error)
{
    pthread_mutex_t *lock = &storage->device->hazards;
    pthread_mutex_lock(lock);
    tombac_status status = check(storage, write, error);
    if (status == TOMBAC_OK) {
        if (write)
            storage->host_writer = true;
        else
            storage->host_readers++;
        for (tombac_operation *operation; status == TOMBAC_OK && (operation = pending(storage, write));) {
            pthread_mutex_unlock(lock);
            status = rt_operation_wait_quietly(operation, error);
            tombac_operation_release(operation);
            pthread_mutex_lock(lock);
        }
        if (status == TOMBAC_OK) status = report_failure(storage, error);
        if (status != TOMBAC_OK && write) storage->host_writer = false;
        if (status != TOMBAC_OK && !write) storage->host_readers--;
    }
    pthread_mutex_unlock(lock);
    return status;
}

static void close_view(rt_storage *storage, bool write)
{
    pthread_mutex_lock(&storage->device->hazards);
    if (write)
        storage->host_writer = false;
    else
        storage->host_readers--;
    pthread_mutex_unlock(&storage->device->hazards);
}

static tombac_status begin(tombac_buffer *buffer, bool write, void **data, tombac_error **error)
{
    rt_storage *storage = buffer->storage;
    const rt_driver *driver = storage->device->driver;
    tombac_status status = wait_and_open(storage, write, error);
    if (status != TOMBAC_OK) return status;
    if (driver->to_host) status = driver->to_host(storage->device->driver_state, &storage->memory, error);
    if (status == TOMBAC_OK)
        *data = (char *)storage->memory.contents + buffer->offset;
    else
        close_view(storage, write);
    return status;
}

static tombac_status end(tombac_buffer *buffer, bool write, const char *call, tombac_error **error)
{
    if (!buffer) return rt_missing(call, "buffer", error);
    rt_storage *storage = buffer->storage;
    const rt_driver *driver = storage->device->driver;
    pthread_mutex_lock(&storage->device->hazards);
    bool open = write ? storage->host_writer : storage->host_readers > 0;
    if (open && write && driver->host_wrote) driver->host_wrote(storage->device->driver_state, &storage->memory);
    if (open && write) storage->host_writer = false;
    if (open && !write) storage->host_readers--;
    pthread_mutex_unlock(&storage->device->hazards);
    return open ? TOMBAC_OK : tb_fail(error, TOMBAC_ERROR_ARGUMENT, "%s: no such view is open", call);
}

tombac_status tombac_buffer_begin_read(tombac_buffer *buffer, const void **data, tombac_error **error)
{
    if (!buffer) return rt_missing(__func__, "buffer", error);
    if (!data) return rt_missing(__func__, "data", error);
    void *contents;
    tombac_status status = begin(buffer, false, &contents, error);
    if (status == TOMBAC_OK) *data = contents;
    return status;
}

tombac_status tombac_buffer_end_read(tombac_buffer *buffer, tombac_error **error)
{
    return end(buffer, false, __func__, error);
}

tombac_status tombac_buffer_begin_write(tombac_buffer *buffer, void **data, tombac_error **error)
{
    if (!buffer) return rt_missing(__func__, "buffer", error);
    if (!data) return rt_missing(__func__, "data", error);
    return begin(buffer, true, data, error);
}

tombac_status tombac_buffer_end_write(tombac_buffer *buffer, tombac_error **error)
{
    return end(buffer, true, __func__, error);
}
