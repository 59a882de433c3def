/* rt_driver_check: loads objects of the check engine and runs grids of them, one threadgroup after the other.
 */
#include "runtime/driver/check/check.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STACK_FOR_CALLS = 64 * 1024 }; /* what formatting a log record needs, generously */

/* ---- What kernels call ---- */

static void log_begin(tb_check_thread *shared, uint32_t level, const char *format)
{
    rt_log_record *record = &((check_thread *)shared)->run->record;
    record->format = format;
    record->level = level;
    record->count = 0;
}

static void log_argument(tb_check_thread *shared, uint32_t kind, uint64_t bits)
{
    rt_log_record_add(&((check_thread *)shared)->run->record, kind, bits);
}

static const char *find_literal(const void *code, uint64_t address, size_t *left)
{
    return check_table_find(code, address, left);
}

static void log_end(tb_check_thread *shared)
{
    check_run *run = ((check_thread *)shared)->run;
    rt_log_record_write(&run->record, find_literal, run->code, &run->request->log);
}

void check_note_fault(check_run *run, uint32_t kind, const tb_check_place *place)
{
    if (kind < TB_CHECK_FAULT_COUNT && !run->faults[kind].count++) run->faults[kind].first = *place;
}

static void fault(tb_check_thread *shared, uint32_t kind, const tb_check_place *place)
{
    check_run *run = ((check_thread *)shared)->run;
    if (kind != TB_CHECK_UNSET_USE || run->code->watches_unset) check_note_fault(run, kind, place);
}

static const char *literal(check_thread *thread, const char *string, const char *otherwise)
{
    size_t left;
    const char *found = check_table_find(thread->run->code, (uint64_t)(uintptr_t)string, &left);
    return found && memchr(found, 0, left) ? found : otherwise;
}

static void assert_failed(tb_check_thread *shared, const char *condition, const char *file, uint32_t line)
{
    check_thread *thread = (check_thread *)shared;
    tb_check_place place = {literal(thread, file, NULL), line};
    check_stop(
        thread, TOMBAC_ERROR_KERNEL, &place, "assertion failed: %s", literal(thread, condition, "(unknown)"));
}

static void unsupported(tb_check_thread *shared, const char *what, const tb_check_place *place)
{
    check_thread *thread = (check_thread *)shared;
    check_stop(thread, TOMBAC_ERROR_UNSUPPORTED, place, "the kernel reached %s, which is not supported",
        literal(thread, what, "something"));
}

static void unreachable(tb_check_thread *shared, const tb_check_place *place)
{
    check_stop((check_thread *)shared, TOMBAC_ERROR_KERNEL, place,
        "the kernel reached code that it says is unreachable");
}

/* The compiler's own rounding of double to half; LLVM computes a fused multiply-add of halves in double. */
extern _Float16 __truncdfhf2(double x);

#define SYMBOL(name, function) {name, (void *)(uintptr_t)&(function)}
static const rt_symbol symbols[] = {
    SYMBOL("tombac_check_wait", tombac_check_wait),
    SYMBOL("tombac_check_tick", tombac_check_tick),
    SYMBOL("tombac_check_touch", tombac_check_touch),
    SYMBOL("tombac_check_race", tombac_check_race),
    SYMBOL("tombac_check_fence", tombac_check_fence),
    SYMBOL("tombac_check_bound", tombac_check_bound),
    SYMBOL("tombac_check_fault", fault),
    SYMBOL("tombac_check_shadow", tombac_check_shadow),
    SYMBOL("tombac_check_shadow_fill", tombac_check_shadow_fill),
    SYMBOL("tombac_check_shadow_copy", tombac_check_shadow_copy),
    SYMBOL("tombac_check_log_begin", log_begin),
    SYMBOL("tombac_check_log_argument", log_argument),
    SYMBOL("tombac_check_log_end", log_end),
    SYMBOL("tombac_check_assert", assert_failed),
    SYMBOL("tombac_check_unsupported", unsupported),
    SYMBOL("tombac_check_unreachable", unreachable),
    /* what LLVM's code generator calls by itself */
    SYMBOL("memcpy", memcpy),
    SYMBOL("memmove", memmove),
    SYMBOL("memset", memset),
    SYMBOL("fmodf", fmodf),
    SYMBOL("fmaf", fmaf),
    SYMBOL("fminf", fminf),
    SYMBOL("fmaxf", fmaxf),
    SYMBOL("__truncdfhf2", __truncdfhf2),
    SYMBOL("ldexpf", ldexpf),
};

/* ---- Code ---- */

