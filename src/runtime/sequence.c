/* Sequences: launches that are recorded one by one and submitted as one operation.
 *
 * While a sequence is recorded, and until its operation is submitted or dropped, it reserves the memory that
 * it touches: other recordings and host views that would conflict are refused. The launches become operations
 * of their own at once; submission registers all of them together (operation.c), so buffer hazards order
 * them, and independent ones run concurrently. Where the driver runs many grids at once better than one by one
 * (rt_driver.run_all), the sequence is a single operation instead, which accesses what its launches access. */
#include "runtime/launch.h"
#include "runtime/trace.h"

#include <stdlib.h>
#include <string.h>

typedef struct reservation {
    rt_storage *storage; /* retained */
    bool write;
} reservation;

typedef struct recording {
    tombac_operation operation; /* first; its children are the launches */
    reservation *reservations;
    size_t reservation_count, reservation_capacity;
    rt_launch_run **launches; /* that the driver runs at once; then there are no children */
    size_t launch_count;
} recording;

struct tombac_sequence {
    tombac_device *device;
    recording *recording;
    size_t capacity;      /* of the children */
    tombac_status failed; /* the first failure discarded the recording */
    tombac_error *error;
};

/* ---- Reservations ---- */

static void end_reservations(recording *r)
{
    if (!r->reservation_count) return;
    pthread_mutex_t *lock = &r->operation.device->hazards;
    pthread_mutex_lock(lock);
    for (size_t i = 0; i < r->reservation_count; i++) {
        rt_storage *storage = r->reservations[i].storage;
        storage->recorders--;
        if (storage->recorder == r) storage->recorder = NULL;
        if (r->reservations[i].write) storage->recorded_write = false;
    }
    pthread_mutex_unlock(lock);
    for (size_t i = 0; i < r->reservation_count; i++) rt_storage_release(r->reservations[i].storage);
    r->reservation_count = 0;
}

static reservation *find(const recording *r, const rt_storage *storage)
{
    for (size_t i = r->reservation_count; i-- > 0;)
        if (r->reservations[i].storage == storage) return &r->reservations[i];
    return NULL;
}

static tombac_status conflict(
    const tombac_operation *launch, const rt_storage *storage, bool write, tombac_error **error)
{
    tb_text who = {0};
    rt_operation_describe(launch, &who);
    tombac_status status = tb_fail(error, TOMBAC_ERROR_BUSY,
        "%s %s a buffer of %zu bytes that another sequence, recorded and not yet submitted, %s",
        tb_text_string(&who), write ? "writes" : "reads", storage->memory.size,
        storage->recorded_write ? "writes" : "reads");
    tb_text_free(&who);
    return status;
}

/* With the lock held. */
static tombac_status reserve(recording *r, const rt_access *access, tombac_error **error)
{
    rt_storage *storage = access->storage;
    reservation *mine = storage->recorders == 0 ? NULL : find(r, storage);
    bool others = storage->recorders > (mine ? 1 : 0);
    bool written_by_others = storage->recorded_write && !(mine && mine->write);
    if (others && (access->write || written_by_others))
        return conflict(access->operation, storage, access->write, error);
    if (!mine) {
        if (r->reservation_count == r->reservation_capacity) {
            size_t capacity = r->reservation_capacity ? 2 * r->reservation_capacity : 8;
            reservation *grown = realloc(r->reservations, capacity * sizeof *grown);
            if (!grown) return tb_fail_memory(error);
            r->reservations = grown;
            r->reservation_capacity = capacity;
        }
        mine = &r->reservations[r->reservation_count++];
        *mine = (reservation){.storage = storage};
        rt_retain(&storage->references);
        storage->recorder = storage->recorders++ ? NULL : r;
    }
    mine->write = mine->write || access->write;
    storage->recorded_write = storage->recorded_write || access->write;
    return TOMBAC_OK;
}

/* ---- The operation ---- */

