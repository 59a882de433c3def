/* rt_driver_cpu: loads objects of the cpu engine and spreads the threadgroups of a grid over the pool's
 * threads.
 *
 * Each thread that takes part has its own dispatch record, argument addresses, threadgroup memory and
 * contexts (a worker). Workers are kept with the code between launches. */
#include "runtime/driver/cpu/host.h"
#include "runtime/driver/cpu/pool.h"
#include "runtime/driver/cpu/tally.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_MXCSR = 0x1f80 }; /* round to nearest, exceptions masked, denormals kept */

typedef struct worker {
    struct worker *next; /* in the list of idle ones */
    size_t memory_size, context_size;
    void *memory, *contexts;
    void **arguments;
    tb_dispatch dispatch;
    uint32_t own; /* arguments that this worker counts for itself, as bits */
    cpu_tally tallies[TB_CPU_TALLIES_MAX];
    cpu_frame frame;
} worker;

typedef struct cpu_code {
    const rt_manifest *manifest;
    rt_image *image;
    tb_cpu_entry *entry;
    uint32_t shapes;   /* TB_CPU_SHAPES; 0: nothing was left out */
    rt_image *rest;    /* of what was left out; read where `general` is set */
    void *_Atomic general;
    bool small_buffers; /* TB_CPU_SMALL_BUFFERS */
    const uint8_t *tallies; /* TB_CPU_TALLIES, or NULL */
    cpu_pool *pool;
    pthread_mutex_t lock;
    worker *idle; /* under the lock */
    atomic_uint pace; /* nanoseconds per threadgroup, the last time */
} cpu_code;

/* One launch. */
typedef struct launch {
    cpu_code *code;
    const rt_run *request;
    size_t memory_size, context_size;
    uint32_t tallies; /* see worker.own */
    void *general; /* for tb_cpu_group */
    cpu_alarm alarm; /* set where there is a time limit */
    pthread_mutex_t lock;
    tombac_status status; /* first failure; under the lock */
    tombac_error **error;
} launch;

/* ---- Code ---- */

static void free_worker(worker *w)
{
    if (!w) return;
    free(w->memory);
    free(w->contexts);
    free(w->arguments);
    for (int i = 0; i < TB_CPU_TALLIES_MAX; i++) cpu_tally_free(&w->tallies[i]);
    free(w);
}

static void unload(rt_code *handle)
{
    cpu_code *code = (cpu_code *)handle;
    if (!code) return;
    while (code->idle) {
        worker *next = code->idle->next;
        free_worker(code->idle);
        code->idle = next;
    }
    rt_image_unload(code->image);
    rt_image_unload(code->rest);
    cpu_pool_release(code->pool);
    pthread_mutex_destroy(&code->lock);
    free(code);
}

static tombac_status load(
    const void *object, size_t size, const rt_manifest *manifest, rt_code **handle, tombac_error **error)
{
    cpu_code *code = calloc(1, sizeof *code);
    if (!code) return tb_fail_memory(error);
    code->manifest = manifest;
    pthread_mutex_init(&code->lock, NULL);
    code->pool = cpu_pool_acquire();
    tombac_status status = code->pool ? TOMBAC_OK : tb_fail_memory(error);
    if (status == TOMBAC_OK)
        status = rt_image_load(
            manifest->kernel, object, size, cpu_host_symbols, cpu_host_symbol_count, &code->image, error);
    if (status == TOMBAC_OK) {
        void *entry = rt_image_function(code->image, TB_CPU_ENTRY);
        memcpy(&code->entry, &entry, sizeof entry);
        code->small_buffers = rt_image_variable(code->image, TB_CPU_SMALL_BUFFERS);
        code->tallies = rt_image_variable(code->image, TB_CPU_TALLIES);
        const uint32_t *shapes = rt_image_variable(code->image, TB_CPU_SHAPES);
        code->shapes = shapes ? *shapes : 0;
        if (!entry)
            status = tb_fail(error, TOMBAC_ERROR_ARTIFACT,
                "%s: the object has no entry point for the cpu engine", manifest->kernel);
    }
    if (status != TOMBAC_OK) {
        unload((rt_code *)code);
        return status;
    }
    *handle = (rt_code *)code;
    return TOMBAC_OK;
}

