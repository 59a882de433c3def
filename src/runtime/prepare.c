/* Making kernels off the caller's thread. A preparation is an operation whose work is rt_kernel_obtain, run
 * on the device's threads for compilation; a prewarming is one that ends when all its preparations have, and
 * keeps their kernels. */
#include "runtime/kernel_table.h"
#include "runtime/operation.h"

#include <stdlib.h>
#include <string.h>

/* Who is told how far a prewarming is; shared by its preparations. */
typedef struct progress {
    rt_references references;
    tombac_progress function;
    void *context;
    pthread_mutex_t mutex; /* one call at a time */
    size_t ended, total;
} progress;

typedef struct preparation {
    tombac_operation operation; /* first */
    tombac_library *library;    /* until the end */
    char *name;
    rt_value *values;
    size_t value_count;
    tombac_kernel *kernel;
    progress *progress; /* or NULL */
} preparation;

typedef struct prewarming {
    tombac_operation operation; /* first; its children are preparations */
    tombac_kernel **kernels;    /* those that were made */
    size_t kernel_count;
} prewarming;

static void release_progress(progress *p)
{
    if (!p || !rt_release(&p->references)) return;
    pthread_mutex_destroy(&p->mutex);
    free(p);
}

/* ---- One kernel ---- */

static void tell(preparation *p, tombac_status status)
{
    progress *to = p->progress;
    if (!to) return;
    pthread_mutex_lock(&to->mutex);
    to->function(to->context, p->name, ++to->ended, to->total, status);
    pthread_mutex_unlock(&to->mutex);
}

static bool prepare(tombac_operation *operation, tombac_status *status, tombac_error **error)
{
    preparation *p = (preparation *)operation;
    *status = rt_kernel_obtain(p->library, p->name, p->values, p->value_count, &p->kernel, error);
    if (p->kernel) operation->compile_seconds = p->kernel->compile_seconds;
    tell(p, *status);
    return true;
}

static void release(tombac_operation *operation)
{
    preparation *p = (preparation *)operation;
    tombac_library_release(p->library);
    release_progress(p->progress);
    p->library = NULL;
    p->progress = NULL;
}

static void destroy(tombac_operation *operation)
{
    preparation *p = (preparation *)operation;
    tombac_kernel_release(p->kernel);
    free(p->values);
    free(p->name);
}

static const rt_operation_type preparation_type = {.children_carry = true,
    .compiles = true,
    .category = "prepare",
    .run = prepare,
    .release = release,
    .destroy = destroy};

tombac_status tombac_kernel_prepare(tombac_library *library, const char *name, const tombac_constant *constants,
    size_t constant_count, tombac_operation **operation, tombac_error **error)
{
    if (!library) return rt_missing(__func__, "library", error);
    if (!name) return rt_missing(__func__, "name", error);
    if (!operation) return rt_missing(__func__, "operation", error);
    rt_value *values = NULL;
    tombac_status status = rt_kernel_check(library, name, constants, constant_count, &values, error);
    if (status != TOMBAC_OK) return status;
    preparation *made = calloc(1, sizeof *made);
    char *copy = strdup(name);
    status = made && copy
                 ? rt_operation_init(&made->operation, &preparation_type, library->device, NULL, NULL, 0, error)
                 : tb_fail_memory(error);
    if (status != TOMBAC_OK) {
        free(made);
        free(copy);
        free(values);
        return status;
    }
    made->operation.kernel = made->name = copy;
    made->values = values;
    made->value_count = constant_count;
    made->library = tombac_library_retain(library);
    *operation = &made->operation;
    return TOMBAC_OK;
}

tombac_status tombac_operation_get_kernel(tombac_operation *operation, tombac_kernel **kernel, tombac_error **error)
{
    if (!operation) return rt_missing(__func__, "operation", error);
    if (!kernel) return rt_missing(__func__, "kernel", error);
    if (operation->type != &preparation_type)
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "the operation prepares no kernel");
    tombac_status status = rt_operation_result(operation, 0, error);
    if (status == TOMBAC_OK) *kernel = tombac_kernel_retain(((preparation *)operation)->kernel);
    return status;
}

