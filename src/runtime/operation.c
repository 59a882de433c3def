/* Life, submission, execution and results of operations; see operation.h. */
#include "runtime/operation.h"

#include "runtime/hazard.h"
#include "runtime/trace.h"

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

double rt_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static rt_operation_state state_of(const tombac_operation *operation)
{
    return (rt_operation_state)atomic_load_explicit(&operation->state, memory_order_acquire);
}

/* ---- Life ---- */

tombac_status rt_operation_init(tombac_operation *operation, const rt_operation_type *type,
    tombac_device *device, const char *name, tombac_operation *const *children, size_t child_count,
    tombac_error **error)
{
    if (name && !(operation->name = strdup(name))) return tb_fail_memory(error);
    if (child_count && !(operation->children = calloc(child_count, sizeof *children))) {
        free(operation->name);
        return tb_fail_memory(error);
    }
    for (size_t i = 0; i < child_count; i++) {
        operation->children[i] = tombac_operation_retain(children[i]);
        atomic_store(&children[i]->used, true);
    }
    operation->child_count = child_count;
    atomic_init(&operation->references, 1);
    operation->type = type;
    operation->device = tombac_device_retain(device);
    operation->event = -1;
    atomic_init(&operation->waiting, 1);
    pthread_mutex_init(&operation->mutex, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&operation->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    return TOMBAC_OK;
}

/* What it kept alive; the operation may be the last to know of it. */
static void release_parts(tombac_operation *operation)
{
    if (operation->type->release) operation->type->release(operation);
    for (size_t i = 0; i < operation->access_count; i++) rt_storage_release(operation->accesses[i].storage);
    operation->access_count = 0;
    for (size_t i = 0; i < operation->child_count; i++) tombac_operation_release(operation->children[i]);
    operation->child_count = 0;
}

static void destroy(tombac_operation *operation)
{
    /* The end lets go of its reference with the lock held. */
    pthread_mutex_lock(&operation->mutex);
    pthread_mutex_unlock(&operation->mutex);
    if (state_of(operation) != RT_OPERATION_ENDED) release_parts(operation);
    while (operation->callbacks) {
        rt_callback *next = operation->callbacks->next;
        free(operation->callbacks);
        operation->callbacks = next;
    }
    if (operation->event >= 0) close(operation->event);
    tombac_operation_release(atomic_load(&operation->stop));
    tombac_operation_release(operation->cause);
    tombac_error_release(operation->error);
    pthread_cond_destroy(&operation->changed);
    pthread_mutex_destroy(&operation->mutex);
    free(operation->edges);
    free(operation->children);
    free(operation->name);
    tombac_device *device = operation->device;
    if (operation->type->destroy) operation->type->destroy(operation);
    free(operation);
    tombac_device_release(device);
}

tombac_operation *tombac_operation_retain(tombac_operation *operation)
{
    if (operation) rt_retain(&operation->references);
    return operation;
}

void tombac_operation_release(tombac_operation *operation)
{
    if (operation && rt_release(&operation->references)) destroy(operation);
}

void rt_operation_describe(const tombac_operation *operation, tb_text *text)
{
    if (operation->name) tb_text_printf(text, "operation '%s'", operation->name);
    if (operation->kernel)
        tb_text_printf(text, operation->name ? " (kernel '%s')" : "kernel '%s'", operation->kernel);
    if (!operation->name && !operation->kernel) tb_text_puts(text, "an operation");
}

/* ---- Edges ---- */

void rt_operation_stop(tombac_operation *operation, tombac_operation *cause)
{
    tombac_operation *none = NULL;
    tombac_operation_retain(cause);
    if (!atomic_compare_exchange_strong(&operation->stop, &none, cause)) tombac_operation_release(cause);
}

tombac_operation *rt_operation_failure(tombac_operation *operation)
{
    if (operation->status == TOMBAC_OK) return NULL;
    return operation->cause ? operation->cause : operation;
}

tombac_status rt_operation_adopt(tombac_operation *whole, tombac_operation *part, tombac_error **error)
{
    if (part->status == TOMBAC_OK) return TOMBAC_OK;
    if (!whole->cause) whole->cause = tombac_operation_retain(rt_operation_failure(part));
    tb_error_copy(part->error, error);
    return part->status;
}

static void execute(rt_queue_item *item);

static rt_queue *queue_of(const tombac_operation *operation)
{
    return operation->type->compiles ? operation->device->compilations : operation->device->queue;
}

static void arrive(tombac_operation *operation, bool here)
{
    if (atomic_fetch_sub_explicit(&operation->waiting, 1, memory_order_acq_rel) != 1) return;
    operation->item.run = execute;
    rt_queue_push(queue_of(operation), &operation->item, here);
}

void rt_operation_link(tombac_operation *from, rt_edge *edge, tombac_operation *to, bool carries)
{
    *edge = (rt_edge){.to = to, .carries = carries};
    pthread_mutex_lock(&from->mutex);
    bool ended = state_of(from) == RT_OPERATION_ENDED;
    if (!ended) {
        atomic_fetch_add_explicit(&to->waiting, 1, memory_order_relaxed);
        edge->next = from->dependents;
        from->dependents = edge;
    }
    pthread_mutex_unlock(&from->mutex);
    tombac_operation *failure = ended && carries ? rt_operation_failure(from) : NULL;
    if (failure) rt_operation_stop(to, failure);
}

/* The list is in the reverse of the order in which the edges came; whoever came first shall go first. */
static void fire(rt_edge *list, tombac_operation *failure, bool here)
{
    rt_edge *edges = NULL;
    while (list) {
        rt_edge *next = list->next;
        list->next = edges;
        edges = list;
        list = next;
    }
    while (edges) {
        rt_edge *next = edges->next; /* the edge is its target's, which may be gone after this */
        if (failure && edges->carries) rt_operation_stop(edges->to, failure);
        arrive(edges->to, here);
        edges = next;
    }
}

/* ---- The end ---- */

static tombac_status stopped(tombac_operation *operation, tombac_operation *cause, tombac_error **error)
{
    tb_text who = {0}, why = {0};
    rt_operation_describe(operation, &who);
    rt_operation_describe(cause, &why);
    operation->cause = tombac_operation_retain(cause);
    tombac_status status = tb_fail(error, TOMBAC_ERROR_DEPENDENCY, "%s was not run, because %s failed: %s",
        tb_text_string(&who), tb_text_string(&why), tombac_error_message(cause->error));
    tb_error_set_kernel(error, tombac_error_kernel(cause->error));
    tb_error_set_location(error, tombac_error_file(cause->error), tombac_error_line(cause->error),
        tombac_error_column(cause->error));
    tb_text_free(&who);
    tb_text_free(&why);
    return status;
}

static void call_back(rt_callback *callbacks, tombac_operation *operation, tombac_status status)
{
    if (status != TOMBAC_OK && callbacks) {
        tombac_operation *failure = rt_operation_failure(operation);
        atomic_store(&operation->observed, true);
        atomic_store(&failure->observed, true);
    }
    rt_callback *ordered = NULL;
    while (callbacks) {
        rt_callback *next = callbacks->next;
        callbacks->next = ordered;
        ordered = callbacks;
        callbacks = next;
    }
    while (ordered) {
        rt_callback *next = ordered->next;
        ordered->function(ordered->context, operation, status);
        free(ordered);
        ordered = next;
    }
}

/* On a worker, where the operation ended on a thread that is none. */
static void deliver(rt_queue_item *item)
{
    tombac_operation *operation = (tombac_operation *)item;
    rt_callback *callbacks = operation->callbacks;
    operation->callbacks = NULL;
    call_back(callbacks, operation, operation->status);
    tombac_operation_release(operation);
}

/* Takes `error`. The submission's reference goes before anybody can know of the end, so that who waits and
 * then releases everything has freed everything; POSIX lets a mutex be destroyed as soon as another thread
 * could lock it. */
static void end(tombac_operation *operation, tombac_status status, tombac_error *error)
{
    operation->status = status;
    operation->error = error;
    if (error && !tombac_error_kernel(error) && operation->kernel)
        tb_error_set_kernel(&error, operation->kernel);
    if (error && operation->name) tb_error_set_operation(&error, operation->name);
    tombac_operation *failure = rt_operation_failure(operation);
    rt_hazard_lock(operation);
    rt_hazard_retire(operation, failure);
    rt_hazard_unlock(operation);
    if (!operation->ran) operation->ended = rt_now(); /* it never ran */
    if (operation->device->trace) rt_trace_operation(operation->device->trace, operation);
    release_parts(operation);
    if (failure) tombac_operation_retain(failure);

    pthread_mutex_lock(&operation->mutex);
    rt_edge *dependents = operation->dependents;
    rt_callback *callbacks = operation->callbacks;
    operation->dependents = NULL;
    operation->callbacks = NULL;
    atomic_store_explicit(&operation->state, RT_OPERATION_ENDED, memory_order_release);
    if (operation->waiters) pthread_cond_broadcast(&operation->changed);
    if (operation->event >= 0) eventfd_write(operation->event, 1);
    bool last = !callbacks && rt_release(&operation->references);
    pthread_mutex_unlock(&operation->mutex);

    fire(dependents, failure, !callbacks);
    if (callbacks && rt_queue_is_lent()) {
        operation->callbacks = callbacks;
        operation->item.run = deliver;
        rt_queue_push(queue_of(operation), &operation->item, false);
    } else if (callbacks) {
        call_back(callbacks, operation, status);
        tombac_operation_release(operation);
    } else if (last) {
        destroy(operation);
    }
    tombac_operation_release(failure);
}

static void execute(rt_queue_item *item)
{
    tombac_operation *operation = (tombac_operation *)item;
    tombac_error *error = NULL;
    tombac_status status = TOMBAC_OK;
    double begin = rt_now();
    if (!operation->begun) operation->begun = begin;
    tombac_operation *stop = atomic_load(&operation->stop);
    if (stop) {
        status = stop->status == TOMBAC_OK ? tb_fail(&error, TOMBAC_ERROR_DEPENDENCY, "the submission failed")
                                           : stopped(operation, stop, &error);
    } else {
        atomic_store(&operation->waiting, 1); /* the running itself */
        bool ended = operation->type->run(operation, &status, &error);
        operation->ended = rt_now();
        operation->ran += operation->ended - begin;
        if (!ended) {
            arrive(operation, true);
            return;
        }
    }
    end(operation, status, error);
}

/* ---- Submission ---- */

static bool claim(tombac_operation *operation)
{
    int expected = RT_OPERATION_NEW;
    return atomic_compare_exchange_strong(&operation->state, &expected, RT_OPERATION_SUBMITTED);
}

/* With the hazards locked. On failure the operation is linked to nothing. */
static tombac_status link_locked(tombac_operation *operation, tombac_error **error)
{
    tombac_status status = rt_hazard_check(operation, error);
    if (status != TOMBAC_OK) return status;
    size_t count = rt_hazard_edges(operation) + operation->child_count;
    operation->edges = calloc(count + 1, sizeof *operation->edges);
    if (!operation->edges) return tb_fail_memory(error);
    operation->submitted = rt_now();
    for (size_t i = 0; i < operation->child_count; i++)
        rt_operation_link(operation->children[i], &operation->edges[operation->edge_count++], operation,
            operation->type->children_carry);
    rt_hazard_register(operation);
    return TOMBAC_OK;
}

/* Ends an operation that never got into the graph. The caller is told, so nothing is marked. */
static tombac_status refuse(
    tombac_operation *operation, tombac_status status, tombac_error *failure, tombac_error **error)
{
    tb_error_copy(failure, error);
    atomic_store(&operation->observed, true);
    end(operation, status, failure);
    return status;
}

static tombac_status submit_one(tombac_operation *operation, tombac_error **error)
{
    tombac_error *failure = NULL;
    tombac_status status = rt_queue_start(queue_of(operation), &failure);
    if (status == TOMBAC_OK) {
        rt_hazard_lock(operation);
        status = link_locked(operation, &failure);
        rt_hazard_unlock(operation);
    }
    if (status != TOMBAC_OK) return refuse(operation, status, failure, error);
    if (operation->type->submitted) operation->type->submitted(operation);
    arrive(operation, false);
    return TOMBAC_OK;
}

/* The children are fresh launches that nobody else knows. What fails for lack of memory stops all of them. */
static tombac_status submit_sequence(tombac_operation *sequence, tombac_error **error)
{
    tombac_error *failure = NULL;
    tombac_operation **children = sequence->children;
    size_t count = sequence->child_count, linked = 0;
    tombac_status status = rt_queue_start(sequence->device->queue, &failure);
    pthread_mutex_lock(&sequence->device->hazards);
    for (size_t i = 0; i < count && status == TOMBAC_OK; i++) status = rt_hazard_check(children[i], &failure);
    for (; linked < count && status == TOMBAC_OK; linked += status == TOMBAC_OK) {
        tombac_operation *child = children[linked];
        rt_retain(&child->references);
        child->root = sequence->root;
        claim(child);
        status = link_locked(child, &failure);
        if (status != TOMBAC_OK)
            atomic_store(&child->state, RT_OPERATION_NEW), tombac_operation_release(child);
    }
    if (status == TOMBAC_OK) status = link_locked(sequence, &failure);
    pthread_mutex_unlock(&sequence->device->hazards);
    if (sequence->type->submitted) sequence->type->submitted(sequence);
    if (status != TOMBAC_OK) {
        sequence->status = status;
        sequence->error = failure;
        atomic_store(&sequence->observed, true);
        for (size_t i = 0; i < linked; i++) rt_operation_stop(children[i], sequence);
    }
    /* After the last of these a child, and at the end the sequence, may be gone. */
    tombac_operation_retain(sequence);
    for (size_t i = 0; i < linked; i++) arrive(children[i], false);
    if (status == TOMBAC_OK)
        arrive(sequence, false);
    else
        refuse(sequence, status, failure, error);
    tombac_operation_release(sequence);
    return status;
}

/* Children first; an explicit stack, as chains may be long. */
static tombac_status submit_claimed(tombac_operation *operation, tombac_error **error)
{
    tombac_status status = TOMBAC_OK;
    operation->parent = NULL;
    operation->root = operation;
    for (tombac_operation *top = operation; top;) {
        if (!top->type->sequence && top->child_at < top->child_count) {
            tombac_operation *child = top->children[top->child_at++];
            if (!claim(child)) continue;
            rt_retain(&child->references);
            child->parent = top;
            child->root = operation;
            top = child;
            continue;
        }
        tombac_operation *parent = top->parent;
        bool is_root = top == operation;
        tombac_status result = top->type->sequence ? submit_sequence(top, is_root ? error : NULL)
                                                   : submit_one(top, is_root ? error : NULL);
        if (is_root) status = result;
        top = parent;
    }
    return status;
}

tombac_status tombac_operation_submit(tombac_operation *operation, tombac_error **error)
{
    if (!operation) return rt_missing(__func__, "operation", error);
    if (!claim(operation)) return TOMBAC_OK;
    rt_retain(&operation->references);
    return submit_claimed(operation, error);
}

/* ---- Results ---- */

enum { SPINS = 1500 }; /* short operations end while their waiter would fall asleep */

/* A launch that runs where it is waited for needs neither thread to be woken. */
static bool may_run_here(const rt_queue_item *item, const void *context)
{
    const tombac_operation *candidate = (const tombac_operation *)item, *waited = context;
    return candidate->item.run == execute && candidate->root == waited && candidate->type->anywhere &&
           candidate->device->driver->any_thread && state_of(waited) != RT_OPERATION_ENDED;
}

static bool wait_until(tombac_operation *operation, double seconds)
{
    bool limited = seconds >= 0 && seconds < 1e9;
    if (!limited && state_of(operation) != RT_OPERATION_ENDED)
        rt_queue_lend(operation->device->queue, may_run_here, operation);
    for (int i = 0; i < SPINS && seconds != 0; i++) {
        if (state_of(operation) == RT_OPERATION_ENDED) break;
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }
    struct timespec until = {0};
    if (limited) {
        double deadline = rt_now() + seconds;
        until.tv_sec = (time_t)deadline;
        until.tv_nsec = (long)((deadline - (double)until.tv_sec) * 1e9);
    }
    /* The lock is taken in any case: the end must have let go of it before its operation may be released. */
    pthread_mutex_lock(&operation->mutex);
    int code = 0;
    operation->waiters++;
    while (state_of(operation) != RT_OPERATION_ENDED && code == 0)
        code = limited ? pthread_cond_timedwait(&operation->changed, &operation->mutex, &until)
                       : pthread_cond_wait(&operation->changed, &operation->mutex);
    operation->waiters--;
    bool ended = state_of(operation) == RT_OPERATION_ENDED;
    pthread_mutex_unlock(&operation->mutex);
    return ended;
}

/* A thread that the operation may need must not wait for it. */
static tombac_status check_waiter(tombac_operation *operation, tombac_error **error)
{
    if (state_of(operation) == RT_OPERATION_ENDED || !rt_queue_on_worker()) return TOMBAC_OK;
    tb_text who = {0};
    rt_operation_describe(operation, &who);
    tombac_status status = tb_fail(error, TOMBAC_ERROR_ARGUMENT,
        "a host function or callback must not wait for %s, which has not ended: it could do so for ever", tb_text_string(&who));
    tb_text_free(&who);
    return status;
}

tombac_status rt_operation_wait_quietly(tombac_operation *operation, tombac_error **error)
{
    tombac_status status = check_waiter(operation, error);
    if (status == TOMBAC_OK) wait_until(operation, -1);
    return status;
}

/* Each wait gets an error object of its own. */
static tombac_status report(tombac_operation *operation, tombac_error **error)
{
    if (operation->status == TOMBAC_OK) return TOMBAC_OK;
    atomic_store(&operation->observed, true);
    atomic_store(&rt_operation_failure(operation)->observed, true);
    tb_error_copy(operation->error, error);
    return operation->status;
}

tombac_status rt_operation_result(tombac_operation *operation, double seconds, tombac_error **error)
{
    if (seconds != seconds) return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "a time limit is not a number");
    tombac_status allowed = seconds == 0 ? TOMBAC_OK : check_waiter(operation, error);
    if (allowed != TOMBAC_OK) return allowed;
    if (wait_until(operation, seconds)) return report(operation, error);
    tb_text who = {0};
    rt_operation_describe(operation, &who);
    tombac_status status =
        tb_fail(error, TOMBAC_ERROR_TIMEOUT, "%s has not ended after %g s", tb_text_string(&who), seconds);
    tb_text_free(&who);
    return status;
}

