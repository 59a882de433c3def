/* GPUs as NVIDIA's driver lists them, each with its primary context, which other users of CUDA in the process
 * share. */
#include "runtime/driver/cuda/cuda.h"

#include <stdio.h>
#include <stdlib.h>

enum { OLDEST = 80, NOT_WITH_DEFAULT_STREAM = 1 };

/* ---- Lanes ---- */

/* What a busy GPU has is left to it: CUDA could wait for its end. */
void cuda_lane_free(cuda_gpu *gpu, cuda_lane *lane)
{
    if (atomic_load(&gpu->busy)) {
        free(lane);
        return;
    }
    if (lane->records) gpu->api.free(lane->records, lane->stream);
    if (lane->begin) gpu->api.event_destroy(lane->begin);
    if (lane->end) gpu->api.event_destroy(lane->end);
    if (lane->stream) gpu->api.stream_destroy(lane->stream);
    free(lane);
}

static tombac_status make_lane(cuda_gpu *gpu, cuda_lane **lane, tombac_error **error)
{
    cuda_lane *made = calloc(1, sizeof *made);
    if (!made) return tb_fail_memory(error);
    cuda_result result = gpu->api.stream_create(&made->stream, NOT_WITH_DEFAULT_STREAM);
    if (!result) result = gpu->api.event_create(&made->begin, 0);
    if (!result) result = gpu->api.event_create(&made->end, 0);
    if (result)
        cuda_lane_free(gpu, made);
    else
        *lane = made;
    return cuda_check(gpu, result, "preparing a launch", error);
}

tombac_status cuda_lane_take(cuda_gpu *gpu, cuda_lane **lane, tombac_error **error)
{
    tombac_status status = cuda_gpu_enter(gpu, error);
    if (status != TOMBAC_OK) return status;
    pthread_mutex_lock(&gpu->mutex);
    *lane = gpu->lanes;
    if (*lane) gpu->lanes = (*lane)->next;
    pthread_mutex_unlock(&gpu->mutex);
    return *lane ? TOMBAC_OK : make_lane(gpu, lane, error);
}

void cuda_lane_return(cuda_gpu *gpu, cuda_lane *lane)
{
    if (!lane) return;
    pthread_mutex_lock(&gpu->mutex);
    lane->next = gpu->lanes;
    gpu->lanes = lane;
    pthread_mutex_unlock(&gpu->mutex);
}

/* ---- Memory ---- */

tombac_status cuda_allocate(cuda_gpu *gpu, size_t size, cuda_address *address, tombac_error **error)
{
    cuda_result result;
    do {
        result = gpu->api.allocate(address, size ? size : 1, gpu->memory);
    } while (result == CUDA_ERROR_MEMORY && cuda_mirror_evict(gpu));
    if (!result) result = gpu->api.stream_wait(gpu->memory);
    if (result) *address = 0;
    char doing[64];
    snprintf(doing, sizeof doing, "allocating %zu bytes on the GPU", size);
    return cuda_check(gpu, result, doing, error);
}

void cuda_free(cuda_gpu *gpu, cuda_address address)
{
    gpu->api.free(address, gpu->memory);
}

/* ---- Devices ---- */

void cuda_gpu_close(cuda_gpu *gpu)
{
    /* Where the GPU is busy, the context must stay, and closing it could wait for ever; where it is broken, calls fail at once. */
    bool busy = atomic_load(&gpu->busy);
    if (gpu->context && cuda_gpu_enter_to_free(gpu)) cuda_graphs_drop(gpu);
    for (cuda_lane *lane; (lane = gpu->lanes);) {
        gpu->lanes = lane->next;
        cuda_lane_free(gpu, lane);
    }
    if (gpu->memory && !busy) gpu->api.stream_destroy(gpu->memory);
    if (gpu->has_mutex) {
        pthread_mutex_destroy(&gpu->mutex);
        pthread_mutex_destroy(&gpu->collecting);
        pthread_cond_destroy(&gpu->released);
    }
    if (gpu->context && !busy) gpu->api.context_release(gpu->device);
    gpu->context = NULL;
    free(gpu->broken);
    if (!busy) cuda_api_close(&gpu->api);
}

