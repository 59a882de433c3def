/* Copies between buffers of GPUs, where at least one of them has its content on the GPU.
 *
 * On one GPU and between two that reach each other's memory, the bytes go directly; between others NVIDIA's
 * driver takes them through the host by itself. What is newest on the host goes to a buffer that is on a GPU
 * without a detour over a copy of its own. All else is left to the caller, who copies in the host's memory.
 */
#include "runtime/driver/cuda/cuda.h"

typedef struct transfer {
    cuda_gpu *from_gpu, *to_gpu;
    const rt_part *from, *to;
    cuda_address source, target; /* 0: not held */
    cuda_lane *from_lane, *to_lane;
} transfer;

/* Lets copies from `from` go directly to `to`; without that they are slower. */
static void make_peers(cuda_gpu *from, cuda_gpu *to)
{
    uint64_t bit = to->number < 64 ? UINT64_C(1) << to->number : 0;
    pthread_mutex_lock(&from->mutex);
    bool asked = !bit || from->peers & bit;
    from->peers |= bit;
    pthread_mutex_unlock(&from->mutex);
    int can = 0;
    cuda_pool *pool;
    if (asked || from->api.can_access_peer(&can, to->device, from->device) || !can) return;
    cuda_access access = {CUDA_LOCATION_DEVICE, to->device, CUDA_ACCESS_READ_WRITE};
    if (!from->api.pool(&pool, from->device)) from->api.pool_access(pool, &access, 1);
}

static tombac_status check(cuda_gpu *gpu, cuda_result result, tombac_error **error)
{
    return cuda_check(gpu, result, "copying a buffer", error);
}

/* The target's memory on its GPU, with its other bytes there. */
static tombac_status open_target(transfer *t, tombac_error **error)
{
    tombac_status status = cuda_lane_take(t->to_gpu, &t->to_lane, error);
    if (status != TOMBAC_OK) return status;
    bool whole = t->to->size == t->to->memory->size;
    status = cuda_mirror_use(t->to_gpu, t->to->memory, whole, t->to_lane->stream, &t->target, error);
    if (status != TOMBAC_OK) t->target = 0;
    if (status == TOMBAC_OK) status = check(t->to_gpu, t->to_gpu->api.stream_wait(t->to_lane->stream), error);
    return status;
}

static tombac_status from_host(transfer *t, tombac_error **error)
{
    const cuda_api *api = &t->to_gpu->api;
    const char *bytes = (const char *)t->from->memory->contents + t->from->offset;
    cuda_result result = api->upload(t->target + t->to->offset, bytes, t->from->size, t->to_lane->stream);
    if (!result) result = api->stream_wait(t->to_lane->stream);
    return check(t->to_gpu, result, error);
}

static tombac_status from_gpu(transfer *t, tombac_error **error)
{
    tombac_status status = cuda_lane_take(t->from_gpu, &t->from_lane, error); /* its context is current now */
    if (status != TOMBAC_OK) return status;
    cuda_stream *stream = t->from_lane->stream;
    status = cuda_mirror_use(t->from_gpu, t->from->memory, false, stream, &t->source, error);
    if (status != TOMBAC_OK) {
        t->source = 0;
        return status;
    }
    const cuda_api *api = &t->from_gpu->api;
    cuda_address to = t->target + t->to->offset, source = t->source + t->from->offset;
    cuda_result result;
    if (t->from_gpu->device == t->to_gpu->device) {
        result = api->copy(to, source, t->from->size, stream);
    } else {
        make_peers(t->from_gpu, t->to_gpu);
        make_peers(t->to_gpu, t->from_gpu);
        result = api->copy_peer(to, t->to_gpu->context, source, t->from_gpu->context, t->from->size, stream);
    }
    if (!result) result = api->stream_wait(stream);
    return check(t->from_gpu, result, error);
}

static tombac_status close_transfer(transfer *t, tombac_status status, tombac_error **error)
{
    bool good = status == TOMBAC_OK;
    if (t->source) {
        tombac_status one = cuda_gpu_enter(t->from_gpu, status == TOMBAC_OK ? error : NULL);
        if (status == TOMBAC_OK) status = one;
        one = cuda_mirror_release(t->from_gpu, t->from->memory, t->from_lane->stream, false, good,
            status == TOMBAC_OK ? error : NULL);
        if (status == TOMBAC_OK) status = one;
    }
    if (t->target) {
        tombac_status one = cuda_gpu_enter(t->to_gpu, status == TOMBAC_OK ? error : NULL);
        if (status == TOMBAC_OK) status = one;
        one = cuda_mirror_release(
            t->to_gpu, t->to->memory, t->to_lane->stream, good, good, status == TOMBAC_OK ? error : NULL);
        if (status == TOMBAC_OK) status = one;
    }
    cuda_lane_return(t->from_gpu, t->from_lane);
    cuda_lane_return(t->to_gpu, t->to_lane);
    return status;
}

tombac_status cuda_copy(void *from_state, const rt_part *from, void *to_state, const rt_part *to, bool *done,
    tombac_error **error)
{
    transfer t = {.from_gpu = from_state, .to_gpu = to_state, .from = from, .to = to};
    bool here = cuda_mirror_is_there(t.from_gpu, from->memory),
         there = cuda_mirror_is_there(t.to_gpu, to->memory);
    if (to->memory->foreign || (!here && (!there || to->size == to->memory->size))) return TOMBAC_OK;
    *done = true;
    tombac_status status = open_target(&t, error);
    if (status == TOMBAC_OK) status = here ? from_gpu(&t, error) : from_host(&t, error);
    return close_transfer(&t, status, error);
}
