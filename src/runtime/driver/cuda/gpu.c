/* GPUs: the first one that NVIDIA's driver lists, and its primary context, which other users of CUDA in the
 * process share. */
#include "runtime/driver/cuda/cuda.h"

enum { OLDEST = 80 };

void cuda_gpu_close(cuda_gpu *gpu)
{
    if (atomic_load(&gpu->busy)) return; /* the context must stay, and closing it could wait for ever */
    if (gpu->context) gpu->api.context_release(gpu->device);
    gpu->context = NULL;
    cuda_api_close(&gpu->api);
}

static tombac_status open_device(cuda_gpu *gpu, tombac_error **error)
{
    int major = 0, minor = 0;
    cuda_result result = gpu->api.device_get(&gpu->device, 0);
    if (!result) result = gpu->api.device_attribute(&major, CUDA_ATTRIBUTE_MAJOR, gpu->device);
    if (!result) result = gpu->api.device_attribute(&minor, CUDA_ATTRIBUTE_MINOR, gpu->device);
    tombac_status status = cuda_api_check(&gpu->api, result, "asking for the GPU", error);
    if (status != TOMBAC_OK) return status;
    gpu->capability = (unsigned)(major * 10 + minor);
    if (gpu->capability < OLDEST)
        return tb_fail(error, TOMBAC_ERROR_UNSUPPORTED,
            "no cuda device: the GPU has compute capability %d.%d, kernels need 8.0 or later", major, minor);
    result = gpu->api.context_retain(&gpu->context, gpu->device);
    if (result) gpu->context = NULL;
    return cuda_api_check(&gpu->api, result, "opening the GPU", error);
}

tombac_status cuda_gpu_open(cuda_gpu *gpu, tombac_error **error)
{
    *gpu = (cuda_gpu){0};
    tombac_status status = cuda_api_open(&gpu->api, error);
    if (status == TOMBAC_OK) status = open_device(gpu, error);
    if (status != TOMBAC_OK) cuda_gpu_close(gpu);
    return status;
}

tombac_status cuda_gpu_enter(cuda_gpu *gpu, tombac_error **error)
{
    if (atomic_load(&gpu->busy))
        return tb_fail(error, TOMBAC_ERROR_TIMEOUT,
            "the GPU is still busy with a launch that ran past its time limit; it is free when this process "
            "ends");
    return cuda_api_check(&gpu->api, gpu->api.context_set(gpu->context), "entering the GPU", error);
}
