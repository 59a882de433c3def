/* tombac bench: what launches, loading, starting, compiling and copying cost here, beside the bars that are set for the
 * device "cpu". Each figure is the fastest of several rounds, with the median beside it. Whether results are
 * right is checked; how fast they come decides nothing. A kernel of one's own: tombac run --time. */
#include "base/process.h"
#include "tool/message.h"
#include "tool/options.h"
#include "tool/verbs.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char help[] =
    "Usage: tombac bench [options]\n\n"
    "Measures the cost of a launch, of one launch in a long sequence, of loading a kernel from the compile cache,\n"
    "of starting a program with such a kernel, of compiling a small kernel, and the speed of copying memory.\n\n"
    "  --device NAME  where kernels run; default: the best there is\n"
    "  --quick        fewer rounds\n"
    "  --json         the same for machines\n"
    "  -h, --help     this text\n\n"
    "'tombac run --time' measures a kernel of your own.\n";

static const char source[] =
    "kernel void nothing() {}\n"
    "kernel void count(device uint *a) { a[0] += 1; }\n"
    "kernel void copy(device const float4 *a, device float4 *b, uint i [[thread_position_in_grid]]) { b[i] = a[i]; }\n";

enum { LAUNCHES = 10000, BATCH = 1000, MAX_ROUNDS = 15 };
#define COPY_BYTES ((size_t)64 << 20)

typedef struct bench {
    const char *device_name;
    bool json;
    int rounds;
    tombac_device *device;
    tombac_library *library;
    json_t *figures; /* of --json */
} bench;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- Figures ---- */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Seconds of each round, or bytes per second with `rate`; a bar of 0 is none. */
static tombac_status report(bench *b, const char *key, const char *what, double *values, int count, const char *unit,
    double scale, double bar, bool rate, tombac_error **error)
{
    qsort(values, (size_t)count, sizeof *values, by_size);
    double best = values[rate ? count - 1 : 0] * scale, median = values[count / 2] * scale;
    if (b->json) {
        json_t *figure = json_pack("{s:f, s:f, s:s, s:i}", "best", best, "median", median, "unit", unit, "rounds", count);
        if (figure && bar > 0) json_object_set_new(figure, "bar", json_real(bar));
        return json_object_set_new(b->figures, key, figure) == 0 ? TOMBAC_OK : tb_fail_memory(error);
    }
    printf("%-44s %9.2f %-5s median %9.2f", what, best, unit, median);
    if (bar > 0) printf("   bar %g%s", bar, best < bar ? "" : ", missed");
    printf("\n");
    fflush(stdout);
    return TOMBAC_OK;
}

static tombac_status wrong(const char *what, tombac_error **error)
{
    return tb_fail(error, TOMBAC_ERROR_KERNEL, "%s gave a wrong result", what);
}

static bool is_cpu(const bench *b)
{
    return strcmp(tombac_device_name(b->device), "cpu") == 0;
}

/* A launch of `threads` threads. */
static tombac_status make_launch(
    bench *b, const char *name, uint32_t threads, tombac_launch **launch, tombac_error **error)
{
    tombac_kernel *kernel = NULL;
    tombac_status status = tombac_kernel_create(b->library, name, NULL, 0, &kernel, error);
    if (status == TOMBAC_OK) status = tombac_launch_create(kernel, launch, error);
    if (status == TOMBAC_OK)
        status = tombac_launch_set_grid(*launch, tombac_for_elements(threads, threads < 256 ? threads : 256), error);
    tombac_kernel_release(kernel);
    return status;
}

/* ---- Launches ---- */

static tombac_status measure_launch(bench *b, tombac_error **error)
{
    double seconds[MAX_ROUNDS];
    tombac_launch *launch = NULL;
    tombac_status status = make_launch(b, "nothing", 32, &launch, error);
    for (int round = -1; round < b->rounds && status == TOMBAC_OK; round++) { /* the first one warms up */
        double begin = now();
        for (int i = 0; i < BATCH && status == TOMBAC_OK; i++) {
            status = tombac_launch_submit(launch, error);
            if (status == TOMBAC_OK) status = tombac_launch_wait(launch, error);
        }
        if (round >= 0) seconds[round] = (now() - begin) / BATCH;
    }
    tombac_launch_release(launch);
    if (status != TOMBAC_OK) return status;
    return report(b, "launch", "empty kernel, submit and wait", seconds, b->rounds, "us", 1e6, is_cpu(b) ? 5 : 0, false, error);
}

