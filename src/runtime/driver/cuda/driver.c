/* rt_driver_cuda: loads PTX and runs grids of it on NVIDIA GPUs. */
#include "runtime/driver/cuda/cuda.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LITERALS = 65536, MAX_GPUS = 16 };

static bool available(void)
{
    cuda_api api;
    if (cuda_api_open(&api, NULL) != TOMBAC_OK) return false;
    cuda_api_close(&api);
    return true;
}

static size_t count(void)
{
    cuda_api api;
    int found = 0;
    if (cuda_api_open(&api, NULL) != TOMBAC_OK) return 0;
    if (api.device_count(&found) || found < 0) found = 0;
    cuda_api_close(&api);
    return (size_t)found < MAX_GPUS ? (size_t)found : MAX_GPUS;
}

static const char *const names[MAX_GPUS + 1] = {"cuda:0", "cuda:1", "cuda:2", "cuda:3", "cuda:4", "cuda:5",
    "cuda:6", "cuda:7", "cuda:8", "cuda:9", "cuda:10", "cuda:11", "cuda:12", "cuda:13", "cuda:14", "cuda:15"};

static tombac_status open_gpu(size_t number, void **state, tombac_error **error)
{
    cuda_gpu *gpu = calloc(1, sizeof *gpu);
    if (!gpu) return tb_fail_memory(error);
    tombac_status status = cuda_gpu_open(gpu, number, error);
    if (status == TOMBAC_OK)
        *state = gpu;
    else
        free(gpu);
    return status;
}

static void close_gpu(void *state)
{
    if (state) cuda_gpu_close(state);
    free(state);
}

static size_t memory(void *state)
{
    return ((const cuda_gpu *)state)->size;
}

/* Code for an older architecture runs on newer GPUs: the driver compiles PTX for the one that is there. */
static const char *target(void *state)
{
    return ((const cuda_gpu *)state)->capability >= 90 ? "sm_90" : "sm_80";
}

/* ---- Loading ---- */

static void unload(rt_code *handle)
{
    cuda_code *code = (cuda_code *)handle;
    if (!code) return;
    if (code->module && cuda_gpu_enter_to_free(code->gpu)) {
        cuda_graphs_drop(code->gpu);
        code->gpu->api.module_unload(code->module);
    }
    for (size_t i = 0; i < code->literal_count; i++) free(code->literals[i].text);
    free(code->literals);
    free(code->multiples);
    free(code->kinds);
    free(code);
}

static tombac_status damaged(const cuda_code *code, const char *what, tombac_error **error)
{
    return tb_fail(error, TOMBAC_ERROR_ARTIFACT, "%s: %s", code->manifest->kernel, what);
}

/* The multiples, and the factor of the wide entry where there is one. */
static tombac_status read_numbers(cuda_code *code, const char *text, tombac_error **error)
{
    size_t most = strcspn(text, "\n") / strlen(" 0.0.0");
    code->multiples = calloc(most + 1, sizeof *code->multiples);
    if (!code->multiples) return tb_fail_memory(error);
    cuda_number n;
    for (int used; *text == ' ' && sscanf(text, " %" SCNu32 ".%" SCNu32 ".%" SCNu32 "%n", &n.argument,
                                       &n.offset, &n.size, &used) == 3;
        text += used) {
        bool fits = n.argument < code->manifest->argument_count && code->kinds[n.argument] == 'v' &&
                    (n.size == 4 || n.size == 8) && code->manifest->arguments[n.argument].size >= n.size &&
                    n.offset <= code->manifest->arguments[n.argument].size - n.size;
        if (!fits || code->multiple_count == most)
            return damaged(
                code, "the object's first line names numbers that its arguments do not have", error);
        code->multiples[code->multiple_count++] = n;
    }
    bool good = *text != ';' || (sscanf(text, "; %" SCNu32, &code->factor) == 1 && code->factor > 1 &&
                                    code->factor <= TB_SIMD_WIDTH);
    return good ? TOMBAC_OK : damaged(code, "the object's first line names no factor of its wide entry", error);
}

