/* Collective operations of several GPUs through NCCL, NVIDIA's library, which is looked for when a group is
 * opened: the file that $TOMBAC_NCCL names, else libnccl.so.2. Names and values are those of NVIDIA's nccl.h.
 *
 * One process has all GPUs, so a group is made by ncclCommInitAll, and a collective is one call for each GPU
 * between ncclGroupStart and ncclGroupEnd, on a stream of each. NCCL's kernels wait for each other: two
 * collectives must not be started in different orders on two GPUs, so each is run to its end with the locks
 * of all its GPUs held, taken in the order of their addresses. */
#include "runtime/driver/cuda/cuda.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef int nccl_result; /* 0: done */
typedef struct nccl_comm nccl_comm;

#define NCCL_CALLS(X)                                                                                        \
    X(init_all, ncclCommInitAll, (nccl_comm * *comms, int count, const int *devices))                        \
    X(destroy, ncclCommDestroy, (nccl_comm * comm))                                                          \
    X(abort, ncclCommAbort, (nccl_comm * comm))                                                              \
    X(start, ncclGroupStart, (void))                                                                         \
    X(end, ncclGroupEnd, (void))                                                                             \
    X(all_reduce, ncclAllReduce,                                                                             \
        (const void *from, void *to, size_t count, int type, int reduction, nccl_comm *comm,                 \
            cuda_stream *stream))                                                                            \
    X(all_gather, ncclAllGather,                                                                             \
        (const void *from, void *to, size_t count, int type, nccl_comm *comm, cuda_stream *stream))          \
    X(broadcast, ncclBroadcast,                                                                              \
        (const void *from, void *to, size_t count, int type, int root, nccl_comm *comm,                      \
            cuda_stream *stream))

enum { NCCL_I8 = 0, NCCL_U8, NCCL_I32, NCCL_U32, NCCL_I64, NCCL_U64, NCCL_F16, NCCL_F32, NCCL_BF16 = 9 };
enum { NCCL_SUM = 0, NCCL_MAX = 2, NCCL_MIN = 3 };

typedef struct nccl_api {
    void *library;
    const char *(*error_text)(nccl_result result);
#define NCCL_MEMBER(member, symbol, parameters) nccl_result(*member) parameters;
    NCCL_CALLS(NCCL_MEMBER)
#undef NCCL_MEMBER
} nccl_api;

/* One GPU of a group, and of a collective. */
typedef struct member {
    cuda_gpu *gpu;
    nccl_comm *comm;
    cuda_lane *lane;
    cuda_uses uses;
    bool used; /* `uses` is open */
    cuda_address from, to;
} member;

typedef struct group {
    nccl_api api;
    cuda_gpu **order; /* by address, each once: how their locks are taken */
    size_t count;
    member members[];
} group;

/* ---- The library ---- */

static tombac_status find_library(nccl_api *api, tombac_error **error)
{
    static const cuda_symbol calls[] = {
#define NCCL_ENTRY(member, symbol, parameters) {#symbol, offsetof(nccl_api, member)},
        NCCL_CALLS(NCCL_ENTRY)
#undef NCCL_ENTRY
        {"ncclGetErrorString", offsetof(nccl_api, error_text)},
    };
    const char *name = getenv("TOMBAC_NCCL");
    if (!name || !*name) name = "libnccl.so.2";
    /* It stays loaded for good: it leaves threads and exit handlers behind. */
    api->library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!api->library) {
        const char *why = dlerror();
        return tb_fail(error, TOMBAC_ERROR_UNSUPPORTED, "no NCCL: %s", why ? why : name);
    }
    const char *missing = cuda_symbols_resolve(api->library, calls, sizeof calls / sizeof *calls, api);
    if (missing) return tb_fail(error, TOMBAC_ERROR_UNSUPPORTED, "no NCCL: %s has no %s", name, missing);
    return TOMBAC_OK;
}

static tombac_status check(const nccl_api *api, nccl_result result, const char *doing, tombac_error **error)
{
    if (!result) return TOMBAC_OK;
    const char *text = api->error_text(result);
    return tb_fail(error, TOMBAC_ERROR_KERNEL, "%s: %s (NCCL's error %d)", doing,
        text ? text : "no description", result);
}

/* ---- Groups ---- */

static int by_address(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)*(cuda_gpu *const *)a, y = (uintptr_t)*(cuda_gpu *const *)b;
    return x < y ? -1 : x > y;
}