static tombac_status run_sequence(bench *b, tombac_launch *launch, tombac_error **error)
{
    tombac_sequence *sequence = NULL;
    tombac_operation *operation = NULL;
    tombac_status status = tombac_sequence_begin(b->device, &sequence, error);
    for (int i = 0; i < LAUNCHES && status == TOMBAC_OK; i++) status = tombac_sequence_add(sequence, launch, error);
    if (status == TOMBAC_OK)
        status = tombac_sequence_end(sequence, &operation, error);
    else
        tombac_sequence_release(sequence);
    if (status == TOMBAC_OK) status = tombac_operation_wait(operation, -1, error);
    tombac_operation_release(operation);
    return status;
}

/* All of them add to one number, so each waits for the one before. */
static tombac_status measure_sequence(bench *b, tombac_error **error)
{
    double seconds[MAX_ROUNDS];
    tombac_launch *launch = NULL;
    tombac_buffer *number = NULL;
    const void *seen = NULL;
    tombac_status status = make_launch(b, "count", 1, &launch, error);
    if (status == TOMBAC_OK) status = tombac_buffer_create(b->device, sizeof(uint32_t), NULL, &number, error);
    if (status == TOMBAC_OK) status = tombac_launch_set_buffer(launch, 0, number, 0, error);
    for (int round = -1; round < b->rounds && status == TOMBAC_OK; round++) {
        double begin = now();
        status = run_sequence(b, launch, error);
        if (round >= 0) seconds[round] = (now() - begin) / LAUNCHES;
    }
    if (status == TOMBAC_OK) status = tombac_buffer_begin_read(number, &seen, error);
    if (status == TOMBAC_OK) {
        if (*(const uint32_t *)seen != (uint32_t)(b->rounds + 1) * LAUNCHES) status = wrong("the sequence", error);
        tombac_buffer_end_read(number, NULL);
    }
    tombac_launch_release(launch);
    tombac_buffer_release(number);
    if (status != TOMBAC_OK) return status;
    return report(b, "sequence", "10000 dependent launches in one sequence, each", seconds, b->rounds, "us", 1e6,
        is_cpu(b) ? 2 : 0, false, error);
}

/* ---- Starting and compiling ---- */

static tombac_status measure_compile(bench *b, tombac_error **error)
{
    double seconds[MAX_ROUNDS];
    const tombac_compile_options options = {.no_cache = true};
    int rounds = b->rounds < 3 ? b->rounds : 3;
    tombac_status status = TOMBAC_OK;
    for (int round = 0; round < rounds && status == TOMBAC_OK; round++) {
        tombac_library *library = NULL;
        tombac_kernel *kernel = NULL;
        double begin = now();
        status = tombac_library_create_from_source(
            b->device, "bench.metal", source, sizeof source - 1, &options, &library, error);
        if (status == TOMBAC_OK) status = tombac_kernel_create(library, "copy", NULL, 0, &kernel, error);
        seconds[round] = now() - begin;
        tombac_kernel_release(kernel);
        tombac_library_release(library);
    }
    if (status != TOMBAC_OK) return status;
    return report(b, "compile", "compiling a small kernel", seconds, rounds, "ms", 1e3, 0, false, error);
}

/* A kernel that the compile cache has, ready to be launched; its library is open. */
static tombac_status measure_load(bench *b, tombac_error **error)
{
    double seconds[MAX_ROUNDS];
    tombac_status status = TOMBAC_OK;
    for (int round = -1; round < b->rounds && status == TOMBAC_OK; round++) {
        tombac_library *library = NULL;
        tombac_kernel *kernel = NULL;
        status = tombac_library_create_from_source(b->device, "bench.metal", source, sizeof source - 1, NULL, &library, error);
        double begin = now();
        if (status == TOMBAC_OK) status = tombac_kernel_create(library, "copy", NULL, 0, &kernel, error);
        if (round >= 0) seconds[round] = now() - begin;
        tombac_kernel_release(kernel);
        tombac_library_release(library);
    }
    if (status != TOMBAC_OK) return status;
    bool gpu = strncmp(tombac_device_name(b->device), "cuda", 4) == 0;
    return report(b, "load", "loading a cached kernel", seconds, b->rounds, "ms", 1e3, gpu ? 0.2 : 0, false, error);
}

