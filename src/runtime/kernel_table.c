/* Sharing of kernels; see kernel_table.h. */
#include "runtime/kernel_table.h"

#include <stdlib.h>
#include <string.h>

/* A kernel that a thread is making while others may wait for it. Guarded by the library's mutex. */
struct rt_making {
    rt_making *next;
    const char *name; /* the maker's, as the values: valid until it is done */
    const rt_value *values;
    size_t value_count;
    size_t users; /* the maker and those who wait */
    bool done;
    tombac_status status;
    tombac_error *error;
    tombac_kernel *kernel; /* with a reference, until the last user has gone */
};

static bool same_values(const rt_value *a, size_t a_count, const rt_value *b, size_t b_count)
{
    bool same = a_count == b_count;
    for (size_t i = 0; same && i < a_count; i++)
        same = a[i].index == b[i].index && a[i].size == b[i].size && memcmp(a[i].bytes, b[i].bytes, a[i].size) == 0;
    return same;
}

/* One more reference, unless the last one is going. */
static bool retain_living(tombac_kernel *kernel)
{
    size_t count = atomic_load(&kernel->references);
    while (count && !atomic_compare_exchange_weak(&kernel->references, &count, count + 1)) {}
    return count > 0;
}

/* The following with the mutex held. */
static tombac_kernel *find_living(tombac_library *library, const char *name, const rt_value *values, size_t count)
{
    for (tombac_kernel *k = library->kernels; k; k = k->next)
        if (strcmp(k->manifest.kernel, name) == 0 && same_values(k->values, k->value_count, values, count) &&
            retain_living(k))
            return k;
    return NULL;
}

static rt_making *find_making(tombac_library *library, const char *name, const rt_value *values, size_t count)
{
    rt_making *m = library->making;
    while (m && !(strcmp(m->name, name) == 0 && same_values(m->values, m->value_count, values, count))) m = m->next;
    return m;
}

/* One user less. True for the last, who frees it without the mutex. */
static bool leave(rt_making *m)
{
    return --m->users == 0;
}

static void enlist(tombac_library *library, tombac_kernel *kernel)
{
    kernel->next = library->kernels;
    kernel->link = &library->kernels;
    if (kernel->next) kernel->next->link = &kernel->next;
    library->kernels = kernel;
}

static void unlist(rt_making **list, const rt_making *m)
{
    while (*list != m) list = &(*list)->next;
    *list = m->next;
}

/* ---- Without the mutex ---- */

static void free_making(rt_making *m)
{
    tombac_kernel_release(m->kernel);
    tombac_error_release(m->error);
    free(m);
}

/* What the maker came to. */
static tombac_status take_result(rt_making *m, tombac_kernel **kernel, tombac_error **error)
{
    if (m->status == TOMBAC_OK)
        *kernel = tombac_kernel_retain(m->kernel);
    else
        tb_error_copy(m->error, error);
    return m->status;
}

static tombac_status finish(
    tombac_library *library, rt_making *m, tombac_kernel **kernel, tombac_error **error)
{
    tombac_status status = take_result(m, kernel, error);
    pthread_mutex_lock(&library->mutex);
    bool last = leave(m);
    pthread_mutex_unlock(&library->mutex);
    if (last) free_making(m);
    return status;
}

static void make(tombac_library *library, rt_making *m)
{
    tombac_kernel *kernel = NULL;
    tombac_error *error = NULL;
    tombac_status status = rt_kernel_make(library, m->name, m->values, m->value_count, &kernel, &error);
    pthread_mutex_lock(&library->mutex);
    m->status = status;
    m->error = error;
    m->kernel = kernel;
    m->done = true;
    if (kernel) enlist(library, kernel);
    unlist(&library->making, m);
    pthread_cond_broadcast(&library->made);
    pthread_mutex_unlock(&library->mutex);
}

tombac_status rt_kernel_obtain(tombac_library *library, const char *name, const rt_value *values, size_t count,
    tombac_kernel **kernel, tombac_error **error)
{
    rt_making *mine = calloc(1, sizeof *mine);
    if (!mine) return tb_fail_memory(error);
    pthread_mutex_lock(&library->mutex);
    tombac_kernel *living = find_living(library, name, values, count);
    rt_making *m = living ? NULL : find_making(library, name, values, count);
    if (m) {
        m->users++;
        while (!m->done) pthread_cond_wait(&library->made, &library->mutex);
    } else if (!living) {
        *mine = (rt_making){.next = library->making, .name = name, .values = values, .value_count = count, .users = 1};
        library->making = mine;
    }
    pthread_mutex_unlock(&library->mutex);
    if (living || m) free(mine);
    if (living) {
        *kernel = living;
        return TOMBAC_OK;
    }
    if (!m) make(library, m = mine);
    return finish(library, m, kernel, error);
}

void rt_kernel_forget(tombac_kernel *kernel)
{
    tombac_library *library = kernel->library;
    pthread_mutex_lock(&library->mutex);
    if (kernel->link) {
        *kernel->link = kernel->next;
        if (kernel->next) kernel->next->link = kernel->link;
        kernel->link = NULL;
    }
    pthread_mutex_unlock(&library->mutex);
}