/* ---- Code that was left out ---- */

static tombac_status complete(rt_code *handle, const void *object, size_t size, tombac_error **error)
{
    cpu_code *code = (cpu_code *)handle;
    rt_image *image;
    tombac_status status = rt_image_load(
        code->manifest->kernel, object, size, cpu_host_symbols, cpu_host_symbol_count, &image, error);
    if (status != TOMBAC_OK) return status;
    void *general = rt_image_function(image, TB_CPU_GENERAL);
    if (!general) {
        rt_image_unload(image);
        return tb_fail(error, TOMBAC_ERROR_ARTIFACT, "%s: the rest of the code has no entry point", code->manifest->kernel);
    }
    code->rest = image;
    atomic_store(&code->general, general);
    return TOMBAC_OK;
}

/* Does a threadgroup of this size consist of whole SIMD-groups of the shapes that the code knows? As variant_fits in
 * compiler/cpu/entry.c. */
static bool fits(uint32_t shapes, const uint32_t *size)
{
    uint32_t x = size[0], y = size[1], z = size[2];
    if ((uint64_t)x * y * z % TB_SIMD_WIDTH) return false;
    if (shapes & TB_SIMD_WIDTH && (x % TB_SIMD_WIDTH == 0 || (y == 1 && z == 1))) return true;
    return x < TB_SIMD_WIDTH && x & shapes && !(x & (x - 1)) && (z == 1 || y % (TB_SIMD_WIDTH / x) == 0);
}

/* The threadgroups of a grid have at most two sizes in each direction: the launch's, and what is left at the edge. */
static bool lacks(const rt_code *handle, const tb_dispatch *d)
{
    const cpu_code *code = (const cpu_code *)handle;
    if (!code->shapes || atomic_load(&code->general)) return false;
    uint32_t sizes[3][2], counts[3];
    for (int i = 0; i < 3; i++) {
        uint32_t whole = d->dispatch_threads_per_threadgroup[i], edge = d->threads_per_grid[i] % whole;
        counts[i] = 0;
        if (d->threads_per_grid[i] >= whole) sizes[i][counts[i]++] = whole;
        if (edge) sizes[i][counts[i]++] = edge;
    }
    for (uint32_t n = 0; n < counts[0] * counts[1] * counts[2]; n++) {
        uint32_t size[3] = {sizes[0][n % counts[0]], sizes[1][n / counts[0] % counts[1]],
            sizes[2][n / (counts[0] * counts[1])]};
        if (!fits(code->shapes, size)) return true;
    }
    return false;
}

/* ---- Workers ---- */

static bool grow(void **memory, size_t *have, size_t want)
{
    if (*have >= want) return true;
    free(*memory);
    *have = 0;
    *memory = aligned_alloc(64, (want + 63) / 64 * 64);
    if (*memory) *have = want;
    return *memory;
}

/* Threadgroup blocks follow the static variables, 16-byte aligned. */
static void place_arguments(const launch *l, worker *w)
{
    const rt_manifest *manifest = l->code->manifest;
    size_t offset = manifest->static_threadgroup_memory;
    for (size_t i = 0; i < manifest->argument_count; i++) {
        const rt_binding *binding = &l->request->bindings[i];
        w->arguments[i] = binding->address;
        if (manifest->arguments[i].kind != TOMBAC_ARGUMENT_THREADGROUP || !manifest->arguments[i].active)
            continue;
        offset = (offset + 15) / 16 * 16;
        w->arguments[i] = (char *)w->memory + offset;
        offset += binding->size;
    }
}

/* Without memory for a block the worker counts in the buffer, as others may. */
static void begin_tallies(const launch *l, worker *w)
{
    w->own = 0;
    for (uint32_t left = l->tallies; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        void *address = cpu_tally_begin(&w->tallies[i], &l->request->bindings[i]);
        if (!address) continue;
        w->arguments[i] = address;
        w->own |= (uint32_t)1 << i;
    }
}

static void end_tallies(const launch *l, worker *w)
{
    for (uint32_t left = w->own; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        cpu_tally_end(&w->tallies[i], &l->request->bindings[i], l->code->tallies[i]);
    }
}

