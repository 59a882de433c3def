/* Fake drivers and the tests' folder; see fake.h. */
#include "fake.h"

#include "base/file.h"

#include <dirent.h>
#include <ftw.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ---- Drivers ---- */

struct rt_code {
    char *text;
    const rt_manifest *manifest;
};

static tombac_status load(
    const void *object, size_t size, const rt_manifest *manifest, rt_code **code, tombac_error **error)
{
    if (size < 5 || memcmp(object, "FAKE ", 5) != 0)
        return tb_fail(error, TOMBAC_ERROR_ARTIFACT, "not a fake object");
    rt_code *made = calloc(1, sizeof *made);
    if (made) made->text = strndup(object, size);
    if (!made || !made->text) {
        free(made);
        return tb_fail_memory(error);
    }
    made->manifest = manifest;
    *code = made;
    return TOMBAC_OK;
}

static void unload(rt_code *code)
{
    free(code->text);
    free(code);
}

static void print(const rt_run *run, const tb_text *text)
{
    if (!text->bad) run->log.write(run->log.context, text->data, text->size);
}

static void geometry(const rt_code *code, const rt_run *run)
{
    const tb_dispatch *d = &run->dispatch;
    tb_text text = {0};
    tb_text_printf(&text, "grid %u %u %u groups %u %u %u group %u %u %u simd %u memory %zu",
        d->threads_per_grid[0], d->threads_per_grid[1], d->threads_per_grid[2], d->threadgroups_per_grid[0],
        d->threadgroups_per_grid[1], d->threadgroups_per_grid[2], d->dispatch_threads_per_threadgroup[0],
        d->dispatch_threads_per_threadgroup[1], d->dispatch_threads_per_threadgroup[2],
        d->dispatch_simdgroups_per_threadgroup, run->threadgroup_memory);
    for (size_t i = 0; i < code->manifest->argument_count; i++) {
        const rt_binding *b = &run->bindings[i];
        tb_text_printf(&text, " [%td %zu %zu]", b->address ? (char *)b->address - (char *)b->buffer : -1,
            b->size, b->buffer_size);
    }
    tb_text_puts(&text, "\n");
    print(run, &text);
    tb_text_free(&text);
}

static void add(const rt_run *run)
{
    const float *a = run->bindings[0].address, *b = run->bindings[1].address;
    float *out = run->bindings[2].address;
    for (uint32_t i = 0; i < run->dispatch.threads_per_grid[0]; i++) out[i] = a[i] + b[i];
}

/* Lets other operations in between, if nothing keeps them out. */
static void append(const rt_run *run, const char *what)
{
    char *text = run->bindings[0].address;
    size_t length = strlen(text);
    usleep((useconds_t)atoi(what + 2) * 1000);
    text[length] = what[0];
}

static void fold(const rt_run *run)
{
    const uint32_t in = *(const uint32_t *)run->bindings[0].address;
    uint32_t *out = run->bindings[1].address;
    uint32_t before = *out;
    if (before % 16 == 0) usleep(50);
    *out = before * 31 + in + 1;
}

static tombac_status run_code(rt_code *code, const rt_run *run, tombac_error **error)
{
    const char *command = code->text + 5;
    if (strncmp(command, "add", 3) == 0)
        add(run);
    else if (strncmp(command, "geometry", 8) == 0)
        geometry(code, run);
    else if (strncmp(command, "count", 5) == 0)
        ++*(uint32_t *)run->bindings[0].address;
    else if (strncmp(command, "sleep", 5) == 0)
        usleep((useconds_t)atoi(command + 6) * 1000);
    else if (strncmp(command, "append", 6) == 0)
        append(run, command + 7);
    else if (strncmp(command, "fold", 4) == 0)
        fold(run);
    else if (strncmp(command, "thread", 6) == 0)
        *(uint32_t *)run->bindings[0].address = (uint32_t)syscall(SYS_gettid);
    else if (strncmp(command, "show", 4) == 0)
        run->log.write(run->log.context, code->text, strlen(code->text));
    else {
        tombac_status status = tb_fail(error, TOMBAC_ERROR_KERNEL, "it failed after %g s", run->time_limit);
        tb_error_set_location(error, "k.metal", 7, 3);
        return status;
    }
    return TOMBAC_OK;
}

