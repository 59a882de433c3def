/* Kernels: an artifact, from the cache or from `tombac-cc compile`, checked and loaded by the device's
 * driver. */
#include "artifact/artifact.h"
#include "runtime/bundle.h"
#include "runtime/constant.h"
#include "runtime/contract.h"
#include "runtime/kernel_table.h"
#include "runtime/operation.h"
#include "runtime/rest.h"
#include "runtime/specialise.h"
#include "runtime/specialise_thread.h"
#include "runtime/target.h"
#include "runtime/trace.h"

#include <stdlib.h>
#include <string.h>

/* What is asked for, while a kernel is made. */
typedef struct job {
    tombac_library *library;
    rt_request request;
    rt_key key;
    rt_compiler compiler;
    const rt_cache *cache;
} job;

/* An artifact may be sound and yet not be what was asked for. */
static tombac_status check_manifest(const job *j, const rt_manifest *manifest, tombac_error **error)
{
    if (strcmp(manifest->engine, j->request.engine) != 0)
        return tb_fail(error, TOMBAC_ERROR_ARTIFACT, "the artifact is for the engine '%s', not '%s'",
            manifest->engine, j->request.engine);
    if (strcmp(manifest->kernel, j->request.kernel) != 0)
        return tb_fail(error, TOMBAC_ERROR_ARTIFACT, "the artifact holds the kernel '%s', not '%s'",
            manifest->kernel, j->request.kernel);
    if (j->request.driver_target && !rt_target_serves(manifest->target, j->request.target))
        return tb_fail(error, TOMBAC_ERROR_ARTIFACT, "the artifact is for '%s', not '%s'", manifest->target,
            j->request.target);
    if (!j->request.driver_target && !rt_target_runs(manifest->target))
        return tb_fail(error, TOMBAC_ERROR_ARTIFACT, "the artifact is for '%s', but this processor is '%s'",
            manifest->target, rt_target_host());
    return TOMBAC_OK;
}

/* Fills `kernel` from an artifact; on failure it is unchanged. */
static tombac_status load(
    const job *j, const void *bytes, size_t size, tombac_kernel *kernel, tombac_error **error)
{
    tb_artifact artifact;
    tombac_status status = tb_artifact_parse("compiled kernel", bytes, size, &artifact, error);
    if (status != TOMBAC_OK) return status;
    const tb_section *manifest = tb_artifact_find(&artifact, TB_SECTION_MANIFEST);
    const tb_section *object = tb_artifact_find(&artifact, TB_SECTION_OBJECT);
    if (!manifest || !object)
        return tb_fail(
            error, TOMBAC_ERROR_ARTIFACT, "the artifact has no %s", manifest ? "object code" : "manifest");
    status = rt_manifest_parse("manifest", manifest->data, manifest->size, &kernel->manifest, error);
    if (status != TOMBAC_OK) return status;
    status = check_manifest(j, &kernel->manifest, error);
    if (status == TOMBAC_OK && j->library->bundle)
        status = rt_bundle_check_standard(j->library->bundle, &kernel->manifest, error);
    if (status == TOMBAC_OK) status = rt_contract_check(&kernel->manifest, error);
    kernel->reflection = strndup(manifest->data, manifest->size);
    if (status == TOMBAC_OK && !kernel->reflection) status = tb_fail_memory(error);
    const tombac_device *device = j->library->device;
    if (status == TOMBAC_OK)
        status = device->driver->load_on
                     ? device->driver->load_on(device->driver_state, j->cache, object->data, object->size,
                           &kernel->manifest, &kernel->code, error)
                     : device->driver->load(
                           object->data, object->size, &kernel->manifest, &kernel->code, error);
    const tb_section *rest = tb_artifact_find(&artifact, TB_SECTION_REST);
    if (status == TOMBAC_OK && rest) {
        status = rt_rest_create(manifest, rest, &kernel->rest, error);
        if (status != TOMBAC_OK) device->driver->unload(kernel->code);
    }
    if (status == TOMBAC_OK) return TOMBAC_OK;
    kernel->code = NULL;
    free(kernel->reflection);
    kernel->reflection = NULL;
    rt_manifest_free(&kernel->manifest);
    return status;
}