tombac_status tombac_operation_wait(tombac_operation *operation, double seconds, tombac_error **error)
{
    if (!operation) return rt_missing(__func__, "operation", error);
    tombac_status allowed = seconds == 0 ? TOMBAC_OK : check_waiter(operation, error);
    if (allowed != TOMBAC_OK) return allowed;
    /* A refused submission has ended with the same error. */
    if (state_of(operation) == RT_OPERATION_NEW) tombac_operation_submit(operation, NULL);
    return rt_operation_result(operation, seconds, error);
}

tombac_status tombac_operation_poll(tombac_operation *operation, bool *ended, tombac_error **error)
{
    if (!operation) return rt_missing(__func__, "operation", error);
    if (!ended) return rt_missing(__func__, "ended", error);
    *ended = state_of(operation) == RT_OPERATION_ENDED && wait_until(operation, 0);
    return *ended ? report(operation, error) : TOMBAC_OK;
}

tombac_times tombac_operation_get_times(const tombac_operation *operation)
{
    if (!operation || state_of(operation) != RT_OPERATION_ENDED) return (tombac_times){0};
    double begun = operation->begun ? operation->begun : operation->ended;
    return (tombac_times){.queue_seconds = begun - operation->submitted,
        .device_seconds = operation->kernel_seconds > 0 ? operation->kernel_seconds : operation->ran,
        .compile_seconds = operation->compile_seconds};
}

