/* Launches: bindings become parameters, the grid is placed, what kernels say is read.
 *
 * Launches that come together, as those of a sequence, follow each other on one stream and are waited for once: all are made ready,
 * then started, as a graph if the same came before (graph.c). But where one writes records or has a time limit, each is waited for
 * before the next. Arguments by value are read from the host's memory: what the GPU has newer of them is brought there first, and
 * what an earlier launch of the sequence writes is waited for. A launch that passes its time limit cannot be stopped: what it uses is
 * left to it. */
#include "runtime/driver/cuda/cuda.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ALIGNED = 16, LINE = 128 };
enum { MANY = 1024 }; /* threads on a multiprocessor that have enough on their way */
#define SPIN_SECONDS 2e-4 /* short kernels end while their waiter would fall asleep */
enum { MAX_PLACED = 65535 }; /* threadgroups in y and z, as CUDA counts them */
#define MAX_GRID_X UINT64_C(0x7fffffff)

/* Launches on one stream. */
typedef struct batch {
    cuda_gpu *gpu;
    const cuda_api *api;
    cuda_lane *lane;
    cuda_stream *stream;
    cuda_uses uses;
    void **parameters; /* addresses of the values; of one launch after the other */
    size_t *sizes;     /* of the parameters */
    size_t parameter_count;
    uint64_t *values;
    bool ran;       /* everything so far, to its end */
    bool abandoned; /* the GPU may still be at work */
    tombac_error **error;
} batch;

static tombac_status check(const batch *b, cuda_result result, const char *doing)
{
    return cuda_check(b->gpu, result, doing, b->error);
}

/* ---- Records ---- */

static tombac_status make_records(batch *b, tb_cuda_launch *launch)
{
    static const tb_cuda_records empty;
    tombac_status status = TOMBAC_OK;
    if (!b->lane->records)
        status = cuda_allocate(b->gpu, sizeof empty + TB_CUDA_RECORD_BYTES, &b->lane->records, b->error);
    launch->records = b->lane->records;
    if (status != TOMBAC_OK) return status;
    return check(b, b->api->upload(b->lane->records, &empty, sizeof empty, b->stream), "copying to the GPU");
}

static tombac_status read_records(batch *b, const cuda_code *code, const rt_run *run)
{
    tb_cuda_records header;
    cuda_address records = b->lane->records;
    cuda_result result = b->api->download(&header, records, sizeof header, b->stream);
    if (!result) result = b->api->stream_wait(b->stream);
    if (result || !header.used) return check(b, result, "reading the log");
    size_t size = header.used < TB_CUDA_RECORD_BYTES ? header.used : TB_CUDA_RECORD_BYTES;
    char *bytes = malloc(size);
    if (!bytes) return tb_fail_memory(b->error);
    result = b->api->download(bytes, records + sizeof header, size, b->stream);
    if (!result) result = b->api->stream_wait(b->stream);
    tombac_status status = result ? check(b, result, "reading the log")
                                  : cuda_records_report(code, &header, bytes, &run->log, b->error);
    free(bytes);
    return status;
}

/* ---- One launch ---- */

/* Whether the launch takes by value what an earlier one of the batch writes. */
static bool reads_written(const batch *b, const cuda_code *code, const rt_run *run)
{
    for (size_t i = 0; i < code->manifest->argument_count; i++) {
        const rt_memory *memory = code->kinds[i] == 'v' ? run->bindings[i].memory : NULL;
        if (memory && cuda_uses_written(&b->uses, memory)) return true;
    }
    return false;
}

