/* Tables of values; see specialise.h. The compiling thread is in specialise_thread.c. */
#include "runtime/specialise.h"

#include "runtime/launch.h"
#include "runtime/specialise_thread.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Values remembered for a kernel; bytes of an argument block that is worth it (a command line holds them in hexadecimal). */
enum { MAX_ENTRIES = 16, MAX_BYTES = 4096, MAX_SHIFT = 20 };
#define DEFAULT_LAUNCHES 64

struct rt_special_table {
    tombac_kernel *kernel; /* which owns the table */
    uint32_t after;        /* launches */
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* fewer are pending */
    rt_special *entries[MAX_ENTRIES]; /* most recently used first */
    size_t count;
    uint64_t made; /* codes so far */
    tombac_specialisation facts;
};

uint32_t tombac_default_specialise_after(void)
{
    const char *text = getenv("TOMBAC_SPECIALISE");
    char *end;
    unsigned long value = text && *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : DEFAULT_LAUNCHES;
    return value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

/* ---- Entries ---- */

void rt_special_release(rt_special *special)
{
    if (!special || !rt_release(&special->references)) return;
    for (size_t i = 0; i < special->argument_count; i++) rt_bytes_release(special->bytes[i]);
    if (special->made.code) special->device->driver->unload(special->made.code);
    free(special->made.reflection);
    rt_manifest_free(&special->made.manifest);
    free(special);
}

rt_code *rt_special_code(const rt_special *special)
{
    return special->made.code;
}

/* The bytes that an argument contributes, or NULL. Arguments in device memory may be bytes too, but those may be written. */
static rt_bytes *fixed_bytes(const tombac_launch *launch, size_t argument)
{
    const rt_argument *a = &launch->kernel->manifest.arguments[argument];
    return a->active && a->kind == TOMBAC_ARGUMENT_CONSTANT ? launch->slots[argument].bytes : NULL;
}

static bool is_whole(const rt_run *run)
{
    const tb_dispatch *d = &run->dispatch;
    for (int i = 0; i < 3; i++)
        if (d->threads_per_grid[i] % d->dispatch_threads_per_threadgroup[i]) return false;
    return true;
}

static bool same_bytes(const rt_bytes *a, const rt_bytes *b)
{
    return a == b || (a && b && a->size == b->size && memcmp(a->data, b->data, a->size) == 0);
}

static bool matches(const rt_special *special, const tombac_launch *launch, const uint32_t *threadgroup)
{
    if (memcmp(special->threadgroup, threadgroup, sizeof special->threadgroup)) return false;
    for (size_t i = 0; i < special->argument_count; i++)
        if (!same_bytes(special->bytes[i], fixed_bytes(launch, i))) return false;
    return true;
}

static rt_special *create(const tombac_launch *launch, const uint32_t *threadgroup)
{
    size_t count = launch->kernel->manifest.argument_count, total = 0;
    for (size_t i = 0; i < count; i++) {
        const rt_bytes *bytes = fixed_bytes(launch, i);
        if (bytes && bytes->size > MAX_BYTES - total) return NULL;
        total += bytes ? bytes->size : 0;
    }
    rt_special *made = total || threadgroup[0] ? calloc(1, sizeof *made + count * sizeof *made->bytes) : NULL;
    if (!made) return NULL;
    atomic_init(&made->references, 1);
    made->device = launch->kernel->library->device;
    memcpy(made->threadgroup, threadgroup, sizeof made->threadgroup);
    made->argument_count = count;
    for (size_t i = 0; i < count; i++)
        if ((made->bytes[i] = fixed_bytes(launch, i))) rt_retain(&made->bytes[i]->references);
    return made;
}

/* ---- Tables; all with the mutex held ---- */

/* Drops the least recently used entry that nobody works on, if one must go. */
static bool make_room(rt_special_table *table)
{
    if (table->count < MAX_ENTRIES) return true;
    size_t i = table->count;
    while (i && table->entries[i - 1]->state == RT_SPECIAL_PENDING) i--;
    if (!i--) return false;
    rt_special *old = table->entries[i];
    memmove(&table->entries[i], &table->entries[i + 1], (table->count - i - 1) * sizeof old);
    table->count--;
    table->facts.ready -= old->state == RT_SPECIAL_READY;
    table->facts.failed -= old->state == RT_SPECIAL_FAILED;
    rt_special_release(old);
    return true;
}

/* The entry for these values, in first place; NULL if it cannot be had. */
static rt_special *find(rt_special_table *table, const tombac_launch *launch, const uint32_t *threadgroup)
{
    size_t i = 0;
    while (i < table->count && !matches(table->entries[i], launch, threadgroup)) i++;
    rt_special *entry = i < table->count ? table->entries[i] : NULL;
    if (!entry) {
        if (!make_room(table) || !(entry = create(launch, threadgroup))) return NULL;
        i = table->count++;
    }
    memmove(&table->entries[1], &table->entries[0], i * sizeof entry);
    return table->entries[0] = entry;
}

/* Kernels whose values change all the time must earn each further code by more launches. */
static uint64_t launches_wanted(const rt_special_table *table)
{
    uint64_t shift = table->made / MAX_ENTRIES;
    return (uint64_t)table->after << (shift < MAX_SHIFT ? shift : MAX_SHIFT);
}

rt_special *rt_special_take(rt_special_table *table, const tombac_launch *launch, const rt_run *run)
{
    if (!table) return NULL;
    static const uint32_t unknown[3];
    const uint32_t *threadgroup = is_whole(run) ? run->dispatch.dispatch_threads_per_threadgroup : unknown;
    pthread_mutex_lock(&table->mutex);
    rt_special *entry = find(table, launch, threadgroup);
    if (entry && entry->state == RT_SPECIAL_COUNTING && ++entry->launches >= launches_wanted(table) &&
        rt_specialiser_push(table->kernel->library->device, table, entry)) {
        entry->state = RT_SPECIAL_PENDING;
        table->facts.pending++;
        table->made++;
    }
    bool ready = entry && entry->state == RT_SPECIAL_READY;
    if (ready) {
        rt_retain(&entry->references);
        table->facts.launches++;
    }
    pthread_mutex_unlock(&table->mutex);
    return ready ? entry : NULL;
}

/* ---- For the thread ---- */

tombac_kernel *rt_special_table_kernel(const rt_special_table *table)
{
    return table->kernel;
}

void rt_special_settle(rt_special_table *table, rt_special *entry, bool good)
{
    pthread_mutex_lock(&table->mutex);
    entry->state = good ? RT_SPECIAL_READY : RT_SPECIAL_FAILED;
    table->facts.pending--;
    table->facts.ready += good;
    table->facts.failed += !good;
    pthread_cond_broadcast(&table->changed);
    pthread_mutex_unlock(&table->mutex);
}

/* ---- Life ---- */

rt_special_table *rt_special_table_create(tombac_kernel *kernel)
{
    const tombac_library *library = kernel->library;
    uint32_t after = atomic_load(&library->device->specialise_after);
    if (!after || library->bundle || library->source.no_specialise || !library->device->driver->specialises)
        return NULL;
    rt_special_table *made = calloc(1, sizeof *made);
    if (!made) return NULL;
    made->kernel = kernel;
    made->after = after;
    pthread_mutex_init(&made->mutex, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&made->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    return made;
}

void rt_special_table_free(rt_special_table *table)
{
    if (!table) return;
    rt_specialiser_forget(table->kernel->library->device, table);
    for (size_t i = 0; i < table->count; i++) rt_special_release(table->entries[i]);
    pthread_cond_destroy(&table->changed);
    pthread_mutex_destroy(&table->mutex);
    free(table);
}

/* ---- Public calls ---- */

tombac_status tombac_device_specialise_after(tombac_device *device, uint32_t launches, tombac_error **error)
{
    if (!device) return rt_missing(__func__, "device", error);
    atomic_store(&device->specialise_after, launches);
    return TOMBAC_OK;
}

tombac_specialisation tombac_kernel_get_specialisation(const tombac_kernel *kernel)
{
    tombac_specialisation facts = {0};
    rt_special_table *table = kernel ? kernel->specials : NULL;
    if (!table) return facts;
    pthread_mutex_lock(&table->mutex);
    facts = table->facts;
    pthread_mutex_unlock(&table->mutex);
    return facts;
}

tombac_status tombac_kernel_await_specialisation(tombac_kernel *kernel, double seconds, tombac_error **error)
{
    if (!kernel) return rt_missing(__func__, "kernel", error);
    rt_special_table *table = kernel->specials;
    if (!table) return TOMBAC_OK;
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    bool limited = seconds >= 0 && seconds < 1e9;
    if (limited) {
        double nanoseconds = (double)end.tv_nsec + (seconds - (double)(time_t)seconds) * 1e9;
        end.tv_sec += (time_t)seconds + (nanoseconds >= 1e9);
        end.tv_nsec = (long)(nanoseconds >= 1e9 ? nanoseconds - 1e9 : nanoseconds);
    }
    int late = 0;
    pthread_mutex_lock(&table->mutex);
    while (table->facts.pending && !late)
        late = limited ? pthread_cond_timedwait(&table->changed, &table->mutex, &end)
                       : pthread_cond_wait(&table->changed, &table->mutex);
    bool pending = table->facts.pending;
    pthread_mutex_unlock(&table->mutex);
    if (!pending) return TOMBAC_OK;
    tombac_status status =
        tb_fail(error, TOMBAC_ERROR_TIMEOUT, "kernel '%s' is still being specialised", kernel->manifest.kernel);
    tb_error_set_kernel(error, kernel->manifest.kernel);
    return status;
}
