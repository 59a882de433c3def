/* Devices: a driver, the compile cache, a queue. */
#include "artifact/capability.h"
#include "runtime/object.h"
#include "runtime/specialise.h"
#include "runtime/trace.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_available(const rt_driver *driver)
{
    return !driver->available || driver->available();
}

static size_t count_of(const rt_driver *driver)
{
    return driver->count ? driver->count() : is_available(driver);
}

size_t tombac_device_count(void)
{
    size_t count = 0;
    for (size_t i = 0; rt_drivers[i]; i++) count += count_of(rt_drivers[i]);
    return count;
}

const char *tombac_device_name_at(size_t index)
{
    for (size_t i = 0; rt_drivers[i]; i++) {
        size_t count = count_of(rt_drivers[i]);
        if (index < count) return count == 1 ? rt_drivers[i]->name : rt_drivers[i]->names[index];
        index -= count;
    }
    return NULL;
}

/* Whether `name` is a device of the driver: "cuda" is the first, "cuda:1" the second. *exact gets the name to keep. */
static bool is_named(const rt_driver *driver, const char *name, size_t *number, const char **exact)
{
    *number = 0;
    *exact = driver->name;
    if (!strcmp(driver->name, name)) return true;
    for (size_t i = 0; driver->names && driver->names[i]; i++) {
        if (strcmp(driver->names[i], name) != 0) continue;
        *number = i;
        *exact = driver->names[i];
        return true;
    }
    return false;
}

/* Fills the device's driver and name. */
static tombac_status choose(const char *name, tombac_device *device, size_t *number, tombac_error **error)
{
    tb_text known = {0};
    *number = 0;
    for (size_t i = 0; rt_drivers[i]; i++) {
        device->name = rt_drivers[i]->name;
        if (name ? !is_named(rt_drivers[i], name, number, &device->name) : !is_available(rt_drivers[i])) {
            tb_text_printf(&known, "%s'%s'", known.size ? ", " : "", rt_drivers[i]->name);
            continue;
        }
        tb_text_free(&known);
        device->driver = rt_drivers[i];
        if (is_available(device->driver) || device->driver->open) return TOMBAC_OK; /* open says why not */
        return tb_fail(error, TOMBAC_ERROR_UNSUPPORTED, "this processor cannot run the device '%s'", name);
    }
    tombac_status status =
        tb_fail(error, TOMBAC_ERROR_NOT_FOUND, "there is no device '%s'; this library has: %s",
            name ? name : "(any)", known.size ? known.data : "none");
    tb_text_free(&known);
    return status;
}

static double time_limit_from_environment(void)
{
    const char *text = getenv("TOMBAC_TIME_LIMIT");
    double seconds = text ? strtod(text, NULL) : 0;
    return seconds > 0 && seconds < 1e9 ? seconds : 0;
}

static size_t physical_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? (size_t)pages * (size_t)page : (size_t)1 << 30;
}

/* How many compilations run at a time; two even on one processor, as they also wait for files. */
static size_t compilations(void)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    return processors > 2 ? (size_t)processors : 2;
}

tombac_status tombac_device_open(const char *name, tombac_device **device, tombac_error **error)
{
    if (!device) return rt_missing(__func__, "device", error);
    size_t number;
    tombac_device found = {0};
    tombac_status status = choose(name, &found, &number, error);
    if (status != TOMBAC_OK) return status;
    tombac_device *made = calloc(1, sizeof *made);
    if (!made) return tb_fail_memory(error);
    const rt_driver *driver = found.driver;
    atomic_init(&made->references, 1);
    made->driver = driver;
    made->name = found.name;
    made->max_buffer_size = physical_memory();
    made->time_limit = time_limit_from_environment();
    made->specialise_after = tombac_default_specialise_after();
    pthread_mutex_init(&made->hazards, NULL);
    pthread_mutex_init(&made->specialising, NULL);
    status = driver->open ? driver->open(number, &made->driver_state, error) : TOMBAC_OK;
    made->opened = status == TOMBAC_OK;
    if (made->opened && driver->memory) {
        size_t memory = driver->memory(made->driver_state);
        if (memory < made->max_buffer_size) made->max_buffer_size = memory;
    }
    if (status == TOMBAC_OK) status = rt_cache_open(&made->cache, error);
    if (status == TOMBAC_OK) status = rt_queue_create(0, &made->queue, error);
    if (status == TOMBAC_OK) status = rt_queue_create(compilations(), &made->compilations, error);
    const char *trace = getenv("TOMBAC_TRACE");
    if (status == TOMBAC_OK && trace && *trace) status = rt_trace_open(trace, made->name, &made->trace, error);
    if (status == TOMBAC_OK)
        *device = made;
    else
        tombac_device_release(made);
    return status;
}

