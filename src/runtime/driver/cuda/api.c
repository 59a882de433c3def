/* Finding NVIDIA's driver; see api.h. */
#include "runtime/driver/cuda/api.h"

#include <dlfcn.h>
#include <string.h>

static const char library_name[] = "libcuda.so.1";

static const cuda_symbol calls[] = {
#define CUDA_ENTRY(member, symbol, parameters) {#symbol, offsetof(cuda_api, member)},
    CUDA_CALLS(CUDA_ENTRY)
#undef CUDA_ENTRY
};

void cuda_api_close(cuda_api *api)
{
    if (api->library) dlclose(api->library);
    *api = (cuda_api){0};
}

/* Errors of memory and links that the hardware could not correct (214, 220), an illegal address (700), a time limit of the system's
 * (702), an assertion (710), from a hardware stack error (714) to a failed launch (719). */
bool cuda_is_final(cuda_result result)
{
    return result == 214 || result == 220 || result == 700 || result == 702 || result == 710 || (result >= 714 && result <= 719);
}

tombac_status cuda_api_check(const cuda_api *api, cuda_result result, const char *doing, tombac_error **error)
{
    if (!result) return TOMBAC_OK;
    const char *name = NULL, *text = NULL;
    if (api->error_name(result, &name) || !name) name = "unknown error";
    if (api->error_text(result, &text) || !text) text = "no description";
    return tb_fail(error, result == CUDA_ERROR_MEMORY ? TOMBAC_ERROR_MEMORY : TOMBAC_ERROR_KERNEL, "%s: %s (%s)",
        doing, text, name);
}

const char *cuda_symbols_resolve(void *library, const cuda_symbol *symbols, size_t count, void *table)
{
    for (size_t i = 0; i < count; i++) {
        void *address = dlsym(library, symbols[i].name);
        if (!address) return symbols[i].name;
        memcpy((char *)table + symbols[i].offset, &address, sizeof address);
    }
    return NULL;
}

static tombac_status resolve(cuda_api *api, tombac_error **error)
{
    const char *missing = cuda_symbols_resolve(api->library, calls, sizeof calls / sizeof *calls, api);
    if (!missing) return TOMBAC_OK;
    return tb_fail(error, TOMBAC_ERROR_UNSUPPORTED, "no cuda device: NVIDIA's driver is too old, it has no %s",
        missing);
}

static tombac_status initialise(const cuda_api *api, tombac_error **error)
{
    int count = 0;
    cuda_result result = api->init(0);
    if (!result) result = api->device_count(&count);
    if (!result && count > 0) return TOMBAC_OK;
    if (!result || result == CUDA_ERROR_NO_DEVICE)
        return tb_fail(error, TOMBAC_ERROR_UNSUPPORTED, "no cuda device: NVIDIA's driver finds no GPU");
    const char *text = NULL;
    if (api->error_text(result, &text) || !text) text = "no description";
    return tb_fail(error, TOMBAC_ERROR_UNSUPPORTED,
        "no cuda device: NVIDIA's driver cannot start: %s (error %d)", text, result);
}

tombac_status cuda_api_open(cuda_api *api, tombac_error **error)
{
    *api = (cuda_api){.library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL)};
    if (!api->library)
        return tb_fail(error, TOMBAC_ERROR_UNSUPPORTED, "no cuda device: %s is not installed", library_name);
    tombac_status status = resolve(api, error);
    if (status == TOMBAC_OK) status = initialise(api, error);
    if (status != TOMBAC_OK) cuda_api_close(api);
    return status;
}
