/* One run of a kernel: device copies of its buffers, the launch, the results back.
 *
 * A buffer's content is the host's between launches, and nothing says whether the host wrote to it; so every
 * buffer that the kernel sees is uploaded before, and those that it may write come back after it. Arguments
 * in one buffer share its copy. A launch that passes its time limit cannot be stopped: what it uses is left
 * to it. */
#include "runtime/driver/cuda/cuda.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_PLACED = 65535 }; /* threadgroups in y and z, as CUDA counts them */
#define MAX_GRID_X UINT64_C(0x7fffffff)

typedef struct copy {
    void *host;
    size_t size;
    cuda_address address;
    bool writable;
} copy;

typedef struct run_state {
    cuda_code *code;
    const cuda_api *api;
    const rt_run *run;
    cuda_stream *stream;
    cuda_event *begin, *end;
    copy *copies;
    size_t copy_count;
    cuda_address records;
    void **parameters; /* addresses of the values */
    uint64_t *values;
    tb_cuda_launch launch;
    bool abandoned; /* the GPU may still be at work */
    tombac_error **error;
} run_state;

static tombac_status check(const run_state *s, cuda_result result, const char *doing)
{
    return cuda_api_check(&s->code->gpu->api, result, doing, s->error);
}

/* ---- Memory ---- */

/* The device's copy of the buffer that `binding` lies in. */
static tombac_status find_copy(run_state *s, const rt_binding *binding, bool writable, copy **found)
{
    for (size_t i = 0; i < s->copy_count; i++) {
        *found = &s->copies[i];
        if (s->copies[i].host != binding->buffer) continue;
        s->copies[i].writable |= writable;
        return TOMBAC_OK;
    }
    copy *made = &s->copies[s->copy_count];
    *made = (copy){.host = binding->buffer, .size = binding->buffer_size, .writable = writable};
    tombac_status status = check(s, s->api->allocate(&made->address, made->size ? made->size : 1, s->stream),
        "allocating memory on the GPU");
    if (status != TOMBAC_OK) return status;
    s->copy_count++;
    *found = made;
    if (!made->size) return TOMBAC_OK;
    return check(
        s, s->api->upload(made->address, made->host, made->size, s->stream), "copying a buffer to the GPU");
}

static tombac_status make_records(run_state *s)
{
    if (!s->code->records) return TOMBAC_OK;
    tb_cuda_records empty = {0};
    tombac_status status =
        check(s, s->api->allocate(&s->records, sizeof empty + TB_CUDA_RECORD_BYTES, s->stream),
            "allocating memory for the log on the GPU");
    s->launch.records = s->records;
    if (status != TOMBAC_OK) return status;
    status = check(s, s->api->upload(s->records, &empty, sizeof empty, s->stream), "copying to the GPU");
    return status == TOMBAC_OK ? check(s, s->api->stream_wait(s->stream), "copying to the GPU") : status;
}

static tombac_status download(run_state *s)
{
    tombac_status status = TOMBAC_OK;
    for (size_t i = 0; i < s->copy_count && status == TOMBAC_OK; i++) {
        const copy *c = &s->copies[i];
        if (!c->writable || !c->size) continue;
        status = check(
            s, s->api->download(c->host, c->address, c->size, s->stream), "copying a buffer from the GPU");
    }
    if (status != TOMBAC_OK) return status;
    return check(s, s->api->stream_wait(s->stream), "copying buffers from the GPU");
}

static tombac_status read_records(run_state *s)
{
    if (!s->code->records) return TOMBAC_OK;
    tb_cuda_records header;
    tombac_status status =
        check(s, s->api->download(&header, s->records, sizeof header, s->stream), "reading the log");
    if (status == TOMBAC_OK) status = check(s, s->api->stream_wait(s->stream), "reading the log");
    if (status != TOMBAC_OK || !header.used) return status;
    size_t size = header.used < TB_CUDA_RECORD_BYTES ? header.used : TB_CUDA_RECORD_BYTES;
    char *bytes = malloc(size);
    if (!bytes) return tb_fail_memory(s->error);
    status =
        check(s, s->api->download(bytes, s->records + sizeof header, size, s->stream), "reading the log");
    if (status == TOMBAC_OK) status = check(s, s->api->stream_wait(s->stream), "reading the log");
    if (status == TOMBAC_OK) status = cuda_records_report(s->code, &header, bytes, &s->run->log, s->error);
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
        copy *found;
        switch (s->code->kinds[i]) {
        case 'p':
            status = find_copy(s, binding, manifest->arguments[i].writable, &found);
            if (status != TOMBAC_OK) break;
            s->values[i] = found->address + (uint64_t)((char *)binding->address - (char *)found->host);
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
    tombac_status status = check(s, s->api->event_record(s->begin, s->stream), "starting the kernel");
    if (status != TOMBAC_OK) return status;
    status = check(s,
        s->api->launch(s->code->function, (unsigned)x, (unsigned)y, (unsigned)z, block, 1, 1,
            (unsigned)s->run->threadgroup_memory, s->stream, s->parameters, NULL),
        "starting the kernel");
    if (status != TOMBAC_OK) return status;
    return check(s, s->api->event_record(s->end, s->stream), "starting the kernel");
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
            atomic_store(&s->code->gpu->busy, true);
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
    if (s->run->seconds && !s->api->event_elapsed(&milliseconds, s->begin, s->end)) {
        *s->run->seconds = 1e-3 * (double)milliseconds;
    }
}

/* ---- All ---- */

static tombac_status open_state(run_state *s)
{
    size_t count = s->code->manifest->argument_count;
    s->copies = calloc(count + 1, sizeof *s->copies);
    s->parameters = calloc(count + 2, sizeof *s->parameters);
    s->values = calloc(count + 1, sizeof *s->values);
    if (!s->copies || !s->parameters || !s->values) return tb_fail_memory(s->error);
    tombac_status status = cuda_gpu_enter(s->code->gpu, s->error);
    if (status != TOMBAC_OK) return status;
    cuda_result result = s->api->stream_create(&s->stream, 1);
    if (!result) result = s->api->event_create(&s->begin, 0);
    if (!result) result = s->api->event_create(&s->end, 0);
    return check(s, result, "preparing a launch");
}

static void close_state(run_state *s)
{
    for (size_t i = 0; i < s->copy_count && !s->abandoned; i++) s->api->free(s->copies[i].address, s->stream);
    if (!s->abandoned) {
        if (s->records) s->api->free(s->records, s->stream);
        if (s->begin) s->api->event_destroy(s->begin);
        if (s->end) s->api->event_destroy(s->end);
        if (s->stream) s->api->stream_destroy(s->stream);
    }
    free(s->copies);
    free(s->parameters);
    free(s->values);
}

tombac_status cuda_run(cuda_code *code, const rt_run *run, tombac_error **error)
{
    run_state s = {.code = code,
        .api = &code->gpu->api,
        .run = run,
        .error = error,
        .launch = {.dispatch = run->dispatch}};
    tombac_status status = open_state(&s);
    if (status == TOMBAC_OK) status = make_records(&s);
    if (status == TOMBAC_OK) status = bind_arguments(&s);
    if (status == TOMBAC_OK) status = launch(&s);
    if (status == TOMBAC_OK) status = wait(&s);
    if (status == TOMBAC_OK) measure(&s);
    if (status == TOMBAC_OK) status = read_records(&s);
    if (status == TOMBAC_OK) status = download(&s);
    close_state(&s);
    return status;
}