const char *tombac_operation_name(const tombac_operation *operation)
{
    if (!operation) return "";
    return operation->name ? operation->name : operation->kernel ? operation->kernel : "";
}

tombac_status tombac_operation_on_end(tombac_operation *operation,
    void (*function)(void *context, tombac_operation *operation, tombac_status status), void *context,
    tombac_error **error)
{
    if (!operation) return rt_missing(__func__, "operation", error);
    if (!function) return rt_missing(__func__, "function", error);
    rt_callback *made = calloc(1, sizeof *made);
    if (!made) return tb_fail_memory(error);
    *made = (rt_callback){.function = function, .context = context};
    pthread_mutex_lock(&operation->mutex);
    bool ended = state_of(operation) == RT_OPERATION_ENDED;
    if (!ended) {
        made->next = operation->callbacks;
        operation->callbacks = made;
    }
    pthread_mutex_unlock(&operation->mutex);
    if (ended) call_back(made, operation, operation->status);
    return TOMBAC_OK;
}

tombac_status tombac_operation_event(tombac_operation *operation, int *descriptor, tombac_error **error)
{
    if (!operation) return rt_missing(__func__, "operation", error);
    if (!descriptor) return rt_missing(__func__, "descriptor", error);
    pthread_mutex_lock(&operation->mutex);
    bool ended = state_of(operation) == RT_OPERATION_ENDED;
    if (operation->event < 0) operation->event = eventfd(ended, EFD_CLOEXEC | EFD_NONBLOCK);
    int made = operation->event;
    pthread_mutex_unlock(&operation->mutex);
    if (made < 0) return tb_fail_errno(error, "cannot make an event descriptor");
    *descriptor = made;
    return TOMBAC_OK;
}