static bool gather(tombac_operation *operation, tombac_status *status, tombac_error **error)
{
    for (size_t i = 0; i < operation->child_count && *status == TOMBAC_OK; i++)
        *status = rt_operation_adopt(operation, operation->children[i], error);
    return true;
}

static void submitted(tombac_operation *operation)
{
    end_reservations((recording *)operation);
}

static void let_go(tombac_operation *operation)
{
    recording *r = (recording *)operation;
    end_reservations(r);
    for (size_t i = 0; i < r->launch_count; i++) tombac_operation_release(&r->launches[i]->operation);
    r->launch_count = 0;
}

static void destroy(tombac_operation *operation)
{
    recording *r = (recording *)operation;
    free(r->reservations);
    free(r->launches);
    free(operation->accesses);
}

static const rt_operation_type type = {
    .sequence = true, .anywhere = true, .run = gather, .submitted = submitted, .release = let_go, .destroy = destroy};

/* ---- All at once ---- */

/* The trace gets the launches as they would have been by themselves. */
static void trace_launches(recording *r, const double *seconds, size_t count)
{
    double at = r->operation.begun;
    for (size_t i = 0; i < count; i++) {
        tombac_operation *launch = &r->launches[i]->operation;
        launch->submitted = r->operation.submitted;
        launch->begun = at;
        launch->kernel_seconds = launch->ran = seconds[i];
        launch->ended = at += seconds[i];
        rt_trace_operation(r->operation.device->trace, launch);
    }
}

static tombac_status run_launches(
    recording *r, rt_code **codes, const rt_run **runs, double *seconds, tombac_error **error)
{
    const tombac_device *device = r->operation.device;
    size_t count = 0, failed = 0;
    for (size_t i = 0; i < r->launch_count; i++) {
        rt_launch_run *launch = r->launches[i];
        if (launch->empty) continue;
        launch->run.seconds = device->trace ? &seconds[count] : NULL;
        r->launches[i] = r->launches[count]; /* those that are empty end up behind */
        r->launches[count] = launch;
        codes[count] = rt_launch_code(launch);
        runs[count++] = &launch->run;
    }
    if (!count) return TOMBAC_OK;
    tombac_status status = device->driver->run_all(device->driver_state, codes, runs, count, &failed, error);
    if (status != TOMBAC_OK && failed < count) tb_error_set_kernel(error, r->launches[failed]->operation.kernel);
    if (device->trace) trace_launches(r, seconds, status == TOMBAC_OK ? count : failed < count ? failed : 0);
    return status;
}

static bool run_at_once(tombac_operation *operation, tombac_status *status, tombac_error **error)
{
    recording *r = (recording *)operation;
    rt_code **codes = calloc(r->launch_count + 1, sizeof(rt_code *));
    const rt_run **runs = calloc(r->launch_count + 1, sizeof(const rt_run *));
    double *seconds = calloc(r->launch_count + 1, sizeof *seconds);
    *status = codes && runs && seconds ? run_launches(r, codes, runs, seconds, error) : tb_fail_memory(error);
    free(codes);
    free((void *)runs);
    free(seconds);
    return true;
}

static const rt_operation_type type_at_once = {
    .run = run_at_once, .submitted = submitted, .release = let_go, .destroy = destroy};

/* Turns children into launches of the operation itself. */
static tombac_status join(recording *r, tombac_error **error)
{
    tombac_operation *operation = &r->operation;
    operation->accesses = calloc(r->reservation_count + 1, sizeof *operation->accesses);
    r->launches = calloc(operation->child_count + 1, sizeof(rt_launch_run *));
    if (!operation->accesses || !r->launches) return tb_fail_memory(error);
    for (size_t i = 0; i < r->reservation_count; i++) {
        const reservation *mine = &r->reservations[i];
        operation->accesses[operation->access_count++] =
            (rt_access){.storage = mine->storage, .write = mine->write, .operation = operation};
        rt_retain(&mine->storage->references);
    }
    for (size_t i = 0; i < operation->child_count; i++)
        r->launches[r->launch_count++] = (rt_launch_run *)operation->children[i];
    operation->child_count = 0;
    operation->type = &type_at_once;
    return TOMBAC_OK;
}