/* The first line: entry, records, kinds of arguments, numbers. */
static tombac_status read_header(cuda_code *code, const char *text, char entry[64], tombac_error **error)
{
    int records = 0, used = 0;
    size_t count = code->manifest->argument_count;
    if (sscanf(text, TB_CUDA_HEADER " %63s %d%n", entry, &records, &used) != 2)
        return damaged(code, "the object is not PTX of the cuda engine", error);
    code->records = records;
    code->kinds = calloc(count + 1, 1);
    if (!code->kinds) return tb_fail_memory(error);
    text += used;
    for (size_t i = 0; i < count; i++, text += 2) {
        const rt_argument *argument = &code->manifest->arguments[i];
        if (text[0] != ' ' || !text[1] || !strchr("pvt-", text[1]))
            return damaged(code, "the object's first line does not describe the kernel's arguments", error);
        code->kinds[i] = text[1];
        bool threadgroup = argument->kind == TOMBAC_ARGUMENT_THREADGROUP;
        if (argument->active != (text[1] != '-') || (argument->active && threadgroup != (text[1] == 't')))
            return damaged(code, "the object's arguments do not fit the manifest", error);
    }
    return *text == ';'
               ? read_numbers(code, text + 1, error)
               : damaged(code, "the object's first line does not describe the kernel's arguments", error);
}

/* Copies the program's strings, which records refer to by their addresses. */
static tombac_status read_literals(cuda_code *code, tombac_error **error)
{
    const cuda_api *api = &code->gpu->api;
    cuda_address table;
    size_t size = 0;
    cuda_result result = api->module_global(&table, &size, code->module, TB_CUDA_LITERALS);
    if (result == CUDA_ERROR_NOT_FOUND) return TOMBAC_OK;
    size_t count = size / 16;
    uint64_t *entries = malloc(size + 1);
    code->literals = calloc(count + 1, sizeof *code->literals);
    tombac_status status =
        entries && code->literals && count <= MAX_LITERALS ? TOMBAC_OK : tb_fail_memory(error);
    if (status == TOMBAC_OK && !result) result = api->download(entries, table, size, NULL);
    if (status == TOMBAC_OK && !result) result = api->stream_wait(NULL);
    for (size_t i = 0; i < count && status == TOMBAC_OK && !result; i++) {
        cuda_literal *literal = &code->literals[code->literal_count++];
        *literal = (cuda_literal){entries[2 * i], entries[2 * i + 1], malloc((size_t)entries[2 * i + 1] + 1)};
        if (!literal->text)
            status = tb_fail_memory(error);
        else
            result = api->download(literal->text, literal->address, (size_t)literal->size, NULL);
    }
    if (status == TOMBAC_OK && !result) result = api->stream_wait(NULL);
    free(entries);
    return status == TOMBAC_OK ? cuda_check(code->gpu, result, "reading the kernel's strings", error) : status;
}

/* `entry` is the name of the first. */
static tombac_status find_entries(cuda_code *code, const char *entry, tombac_error **error)
{
    char name[96];
    const cuda_api *api = &code->gpu->api;
    int threads = 0;
    cuda_result result = api->module_function(&code->plain, code->module, entry);
    if (!result) result = api->function_attribute(&threads, CUDA_FUNCTION_MAX_THREADS, code->plain);
    snprintf(name, sizeof name, "%s%s", entry, TB_CUDA_GENERAL);
    if (!result) result = api->module_function(&code->general, code->module, name);
    snprintf(name, sizeof name, "%s%s", entry, TB_CUDA_WIDE);
    if (!result && code->factor) result = api->module_function(&code->wide, code->module, name);
    code->plain_threads = threads > 0 ? (uint32_t)threads : 0;
    return cuda_check(code->gpu, result, "loading the kernel", error);
}

