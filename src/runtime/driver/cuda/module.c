/* Modules: PTX becomes code of the GPU, and that is kept.
 *
 * NVIDIA's driver compiles PTX in some milliseconds and more. What it makes goes into the compile cache,
 * under a key of the PTX, the driver's version and the GPU's architecture, and is loaded from there the next
 * time. Without a cache the driver's own is left to help. What is found and cannot be loaded is made anew. */
#include "runtime/driver/cuda/cuda.h"

#include "runtime/cache_file.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { LOG_SIZE = 8192, OPTIONS = 2 };

typedef struct messages {
    char log[LOG_SIZE];
    int options[OPTIONS];
    void *values[OPTIONS];
} messages;

static void open_messages(messages *m)
{
    m->log[0] = 0;
    m->options[0] = CUDA_JIT_ERROR_LOG;
    m->options[1] = CUDA_JIT_ERROR_LOG_SIZE;
    m->values[0] = m->log;
    m->values[1] = (void *)(uintptr_t)sizeof m->log;
}

static tombac_status check(cuda_code *code, cuda_result result, messages *m, tombac_error **error)
{
    m->log[sizeof m->log - 1] = 0;
    if (result == CUDA_ERROR_PTX_VERSION)
        return tb_fail(error, TOMBAC_ERROR_UNSUPPORTED,
            "%s: NVIDIA's driver is too old for the kernel's code: it is one for CUDA %d.%d",
            code->manifest->kernel, code->gpu->driver_version / 1000, code->gpu->driver_version % 1000 / 10);
    if (!result || !m->log[0] || cuda_is_final(result))
        return cuda_check(code->gpu, result, "loading the kernel", error);
    return tb_fail(error, TOMBAC_ERROR_ARTIFACT, "%s: NVIDIA's driver cannot compile the kernel:\n%s",
        code->manifest->kernel, m->log);
}

static cuda_result load(cuda_code *code, const void *image, messages *m)
{
    open_messages(m);
    cuda_result result = code->gpu->api.module_load(&code->module, image, OPTIONS, m->options, m->values);
    if (result) code->module = NULL;
    return result;
}

static rt_key key_of(const cuda_gpu *gpu, const char *text, size_t size)
{
    uint64_t facts[] = {(uint64_t)gpu->driver_version, gpu->capability};
    XXH128_hash_t content = XXH3_128bits_withSeed(text, size, XXH3_64bits(facts, sizeof facts));
    return (rt_key){content.high64, content.low64};
}

/* Code of the GPU, made from PTX, into the module and the cache. */
static tombac_status make(cuda_code *code, const rt_cache *cache, const rt_key *key, const char *text,
    size_t size, messages *m, tombac_error **error)
{
    const cuda_api *api = &code->gpu->api;
    cuda_link *link = NULL;
    void *image = NULL;
    size_t image_size = 0;
    open_messages(m);
    cuda_result result = api->link_create(OPTIONS, m->options, m->values, &link);
    if (result) return check(code, result, m, error);
    result =
        api->link_add(link, CUDA_LINK_PTX, (void *)text, size + 1, code->manifest->kernel, 0, NULL, NULL);
    if (!result) result = api->link_complete(link, &image, &image_size);
    tombac_status status = check(code, result, m, error);
    if (status == TOMBAC_OK) {
        result = load(code, image, m);
        status = check(code, result, m, error);
    }
    if (status == TOMBAC_OK && rt_cache_write(cache, key, RT_CACHE_GPU_CODE, 0, image, image_size))
        rt_cache_trim(cache);
    api->link_destroy(link);
    return status;
}

tombac_status cuda_module_open(cuda_code *code, const rt_cache *cache, const char *text, tombac_error **error)
{
    messages *m = malloc(sizeof *m);
    if (!m) return tb_fail_memory(error);
    size_t size = strlen(text);
    rt_key key = key_of(code->gpu, text, size);
    uint32_t unused;
    tb_text image = {0};
    tombac_status status = TOMBAC_OK;
    if (!cache->folder) {
        cuda_result result = load(code, text, m);
        status = check(code, result, m, error);
    } else {
        bool found =
            rt_cache_read(cache, &key, RT_CACHE_GPU_CODE, &unused, &image) && !load(code, image.data, m);
        if (!found) status = make(code, cache, &key, text, size, m, error);
    }
    tb_text_free(&image);
    free(m);
    return status;
}
