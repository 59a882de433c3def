/* What was left out of kernels; see rest.h. */
#include "runtime/rest.h"

#include "runtime/cache_file.h"
#include "runtime/operation.h"
#include "runtime/trace.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { DEFAULT_FROM = 96 }; /* instructions; a process that finishes less would take longer than the code */

struct rt_rest {
    pthread_mutex_t mutex; /* held while the rest is made; `complete` of the driver is called under it */
    tb_text artifact;      /* what the compiler gets */
};

bool rt_rest_wanted(const tombac_library *library, uint32_t *from)
{
    const char *text = getenv("TOMBAC_DEFER");
    bool number = text && strspn(text, "0123456789") == strlen(text) && *text && strlen(text) < 10;
    *from = number ? (uint32_t)strtoul(text, NULL, 10) : DEFAULT_FROM;
    bool off = text && !strcmp(text, "never");
    return library->device->driver->complete && !library->bundle && !library->source.debug && !off;
}

tombac_status rt_rest_create(const tb_section *manifest, const tb_section *rest, rt_rest **made, tombac_error **error)
{
    rt_rest *r = calloc(1, sizeof *r);
    if (!r || pthread_mutex_init(&r->mutex, NULL)) {
        free(r);
        return tb_fail_memory(error);
    }
    tb_section sections[2] = {*manifest, *rest};
    tombac_status status = tb_artifact_build(sections, 2, &r->artifact, error);
    if (status == TOMBAC_OK)
        *made = r;
    else
        rt_rest_free(r);
    return status;
}

void rt_rest_free(rt_rest *rest)
{
    if (!rest) return;
    tb_text_free(&rest->artifact);
    pthread_mutex_destroy(&rest->mutex);
    free(rest);
}

/* Of the bitcode, the manifest (which names the target) and the compiler; "" stands for any. */
static rt_key key_of(const rt_rest *rest, const char *identity)
{
    XXH128_hash_t hash =
        XXH3_128bits_withSeed(rest->artifact.data, rest->artifact.size, XXH3_64bits(identity, strlen(identity)));
    return (rt_key){hash.high64, hash.low64};
}

/* Loads the object of a finished artifact. */
static tombac_status load(const tombac_kernel *kernel, const tb_text *file, tombac_error **error)
{
    tb_artifact artifact;
    tombac_status status = tb_artifact_parse("rest of a kernel", tb_text_string(file), file->size, &artifact, error);
    if (status != TOMBAC_OK) return status;
    const tb_section *object = tb_artifact_find(&artifact, TB_SECTION_OBJECT);
    if (!object) return tb_fail(error, TOMBAC_ERROR_ARTIFACT, "the rest of the kernel has no object code");
    return kernel->library->device->driver->complete(kernel->code, object->data, object->size, error);
}

static void keep(const rt_rest *rest, const rt_cache *cache, const char *identity, const tb_text *file)
{
    rt_key keys[2] = {key_of(rest, identity), key_of(rest, "")};
    bool good = cache->folder;
    for (int i = 0; i < 2 && good; i++) good = rt_cache_write(cache, &keys[i], RT_CACHE_DATA, 0, file->data, file->size);
    if (good) rt_cache_trim(cache);
}

static tombac_status from_compiler(
    const tombac_kernel *kernel, const rt_compiler *compiler, const rt_cache *cache, tombac_error **error)
{
    rt_response response;
    const tb_text *artifact = &kernel->rest->artifact;
    tombac_status status = rt_compiler_finish(compiler, artifact->data, artifact->size, &response, error);
    if (status != TOMBAC_OK) return status;
    if (response.exit_status) {
        rt_request request = {.source = &kernel->library->source, .kernel = kernel->manifest.kernel};
        status = rt_compiler_fail(&request, response.exit_status, tb_text_string(&response.diagnostics), error);
    } else {
        status = load(kernel, &response.output, error);
        if (status == TOMBAC_OK) keep(kernel->rest, cache, compiler->identity, &response.output);
    }
    rt_response_free(&response);
    return status;
}

static tombac_status make(const tombac_kernel *kernel, tombac_error **error)
{
    rt_compiler compiler;
    tombac_status status = rt_compiler_find(&compiler, error);
    if (status != TOMBAC_OK) return status;
    const rt_cache *cache = rt_library_cache(kernel->library, &compiler);
    rt_key key = key_of(kernel->rest, compiler.identity);
    tb_text file = {0};
    uint32_t code = 0;
    bool found = cache->folder && rt_cache_read(cache, &key, RT_CACHE_DATA, &code, &file) &&
                 load(kernel, &file, NULL) == TOMBAC_OK;
    if (!found) status = from_compiler(kernel, &compiler, cache, error);
    tb_text_free(&file);
    rt_compiler_free(&compiler);
    return status;
}

tombac_status rt_rest_provide(const tombac_kernel *kernel, const tb_dispatch *dispatch, tombac_error **error)
{
    const tombac_device *device = kernel->library->device;
    if (!kernel->rest || !device->driver->lacks || !device->driver->lacks(kernel->code, dispatch)) return TOMBAC_OK;
    tombac_status status = TOMBAC_OK;
    pthread_mutex_lock(&kernel->rest->mutex);
    if (device->driver->lacks(kernel->code, dispatch)) {
        double begin = rt_now();
        status = make(kernel, error);
        if (device->trace) rt_trace_compile(device->trace, kernel->manifest.kernel, begin, rt_now());
    }
    pthread_mutex_unlock(&kernel->rest->mutex);
    if (status != TOMBAC_OK) tb_error_set_kernel(error, kernel->manifest.kernel);
    return status;
}