static tombac_status open_device(cuda_gpu *gpu, size_t number, tombac_error **error)
{
    int major = 0, minor = 0, count = 0, multiprocessors = 0;
    cuda_result result = gpu->api.device_count(&count);
    if (!result && number >= (size_t)count)
        return tb_fail(error, TOMBAC_ERROR_UNSUPPORTED, "no cuda device %zu: NVIDIA's driver finds %d GPU%s",
            number, count, count == 1 ? "" : "s");
    if (!result) result = gpu->api.driver_version(&gpu->driver_version);
    if (!result) result = gpu->api.device_get(&gpu->device, (int)number);
    if (!result) result = gpu->api.device_memory(&gpu->size, gpu->device);
    if (!result) result = gpu->api.device_attribute(&major, CUDA_ATTRIBUTE_MAJOR, gpu->device);
    if (!result) result = gpu->api.device_attribute(&minor, CUDA_ATTRIBUTE_MINOR, gpu->device);
    if (!result)
        result = gpu->api.device_attribute(&multiprocessors, CUDA_ATTRIBUTE_MULTIPROCESSORS, gpu->device);
    tombac_status status = cuda_api_check(&gpu->api, result, "asking for the GPU", error);
    if (status != TOMBAC_OK) return status;
    gpu->capability = (unsigned)(major * 10 + minor);
    gpu->multiprocessors = multiprocessors > 0 ? (unsigned)multiprocessors : 1;
    if (gpu->capability < OLDEST)
        return tb_fail(error, TOMBAC_ERROR_UNSUPPORTED,
            "no cuda device: the GPU has compute capability %d.%d, kernels need 8.0 or later", major, minor);
    result = gpu->api.context_retain(&gpu->context, gpu->device);
    if (result) gpu->context = NULL;
    return cuda_is_final(result)
               ? tb_fail(error, TOMBAC_ERROR_UNSUPPORTED,
                     "no cuda device: a kernel failed in this process (CUDA's error %d), after which it cannot use the GPU", result)
               : cuda_api_check(&gpu->api, result, "opening the GPU", error);
}

/* Freed memory stays in the driver's pool, so that buffers that come and go are cheap. */
static tombac_status open_memory(cuda_gpu *gpu, tombac_error **error)
{
    cuda_pool *pool;
    uint64_t all = UINT64_MAX;
    tombac_status status = cuda_gpu_enter(gpu, error);
    if (status != TOMBAC_OK) return status;
    cuda_result result = gpu->api.stream_create(&gpu->memory, NOT_WITH_DEFAULT_STREAM);
    if (!result) result = gpu->api.pool(&pool, gpu->device);
    if (!result) result = gpu->api.pool_set(pool, CUDA_POOL_THRESHOLD, &all);
    return cuda_api_check(&gpu->api, result, "opening the GPU", error);
}

tombac_status cuda_gpu_open(cuda_gpu *gpu, size_t number, tombac_error **error)
{
    *gpu = (cuda_gpu){.has_mutex = true, .number = number};
    pthread_mutex_init(&gpu->mutex, NULL);
    pthread_mutex_init(&gpu->collecting, NULL);
    pthread_cond_init(&gpu->released, NULL);
    tombac_status status = cuda_api_open(&gpu->api, error);
    if (status == TOMBAC_OK) status = open_device(gpu, number, error);
    if (status == TOMBAC_OK) status = open_memory(gpu, error);
    if (status != TOMBAC_OK) cuda_gpu_close(gpu);
    return status;
}

bool cuda_gpu_enter_to_free(cuda_gpu *gpu)
{
    return !atomic_load(&gpu->busy) && gpu->api.context_set(gpu->context) >= 0; /* whatever it says */
}

tombac_status cuda_gpu_enter(cuda_gpu *gpu, tombac_error **error)
{
    if (atomic_load(&gpu->busy))
        return tb_fail(error, TOMBAC_ERROR_TIMEOUT,
            "the GPU is still busy with a launch that ran past its time limit; it is free when this process "
            "ends");
    tombac_status status = cuda_check_alive(gpu, error);
    return status == TOMBAC_OK ? cuda_check(gpu, gpu->api.context_set(gpu->context), "entering the GPU", error) : status;
}