static void *enter(void *context)
{
    launch *l = context;
    cpu_code *code = l->code;
    pthread_mutex_lock(&code->lock);
    worker *w = code->idle;
    if (w) code->idle = w->next;
    pthread_mutex_unlock(&code->lock);
    if (!w) w = calloc(1, sizeof *w);
    if (!w) return NULL;
    if (!w->arguments) w->arguments = calloc(code->manifest->argument_count + 1, sizeof *w->arguments);
    if (!w->arguments || !grow(&w->memory, &w->memory_size, l->memory_size) ||
        !grow(&w->contexts, &w->context_size, l->context_size)) {
        free_worker(w);
        return NULL;
    }
    w->dispatch = l->request->dispatch;
    w->frame.image = code->image;
    w->frame.rest = l->general ? code->rest : NULL;
    w->frame.log = &l->request->log;
    w->frame.time_limit = l->request->time_limit;
    place_arguments(l, w);
    begin_tallies(l, w);
    return w;
}

static void leave(void *context, void *worker_)
{
    launch *l = context;
    worker *w = worker_;
    end_tallies(l, w);
    pthread_mutex_lock(&l->code->lock);
    w->next = l->code->idle;
    l->code->idle = w;
    pthread_mutex_unlock(&l->code->lock);
}

/* ---- Threadgroups ---- */

static void set_position(tb_dispatch *d, uint64_t number)
{
    for (int i = 0; i < 3; i++) {
        d->threadgroup_position_in_grid[i] = (uint32_t)(number % d->threadgroups_per_grid[i]);
        number /= d->threadgroups_per_grid[i];
    }
}

/* Threadgroups at the edges of the grid are smaller. */
static void set_size(tb_dispatch *d)
{
    d->thread_count = 1;
    for (int i = 0; i < 3; i++) {
        uint32_t size = d->dispatch_threads_per_threadgroup[i];
        uint64_t left = d->threads_per_grid[i] - (uint64_t)d->threadgroup_position_in_grid[i] * size;
        d->threads_per_threadgroup[i] = left < size ? (uint32_t)left : size;
        d->thread_count *= d->threads_per_threadgroup[i];
    }
    d->simdgroups_per_threadgroup = (d->thread_count + TB_SIMD_WIDTH - 1) / TB_SIMD_WIDTH;
}

/* To the threadgroup with the next number: x runs fastest. Divisions would cost as much as a small threadgroup, and so would
 * its size, which is that of the one before except at the edges. */
static void advance(tb_dispatch *d)
{
    uint32_t *position = d->threadgroup_position_in_grid;
    if ((uint64_t)++position[0] + 1 < d->threadgroups_per_grid[0]) return;
    for (int i = 0; i < 3 && position[i] == d->threadgroups_per_grid[i]; i++) {
        position[i] = 0;
        if (i < 2) position[i + 1]++;
    }
    set_size(d);
}

static void report(launch *l, const worker *w)
{
    const cpu_frame *frame = &w->frame;
    const uint32_t *at = w->dispatch.threadgroup_position_in_grid;
    pthread_mutex_lock(&l->lock);
    if (l->status == TOMBAC_OK) {
        l->status = tb_fail(l->error, frame->status, "%s (threadgroup %" PRIu32 ",%" PRIu32 ",%" PRIu32 ")",
            frame->message, at[0], at[1], at[2]);
        if (frame->line) tb_error_set_location(l->error, frame->file, frame->line, 0);
    }
    pthread_mutex_unlock(&l->lock);
}

static bool past_deadline(launch *l)
{
    if (!atomic_load_explicit(&l->alarm.word, memory_order_relaxed)) return false;
    pthread_mutex_lock(&l->lock);
    if (l->status == TOMBAC_OK)
        l->status = tb_fail(
            l->error, TOMBAC_ERROR_TIMEOUT, "the launch was stopped after %g s", l->request->time_limit);
    pthread_mutex_unlock(&l->lock);
    return true;
}

