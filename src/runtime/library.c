/* Libraries: a source and the list of its kernels, from the cache or from `tombac-cc list`. */
#include "base/file.h"
#include "runtime/bundle.h"
#include "runtime/object.h"

#include <stdlib.h>
#include <string.h>

/* Parses a listing and splits its dependencies. */
static tombac_status accept(tombac_library *library, const rt_response *response, rt_listing *listing,
    const rt_dependency **headers, size_t *header_count, tombac_error **error)
{
    tombac_status status =
        rt_listing_parse("the list of kernels", response->output.data, response->output.size, listing, error);
    if (status != TOMBAC_OK) return status;
    status = rt_source_headers(
        &library->source, listing->dependencies, listing->dependency_count, headers, header_count, error);
    if (status != TOMBAC_OK) rt_listing_free(listing);
    return status;
}

static tombac_status run_compiler(tombac_library *library, const rt_cache *cache, const rt_key *key,
    const rt_compiler *compiler, const rt_request *request, tombac_error **error)
{
    rt_response response;
    tombac_status status = rt_compiler_run(compiler, request, &response, error);
    if (status != TOMBAC_OK) return status;
    const rt_dependency *headers;
    size_t header_count;
    /* A source that cannot be preprocessed is not cached: nobody knows which headers it would have read. */
    if (response.exit_status != 0)
        status =
            rt_compiler_fail(request, response.exit_status, tb_text_string(&response.diagnostics), error);
    else
        status = accept(library, &response, &library->listing, &headers, &header_count, error);
    if (status == TOMBAC_OK) rt_cache_put(cache, key, compiler->identity, headers, header_count, &response);
    rt_response_free(&response);
    return status;
}

const rt_cache *rt_library_cache(const tombac_library *library, const rt_compiler *compiler)
{
    static const rt_cache off = {0};
    return library->source.no_cache || compiler->own_headers ? &off : &library->device->cache;
}

static tombac_status list(tombac_library *library, tombac_error **error)
{
    const rt_request request = {.source = &library->source};
    rt_key key;
    rt_compiler compiler;
    tombac_status status = rt_cache_key(&request, &key, error);
    if (status != TOMBAC_OK) return status;
    status = rt_compiler_find(&compiler, error);
    if (status != TOMBAC_OK) return status;
    const rt_cache *cache = rt_library_cache(library, &compiler);
    rt_response cached;
    const rt_dependency *headers;
    size_t header_count;
    bool hit = rt_cache_get(cache, &key, compiler.identity, &cached) && cached.exit_status == 0 &&
               accept(library, &cached, &library->listing, &headers, &header_count, NULL) == TOMBAC_OK;
    rt_response_free(&cached);
    if (!hit) status = run_compiler(library, cache, &key, &compiler, &request, error);
    rt_compiler_free(&compiler);
    return status;
}

static tombac_library *new_library(tombac_device *device)
{
    tombac_library *made = calloc(1, sizeof *made);
    if (!made) return NULL;
    atomic_init(&made->references, 1);
    made->device = tombac_device_retain(device);
    pthread_mutex_init(&made->mutex, NULL);
    pthread_cond_init(&made->made, NULL);
    return made;
}

static tombac_status create(tombac_device *device, const char *name, const char *content, size_t size,
    const tombac_compile_options *options, tombac_library **library, tombac_error **error)
{
    tombac_library *made = new_library(device);
    if (!made) return tb_fail_memory(error);
    tombac_status status = rt_source_open(name, content, size, options, &made->source, error);
    if (status == TOMBAC_OK) status = list(made, error);
    if (status == TOMBAC_OK)
        *library = made;
    else
        tombac_library_release(made);
    return status;
}

tombac_status tombac_library_create_from_file(tombac_device *device, const char *path,
    const tombac_compile_options *options, tombac_library **library, tombac_error **error)
{
    if (!device) return rt_missing(__func__, "device", error);
    if (!path) return rt_missing(__func__, "path", error);
    if (!library) return rt_missing(__func__, "library", error);
    return create(device, path, NULL, 0, options, library, error);
}