/* Arguments by value, from the GPU where that has them newer. Earlier launches that write them have ended. */
static tombac_status bring_values(batch *b, const cuda_code *code, const rt_run *run)
{
    tombac_status status = TOMBAC_OK;
    for (size_t i = 0; i < code->manifest->argument_count && status == TOMBAC_OK; i++) {
        const rt_binding *binding = &run->bindings[i];
        if (code->kinds[i] != 'v' || !binding->memory) continue;
        const cuda_use *written = cuda_uses_written(&b->uses, binding->memory);
        if (!written) {
            status = cuda_mirror_to_host(b->gpu, binding->memory, b->error);
            if (status == TOMBAC_OK) status = cuda_gpu_enter(b->gpu, b->error);
            continue;
        }
        size_t offset = (size_t)((char *)binding->address - (char *)binding->memory->contents);
        cuda_result result =
            b->api->download(binding->address, written->address + offset, code->manifest->arguments[i].size, b->stream);
        if (!result) result = b->api->stream_wait(b->stream);
        status = check(b, result, "reading an argument");
    }
    return status;
}

static bool are_multiples(const cuda_code *code, const rt_run *run)
{
    uint64_t rest = 0;
    for (size_t i = 0; i < code->multiple_count; i++) {
        const cuda_number *n = &code->multiples[i];
        uint64_t value = 0;
        memcpy(&value, (const char *)run->bindings[n->argument].address + n->offset, n->size);
        rest |= value;
    }
    return rest % ALIGNED == 0;
}

static bool is_plain(const cuda_code *code, const rt_run *run, uint32_t threads)
{
    const tb_dispatch *d = &run->dispatch;
    for (int i = 0; i < 3; i++)
        if (d->threads_per_grid[i] % d->dispatch_threads_per_threadgroup[i]) return false;
    return threads % TB_SIMD_WIDTH == 0 && threads <= code->plain_threads && are_multiples(code, run);
}

/* Wide code has fewer threads; it is slower where they are too few to keep the GPU busy. */
static bool is_many(const cuda_gpu *gpu, const uint32_t grid[3], uint32_t threads)
{
    return (uint64_t)grid[0] * grid[1] * grid[2] * threads >= (uint64_t)gpu->multiprocessors * MANY;
}

static void add_parameter(batch *b, void *value, size_t size)
{
    b->parameters[b->parameter_count] = value;
    b->sizes[b->parameter_count++] = size;
}

/* *aligned: all buffers are. */
static tombac_status bind_arguments(
    batch *b, const cuda_code *code, const rt_run *run, tb_cuda_launch *launch, bool *aligned)
{
    const rt_manifest *manifest = code->manifest;
    size_t offset = manifest->static_threadgroup_memory;
    tombac_status status = TOMBAC_OK;
    b->parameter_count = 0;
    add_parameter(b, launch, sizeof *launch);
    for (size_t i = 0; i < manifest->argument_count && status == TOMBAC_OK; i++) {
        const rt_binding *binding = &run->bindings[i];
        switch (code->kinds[i]) {
        case 'p':
            status =
                cuda_uses_find(&b->uses, binding, manifest->arguments[i].writable, &b->values[i], b->error);
            *aligned = *aligned && b->values[i] % ALIGNED == 0;
            add_parameter(b, &b->values[i], sizeof b->values[i]);
            break;
        case 'v': add_parameter(b, binding->address, manifest->arguments[i].size); break;
        case 't':
            offset = (offset + 15) / 16 * 16;
            b->values[i] = offset;
            add_parameter(b, &b->values[i], sizeof(uint32_t)); /* little endian */
            offset += binding->size;
            break;
        default: break;
        }
    }
    return status;
}

static tombac_status place(const rt_run *run, tb_cuda_launch *launch, unsigned grid[3], tombac_error **error)
{
    const uint32_t *groups = run->dispatch.threadgroups_per_grid;
    uint64_t x = groups[0], y = groups[1], z = groups[2];
    if (x > MAX_GRID_X || y > MAX_PLACED || z > MAX_PLACED) {
        unsigned __int128 all = (unsigned __int128)x * y * z;
        if (all > (unsigned __int128)MAX_GRID_X * MAX_PLACED)
            return tb_fail(
                error, TOMBAC_ERROR_UNSUPPORTED, "the grid has more threadgroups than the GPU takes");
        launch->linear = 1;
        x = all < MAX_GRID_X ? (uint64_t)all : MAX_GRID_X;
        y = (uint64_t)((all + x - 1) / x);
        z = 1;
    }
    grid[0] = (unsigned)x, grid[1] = (unsigned)y, grid[2] = (unsigned)z;
    return TOMBAC_OK;
}

