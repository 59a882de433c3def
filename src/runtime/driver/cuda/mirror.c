/* The GPU's copies of the host's allocations: content is copied when it is needed where it is not.
 *
 *     device_stale   the host has newer content: copied to the GPU before the next launch that uses it
 *     host_stale     a kernel has written it: copied to the host when the host asks (rt_driver.to_host)
 *
 * Never both. Memory that the host has a bare pointer to (rt_memory.shared) may change unseen, so it is
 * copied at every launch, both ways where the kernel may write it. Memory of the caller's own is registered
 * with CUDA and used in place if that is possible: then there is nothing to copy.
 *
 * The runtime orders operations by what they read and write, so a mirror has either one writing launch or any
 * number of reading ones. Two of these may both find it stale and copy the same bytes. */
#include "runtime/driver/cuda/cuda.h"

#include <stdlib.h>

struct cuda_mirror {
    pthread_mutex_t mutex; /* guards the rest but for the links, which gpu->mutex guards as well as `users` */
    rt_memory *memory;
    cuda_mirror *next, *previous;
    size_t users;         /* launches that hold it */
    cuda_address address; /* 0: not on the GPU */
    bool in_place;        /* address is that of the host's memory */
    bool registered;      /* with CUDA, so that copies are fast */
    bool device_stale, host_stale;
};

static tombac_status check(cuda_gpu *gpu, cuda_result result, const char *doing, tombac_error **error)
{
    return cuda_check(gpu, result, doing, error);
}

/* ---- The list ---- */

static void unlink_mirror(cuda_gpu *gpu, cuda_mirror *mirror)
{
    if (mirror->previous)
        mirror->previous->next = mirror->next;
    else
        gpu->mirrors = mirror->next;
    if (mirror->next) mirror->next->previous = mirror->previous;
}

static void link_first(cuda_gpu *gpu, cuda_mirror *mirror)
{
    mirror->previous = NULL;
    mirror->next = gpu->mirrors;
    if (mirror->next) mirror->next->previous = mirror;
    gpu->mirrors = mirror;
}

/* The memory's mirror, made if there is none, and held. */
static cuda_mirror *hold(cuda_gpu *gpu, rt_memory *memory)
{
    pthread_mutex_lock(&gpu->mutex);
    cuda_mirror *mirror = memory->mirror;
    if (mirror) {
        unlink_mirror(gpu, mirror);
    } else if ((mirror = calloc(1, sizeof *mirror))) {
        pthread_mutex_init(&mirror->mutex, NULL);
        mirror->memory = memory;
        mirror->device_stale = true;
        memory->mirror = mirror;
    }
    if (mirror) {
        mirror->users++;
        link_first(gpu, mirror);
    }
    pthread_mutex_unlock(&gpu->mutex);
    return mirror;
}

static void let_go(cuda_gpu *gpu, cuda_mirror *mirror)
{
    pthread_mutex_lock(&gpu->mutex);
    if (--mirror->users == 0) pthread_cond_broadcast(&gpu->released);
    pthread_mutex_unlock(&gpu->mutex);
}

/* ---- Places ---- */

/* Failing is no error: then the memory is copied as it is. */
static void register_host(cuda_gpu *gpu, cuda_mirror *mirror)
{
    if (mirror->registered || !mirror->memory->size) return;
    mirror->registered =
        !gpu->api.host_register(mirror->memory->contents, mirror->memory->size, CUDA_HOST_MAPPED);
}

static tombac_status place(cuda_gpu *gpu, cuda_mirror *mirror, tombac_error **error)
{
    if (mirror->address) return TOMBAC_OK;
    if (mirror->memory->foreign) {
        register_host(gpu, mirror);
        mirror->in_place =
            mirror->registered && !gpu->api.host_address(&mirror->address, mirror->memory->contents, 0);
        if (mirror->in_place) return TOMBAC_OK;
    }
    mirror->device_stale = true;
    return cuda_allocate(gpu, mirror->memory->size, &mirror->address, error);
}

static tombac_status fetch(cuda_gpu *gpu, cuda_mirror *mirror, cuda_stream *stream, tombac_error **error)
{
    cuda_result result =
        gpu->api.download(mirror->memory->contents, mirror->address, mirror->memory->size, stream);
    if (!result) result = gpu->api.stream_wait(stream);
    if (!result) mirror->host_stale = false;
    return check(gpu, result, "copying a buffer from the GPU", error);
}

/* ---- Launches ---- */

tombac_status cuda_mirror_use(cuda_gpu *gpu, rt_memory *memory, bool overwritten, cuda_stream *stream,
    cuda_address *address, tombac_error **error)
{
    cuda_mirror *mirror = hold(gpu, memory);
    if (!mirror) return tb_fail_memory(error);
    pthread_mutex_lock(&mirror->mutex);
    bool shared = atomic_load(&memory->shared), known = mirror->address;
    tombac_status status = place(gpu, mirror, error);
    bool stale =
        !mirror->in_place && memory->size && !overwritten && (mirror->device_stale || (shared && !mirror->host_stale));
    if (stale && known && shared) register_host(gpu, mirror); /* it will be copied again and again */
    if (status == TOMBAC_OK && stale)
        status = check(gpu, gpu->api.upload(mirror->address, memory->contents, memory->size, stream),
            "copying a buffer to the GPU", error);
    *address = mirror->address;
    pthread_mutex_unlock(&mirror->mutex);
    if (status != TOMBAC_OK) let_go(gpu, mirror);
    return status;
}

