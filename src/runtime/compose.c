/* Operations made of operations: one after the other, host functions after a device's work, all of several.
 */
#include "runtime/operation.h"

#include <stdlib.h>
#include <string.h>

/* ---- then ---- */

tombac_status tombac_operation_then(tombac_operation *first, tombac_operation *second, tombac_error **error)
{
    if (!first) return rt_missing(__func__, "first", error);
    if (!second) return rt_missing(__func__, "second", error);
    if (first == second) return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "an operation cannot run after itself");
    if (atomic_load(&second->state) != RT_OPERATION_NEW || atomic_load(&second->used))
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT,
            "the second operation %s, so nothing can be put before it any more",
            atomic_load(&second->used) ? "is part of another operation" : "was submitted already");
    if (!second->type->children_carry)
        return tb_fail(
            error, TOMBAC_ERROR_ARGUMENT, "only launches and host functions can be put after an operation");
    tombac_operation **children =
        realloc(second->children, (second->child_count + 1) * sizeof(tombac_operation *));
    if (!children) return tb_fail_memory(error);
    children[second->child_count++] = tombac_operation_retain(first);
    second->children = children;
    atomic_store(&first->used, true);
    return TOMBAC_OK;
}

/* ---- map ---- */

typedef struct host_call {
    tombac_operation operation; /* first */
    tombac_status (*function)(void *context, tombac_error **error);
    tombac_status (*make)(void *context, tombac_operation **next, tombac_error **error); /* or this one */
    void (*release)(void *context);
    void *context;
    tombac_operation *next; /* what `make` gave */
    rt_edge edge;           /* from it */
} host_call;

static bool call(tombac_operation *operation, tombac_status *status, tombac_error **error)
{
    host_call *host = (host_call *)operation;
    *status = host->function(host->context, error);
    if (*status != TOMBAC_OK && error && !*error) tb_fail(error, *status, "a host function failed");
    return true;
}

static void release_context(tombac_operation *operation)
{
    host_call *host = (host_call *)operation;
    if (host->release) host->release(host->context);
    tombac_operation_release(host->next);
}

static const rt_operation_type map_type = {.children_carry = true, .run = call, .release = release_context};

static tombac_status make_host_call(tombac_operation *first, const rt_operation_type *type, host_call facts,
    tombac_operation **operation, tombac_error **error)
{
    host_call *made = calloc(1, sizeof *made);
    if (!made) return tb_fail_memory(error);
    *made = facts;
    tombac_status status = rt_operation_init(&made->operation, type, first->device, NULL, &first, 1, error);
    if (status == TOMBAC_OK)
        *operation = &made->operation;
    else
        free(made);
    return status;
}

tombac_status tombac_operation_map(tombac_operation *first,
    tombac_status (*function)(void *context, tombac_error **error), void *context,
    void (*release)(void *context), tombac_operation **operation, tombac_error **error)
{
    if (!first) return rt_missing(__func__, "first", error);
    if (!function) return rt_missing(__func__, "function", error);
    if (!operation) return rt_missing(__func__, "operation", error);
    return make_host_call(first, &map_type,
        (host_call){.function = function, .context = context, .release = release}, operation, error);
}

/* ---- then, with an operation that is made when the first has ended ---- */

static bool continue_with(tombac_operation *operation, tombac_status *status, tombac_error **error)
{
    host_call *host = (host_call *)operation;
    if (host->next) { /* it has ended */
        *status = rt_operation_adopt(operation, host->next, error);
        return true;
    }
    *status = host->make(host->context, &host->next, error);
    if (*status != TOMBAC_OK && error && !*error) tb_fail(error, *status, "a continuation failed");
    if (*status != TOMBAC_OK || !host->next) return true;
    *status = tombac_operation_submit(host->next, error);
    if (*status != TOMBAC_OK) return true;
    rt_operation_link(host->next, &host->edge, operation, false);
    return false;
}

static const rt_operation_type continue_type = {
    .children_carry = true, .run = continue_with, .release = release_context};

tombac_status tombac_operation_continue(tombac_operation *first,
    tombac_status (*make)(void *context, tombac_operation **next, tombac_error **error), void *context,
    void (*release)(void *context), tombac_operation **operation, tombac_error **error)
{
    if (!first) return rt_missing(__func__, "first", error);
    if (!make) return rt_missing(__func__, "make", error);
    if (!operation) return rt_missing(__func__, "operation", error);
    return make_host_call(first, &continue_type,
        (host_call){.make = make, .context = context, .release = release}, operation, error);
}

/* ---- all ---- */

/* The first failure in the order of the list. */
static bool gather(tombac_operation *operation, tombac_status *status, tombac_error **error)
{
    for (size_t i = 0; i < operation->child_count && *status == TOMBAC_OK; i++)
        *status = rt_operation_adopt(operation, operation->children[i], error);
    return true;
}

static const rt_operation_type all_type = {.anywhere = true, .run = gather};

tombac_status tombac_operation_all(
    tombac_operation *const *operations, size_t count, tombac_operation **operation, tombac_error **error)
{
    if (!operations) return rt_missing(__func__, "operations", error);
    if (!operation) return rt_missing(__func__, "operation", error);
    if (count == 0) return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "there are no operations to wait for");
    for (size_t i = 0; i < count; i++)
        if (!operations[i])
            return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "operation %zu of %zu is NULL", i, count);
    tombac_operation *made = calloc(1, sizeof *made);
    if (!made) return tb_fail_memory(error);
    tombac_status status =
        rt_operation_init(made, &all_type, operations[0]->device, NULL, operations, count, error);
    if (status == TOMBAC_OK)
        *operation = made;
    else
        free(made);
    return status;
}