/* Everything that the launch needs, but for the launch itself; the parameters refer to *launch. */
static tombac_status prepare(
    batch *b, const cuda_code *code, const rt_run *run, tb_cuda_launch *launch, cuda_start *start)
{
    memset(launch, 0, sizeof *launch);
    launch->dispatch = run->dispatch;
    tombac_status status = code->records ? make_records(b, launch) : TOMBAC_OK;
    bool aligned = true;
    if (status == TOMBAC_OK) status = bring_values(b, code, run);
    if (status == TOMBAC_OK) status = bind_arguments(b, code, run, launch, &aligned);
    if (status == TOMBAC_OK) status = place(run, launch, start->grid, b->error);
    if (status != TOMBAC_OK) return status;
    const uint32_t *size = run->dispatch.dispatch_threads_per_threadgroup;
    uint32_t threads = size[0] * size[1] * size[2];
    bool plain = aligned && !launch->linear && is_plain(code, run, threads);
    start->block = (threads + TB_SIMD_WIDTH - 1) / TB_SIMD_WIDTH * TB_SIMD_WIDTH;
    start->function = plain ? code->plain : code->general;
    if (plain && code->wide && threads % (code->factor * TB_SIMD_WIDTH) == 0 &&
        is_many(b->gpu, start->grid, threads / code->factor)) {
        start->function = code->wide;
        start->block = threads / code->factor;
    }
    start->shared = (unsigned)((run->threadgroup_memory + LINE - 1) / LINE * LINE);
    return TOMBAC_OK;
}

static tombac_status start(batch *b, const cuda_code *code, const rt_run *run)
{
    tb_cuda_launch launch;
    cuda_start s;
    tombac_status status = prepare(b, code, run, &launch, &s);
    if (status != TOMBAC_OK) return status;
    cuda_result result = run->seconds ? b->api->event_record(b->lane->begin, b->stream) : 0;
    if (!result)
        result = b->api->launch(s.function, s.grid[0], s.grid[1], s.grid[2], s.block, 1, 1, s.shared, b->stream,
            b->parameters, NULL);
    if (!result && run->seconds) result = b->api->event_record(b->lane->end, b->stream);
    return check(b, result, "starting the kernel");
}

/* ---- Waiting ---- */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static tombac_status wait(batch *b, double time_limit)
{
    if (time_limit <= 0) return check(b, b->api->stream_wait(b->stream), "running the kernel");
    double begin = now(), deadline = begin + time_limit;
    for (;;) {
        cuda_result result = b->api->stream_query(b->stream);
        if (result != CUDA_ERROR_NOT_READY) return check(b, result, "running the kernel");
        double at = now();
        if (at < begin + SPIN_SECONDS) continue;
        if (at > deadline) {
            b->abandoned = true;
            atomic_store(&b->gpu->busy, true);
            return tb_fail(b->error, TOMBAC_ERROR_TIMEOUT,
                "the launch did not end within %g s; the GPU stays busy with it until this process ends",
                time_limit);
        }
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    }
}

static void measure(batch *b, const rt_run *run)
{
    float milliseconds;
    if (run->seconds && !b->api->event_elapsed(&milliseconds, b->lane->begin, b->lane->end))
        *run->seconds = 1e-3 * (double)milliseconds;
}

/* One launch by itself. */
static tombac_status run_one(batch *b, const cuda_code *code, const rt_run *run)
{
    b->ran = false;
    tombac_status status = start(b, code, run);
    if (status != TOMBAC_OK) return status;
    status = wait(b, run->time_limit);
    b->ran = status == TOMBAC_OK;
    if (b->ran) measure(b, run);
    return b->ran && code->records ? read_records(b, code, run) : status;
}

/* ---- Several launches ---- */

/* None needs to be waited for before the next. */
static bool go_together(rt_code *const *codes, const rt_run *const *runs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (((const cuda_code *)codes[i])->records || runs[i]->time_limit > 0 || runs[i]->seconds) return false;
    return count > 1;
}

