/* One run of a kernel: its buffers on the GPU (mirror.c), the launch, what it has to say.
 *
 * Bytes that are too many to be passed by value are copied for the launch. A launch that passes its time limit cannot be
 * stopped: what it uses is left to it. */
#include "runtime/driver/cuda/cuda.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_PLACED = 65535 }; /* threadgroups in y and z, as CUDA counts them */
#define MAX_GRID_X UINT64_C(0x7fffffff)

/* What an argument's memory became. */
typedef struct use {
    rt_memory *memory;  /* or NULL: a copy for this launch */
    cuda_address address;
    bool writable;
} use;

typedef struct run_state {
    cuda_code *code;
    cuda_gpu *gpu;
    const cuda_api *api;
    const rt_run *run;
    cuda_lane *lane;
    cuda_stream *stream;
    use *uses;
    size_t use_count;
    void **parameters; /* addresses of the values */
    uint64_t *values;
    tb_cuda_launch launch;
    bool ran;       /* to its end */
    bool abandoned; /* the GPU may still be at work */
    tombac_error **error;
} run_state;

static tombac_status check(const run_state *s, cuda_result result, const char *doing)
{
    return cuda_api_check(s->api, result, doing, s->error);
}

/* ---- Memory ---- */

static tombac_status copy_bytes(run_state *s, const rt_binding *binding, use *made)
{
    tombac_status status = cuda_allocate(s->gpu, binding->buffer_size, &made->address, s->error);
    if (status != TOMBAC_OK) return status;
    s->use_count++;
    return check(s, s->api->upload(made->address, binding->buffer, binding->buffer_size, s->stream),
        "copying an argument to the GPU");
}

/* The address on the GPU of what `binding` names. Arguments in one allocation share its copy. */
static tombac_status find_address(run_state *s, const rt_binding *binding, bool writable, cuda_address *address)
{
    char *base = binding->memory ? binding->memory->contents : binding->buffer;
    use *found = NULL;
    for (size_t i = 0; i < s->use_count && !found; i++)
        if (binding->memory && s->uses[i].memory == binding->memory) found = &s->uses[i];
    tombac_status status = TOMBAC_OK;
    if (!found) {
        found = &s->uses[s->use_count];
        *found = (use){.memory = binding->memory};
        if (!binding->memory) {
            status = copy_bytes(s, binding, found);
        } else {
            status = cuda_mirror_use(s->gpu, binding->memory, s->stream, &found->address, s->error);
            s->use_count += status == TOMBAC_OK;
        }
    }
    found->writable |= writable;
    *address = found->address + (uint64_t)((char *)binding->address - base);
    return status;
}

/* Gives everything back; results of shared memory arrive. */
static tombac_status release_uses(run_state *s)
{
    tombac_status status = TOMBAC_OK;
    for (size_t i = 0; i < s->use_count; i++) {
        const use *u = &s->uses[i];
        if (u->memory) {
            tombac_status one = cuda_mirror_release(s->gpu, u->memory, s->stream, s->ran && u->writable, s->ran,
                status == TOMBAC_OK ? s->error : NULL);
            if (status == TOMBAC_OK) status = one;
        } else if (!s->abandoned) {
            cuda_free(s->gpu, u->address);
        }
    }
    return status;
}

/* ---- Records ---- */

static tombac_status make_records(run_state *s)
{
    if (!s->code->records) return TOMBAC_OK;
    static const tb_cuda_records empty;
    tombac_status status = TOMBAC_OK;
    if (!s->lane->records)
        status = cuda_allocate(s->gpu, sizeof empty + TB_CUDA_RECORD_BYTES, &s->lane->records, s->error);
    s->launch.records = s->lane->records;
    if (status != TOMBAC_OK) return status;
    return check(s, s->api->upload(s->lane->records, &empty, sizeof empty, s->stream), "copying to the GPU");
}

static tombac_status read_records(run_state *s)
{
    if (!s->code->records) return TOMBAC_OK;
    tb_cuda_records header;
    cuda_address records = s->lane->records;
    cuda_result result = s->api->download(&header, records, sizeof header, s->stream);
    if (!result) result = s->api->stream_wait(s->stream);
    if (result || !header.used) return check(s, result, "reading the log");
    size_t size = header.used < TB_CUDA_RECORD_BYTES ? header.used : TB_CUDA_RECORD_BYTES;
    char *bytes = malloc(size);
    if (!bytes) return tb_fail_memory(s->error);
    result = s->api->download(bytes, records + sizeof header, size, s->stream);
    if (!result) result = s->api->stream_wait(s->stream);
    tombac_status status = result ? check(s, result, "reading the log")
                                  : cuda_records_report(s->code, &header, bytes, &s->run->log, s->error);
    free(bytes);
    return status;
}

/* ---- Parameters ---- */