/* True if the cache settled the matter: the kernel is loaded, or *status is a failure that was cached. */
static bool from_cache(const job *j, tombac_kernel *kernel, tombac_status *status, tombac_error **error)
{
    rt_response response;
    if (!rt_cache_get(j->cache, &j->key, j->compiler.identity, &response)) return false;
    bool settled;
    if (response.exit_status == 0) {
        tombac_error *failure = NULL;
        *status = load(j, response.output.data, response.output.size, kernel, &failure);
        settled = *status != TOMBAC_ERROR_ARTIFACT; /* a bad artifact is made anew; other failures are the device's */
        if (*status != TOMBAC_OK && settled && error)
            *error = failure;
        else
            tombac_error_release(failure);
    } else {
        *status =
            rt_compiler_fail(&j->request, response.exit_status, tb_text_string(&response.diagnostics), error);
        settled = true;
    }
    rt_response_free(&response);
    if (!settled) *status = TOMBAC_OK;
    return settled;
}

static tombac_status from_compiler(const job *j, tombac_kernel *kernel, tombac_error **error)
{
    rt_response response;
    tombac_status status = rt_compiler_run(&j->compiler, &j->request, &response, error);
    if (status != TOMBAC_OK) return status;
    const rt_dependency *dependencies = j->library->listing.dependencies, *headers = NULL;
    size_t count = j->library->listing.dependency_count, header_count = 0;
    bool keep;
    if (response.exit_status != 0) {
        status =
            rt_compiler_fail(&j->request, response.exit_status, tb_text_string(&response.diagnostics), error);
        keep = rt_exit_is_about_source(response.exit_status) &&
               rt_source_headers(&j->library->source, dependencies, count, &headers, &header_count, NULL) ==
                   TOMBAC_OK;
    } else {
        status = load(j, response.output.data, response.output.size, kernel, error);
        if (status == TOMBAC_OK)
            status = rt_source_headers(&j->library->source, kernel->manifest.dependencies,
                kernel->manifest.dependency_count, &headers, &header_count, error);
        keep = status == TOMBAC_OK;
    }
    if (keep) rt_cache_put(j->cache, &j->key, j->compiler.identity, headers, header_count, &response);
    rt_response_free(&response);
    return status;
}

static bool has_kernel(const tombac_library *library, const char *name)
{
    for (size_t i = 0; i < library->listing.kernel_count; i++) {
        if (strcmp(library->listing.kernels[i].name, name) == 0) return true;
    }
    return false;
}

static tombac_status from_bundle(const job *j, tombac_kernel *kernel, tombac_error **error)
{
    const void *bytes = NULL;
    size_t size = 0;
    tombac_status status = rt_bundle_find(j->library->bundle, &j->request, &bytes, &size, error);
    return status == TOMBAC_OK ? load(j, bytes, size, kernel, error) : status;
}

static tombac_status make(job *j, tombac_kernel *kernel, tombac_error **error)
{
    j->cache = &j->library->device->cache;
    if (j->library->bundle) return from_bundle(j, kernel, error);
    tombac_status status = rt_cache_key(&j->request, &j->key, error);
    if (status != TOMBAC_OK) return status;
    status = rt_compiler_find(&j->compiler, error);
    if (status != TOMBAC_OK) return status;
    j->cache = rt_library_cache(j->library, &j->compiler);
    if (!from_cache(j, kernel, &status, error)) status = from_compiler(j, kernel, error);
    rt_compiler_free(&j->compiler);
    return status;
}

static rt_request request_for(const tombac_library *library, const char *name, const rt_value *values, size_t count)
{
    const rt_driver *driver = library->device->driver;
    return (rt_request){.source = &library->source,
        .kernel = name,
        .engine = driver->name,
        .target = driver->target ? driver->target(library->device->driver_state) : rt_target_host(),
        .driver_target = driver->target != NULL,
        .values = values,
        .value_count = count};
}