/* Runs the script to its end and empties it. */
static tombac_status run_script(batch *b, cuda_script *script)
{
    cuda_graph *graph = NULL;
    b->ran = false;
    tombac_status status = cuda_script_run(b->gpu, script, b->stream, &graph, b->error);
    if (status == TOMBAC_OK) status = wait(b, 0);
    b->ran = status == TOMBAC_OK;
    cuda_graph_return(b->gpu, graph);
    cuda_script_free(script);
    *script = (cuda_script){0};
    return status;
}

static tombac_status run_together(
    batch *b, rt_code *const *codes, const rt_run *const *runs, size_t count, size_t *failed)
{
    cuda_script script = {0};
    tombac_status status = TOMBAC_OK;
    for (size_t i = 0; i < count && status == TOMBAC_OK; i++) {
        const cuda_code *code = (const cuda_code *)codes[i];
        tb_cuda_launch launch;
        cuda_start start;
        *failed = count; /* it may be any */
        if (script.count && reads_written(b, code, runs[i])) status = run_script(b, &script);
        if (status != TOMBAC_OK) break;
        *failed = i;
        status = prepare(b, code, runs[i], &launch, &start);
        if (status == TOMBAC_OK) cuda_script_add(&script, &start, b->parameters, b->sizes, b->parameter_count);
    }
    if (status == TOMBAC_OK) {
        *failed = count;
        status = run_script(b, &script);
    }
    cuda_script_free(&script);
    return status;
}

/* ---- All ---- */

static tombac_status open_batch(batch *b, rt_code *const *codes, size_t count)
{
    size_t all = 0, most = 0;
    for (size_t i = 0; i < count; i++) {
        size_t arguments = ((const cuda_code *)codes[i])->manifest->argument_count;
        all += arguments;
        if (arguments > most) most = arguments;
    }
    b->parameters = calloc(most + 2, sizeof *b->parameters);
    b->sizes = calloc(most + 2, sizeof *b->sizes);
    b->values = calloc(most + 1, sizeof *b->values);
    if (!b->parameters || !b->sizes || !b->values) return tb_fail_memory(b->error);
    tombac_status status = cuda_lane_take(b->gpu, &b->lane, b->error);
    if (status != TOMBAC_OK) return status;
    b->stream = b->lane->stream;
    return cuda_uses_open(&b->uses, b->gpu, b->stream, all, b->error);
}

/* `status` so far; the first failure counts. What was started before a failure is waited for: it uses memory.
 */
static tombac_status close_batch(batch *b, tombac_status status)
{
    if (status != TOMBAC_OK && !b->abandoned && !b->ran && b->lane) b->ran = !b->api->stream_wait(b->stream);
    tombac_status closed =
        cuda_uses_close(&b->uses, b->ran, b->abandoned, status == TOMBAC_OK ? b->error : NULL);
    if (b->abandoned)
        cuda_lane_free(b->gpu, b->lane); /* the GPU is busy */
    else
        cuda_lane_return(b->gpu, b->lane);
    free(b->parameters);
    free(b->sizes);
    free(b->values);
    return status == TOMBAC_OK ? closed : status;
}

tombac_status cuda_run_all(cuda_gpu *gpu, rt_code *const *codes, const rt_run *const *runs, size_t count,
    size_t *failed, tombac_error **error)
{
    batch b = {.gpu = gpu, .api = &gpu->api, .error = error};
    cuda_running running = {.codes = codes, .count = count};
    cuda_running_begin(gpu, &running);
    tombac_status status = open_batch(&b, codes, count);
    bool together = go_together(codes, runs, count);
    if (status == TOMBAC_OK && together) status = run_together(&b, codes, runs, count, failed);
    for (size_t i = 0; i < count && status == TOMBAC_OK && !together; i++) {
        *failed = i;
        status = run_one(&b, (const cuda_code *)codes[i], runs[i]);
    }
    status = close_batch(&b, status);
    cuda_running_end(gpu, &running);
    return status;
}