tombac_device *tombac_device_retain(tombac_device *device)
{
    if (device) rt_retain(&device->references);
    return device;
}

void tombac_device_release(tombac_device *device)
{
    if (!device || !rt_release(&device->references)) return;
    rt_queue_destroy(device->compilations);
    rt_queue_destroy(device->queue);
    rt_specialiser_free(device->specialiser);
    rt_trace_close(device->trace);
    pthread_mutex_destroy(&device->hazards);
    pthread_mutex_destroy(&device->specialising);
    rt_cache_close(&device->cache);
    if (device->opened && device->driver->close) device->driver->close(device->driver_state);
    free(device);
}

const char *tombac_device_name(const tombac_device *device)
{
    return device ? device->name : "";
}

tombac_status tombac_device_trace(tombac_device *device, const char *path, tombac_error **error)
{
    if (!device) return rt_missing(__func__, "device", error);
    if (!path) return rt_missing(__func__, "path", error);
    if (device->trace) return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "the device is traced already");
    return rt_trace_open(path, device->name, &device->trace, error);
}

/* Of the table, for this device; a driver that the table does not know (of a test) counts as "check". */
static uint64_t capability(const tombac_device *device, size_t id)
{
    unsigned column = device ? tb_capability_device(device->driver->name) : TB_DEVICE_CHECK;
    return tb_capability_at(id)->values[column < TB_DEVICES ? column : TB_DEVICE_CHECK];
}

tombac_device_limits tombac_device_get_limits(const tombac_device *device)
{
    return (tombac_device_limits){
        .max_threads_per_threadgroup = (uint32_t)capability(device, TB_CAPABILITY_max_threads_per_threadgroup),
        .simd_width = (uint32_t)capability(device, TB_CAPABILITY_simd_width),
        .max_threadgroup_memory = (size_t)capability(device, TB_CAPABILITY_max_threadgroup_memory),
        .max_buffer_size = device ? device->max_buffer_size : 0};
}

size_t tombac_capability_count(void)
{
    return TB_CAPABILITIES;
}

tombac_status tombac_device_get_capability(
    const tombac_device *device, size_t index, tombac_capability *out, tombac_error **error)
{
    if (!device) return rt_missing(__func__, "device", error);
    if (!out) return rt_missing(__func__, "capability", error);
    const tb_capability *row = tb_capability_at(index);
    if (!row)
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "there is no capability %zu; there are %d", index, TB_CAPABILITIES);
    *out = (tombac_capability){row->name, capability(device, index), row->meaning, row->enforced};
    return TOMBAC_OK;
}

uint64_t tombac_device_capability(const tombac_device *device, const char *name)
{
    for (size_t i = 0; device && name && i < TB_CAPABILITIES; i++)
        if (!strcmp(tb_capability_at(i)->name, name)) return capability(device, i);
    return 0;
}

const char *tombac_version(void)
{
    return TOMBAC_VERSION;
}

tombac_status rt_missing(const char *call, const char *what, tombac_error **error)
{
    return tb_fail(error, TOMBAC_ERROR_ARGUMENT, "%s: '%s' is NULL", call, what);
}