/* Both were made from the same state of every file. */
static bool same_sources(const rt_manifest *a, const rt_manifest *b)
{
    bool same = a->dependency_count == b->dependency_count && a->argument_count == b->argument_count;
    for (size_t i = 0; same && i < a->dependency_count; i++) {
        const rt_dependency *x = &a->dependencies[i], *y = &b->dependencies[i];
        same = strcmp(x->path, y->path) == 0 && x->size == y->size && x->hash == y->hash;
    }
    return same;
}

tombac_status rt_kernel_specialise(
    const tombac_kernel *kernel, rt_special *special, const atomic_bool *cancelled, tombac_error **error)
{
    rt_fixed_argument *arguments = calloc(special->argument_count + 1, sizeof *arguments);
    if (!arguments) return tb_fail_memory(error);
    job j = {.library = kernel->library,
        .request = request_for(kernel->library, kernel->manifest.kernel, kernel->values, kernel->value_count)};
    for (size_t i = 0; i < special->argument_count; i++) {
        const rt_bytes *bytes = special->bytes[i];
        if (bytes)
            arguments[j.request.argument_count++] =
                (rt_fixed_argument){kernel->manifest.arguments[i].index, bytes->size, bytes->data};
    }
    j.request.arguments = arguments;
    j.request.threadgroup = special->threadgroup;
    j.request.cancelled = cancelled;
    tombac_status status = make(&j, &special->made, error);
    if (status == TOMBAC_OK && !same_sources(&kernel->manifest, &special->made.manifest))
        status = tb_fail(error, TOMBAC_ERROR_IO, "a header of '%s' changed", kernel->library->source.name);
    free(arguments);
    return status;
}

tombac_status rt_kernel_make(tombac_library *library, const char *name, const rt_value *values, size_t count,
    tombac_kernel **kernel, tombac_error **error)
{
    tombac_kernel *made = calloc(1, sizeof *made);
    rt_value *copy = made && count ? calloc(count, sizeof *copy) : NULL;
    if (!made || (count && !copy)) {
        free(made);
        return tb_fail_memory(error);
    }
    if (count) memcpy(copy, values, count * sizeof *copy);
    atomic_init(&made->references, 1);
    made->library = tombac_library_retain(library);
    made->values = copy;
    made->value_count = count;
    job j = {.library = library, .request = request_for(library, name, copy, count)};
    j.request.defer = rt_rest_wanted(library, &j.request.defer_from);
    double begin = rt_now();
    tombac_status status = make(&j, made, error);
    double end = rt_now();
    made->compile_seconds = end - begin;
    if (library->device->trace) rt_trace_compile(library->device->trace, name, begin, end);
    if (status == TOMBAC_OK) {
        made->specials = rt_special_table_create(made);
        *kernel = made;
        return TOMBAC_OK;
    }
    tb_error_set_kernel(error, name);
    tombac_kernel_release(made);
    return status;
}

tombac_status rt_kernel_check(const tombac_library *library, const char *name, const tombac_constant *constants,
    size_t constant_count, rt_value **values, tombac_error **error)
{
    if (!constants && constant_count) return rt_missing("tombac_kernel_create", "constants", error);
    if (!has_kernel(library, name))
        return tb_fail(error, TOMBAC_ERROR_NOT_FOUND, "'%s' has no kernel '%s' (it has %zu kernels)",
            library->source.name, name, library->listing.kernel_count);
    tombac_status status =
        rt_constant_values(&library->listing, name, constants, constant_count, values, error);
    if (status != TOMBAC_OK) tb_error_set_kernel(error, name);
    return status;
}

tombac_status tombac_kernel_create(tombac_library *library, const char *name,
    const tombac_constant *constants, size_t constant_count, tombac_kernel **kernel, tombac_error **error)
{
    if (!library) return rt_missing(__func__, "library", error);
    if (!name) return rt_missing(__func__, "name", error);
    if (!kernel) return rt_missing(__func__, "kernel", error);
    rt_value *values = NULL;
    tombac_status status = rt_kernel_check(library, name, constants, constant_count, &values, error);
    if (status == TOMBAC_OK) status = rt_kernel_obtain(library, name, values, constant_count, kernel, error);
    free(values);
    return status;
}