static void unload(rt_code *handle)
{
    check_code *code = (check_code *)handle;
    if (!code) return;
    rt_image_unload(code->image);
    check_stacks_destroy(&code->spare);
    check_races_destroy(code->spare_races);
    pthread_mutex_destroy(&code->lock);
    free(code);
}

static bool is_wanted(const char *variable)
{
    const char *value = getenv(variable);
    return !value || strcmp(value, "0") != 0;
}

static tombac_status load(
    const void *object, size_t size, const rt_manifest *manifest, rt_code **handle, tombac_error **error)
{
    check_code *code = calloc(1, sizeof *code);
    if (!code) return tb_fail_memory(error);
    if (pthread_mutex_init(&code->lock, NULL)) {
        free(code);
        return tb_fail_memory(error);
    }
    code->manifest = manifest;
    code->watches_races = is_wanted("TOMBAC_RACES");
    code->watches_unset = is_wanted("TOMBAC_UNSET");
    tombac_status status = rt_image_load(
        manifest->kernel, object, size, symbols, sizeof symbols / sizeof symbols[0], &code->image, error);
    if (status == TOMBAC_OK) {
        void *entry = rt_image_function(code->image, TB_CHECK_ENTRY);
        memcpy(&code->entry, &entry, sizeof entry);
        code->info = rt_image_variable(code->image, TB_CHECK_INFO);
        if (!code->entry || !code->info) {
            status = tb_fail(error, TOMBAC_ERROR_ARTIFACT,
                "%s: the object has no entry point for the check engine", manifest->kernel);
        }
    }
    if (status != TOMBAC_OK) {
        unload((rt_code *)code);
        return status;
    }
    *handle = (rt_code *)code;
    return TOMBAC_OK;
}

/* The set of stacks that the last run left, or a new one. */
static tombac_status take_stacks(check_code *code, size_t count, check_stacks *stacks, tombac_error **error)
{
    pthread_mutex_lock(&code->lock);
    *stacks = code->spare;
    code->spare = (check_stacks){0};
    pthread_mutex_unlock(&code->lock);
    if (stacks->count >= count) return TOMBAC_OK;
    check_stacks_destroy(stacks);
    return check_stacks_create(stacks, count, (size_t)code->info->stack_size + STACK_FOR_CALLS,
        code->info->watches_unset, error);
}

static void return_stacks(check_code *code, check_stacks *stacks)
{
    pthread_mutex_lock(&code->lock);
    if (stacks->count > code->spare.count) {
        check_stacks old = code->spare;
        code->spare = *stacks;
        *stacks = old;
    }
    pthread_mutex_unlock(&code->lock);
    check_stacks_destroy(stacks);
}

/* ---- Grids ---- */

/* Where each argument lies; threadgroup blocks follow the static variables, 16-byte aligned. */
static void place_arguments(check_run *run)
{
    const rt_manifest *manifest = run->code->manifest;
    size_t offset = manifest->static_threadgroup_memory;
    for (size_t i = 0; i < manifest->argument_count; i++) {
        const rt_binding *binding = &run->request->bindings[i];
        run->arguments[i] = binding->address;
        if (manifest->arguments[i].kind != TOMBAC_ARGUMENT_THREADGROUP || !manifest->arguments[i].active)
            continue;
        offset = (offset + 15) / 16 * 16;
        run->arguments[i] = run->memory + offset;
        offset += binding->size;
    }
}

static void set_thread(check_run *run, uint32_t index, uint32_t x, uint32_t y, uint32_t z)
{
    check_thread *thread = &run->threads[index];
    *thread = (check_thread){.run = run};
    thread->shared = (tb_check_thread){.position = {x, y, z},
        .index = index,
        .lane = index % TB_SIMD_WIDTH,
        .simdgroup = index / TB_SIMD_WIDTH,
        .threadgroup_memory = run->memory,
        .memory_begin = (uint64_t)(uintptr_t)run->memory,
        .memory_size = run->request->threadgroup_memory,
        .countdown = CHECK_COUNTDOWN,
        .races = run->races != NULL,
        .extents = run->extents};
}