/* ---- Recording ---- */

tombac_status tombac_sequence_begin(tombac_device *device, tombac_sequence **sequence, tombac_error **error)
{
    if (!device) return rt_missing(__func__, "device", error);
    if (!sequence) return rt_missing(__func__, "sequence", error);
    tombac_sequence *made = calloc(1, sizeof *made);
    recording *r = calloc(1, sizeof *r);
    tombac_status status = made && r ? rt_operation_init(&r->operation, &type, device, NULL, NULL, 0, error)
                                     : tb_fail_memory(error);
    if (status != TOMBAC_OK) {
        free(made);
        free(r);
        return status;
    }
    made->device = tombac_device_retain(device);
    made->recording = r;
    *sequence = made;
    return TOMBAC_OK;
}

static void discard(tombac_sequence *sequence)
{
    if (sequence->recording) tombac_operation_release(&sequence->recording->operation);
    sequence->recording = NULL;
}

static tombac_status append(tombac_sequence *sequence, tombac_operation *launch, tombac_error **error)
{
    tombac_operation *whole = &sequence->recording->operation;
    if (launch->device != sequence->device)
        return tb_fail(error, TOMBAC_ERROR_BINDING, "kernel '%s' is for another device than its sequence",
            launch->kernel);
    if (whole->child_count == sequence->capacity) {
        size_t capacity = sequence->capacity ? 2 * sequence->capacity : 16;
        tombac_operation **grown = realloc(whole->children, capacity * sizeof(tombac_operation *));
        if (!grown) return tb_fail_memory(error);
        whole->children = grown;
        sequence->capacity = capacity;
    }
    tombac_status status = TOMBAC_OK;
    pthread_mutex_lock(&sequence->device->hazards);
    for (size_t i = 0; i < launch->access_count && status == TOMBAC_OK; i++)
        status = reserve(sequence->recording, &launch->accesses[i], error);
    pthread_mutex_unlock(&sequence->device->hazards);
    if (status == TOMBAC_OK) whole->children[whole->child_count++] = tombac_operation_retain(launch);
    return status;
}

static tombac_status check_recording(const tombac_sequence *sequence, const char *call, tombac_error **error)
{
    if (!sequence) return rt_missing(call, "sequence", error);
    if (sequence->failed == TOMBAC_OK) return TOMBAC_OK;
    tb_error_copy(sequence->error, error);
    return sequence->failed;
}

tombac_status tombac_sequence_add(
    tombac_sequence *sequence, const tombac_launch *launch, tombac_error **error)
{
    tombac_status status = check_recording(sequence, __func__, error);
    if (status != TOMBAC_OK) return status;
    tombac_operation *operation = NULL;
    tombac_error *failure = NULL;
    status = tombac_launch_operation(launch, &operation, &failure);
    if (status == TOMBAC_OK) status = append(sequence, operation, &failure);
    tombac_operation_release(operation);
    if (status == TOMBAC_OK) return TOMBAC_OK;
    discard(sequence);
    sequence->failed = status;
    sequence->error = failure;
    tb_error_copy(failure, error);
    return status;
}

tombac_status tombac_sequence_end(
    tombac_sequence *sequence, tombac_operation **operation, tombac_error **error)
{
    if (!operation) return rt_missing(__func__, "operation", error);
    tombac_status status = check_recording(sequence, __func__, error);
    if (status == TOMBAC_OK && sequence->device->driver->run_all) status = join(sequence->recording, error);
    if (status == TOMBAC_OK) {
        *operation = &sequence->recording->operation;
        sequence->recording = NULL;
    }
    tombac_sequence_release(sequence);
    return status;
}

void tombac_sequence_release(tombac_sequence *sequence)
{
    if (!sequence) return;
    discard(sequence);
    tombac_error_release(sequence->error);
    tombac_device_release(sequence->device);
    free(sequence);
}