tombac_kernel *tombac_kernel_retain(tombac_kernel *kernel)
{
    if (kernel) rt_retain(&kernel->references);
    return kernel;
}

void tombac_kernel_release(tombac_kernel *kernel)
{
    if (!kernel || !rt_release(&kernel->references)) return;
    rt_kernel_forget(kernel);
    rt_special_table_free(kernel->specials);
    if (kernel->code) kernel->library->device->driver->unload(kernel->code);
    rt_rest_free(kernel->rest);
    free(kernel->reflection);
    free(kernel->values);
    rt_manifest_free(&kernel->manifest);
    tombac_library_release(kernel->library);
    free(kernel);
}

const char *tombac_kernel_name(const tombac_kernel *kernel)
{
    return kernel ? kernel->manifest.kernel : "";
}

uint32_t tombac_kernel_max_threads_per_threadgroup(const tombac_kernel *kernel)
{
    return kernel ? kernel->manifest.max_threads : 0;
}

size_t tombac_kernel_static_threadgroup_memory(const tombac_kernel *kernel)
{
    return kernel ? kernel->manifest.static_threadgroup_memory : 0;
}

size_t tombac_kernel_argument_count(const tombac_kernel *kernel)
{
    return kernel ? kernel->manifest.visible_count : 0;
}

tombac_status tombac_kernel_get_argument(
    const tombac_kernel *kernel, size_t index, tombac_argument *argument, tombac_error **error)
{
    if (!kernel) return rt_missing(__func__, "kernel", error);
    if (!argument) return rt_missing(__func__, "argument", error);
    if (index >= kernel->manifest.visible_count) {
        tombac_status status =
            tb_fail(error, TOMBAC_ERROR_NOT_FOUND, "kernel '%s' has %zu arguments, no number %zu",
                kernel->manifest.kernel, kernel->manifest.visible_count, index);
        tb_error_set_kernel(error, kernel->manifest.kernel);
        return status;
    }
    const rt_argument *a = &kernel->manifest.arguments[index];
    *argument = (tombac_argument){.name = a->name,
        .kind = a->kind,
        .index = a->index,
        .writable = a->writable,
        .reference = a->reference,
        .active = a->active,
        .type = a->type,
        .vector_length = a->vector_length,
        .packed = a->packed,
        .element_size = a->size,
        .element_alignment = a->alignment,
        .type_name = a->type_name,
        .rank = a->rank,
        .extents = a->extents};
    return TOMBAC_OK;
}

const char *tombac_kernel_reflection_json(const tombac_kernel *kernel)
{
    return kernel ? kernel->reflection : "";
}

tombac_status tombac_kernel_get_resources(const tombac_kernel *kernel, uint32_t threads, size_t threadgroup_memory,
    tombac_resources *resources, tombac_error **error)
{
    if (!kernel) return rt_missing(__func__, "kernel", error);
    if (!resources) return rt_missing(__func__, "resources", error);
    const tombac_device *device = kernel->library->device;
    const rt_manifest *manifest = &kernel->manifest;
    size_t most = tombac_device_get_limits(device).max_threadgroup_memory;
    if (!threads || threads > tombac_kernel_max_threads_per_threadgroup(kernel))
        return tb_fail(error, TOMBAC_ERROR_GEOMETRY, "kernel '%s' has no threadgroups of %u threads", manifest->kernel, threads);
    if (threadgroup_memory < manifest->static_threadgroup_memory || threadgroup_memory > most)
        return tb_fail(error, TOMBAC_ERROR_GEOMETRY, "kernel '%s' has no threadgroups with %zu bytes of memory; it takes %zu to %zu",
            manifest->kernel, threadgroup_memory, manifest->static_threadgroup_memory, most);
    if (!device->driver->resources)
        return tb_fail(error, TOMBAC_ERROR_UNSUPPORTED, "the device '%s' is no GPU: its kernels have no fixed resources", device->name);
    return device->driver->resources(kernel->code, threads, threadgroup_memory, resources, error);
}