static void run_threadgroup(check_run *run, uint32_t x, uint32_t y, uint32_t z)
{
    tb_dispatch *d = &run->dispatch;
    const uint32_t position[3] = {x, y, z};
    d->thread_count = 1;
    for (int i = 0; i < 3; i++) {
        uint32_t size = d->dispatch_threads_per_threadgroup[i];
        uint64_t left = d->threads_per_grid[i] - (uint64_t)position[i] * size;
        d->threadgroup_position_in_grid[i] = position[i];
        d->threads_per_threadgroup[i] = left < size ? (uint32_t)left : size;
        d->thread_count *= d->threads_per_threadgroup[i];
    }
    d->simdgroups_per_threadgroup = (d->thread_count + TB_SIMD_WIDTH - 1) / TB_SIMD_WIDTH;
    run->thread_count = d->thread_count;
    uint32_t index = 0;
    for (uint32_t k = 0; k < d->threads_per_threadgroup[2]; k++) {
        for (uint32_t j = 0; j < d->threads_per_threadgroup[1]; j++) {
            for (uint32_t i = 0; i < d->threads_per_threadgroup[0]; i++) set_thread(run, index++, i, j, k);
        }
    }
    memset(run->memory, 0, run->request->threadgroup_memory);
    run->ordinal++;
    check_unset_begin(run);
    if (run->races) check_races_begin(run->races, run);
    check_schedule(run);
}

static void run_grid(check_run *run)
{
    const uint32_t *groups = run->dispatch.threadgroups_per_grid;
    for (uint32_t z = 0; z < groups[2]; z++) {
        for (uint32_t y = 0; y < groups[1]; y++) {
            for (uint32_t x = 0; x < groups[0]; x++) {
                if (run->status != TOMBAC_OK) return;
                if (check_deadline_passed(run)) {
                    run->status = tb_fail(run->error, TOMBAC_ERROR_TIMEOUT,
                        "the launch was stopped after %g s, before threadgroup %u,%u,%u",
                        run->request->time_limit, x, y, z);
                    return;
                }
                run_threadgroup(run, x, y, z);
            }
        }
    }
}

static void report_faults(const check_run *run)
{
    static const char *const names[TB_CHECK_FAULT_COUNT] = {"integer divisions by zero",
        "integer divisions that overflow", "signed integer operations that overflow",
        "reads of threadgroup memory that nothing wrote before",
        "uses of values from variables that nothing set"};
    for (int kind = 0; kind < TB_CHECK_FAULT_COUNT && run->request->log.write; kind++) {
        if (!run->faults[kind].count) continue;
        const tb_check_place *first = &run->faults[kind].first;
        tb_text text = {0};
        tb_text_printf(&text, "tombac: %" PRIu64 " %s, the first at %s:%u\n", run->faults[kind].count, names[kind],
            first->file ? first->file : "?", first->line);
        if (!text.bad) run->request->log.write(run->request->log.context, text.data, text.size);
        tb_text_free(&text);
    }
}

static tombac_status run(rt_code *handle, const rt_run *request, tombac_error **error)
{
    check_code *code = (check_code *)handle;
    check_run *state = calloc(1, sizeof *state);
    if (!state) return tb_fail_memory(error);
    const uint32_t *size = request->dispatch.dispatch_threads_per_threadgroup;
    size_t threads = (size_t)size[0] * size[1] * size[2],
           memory = (request->threadgroup_memory + 127) / 64 * 64;
    *state = (check_run){.code = code, .request = request, .dispatch = request->dispatch, .error = error};
    state->threads = calloc(threads, sizeof *state->threads);
    state->arguments = calloc(code->manifest->argument_count + 1, sizeof *state->arguments);
    state->extents = calloc(code->manifest->argument_count + 1, sizeof *state->extents);
    state->memory = aligned_alloc(64, memory);
    tombac_status status = TOMBAC_OK;
    if (!state->threads || !state->arguments || !state->extents || !state->memory) status = tb_fail_memory(error);
    if (status == TOMBAC_OK) status = check_fresh_begin(state, error);
    if (status == TOMBAC_OK) status = check_unset_create(state, error);
    if (status == TOMBAC_OK) status = check_ranges_build(state, error);
    if (status == TOMBAC_OK) status = check_races_open(state, error);
    if (status == TOMBAC_OK) {
        status = take_stacks(code, code->info->has_sites ? threads : 1, &state->stacks, error);
    }
    if (status == TOMBAC_OK) {
        if (request->time_limit > 0) {
            struct timespec now;
            clock_gettime(CLOCK_MONOTONIC, &now);
            state->deadline = (double)now.tv_sec + (double)now.tv_nsec * 1e-9 + request->time_limit;
        }
        place_arguments(state);
        run_grid(state);
        status = state->status;
        report_faults(state);
        return_stacks(code, &state->stacks);
    }
    check_races_close(state);
    check_unset_destroy(state);
    free(state->threads);
    free(state->arguments);
    free(state->extents);
    free(state->written);
    free(state->memory);
    free(state);
    return status;
}

extern const rt_driver rt_driver_check;
const rt_driver rt_driver_check = {.name = "check", .load = load, .run = run, .unload = unload};