/* ---- Several ---- */

/* The first failure in the order of the list; the kernels stay loaded as long as the operation. */
static bool gather(tombac_operation *operation, tombac_status *status, tombac_error **error)
{
    prewarming *w = (prewarming *)operation;
    for (size_t i = 0; i < operation->child_count; i++) {
        tombac_kernel *kernel = ((preparation *)operation->children[i])->kernel;
        if (kernel) w->kernels[w->kernel_count++] = tombac_kernel_retain(kernel);
        if (*status == TOMBAC_OK) *status = rt_operation_adopt(operation, operation->children[i], error);
    }
    return true;
}

static void destroy_prewarming(tombac_operation *operation)
{
    prewarming *w = (prewarming *)operation;
    for (size_t i = 0; i < w->kernel_count; i++) tombac_kernel_release(w->kernels[i]);
    free(w->kernels);
}

static const rt_operation_type prewarming_type = {
    .category = "prepare", .run = gather, .destroy = destroy_prewarming};

static progress *new_progress(tombac_progress function, void *context, size_t total)
{
    progress *made = calloc(1, sizeof *made);
    if (!made) return NULL;
    atomic_init(&made->references, 1);
    pthread_mutex_init(&made->mutex, NULL);
    made->function = function;
    made->context = context;
    made->total = total;
    return made;
}

static tombac_status make_parts(tombac_library *library, const tombac_variant *variants, size_t count,
    progress *to, tombac_operation **parts, tombac_error **error)
{
    for (size_t i = 0; i < count; i++) {
        const tombac_variant all = {variants ? NULL : library->listing.kernels[i].name, NULL, 0};
        const tombac_variant *v = variants ? &variants[i] : &all;
        tombac_status status =
            tombac_kernel_prepare(library, v->kernel, v->constants, v->constant_count, &parts[i], error);
        if (status != TOMBAC_OK) return status;
        if (!to) continue;
        rt_retain(&to->references);
        ((preparation *)parts[i])->progress = to;
    }
    return TOMBAC_OK;
}

static tombac_status make_prewarming(tombac_library *library, tombac_operation *const *parts, size_t count,
    tombac_operation **operation, tombac_error **error)
{
    prewarming *made = calloc(1, sizeof *made);
    tombac_kernel **kernels = calloc(count + 1, sizeof(tombac_kernel *));
    tombac_status status =
        made && kernels
            ? rt_operation_init(&made->operation, &prewarming_type, library->device, NULL, parts, count, error)
            : tb_fail_memory(error);
    if (status != TOMBAC_OK) {
        free(made);
        free(kernels);
        return status;
    }
    made->kernels = kernels;
    *operation = &made->operation;
    return TOMBAC_OK;
}

tombac_status tombac_library_prewarm(tombac_library *library, const tombac_variant *variants, size_t count,
    tombac_progress function, void *context, tombac_operation **operation, tombac_error **error)
{
    if (!library) return rt_missing(__func__, "library", error);
    if (!variants && count) return rt_missing(__func__, "variants", error);
    if (!operation) return rt_missing(__func__, "operation", error);
    if (!variants) count = library->listing.kernel_count;
    tombac_operation **parts = calloc(count + 1, sizeof(tombac_operation *));
    progress *to = function ? new_progress(function, context, count) : NULL;
    tombac_status status = parts && (to || !function) ? TOMBAC_OK : tb_fail_memory(error);
    if (status == TOMBAC_OK) status = make_parts(library, variants, count, to, parts, error);
    if (status == TOMBAC_OK) status = make_prewarming(library, parts, count, operation, error);
    for (size_t i = 0; parts && i < count; i++) tombac_operation_release(parts[i]);
    free(parts);
    release_progress(to);
    return status;
}