tombac_status tombac_library_create_from_source(tombac_device *device, const char *name, const char *source,
    size_t size, const tombac_compile_options *options, tombac_library **library, tombac_error **error)
{
    if (!device) return rt_missing(__func__, "device", error);
    if (!source && size) return rt_missing(__func__, "source", error);
    if (!library) return rt_missing(__func__, "library", error);
    return create(
        device, name && *name ? name : "source", source ? source : "", size, options, library, error);
}

/* ---- From artifacts ---- */

static tombac_status open_bundle(
    tombac_device *device, const char *name, tb_text *bytes, tombac_library **library, tombac_error **error)
{
    tombac_library *made = new_library(device);
    if (!made) {
        tb_text_free(bytes);
        return tb_fail_memory(error);
    }
    made->source.name = strdup(name);
    tombac_status status = made->source.name ? TOMBAC_OK : tb_fail_memory(error);
    if (status == TOMBAC_OK) status = rt_bundle_open(name, bytes, &made->bundle, &made->listing, error);
    tb_text_free(bytes);
    if (status == TOMBAC_OK)
        *library = made;
    else
        tombac_library_release(made);
    return status;
}

tombac_status tombac_library_open_artifact(
    tombac_device *device, const char *path, tombac_library **library, tombac_error **error)
{
    if (!device) return rt_missing(__func__, "device", error);
    if (!path) return rt_missing(__func__, "path", error);
    if (!library) return rt_missing(__func__, "library", error);
    tb_text bytes = {0};
    tombac_status status = tb_file_read(path, 0, &bytes, error);
    if (status == TOMBAC_OK) return open_bundle(device, path, &bytes, library, error);
    tb_text_free(&bytes);
    return status;
}

tombac_status tombac_library_open_artifact_memory(tombac_device *device, const char *name, const void *bytes,
    size_t size, tombac_library **library, tombac_error **error)
{
    if (!device) return rt_missing(__func__, "device", error);
    if (!bytes) return rt_missing(__func__, "bytes", error);
    if (!library) return rt_missing(__func__, "library", error);
    tb_text copy = {0};
    tb_text_append(&copy, bytes, size);
    if (!copy.bad) return open_bundle(device, name ? name : "artifact", &copy, library, error);
    tb_text_free(&copy);
    return tb_fail_memory(error);
}

tombac_library *tombac_library_retain(tombac_library *library)
{
    if (library) rt_retain(&library->references);
    return library;
}

void tombac_library_release(tombac_library *library)
{
    if (!library || !rt_release(&library->references)) return;
    rt_bundle_close(library->bundle);
    rt_listing_free(&library->listing);
    rt_source_close(&library->source);
    pthread_cond_destroy(&library->made);
    pthread_mutex_destroy(&library->mutex);
    tombac_device_release(library->device);
    free(library);
}

size_t tombac_library_kernel_count(const tombac_library *library)
{
    return library ? library->listing.kernel_count : 0;
}

const char *tombac_library_kernel_name(const tombac_library *library, size_t index)
{
    return index < tombac_library_kernel_count(library) ? library->listing.kernels[index].name : NULL;
}

size_t tombac_library_constant_count(const tombac_library *library)
{
    return library ? library->listing.constant_count : 0;
}

tombac_status tombac_library_get_constant(
    const tombac_library *library, size_t index, tombac_constant_info *constant, tombac_error **error)
{
    if (!library) return rt_missing(__func__, "library", error);
    if (!constant) return rt_missing(__func__, "constant", error);
    if (index >= library->listing.constant_count)
        return tb_fail(error, TOMBAC_ERROR_NOT_FOUND, "'%s' has %zu function constants, no number %zu",
            library->source.name, library->listing.constant_count, index);
    const rt_constant *c = &library->listing.constants[index];
    *constant = (tombac_constant_info){c->name, c->index, c->type, c->vector_length, c->type_name};
    return TOMBAC_OK;
}