/* Kernel code may leave by longjmp, so nothing here lives in registers across it. */
static bool run_threadgroups(launch *l, worker *w, uint64_t first, uint64_t count)
{
    if (setjmp(w->frame.leave)) {
        report(l, w);
        return false;
    }
    tb_cpu_group group = {.threadgroup_memory = w->memory, .context = w->contexts,
        .stop = (const uint32_t *)&l->alarm.word, .general = l->general, .tallies = w->own};
    set_position(&w->dispatch, first);
    set_size(&w->dispatch);
    for (uint64_t i = 0; i < count; i++) {
        if (past_deadline(l)) return false;
        l->code->entry(&w->dispatch, w->arguments, &group);
        advance(&w->dispatch);
    }
    return true;
}

static bool run_items(void *context, void *worker_, uint64_t first, uint64_t count)
{
    worker *w = worker_;
    cpu_frame *before = cpu_frame_enter(&w->frame);
    /* Kernels know no rounding mode and no flushing of denormals; the program's own threads may have set both. */
    unsigned control = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(DEFAULT_MXCSR);
    w->frame.line = 0;
    bool goes_on = run_threadgroups(context, w, first, count);
    __builtin_ia32_ldmxcsr(control);
    cpu_frame_enter(before);
    return goes_on;
}

/* ---- Grids ---- */

static tombac_status check_buffers(const cpu_code *code, const rt_run *request, tombac_error **error)
{
    for (size_t i = 0; code->small_buffers && i < code->manifest->argument_count; i++)
        if (request->bindings[i].buffer_size > TB_CPU_MAX_SMALL_BUFFER)
            return tb_fail(error, TOMBAC_ERROR_UNSUPPORTED,
                "argument '%s': this kernel computes indices in 32 bits, for which the device 'cpu' takes "
                "buffers of up to "
                "%" PRIu64 " bytes",
                code->manifest->arguments[i].name, (uint64_t)TB_CPU_MAX_SMALL_BUFFER);
    return TOMBAC_OK;
}

static tombac_status run(rt_code *handle, const rt_run *request, tombac_error **error)
{
    cpu_code *code = (cpu_code *)handle;
    const tb_dispatch *d = &request->dispatch;
    const uint32_t *size = d->dispatch_threads_per_threadgroup, *groups = d->threadgroups_per_grid;
    uint64_t threads = (uint64_t)size[0] * size[1] * size[2], count;
    if (__builtin_mul_overflow((uint64_t)groups[0] * groups[1], groups[2], &count))
        return tb_fail(error, TOMBAC_ERROR_GEOMETRY, "the grid has more than 2^64 threadgroups");
    tombac_status status = check_buffers(code, request, error);
    if (status != TOMBAC_OK) return status;
    if (lacks(handle, d))
        return tb_fail(error, TOMBAC_ERROR_ARTIFACT, "the code for threadgroups of this size was left out");
    launch l = {.code = code, .request = request, .error = error, .general = atomic_load(&code->general)};
    l.memory_size = request->threadgroup_memory + 128; /* vector accesses may run over the end */
    l.context_size = code->manifest->context_size * ((threads + TB_SIMD_WIDTH - 1) / TB_SIMD_WIDTH) + 64;
    l.tallies = cpu_tallies_choose(code->tallies, code->manifest, request, cpu_pool_size(code->pool));
    if (pthread_mutex_init(&l.lock, NULL)) return tb_fail_memory(error);
    cpu_watch *watch = request->time_limit > 0 ? cpu_pool_watch(code->pool) : NULL;
    if (watch && !cpu_watch_set(watch, &l.alarm, cpu_watch_now() + request->time_limit)) {
        pthread_mutex_destroy(&l.lock);
        return tb_fail_memory(error);
    }
    cpu_job job = {.count = count, .run = run_items, .enter = enter, .leave = leave, .context = &l,
        .pace = &code->pace};
    if (!cpu_pool_run(code->pool, &job)) l.status = tb_fail_memory(error);
    if (watch) cpu_watch_clear(watch, &l.alarm);
    pthread_mutex_destroy(&l.lock);
    return l.status;
}

static bool available(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("x86-64-v3");
}

extern const rt_driver rt_driver_cpu;
const rt_driver rt_driver_cpu = {
    .name = "cpu", .specialises = true, .any_thread = true, .available = available, .load = load, .run = run, .unload = unload,
    .lacks = lacks, .complete = complete};