/* A whole process of this command that runs a kernel once. */
static tombac_status start_once(const char *path, const char *device, double *seconds, tombac_error **error)
{
    const char *const arguments[] = {"/proc/self/exe", "run", path, "count", "a=u32:{41}", "--grid", "1", "--expect",
        "a=u32:{42}", "--device", device, NULL};
    tb_process process = {.arguments = arguments, .time_limit = 60};
    double begin = now();
    tombac_status status = tb_process_run(&process, error);
    *seconds = now() - begin;
    if (status == TOMBAC_OK && process.exit_status != 0)
        status = tb_fail(error, TOMBAC_ERROR_KERNEL, "the started program failed: %s", tb_text_string(&process.errors));
    tb_text_free(&process.output);
    tb_text_free(&process.errors);
    return status;
}

static tombac_status measure_start(bench *b, tombac_error **error)
{
    double seconds[MAX_ROUNDS], first;
    const char *folder = getenv("TMPDIR");
    tb_text path = {0};
    tb_text_printf(&path, "%s/tombac-bench-XXXXXX.metal", folder && *folder ? folder : "/tmp");
    if (path.bad) {
        tb_text_free(&path);
        return tb_fail_memory(error);
    }
    int file = mkstemps(path.data, 6);
    tombac_status status = file < 0 ? tb_fail_errno(error, "cannot make '%s'", path.data) : TOMBAC_OK;
    if (status == TOMBAC_OK && write(file, source, sizeof source - 1) != (ssize_t)sizeof source - 1)
        status = tb_fail_errno(error, "cannot write '%s'", path.data);
    const char *device = tombac_device_name(b->device);
    if (status == TOMBAC_OK) status = start_once(path.data, device, &first, error);
    for (int round = 0; round < b->rounds && status == TOMBAC_OK; round++)
        status = start_once(path.data, device, &seconds[round], error);
    if (file >= 0) {
        close(file);
        unlink(path.data);
    }
    tb_text_free(&path);
    if (status != TOMBAC_OK) return status;
    return report(b, "start", "starting a program, its kernel cached", seconds, b->rounds, "ms", 1e3, is_cpu(b) ? 5 : 0,
        false, error);
}

/* ---- Copying ---- */

static tombac_status measure_copy(bench *b, tombac_error **error)
{
    double speed[MAX_ROUNDS], host_speed[MAX_ROUNDS];
    tombac_launch *launch = NULL;
    tombac_buffer *from = NULL, *to = NULL;
    const void *seen = NULL;
    char *host = malloc(COPY_BYTES), *host_from = malloc(COPY_BYTES);
    tombac_status status = host && host_from ? TOMBAC_OK : tb_fail_memory(error);
    if (status == TOMBAC_OK) {
        for (size_t i = 0; i < COPY_BYTES; i++) host_from[i] = (char)(i * 7 >> 3 & 0x3f); /* no NaN among the floats */
        memset(host, 0, COPY_BYTES);
        status = make_launch(b, "copy", (uint32_t)(COPY_BYTES / 16), &launch, error);
    }
    if (status == TOMBAC_OK) status = tombac_buffer_create(b->device, COPY_BYTES, host_from, &from, error);
    if (status == TOMBAC_OK) status = tombac_buffer_create(b->device, COPY_BYTES, NULL, &to, error);
    if (status == TOMBAC_OK) status = tombac_launch_set_buffer(launch, 0, from, 0, error);
    if (status == TOMBAC_OK) status = tombac_launch_set_buffer(launch, 1, to, 0, error);
    for (int round = -1; round < b->rounds && status == TOMBAC_OK; round++) {
        status = tombac_launch_submit(launch, error);
        if (status == TOMBAC_OK) status = tombac_launch_wait(launch, error);
        double begin = now();
        memcpy(host, host_from, COPY_BYTES);
        double taken = now() - begin;
        if (round < 0 || status != TOMBAC_OK) continue;
        speed[round] = 2 * (double)COPY_BYTES / tombac_launch_seconds(launch);
        host_speed[round] = 2 * (double)COPY_BYTES / taken;
    }
    if (status == TOMBAC_OK) status = tombac_buffer_begin_read(to, &seen, error);
    if (status == TOMBAC_OK) {
        if (memcmp(seen, host, COPY_BYTES) != 0) status = wrong("copying", error);
        tombac_buffer_end_read(to, NULL);
    }
    tombac_launch_release(launch);
    tombac_buffer_release(from);
    tombac_buffer_release(to);
    free(host);
    free(host_from);
    if (status == TOMBAC_OK)
        status = report(b, "copy", "copying 64 MiB in a kernel, read and written", speed, b->rounds, "GB/s", 1e-9, 0, true, error);
    if (status == TOMBAC_OK)
        status = report(b, "memcpy", "the same by memcpy", host_speed, b->rounds, "GB/s", 1e-9, 0, true, error);
    return status;
}