tombac_status cuda_mirror_release(
    cuda_gpu *gpu, rt_memory *memory, cuda_stream *stream, bool written, bool arrived, tombac_error **error)
{
    cuda_mirror *mirror = memory->mirror;
    tombac_status status = TOMBAC_OK;
    pthread_mutex_lock(&mirror->mutex);
    if (!mirror->in_place && memory->size) {
        if (arrived) mirror->device_stale = false;
        if (written) mirror->host_stale = true;
        if (mirror->host_stale && arrived && atomic_load(&memory->shared))
            status = fetch(gpu, mirror, stream, error);
    }
    pthread_mutex_unlock(&mirror->mutex);
    let_go(gpu, mirror);
    return status;
}

bool cuda_mirror_is_there(cuda_gpu *gpu, rt_memory *memory)
{
    pthread_mutex_lock(&gpu->mutex);
    cuda_mirror *mirror = memory->mirror;
    pthread_mutex_unlock(&gpu->mutex);
    if (!mirror) return false;
    pthread_mutex_lock(&mirror->mutex);
    bool there = mirror->address && !mirror->in_place && !mirror->device_stale;
    bool unseen = atomic_load(&memory->shared) && !mirror->host_stale; /* changes by the host */
    pthread_mutex_unlock(&mirror->mutex);
    return there && !unseen;
}

/* ---- The host ---- */

tombac_status cuda_mirror_to_host(void *state, rt_memory *memory, tombac_error **error)
{
    cuda_gpu *gpu = state;
    pthread_mutex_lock(&gpu->mutex);
    cuda_mirror *mirror = memory->mirror;
    pthread_mutex_unlock(&gpu->mutex);
    if (!mirror) return TOMBAC_OK;
    pthread_mutex_lock(&mirror->mutex);
    tombac_status status = TOMBAC_OK;
    if (mirror->host_stale) {
        cuda_lane *lane = NULL;
        status = cuda_lane_take(gpu, &lane, error);
        if (status == TOMBAC_OK) status = fetch(gpu, mirror, lane->stream, error);
        cuda_lane_return(gpu, lane);
    }
    pthread_mutex_unlock(&mirror->mutex);
    return status;
}

void cuda_mirror_host_wrote(void *state, rt_memory *memory)
{
    cuda_gpu *gpu = state;
    pthread_mutex_lock(&gpu->mutex);
    cuda_mirror *mirror = memory->mirror;
    pthread_mutex_unlock(&gpu->mutex);
    if (!mirror) return;
    pthread_mutex_lock(&mirror->mutex);
    mirror->device_stale = true;
    mirror->host_stale = false;
    pthread_mutex_unlock(&mirror->mutex);
}

/* ---- The end of copies ---- */

/* Gives the GPU's memory back. */
static void displace(cuda_gpu *gpu, cuda_mirror *mirror)
{
    if (mirror->address && !mirror->in_place) cuda_free(gpu, mirror->address);
    mirror->address = 0;
    mirror->device_stale = true;
}

void cuda_mirror_drop(void *state, rt_memory *memory)
{
    cuda_gpu *gpu = state;
    cuda_mirror *mirror = memory->mirror;
    pthread_mutex_lock(&gpu->mutex);
    unlink_mirror(gpu, mirror);
    while (mirror->users) pthread_cond_wait(&gpu->released, &gpu->mutex); /* somebody is moving it out */
    pthread_mutex_unlock(&gpu->mutex);
    if (cuda_gpu_enter_to_free(gpu)) { /* else the GPU may still be at work on it */
        displace(gpu, mirror);
        if (mirror->registered) gpu->api.host_unregister(memory->contents);
    }
    pthread_mutex_destroy(&mirror->mutex);
    free(mirror);
    memory->mirror = NULL;
}

/* The least recently used one that has memory and that nobody holds; held now. */
static cuda_mirror *find_idle(cuda_gpu *gpu)
{
    cuda_mirror *found = NULL;
    pthread_mutex_lock(&gpu->mutex);
    for (cuda_mirror *m = gpu->mirrors; m; m = m->next)
        if (!m->users && m->address && !m->in_place) found = m;
    if (found) found->users++;
    pthread_mutex_unlock(&gpu->mutex);
    return found;
}

bool cuda_mirror_evict(cuda_gpu *gpu)
{
    bool any = false, good = true;
    for (cuda_mirror *mirror; good && (mirror = find_idle(gpu));) {
        pthread_mutex_lock(&mirror->mutex);
        if (mirror->host_stale) good = fetch(gpu, mirror, gpu->memory, NULL) == TOMBAC_OK;
        if (good) displace(gpu, mirror);
        any = any || good;
        pthread_mutex_unlock(&mirror->mutex);
        let_go(gpu, mirror);
    }
    return any;
}