static tombac_status load(void *state, const rt_cache *cache, const void *object, size_t size,
    const rt_manifest *manifest, rt_code **handle, tombac_error **error)
{
    cuda_code *code = calloc(1, sizeof *code);
    char *text = strndup(object, size), entry[64];
    if (!code || !text) {
        free(code);
        free(text);
        return tb_fail_memory(error);
    }
    code->gpu = state;
    code->manifest = manifest;
    tombac_status status = read_header(code, text, entry, error);
    if (status == TOMBAC_OK) status = cuda_gpu_enter(code->gpu, error);
    if (status == TOMBAC_OK) status = cuda_module_open(code, cache, text, error);
    if (status == TOMBAC_OK) status = find_entries(code, entry, error);
    if (status == TOMBAC_OK) status = read_literals(code, error);
    free(text);
    if (status == TOMBAC_OK)
        *handle = (rt_code *)code;
    else
        unload((rt_code *)code);
    return status;
}

/* Of the entry that a launch would take. */
static tombac_status resources(
    rt_code *handle, uint32_t threads, size_t threadgroup_memory, tombac_resources *out, tombac_error **error)
{
    cuda_code *code = (cuda_code *)handle;
    const cuda_api *api = &code->gpu->api;
    tombac_status status = cuda_gpu_enter(code->gpu, error);
    if (status != TOMBAC_OK) return status;
    bool plain = threads % TB_SIMD_WIDTH == 0 && threads <= code->plain_threads;
    cuda_function *function = plain ? code->plain : code->general;
    int values[5] = {0}, block = (int)((threads + TB_SIMD_WIDTH - 1) / TB_SIMD_WIDTH * TB_SIMD_WIDTH);
    cuda_result result = api->function_attribute(&values[0], CUDA_FUNCTION_REGISTERS, function);
    if (!result) result = api->function_attribute(&values[1], CUDA_FUNCTION_LOCAL_SIZE, function);
    if (!result) result = api->occupancy(&values[2], function, block, threadgroup_memory);
    if (!result) result = api->device_attribute(&values[3], CUDA_ATTRIBUTE_MULTIPROCESSOR_THREADS, code->gpu->device);
    if (!result) result = api->device_attribute(&values[4], CUDA_ATTRIBUTE_MULTIPROCESSORS, code->gpu->device);
    status = cuda_check(code->gpu, result, "asking for the kernel's resources", error);
    for (int i = 0; i < 5; i++)
        if (values[i] < 0) values[i] = 0;
    if (status == TOMBAC_OK)
        *out = (tombac_resources){(uint32_t)values[0], (size_t)values[1], (uint32_t)values[2], (uint32_t)values[3],
            (uint32_t)values[4]};
    return status;
}

static tombac_status run(rt_code *code, const rt_run *request, tombac_error **error)
{
    size_t failed;
    return cuda_run_all(((cuda_code *)code)->gpu, &code, &request, 1, &failed, error);
}

static tombac_status run_all(void *state, rt_code *const *codes, const rt_run *const *runs, size_t count,
    size_t *failed, tombac_error **error)
{
    return cuda_run_all(state, codes, runs, count, failed, error);
}

extern const rt_driver rt_driver_cuda;
const rt_driver rt_driver_cuda = {.name = "cuda",
    .specialises = true,
    .available = available,
    .count = count,
    .names = names,
    .memory = memory,
    .open = open_gpu,
    .close = close_gpu,
    .target = target,
    .to_host = cuda_mirror_to_host,
    .host_wrote = cuda_mirror_host_wrote,
    .drop = cuda_mirror_drop,
    .load_on = load,
    .run = run,
    .run_all = run_all,
    .unload = unload,
    .resources = resources,
    .copy = cuda_copy,
    .group_open = cuda_group_open,
    .group_close = cuda_group_close,
    .collect = cuda_collect};