/* ---- All of it ---- */

/* Compiles all kernels before anything is measured. */
static tombac_status prepare(const bench *b, tombac_error **error)
{
    tombac_operation *ready = NULL;
    tombac_status status = tombac_library_prewarm(b->library, NULL, 0, NULL, NULL, &ready, error);
    if (status == TOMBAC_OK) status = tombac_operation_wait(ready, -1, error);
    tombac_operation_release(ready);
    return status;
}

static tombac_status measure(bench *b, tombac_error **error)
{
    tombac_status status = tombac_device_open(b->device_name, &b->device, error);
    if (status == TOMBAC_OK && !(b->figures = json_object())) status = tb_fail_memory(error);
    if (status == TOMBAC_OK && !b->json) printf("Tombac %s on %s\n", tombac_version(), tombac_device_name(b->device));
    if (status == TOMBAC_OK)
        status = tombac_library_create_from_source(
            b->device, "bench.metal", source, sizeof source - 1, NULL, &b->library, error);
    if (status == TOMBAC_OK) status = prepare(b, error);
    if (status == TOMBAC_OK) status = measure_launch(b, error);
    if (status == TOMBAC_OK) status = measure_sequence(b, error);
    if (status == TOMBAC_OK) status = measure_load(b, error);
    if (status == TOMBAC_OK) status = measure_copy(b, error);
    if (status == TOMBAC_OK) status = measure_start(b, error); /* this and the next need a compiler */
    if (status == TOMBAC_OK) status = measure_compile(b, error);
    if (status == TOMBAC_OK && b->json) {
        json_t *all = json_pack("{s:s, s:s, s:O}", "version", tombac_version(), "device", tombac_device_name(b->device),
            "figures", b->figures);
        if (!all || json_dumpf(all, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(6)) != 0) status = tb_fail_memory(error);
        printf("\n");
        json_decref(all);
    }
    json_decref(b->figures);
    tombac_library_release(b->library);
    tombac_device_release(b->device);
    return status;
}

enum { OPTION_DEVICE = TOOL_OPTION_OWN, OPTION_QUICK, OPTION_JSON };

int tool_bench(int count, char **arguments)
{
    static const struct option known[] = {{"device", required_argument, NULL, OPTION_DEVICE},
        {"quick", no_argument, NULL, OPTION_QUICK}, {"json", no_argument, NULL, OPTION_JSON},
        {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
    bench b = {.rounds = MAX_ROUNDS};
    tombac_error *error = NULL;
    opterr = 0;
    for (int code; (code = getopt_long(count, arguments, ":h", known, NULL)) != -1;) {
        switch (code) {
        case OPTION_DEVICE: b.device_name = optarg; break;
        case OPTION_QUICK: b.rounds = 2; break;
        case OPTION_JSON: b.json = true; break;
        case 'h': return fputs(help, stdout) >= 0 ? TOOL_RIGHT : TOOL_USAGE;
        default:
            tool_option_error("bench", code, arguments, known, &error);
            return tool_report_error(error, b.json, NULL);
        }
    }
    if (optind < count) {
        tool_complain("'tombac bench' takes no file, so '%s' is too much; 'tombac run --time' measures a kernel", arguments[optind]);
        return TOOL_USAGE;
    }
    return measure(&b, &error) == TOMBAC_OK ? TOOL_RIGHT : tool_report_error(error, b.json, NULL);
}