static tombac_status check_members(const group *g, tombac_error **error)
{
    if (g->count < 2) return tb_fail(error, TOMBAC_ERROR_UNSUPPORTED, "no NCCL: one device needs none");
    for (size_t i = 0; i < g->count; i++)
        for (size_t k = 0; k < i; k++)
            if (g->members[i].gpu->device == g->members[k].gpu->device)
                return tb_fail(
                    error, TOMBAC_ERROR_UNSUPPORTED, "no NCCL: members %zu and %zu are the same GPU", k, i);
    return TOMBAC_OK;
}

static tombac_status init_all(group *g, tombac_error **error)
{
    int *devices = calloc(g->count, sizeof *devices);
    nccl_comm **comms = calloc(g->count, sizeof(nccl_comm *));
    tombac_status status = devices && comms ? TOMBAC_OK : tb_fail_memory(error);
    for (size_t i = 0; i < g->count && status == TOMBAC_OK; i++) {
        devices[i] = (int)g->members[i].gpu->number;
        status = cuda_gpu_enter(g->members[i].gpu, error);
    }
    if (status == TOMBAC_OK) {
        nccl_result result = g->api.init_all(comms, (int)g->count, devices);
        if (result) {
            const char *text = g->api.error_text(result);
            status = tb_fail(error, TOMBAC_ERROR_UNSUPPORTED,
                "no NCCL: it cannot use these GPUs: %s (error %d)", text ? text : "no description", result);
        }
    }
    for (size_t i = 0; i < g->count && status == TOMBAC_OK; i++) g->members[i].comm = comms[i];
    free(devices);
    free(comms);
    return status;
}

tombac_status cuda_group_open(void *const *states, size_t count, void **opened, tombac_error **error)
{
    group *g = calloc(1, sizeof *g + count * sizeof *g->members);
    if (!g) return tb_fail_memory(error);
    g->count = count;
    g->order = calloc(count, sizeof *g->order);
    for (size_t i = 0; i < count; i++) g->members[i].gpu = states[i];
    tombac_status status = g->order ? check_members(g, error) : tb_fail_memory(error);
    if (status == TOMBAC_OK) status = find_library(&g->api, error);
    if (status == TOMBAC_OK) status = init_all(g, error);
    if (status != TOMBAC_OK) {
        free(g->order);
        free(g);
        return status;
    }
    for (size_t i = 0; i < count; i++) g->order[i] = states[i];
    qsort(g->order, count, sizeof *g->order, by_address);
    *opened = g;
    return TOMBAC_OK;
}

void cuda_group_close(void *opened)
{
    group *g = opened;
    for (size_t i = 0; i < g->count; i++) {
        /* Destroying waits for a GPU, aborting does not. */
        bool well = cuda_gpu_enter(g->members[i].gpu, NULL) == TOMBAC_OK;
        if (well)
            g->api.destroy(g->members[i].comm);
        else
            g->api.abort(g->members[i].comm);
    }
    free(g->order);
    free(g);
}

/* ---- Collectives ---- */

static int type_of(tombac_type type)
{
    switch (type) {
    case TOMBAC_TYPE_I8: return NCCL_I8;
    case TOMBAC_TYPE_U8: return NCCL_U8;
    case TOMBAC_TYPE_I32: return NCCL_I32;
    case TOMBAC_TYPE_U32: return NCCL_U32;
    case TOMBAC_TYPE_I64: return NCCL_I64;
    case TOMBAC_TYPE_U64: return NCCL_U64;
    case TOMBAC_TYPE_F16: return NCCL_F16;
    case TOMBAC_TYPE_BF16: return NCCL_BF16;
    case TOMBAC_TYPE_F32: return NCCL_F32;
    case TOMBAC_TYPE_BOOL:
    case TOMBAC_TYPE_I16:
    case TOMBAC_TYPE_U16:
    case TOMBAC_TYPE_OTHER: break;
    }
    return -1;
}

static tombac_status find_part(
    member *m, const rt_part *part, bool written, cuda_address *address, tombac_error **error)
{
    char *contents = part->memory->contents;
    rt_binding binding = {.address = contents + part->offset,
        .size = part->size,
        .buffer = contents,
        .buffer_size = part->memory->size,
        .memory = part->memory};
    return cuda_uses_find(&m->uses, &binding, written, address, error);
}