static tombac_status bind_arguments(run_state *s)
{
    const rt_manifest *manifest = s->code->manifest;
    size_t n = 0, offset = manifest->static_threadgroup_memory;
    tombac_status status = TOMBAC_OK;
    s->parameters[n++] = &s->launch;
    for (size_t i = 0; i < manifest->argument_count && status == TOMBAC_OK; i++) {
        const rt_binding *binding = &s->run->bindings[i];
        cuda_address address = 0;
        switch (s->code->kinds[i]) {
        case 'p':
            status = find_address(s, binding, manifest->arguments[i].writable, &address);
            s->values[i] = address;
            s->parameters[n++] = &s->values[i];
            break;
        case 'v': s->parameters[n++] = binding->address; break;
        case 't':
            offset = (offset + 15) / 16 * 16;
            s->values[i] = offset;
            s->parameters[n++] = &s->values[i];
            offset += binding->size;
            break;
        default: break;
        }
    }
    return status;
}

/* ---- The launch ---- */

static tombac_status launch(run_state *s)
{
    const uint32_t *groups = s->run->dispatch.threadgroups_per_grid;
    const uint32_t *size = s->run->dispatch.dispatch_threads_per_threadgroup;
    uint64_t x = groups[0], y = groups[1], z = groups[2];
    if (x > MAX_GRID_X || y > MAX_PLACED || z > MAX_PLACED) {
        unsigned __int128 all = (unsigned __int128)x * y * z;
        if (all > (unsigned __int128)MAX_GRID_X * MAX_PLACED)
            return tb_fail(
                s->error, TOMBAC_ERROR_UNSUPPORTED, "the grid has more threadgroups than the GPU takes");
        s->launch.linear = 1;
        x = all < MAX_GRID_X ? (uint64_t)all : MAX_GRID_X;
        y = (uint64_t)((all + x - 1) / x);
        z = 1;
    }
    unsigned block = (size[0] * size[1] * size[2] + TB_SIMD_WIDTH - 1) / TB_SIMD_WIDTH * TB_SIMD_WIDTH;
    tombac_status status = check(s, s->api->event_record(s->lane->begin, s->stream), "starting the kernel");
    if (status != TOMBAC_OK) return status;
    status = check(s,
        s->api->launch(s->code->function, (unsigned)x, (unsigned)y, (unsigned)z, block, 1, 1,
            (unsigned)s->run->threadgroup_memory, s->stream, s->parameters, NULL),
        "starting the kernel");
    if (status != TOMBAC_OK) return status;
    return check(s, s->api->event_record(s->lane->end, s->stream), "starting the kernel");
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static tombac_status wait(run_state *s)
{
    if (s->run->time_limit <= 0) return check(s, s->api->stream_wait(s->stream), "running the kernel");
    double deadline = now() + s->run->time_limit;
    for (;;) {
        cuda_result result = s->api->stream_query(s->stream);
        if (result != CUDA_ERROR_NOT_READY) return check(s, result, "running the kernel");
        if (now() > deadline) {
            s->abandoned = true;
            atomic_store(&s->gpu->busy, true);
            return tb_fail(s->error, TOMBAC_ERROR_TIMEOUT,
                "the launch did not end within %g s; the GPU stays busy with it until this process ends",
                s->run->time_limit);
        }
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    }
}

static void measure(run_state *s)
{
    float milliseconds;
    if (s->run->seconds && !s->api->event_elapsed(&milliseconds, s->lane->begin, s->lane->end)) {
        *s->run->seconds = 1e-3 * (double)milliseconds;
    }
}

/* ---- All ---- */

static tombac_status open_state(run_state *s)
{
    size_t count = s->code->manifest->argument_count;
    s->uses = calloc(count + 1, sizeof *s->uses);
    s->parameters = calloc(count + 2, sizeof *s->parameters);
    s->values = calloc(count + 1, sizeof *s->values);
    if (!s->uses || !s->parameters || !s->values) return tb_fail_memory(s->error);
    tombac_status status = cuda_lane_take(s->gpu, &s->lane, s->error);
    if (status == TOMBAC_OK) s->stream = s->lane->stream;
    return status;
}

/* `status` so far; the first failure counts. */
static tombac_status close_state(run_state *s, tombac_status status)
{
    tombac_error **error = s->error;
    if (status != TOMBAC_OK) s->error = NULL;
    tombac_status released = release_uses(s);
    s->error = error;
    if (!s->abandoned) cuda_lane_return(s->gpu, s->lane);
    free(s->uses);
    free(s->parameters);
    free(s->values);
    return status == TOMBAC_OK ? released : status;
}

tombac_status cuda_run(cuda_code *code, const rt_run *run, tombac_error **error)
{
    run_state s = {.code = code,
        .gpu = code->gpu,
        .api = &code->gpu->api,
        .run = run,
        .error = error,
        .launch = {.dispatch = run->dispatch}};
    tombac_status status = open_state(&s);
    if (status == TOMBAC_OK) status = make_records(&s);
    if (status == TOMBAC_OK) status = bind_arguments(&s);
    if (status == TOMBAC_OK) status = launch(&s);
    if (status == TOMBAC_OK) status = wait(&s);
    s.ran = status == TOMBAC_OK;
    if (s.ran) measure(&s);
    if (s.ran) status = read_records(&s);
    return close_state(&s, status);
}