static bool no(void)
{
    return false;
}

static const rt_driver fake = {
    .name = "fake", .any_thread = true, .load = load, .run = run_code, .unload = unload};
static const rt_driver absent = {
    .name = "absent", .available = no, .load = load, .run = run_code, .unload = unload};
static const rt_driver other = {
    .name = "other", .specialises = true, .load = load, .run = run_code, .unload = unload};

static const char *gpu_target(void *state)
{
    return "sm_89";
}

static const rt_driver gpu = {
    .name = "gpu", .target = gpu_target, .load = load, .run = run_code, .unload = unload};

const rt_driver *const rt_drivers[] = {&absent, &fake, &other, &gpu, NULL};

/* ---- The folder ---- */

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *where)
{
    return remove(path);
}

int world_setup(void **state)
{
    world *w = calloc(1, sizeof *w);
    if (!w) return -1;
    strcpy(w->folder, "/tmp/tombac-test-XXXXXX");
    if (!mkdtemp(w->folder)) return -1;
    char path[128];
    snprintf(path, sizeof path, "%s/cache", w->folder);
    setenv("TOMBAC_CACHE", path, 1);
    snprintf(path, sizeof path, "%s/runs", w->folder);
    setenv("FAKE_CC_LOG", path, 1);
    setenv("TOMBAC_CC", TEST_FAKE_CC, 1);
    setenv("TOMBAC_CC_MEMORY", "0", 1);
    unsetenv("TOMBAC_CACHE_SIZE");
    unsetenv("TOMBAC_CC_TIME");
    unsetenv("TOMBAC_TIME_LIMIT");
    *state = w;
    return 0;
}

int world_teardown(void **state)
{
    world *w = *state;
    nftw(w->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(w);
    return 0;
}

const char *world_write(const world *w, const char *name, const char *content)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", w->folder, name);
    assert_int_equal(tb_file_write_atomic(path, content, strlen(content), NULL), TOMBAC_OK);
    return path;
}

const char *world_runs(const world *w)
{
    static char runs[4096];
    char path[128];
    snprintf(path, sizeof path, "%s/runs", w->folder);
    FILE *file = fopen(path, "r");
    size_t size = file ? fread(runs, 1, sizeof runs - 1, file) : 0;
    if (file) fclose(file);
    runs[size] = 0;
    return runs;
}

void world_clear_runs(const world *w)
{
    char path[128];
    snprintf(path, sizeof path, "%s/runs", w->folder);
    unlink(path);
}

/* ---- Short forms ---- */

/* The pointer, because the call that sets it is an argument too. */
static void require(tombac_status status, tombac_error *const *error)
{
    if (status != TOMBAC_OK)
        fail_msg("%s: %s", tombac_status_name(status), error ? tombac_error_message(*error) : "");
}

tombac_device *open_device(void)
{
    tombac_device *device = NULL;
    tombac_error *error = NULL;
    require(tombac_device_open(NULL, &device, &error), &error);
    return device;
}

tombac_library *open_library(tombac_device *device, const char *source)
{
    tombac_library *library = NULL;
    tombac_error *error = NULL;
    require(tombac_library_create_from_source(device, NULL, source, strlen(source), NULL, &library, &error),
        &error);
    return library;
}

tombac_kernel *open_kernel(tombac_library *library, const char *name)
{
    tombac_kernel *kernel = NULL;
    tombac_error *error = NULL;
    require(tombac_kernel_create(library, name, NULL, 0, &kernel, &error), &error);
    return kernel;
}

void expect_failure(tombac_status status, tombac_error *error, tombac_status expected, const char *part)
{
    const char *message = tombac_error_message(error);
    if (status != expected)
        fail_msg("%s instead of %s: %s", tombac_status_name(status), tombac_status_name(expected), message);
    assert_non_null(error);
    assert_int_equal(tombac_error_status(error), expected);
    if (!strstr(message, part)) fail_msg("'%s' lacks '%s'", message, part);
    tombac_error_release(error);
}