/* Brings the member's memory to its GPU. */
static tombac_status open_member(member *m, const rt_collective *what, size_t i, tombac_error **error)
{
    bool sends = what->kind != RT_BROADCAST || i == what->root,
         receives = what->kind != RT_BROADCAST || i != what->root;
    tombac_status status = cuda_lane_take(m->gpu, &m->lane, error);
    if (status != TOMBAC_OK) return status;
    m->used = true;
    status = cuda_uses_open(&m->uses, m->gpu, m->lane->stream, 2, error);
    if (status == TOMBAC_OK && sends) status = find_part(m, &what->from[i], false, &m->from, error);
    if (status == TOMBAC_OK && receives) status = find_part(m, &what->to[i], true, &m->to, error);
    if (what->kind == RT_BROADCAST) m->from = m->to = sends ? m->from : m->to;
    return status;
}

static nccl_result call(group *g, const rt_collective *what, size_t i)
{
    member *m = &g->members[i];
    const void *from = (const void *)(uintptr_t)m->from;
    void *to = (void *)(uintptr_t)m->to; /* NOLINT: an address of the GPU */
    cuda_stream *stream = m->lane->stream;
    size_t bytes = what->count * tombac_type_size(what->type);
    static const int reductions[] = {NCCL_SUM, NCCL_MIN, NCCL_MAX};
    switch (what->kind) {
    case RT_ALL_REDUCE:
        return g->api.all_reduce(
            from, to, what->count, type_of(what->type), reductions[what->reduction], m->comm, stream);
    case RT_ALL_GATHER: return g->api.all_gather(from, to, bytes, NCCL_U8, m->comm, stream);
    case RT_BROADCAST: break;
    }
    return g->api.broadcast(from, to, bytes, NCCL_U8, (int)what->root, m->comm, stream);
}

static tombac_status run_members(group *g, const rt_collective *what, tombac_error **error)
{
    nccl_result result = g->api.start();
    tombac_status status = check(&g->api, result, "starting a collective operation", error);
    if (status != TOMBAC_OK) return status;
    for (size_t i = 0; i < g->count && !result && status == TOMBAC_OK; i++) {
        status = cuda_gpu_enter(g->members[i].gpu, error);
        if (status == TOMBAC_OK) result = call(g, what, i);
    }
    nccl_result ended = g->api.end();
    if (status != TOMBAC_OK) return status;
    return check(&g->api, result ? result : ended, "running a collective operation", error);
}

/* All streams are waited for, also after a failure: they use memory. */
static tombac_status wait_members(group *g, tombac_status status, tombac_error **error)
{
    for (size_t i = 0; i < g->count; i++) {
        member *m = &g->members[i];
        if (!m->lane) continue;
        tombac_error **first = status == TOMBAC_OK ? error : NULL;
        tombac_status one = cuda_gpu_enter(m->gpu, first);
        if (one == TOMBAC_OK)
            one = cuda_check(
                m->gpu, m->gpu->api.stream_wait(m->lane->stream), "running a collective operation", first);
        if (status == TOMBAC_OK) status = one;
    }
    return status;
}

static tombac_status close_members(group *g, tombac_status status, tombac_error **error)
{
    bool ran = status == TOMBAC_OK;
    for (size_t i = 0; i < g->count; i++) {
        member *m = &g->members[i];
        tombac_error **first = status == TOMBAC_OK ? error : NULL;
        tombac_status one = m->used ? cuda_gpu_enter(m->gpu, first) : TOMBAC_OK;
        if (status == TOMBAC_OK) status = one;
        first = status == TOMBAC_OK ? error : NULL;
        one = m->used ? cuda_uses_close(&m->uses, ran, false, first) : TOMBAC_OK;
        if (status == TOMBAC_OK) status = one;
        cuda_lane_return(m->gpu, m->lane);
        m->lane = NULL;
        m->used = false;
    }
    return status;
}

tombac_status cuda_collect(void *opened, const rt_collective *what, bool *done, tombac_error **error)
{
    group *g = opened;
    if (what->kind == RT_ALL_REDUCE && type_of(what->type) < 0) return TOMBAC_OK; /* the host can */
    *done = true;
    for (size_t i = 0; i < g->count; i++) pthread_mutex_lock(&g->order[i]->collecting);
    tombac_status status = TOMBAC_OK;
    for (size_t i = 0; i < g->count && status == TOMBAC_OK; i++)
        status = open_member(&g->members[i], what, i, error);
    if (status == TOMBAC_OK) status = run_members(g, what, error);
    status = wait_members(g, status, error);
    status = close_members(g, status, error);
    for (size_t i = g->count; i-- > 0;) pthread_mutex_unlock(&g->order[i]->collecting);
    return status;
}
