/* The public library with the real compiler and every device of this machine: values, function constants,
 * threadgroup memory, edges, reflection, errors with their places, and a cache that several processes fill at
 * once. Expected values are computed here. */
#include "tombac/tombac.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct session {
    tombac_device *device;
    tombac_library *library;
    tombac_kernel *kernel;
    tombac_launch *launch;
} session;

/* The pointer, because the call that sets it is an argument too. */
static void require(tombac_status status, tombac_error *const *error)
{
    if (status != TOMBAC_OK)
        fail_msg("%s: %s", tombac_status_name(status), error ? tombac_error_message(*error) : "");
}

static session open_session(const char *device, const char *source, const char *kernel,
    const tombac_constant *constants, size_t count)
{
    session s = {0};
    tombac_error *error = NULL;
    require(tombac_device_open(device, &s.device, &error), &error);
    require(tombac_library_create_from_source(
                s.device, "t.metal", source, strlen(source), NULL, &s.library, &error),
        &error);
    require(tombac_kernel_create(s.library, kernel, constants, count, &s.kernel, &error), &error);
    require(tombac_launch_create(s.kernel, &s.launch, &error), &error);
    return s;
}

static void close_session(session *s)
{
    tombac_launch_release(s->launch);
    tombac_kernel_release(s->kernel);
    tombac_library_release(s->library);
    tombac_device_release(s->device);
}

static tombac_buffer *bind(session *s, uint32_t index, size_t size, const void *data)
{
    tombac_buffer *buffer = NULL;
    tombac_error *error = NULL;
    require(tombac_buffer_create(s->device, size, data, &buffer, &error), &error);
    require(tombac_launch_set_buffer(s->launch, index, buffer, 0, &error), &error);
    return buffer;
}

static void run(session *s, tombac_size3 threads, tombac_size3 threadgroup)
{
    tombac_error *error = NULL;
    require(tombac_launch_set_threads(s->launch, threads, threadgroup, &error), &error);
    require(tombac_launch_submit(s->launch, &error), &error);
    require(tombac_launch_wait(s->launch, &error), &error);
}

static const char add[] = "#include <metal_stdlib>\nusing namespace metal;\n"
                          "kernel void add(device const float *a, device const float *b, device float *out,\n"
                          "                uint i [[thread_position_in_grid]]) { out[i] = a[i] + b[i]; }\n";

static void add_on(const char *device)
{
    enum { N = 1000 }; /* no multiple of the threadgroup: the last one is partial */
    float a[N], b[N];
    for (int i = 0; i < N; i++) a[i] = 0.25f * (float)i, b[i] = 3 - (float)i;
    session s = open_session(device, add, "add", NULL, 0);
    tombac_buffer *in = bind(&s, 0, sizeof a, a), *other = bind(&s, 1, sizeof b, b),
                  *out = bind(&s, 2, sizeof a + 64, NULL);
    run(&s, (tombac_size3){N, 1, 1}, (tombac_size3){48, 1, 1});
    const float *result = tombac_buffer_contents(out);
    for (int i = 0; i < N; i++) assert_true(result[i] == a[i] + b[i]);
    for (int i = N; i < N + 16; i++) assert_true(result[i] == 0); /* nothing beyond the grid */
    assert_true(tombac_launch_seconds(s.launch) > 0);
    tombac_buffer_release(in);
    tombac_buffer_release(other);
    tombac_buffer_release(out);
    close_session(&s);
}

static const char constants_source[] =
    "#include <metal_stdlib>\nusing namespace metal;\n"
    "constant int factor [[function_constant(4)]];\nconstant bool has_bias [[function_constant(2)]];\n"
    "kernel void scale(device int *data [[buffer(0)]], device const int *bias [[buffer(1), "
    "function_constant(has_bias)]],\n"
    "                  uint i [[thread_position_in_grid]]) {\n"
    "    data[i] = data[i] * factor + (has_bias ? bias[i] : 0);\n}\n";

static void constants_on(const char *device)
{
    const int factors[] = {3, -7};
    for (int k = 0; k < 2; k++) {
        bool has_bias = k == 1;
        const tombac_constant values[] = {{"factor", 0, &factors[k], sizeof(int)}, {NULL, 2, &has_bias, 1}};
        session s = open_session(device, constants_source, "scale", values, 2);
        int data[40], bias[40];
        for (int i = 0; i < 40; i++) data[i] = i - 20, bias[i] = 1000 * i;
        tombac_argument argument;
        require(tombac_kernel_get_argument(s.kernel, 1, &argument, NULL), NULL);
        assert_string_equal(argument.name, "bias");
        assert_int_equal(argument.active, has_bias);
        tombac_buffer *buffer = bind(&s, 0, sizeof data, data), *second = NULL;
        if (has_bias) second = bind(&s, 1, sizeof bias, bias);
        run(&s, (tombac_size3){40, 1, 1}, (tombac_size3){40, 1, 1});
        const int *result = tombac_buffer_contents(buffer);
        for (int i = 0; i < 40; i++)
            assert_int_equal(result[i], data[i] * factors[k] + (has_bias ? bias[i] : 0));
        tombac_buffer_release(buffer);
        tombac_buffer_release(second);
        close_session(&s);
    }
}

static const char reverse_source[] =
    "#include <metal_stdlib>\nusing namespace metal;\n"
    "struct pair { uint first; float4 second[2]; };\n"
    "[[max_total_threads_per_threadgroup(128)]]\n"
    "kernel void turn(device uint *data [[buffer(3)]], constant pair &p [[buffer(0)]],\n"
    "                 threadgroup uint *scratch [[threadgroup(1)]], uint i "
    "[[thread_position_in_threadgroup]],\n"
    "                 uint n [[threads_per_threadgroup]], uint base [[threadgroup_position_in_grid]]) {\n"
    "    threadgroup uint own[128];\n    own[i] = data[base * n + i];\n"
    "    threadgroup_barrier(mem_flags::mem_threadgroup);\n    scratch[n - 1 - i] = own[i] + p.first;\n"
    "    threadgroup_barrier(mem_flags::mem_threadgroup);\n    data[base * n + i] = scratch[i];\n}\n";

static void threadgroups_on(const char *device)
{
    enum { GROUP = 100, GROUPS = 3 };
    session s = open_session(device, reverse_source, "turn", NULL, 0);
    assert_int_equal(tombac_kernel_max_threads_per_threadgroup(s.kernel), 128);
    assert_true(tombac_kernel_static_threadgroup_memory(s.kernel) >= 512);
    tombac_argument p;
    require(tombac_kernel_get_argument(s.kernel, 1, &p, NULL), NULL);
    assert_true(p.kind == TOMBAC_ARGUMENT_CONSTANT && p.reference && p.element_size == 48 &&
                p.element_alignment == 16);
    assert_non_null(strstr(tombac_kernel_reflection_json(s.kernel), "\"second\""));
    uint32_t data[GROUP * GROUPS], parameters[12] = {5};
    for (uint32_t i = 0; i < GROUP * GROUPS; i++) data[i] = i * i;
    tombac_buffer *buffer = bind(&s, 3, sizeof data, data);
    tombac_error *error = NULL;
    require(tombac_launch_set_bytes(s.launch, 0, parameters, sizeof parameters, &error), &error);
    require(tombac_launch_set_threadgroup_memory(s.launch, 1, GROUP * 4, &error), &error);
    require(tombac_launch_set_threadgroups(
                s.launch, (tombac_size3){GROUPS, 1, 1}, (tombac_size3){129, 1, 1}, &error),
        &error);
    assert_int_equal(tombac_launch_submit(s.launch, NULL), TOMBAC_ERROR_GEOMETRY);
    run(&s, (tombac_size3){GROUP * GROUPS, 1, 1}, (tombac_size3){GROUP, 1, 1});
    const uint32_t *result = tombac_buffer_contents(buffer);
    for (uint32_t i = 0; i < GROUP * GROUPS; i++)
        assert_int_equal(result[i], data[i / GROUP * GROUP + GROUP - 1 - i % GROUP] + 5);
    tombac_buffer_release(buffer);
    close_session(&s);
}

static void errors_on(const char *device)
{
    tombac_device *d = NULL;
    tombac_library *library = NULL;
    tombac_kernel *kernel = NULL;
    tombac_error *error = NULL;
    static const char source[] =
        "#include <metal_stdlib>\nusing namespace metal;\nkernel void good(device float *a) { *a = 1; }\n"
        "kernel void bad(device float *a) {\n    *a = nothing;\n}\n";
    require(tombac_device_open(device, &d, &error), &error);
    require(tombac_library_create_from_source(d, "e.metal", source, strlen(source), NULL, &library, &error),
        &error);
    assert_int_equal(tombac_library_kernel_count(library), 2);
    for (int i = 0; i < 2; i++) { /* from the compiler, then from the cache */
        assert_int_equal(tombac_kernel_create(library, "bad", NULL, 0, &kernel, &error), TOMBAC_ERROR_SOURCE);
        assert_string_equal(tombac_error_file(error), "e.metal");
        assert_int_equal(tombac_error_line(error), 5);
        assert_int_equal(tombac_error_column(error), 10);
        assert_string_equal(tombac_error_kernel(error), "bad");
        assert_non_null(strstr(tombac_error_message(error), "nothing"));
        tombac_error_release(error);
    }
    require(tombac_kernel_create(library, "good", NULL, 0, &kernel, &error),
        &error); /* the bad one does not spoil it */
    tombac_kernel_release(kernel);
    tombac_library_release(library);
    static const char lost[] = "#include \"nowhere.h\"\nkernel void k() {}\n";
    assert_int_equal(
        tombac_library_create_from_source(d, "e.metal", lost, strlen(lost), NULL, &library, &error),
        TOMBAC_ERROR_SOURCE);
    assert_non_null(strstr(tombac_error_message(error), "nowhere.h"));
    assert_int_equal(tombac_error_line(error), 1);
    tombac_error_release(error);
    tombac_device_release(d);
}

/* What was compiled once starts without the compiler, and fast. */
static void cached_on(const char *device)
{
    char *compiler = getenv("TOMBAC_CC") ? strdup(getenv("TOMBAC_CC")) : NULL;
    setenv("TOMBAC_CC", "/nonexistent/tombac-cc", 1);
    double best = 1;
    for (int i = 0; i < 10; i++) {
        struct timespec begin, end;
        clock_gettime(CLOCK_MONOTONIC, &begin);
        session s = open_session(device, add, "add", NULL, 0);
        clock_gettime(CLOCK_MONOTONIC, &end);
        close_session(&s);
        double seconds = (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
        if (seconds < best) best = seconds;
    }
    print_message("%s: a cached kernel starts in %.3f ms\n", device, 1e3 * best);
    assert_true(best < 0.010);
    if (compiler)
        setenv("TOMBAC_CC", compiler, 1);
    else
        unsetenv("TOMBAC_CC");
    free(compiler);
}

/* Four processes compile, and keep, the same kernel at once. */
static void processes_on(const char *device)
{
    pid_t children[4];
    for (int i = 0; i < 4; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            execl("/proc/self/exe", "test", "add", device, (char *)NULL);
            _exit(127);
        }
    }
    for (int i = 0; i < 4; i++) {
        int how;
        assert_int_equal(waitpid(children[i], &how, 0), children[i]);
        assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    }
}

static void on_every_device(void (*test)(const char *device))
{
    assert_true(tombac_device_count() > 0);
    for (size_t i = 0; i < tombac_device_count(); i++) test(tombac_device_name_at(i));
}

static void test_processes(void **state)
{
    on_every_device(processes_on);
} /* first: the cache is empty */
static void test_add(void **state)
{
    on_every_device(add_on);
}
static void test_constants(void **state)
{
    on_every_device(constants_on);
}
static void test_threadgroups(void **state)
{
    on_every_device(threadgroups_on);
}
static void test_errors(void **state)
{
    on_every_device(errors_on);
}
static void test_cached(void **state)
{
    on_every_device(cached_on);
}

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *where)
{
    return remove(path);
}

static int setup(void **state)
{
    char *folder = strdup("/tmp/tombac-test-XXXXXX");
    if (!folder || !mkdtemp(folder)) return -1;
    setenv("TOMBAC_CACHE", folder, 1);
    *state = folder;
    return 0;
}

static int teardown(void **state)
{
    nftw(*state, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free(*state);
    return 0;
}

/* ---- Headers that appear ---- */

static void write_file(const char *folder, const char *name, const char *content)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(content, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* What the source says, with the folders near and far to search, in this order. */
static int value_of(const char *source, const char *near, const char *far)
{
    const char *const folders[] = {near, far};
    const tombac_compile_options options = {.include_folders = folders, .include_folder_count = 2};
    session s = {0};
    tombac_error *error = NULL;
    require(tombac_device_open("check", &s.device, &error), &error);
    require(tombac_library_create_from_source(
                s.device, "t.metal", source, strlen(source), &options, &s.library, &error),
        &error);
    require(tombac_kernel_create(s.library, "k", NULL, 0, &s.kernel, &error), &error);
    require(tombac_launch_create(s.kernel, &s.launch, &error), &error);
    tombac_buffer *out = bind(&s, 0, sizeof(int), NULL);
    run(&s, (tombac_size3){1, 1, 1}, (tombac_size3){1, 1, 1});
    int value = *(int *)tombac_buffer_contents(out);
    tombac_buffer_release(out);
    close_session(&s);
    return value;
}

/* A cached kernel is not used any more when a header appears that would be found first, at whatever depth, or that
 * __has_include asks for; and is again when it has gone. */
static void test_new_headers(void **state)
{
    static const char source[] =
        "#include <sub/one.h>\n#define NAME <two.h>\n#include NAME\n"
        "#if __has_include(\"extra.h\")\n#define EXTRA 1000\n#else\n#define EXTRA 0\n#endif\n"
        "kernel void k(device int *out) { *out = ONE + TWO + EXTRA; }\n";
    char near[64], far[64], path[128];
    snprintf(near, sizeof near, "%s/near", (const char *)*state);
    snprintf(far, sizeof far, "%s/far", (const char *)*state);
    assert_int_equal(mkdir(near, 0700) | mkdir(far, 0700), 0);
    snprintf(path, sizeof path, "%s/sub", far);
    assert_int_equal(mkdir(path, 0700), 0);
    write_file(far, "sub/one.h", "#include \"inner.h\"\n#define ONE INNER\n");
    write_file(far, "inner.h", "#define INNER 1\n");
    write_file(far, "two.h", "#define TWO 20\n");
    for (int i = 0; i < 2; i++) assert_int_equal(value_of(source, near, far), 21);
    write_file(far, "sub/inner.h", "#define INNER 2\n"); /* beside its includer */
    for (int i = 0; i < 2; i++) assert_int_equal(value_of(source, near, far), 22);
    write_file(near, "two.h", "#define TWO 40\n"); /* a computed name */
    assert_int_equal(value_of(source, near, far), 42);
    write_file(far, "extra.h", ""); /* only asked for */
    for (int i = 0; i < 2; i++) assert_int_equal(value_of(source, near, far), 1042);
    snprintf(path, sizeof path, "%s/extra.h", far);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(value_of(source, near, far), 42);
    snprintf(path, sizeof path, "%s/sub", near); /* a folder that was missing */
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(value_of(source, near, far), 42);
    write_file(near, "sub/one.h", "#define ONE 3\n");
    for (int i = 0; i < 2; i++) assert_int_equal(value_of(source, near, far), 43);
}

/* ---- Contracts, failing threads, time limits, traces ---- */

static const char contract_source[] =
    "#include <metal_stdlib>\nusing namespace metal;\nstruct args { uint n; };\n"
    "[[tombac::requires(\"len(a) == \" \"len(out)\"), tombac::requires(\"p.n <= len(a)\")]]\n"
    "kernel void copy(device const float4 *a, device float4 *out, constant args &p, uint i [[thread_position_in_grid]])\n"
    "{ if (i < p.n) out[i] = a[i]; }\n";

static void contract_on(const char *device)
{
    session s = open_session(device, contract_source, "copy", NULL, 0);
    const uint32_t good = 4, bad = 5;
    tombac_error *error = NULL;
    tombac_buffer *a = bind(&s, 0, 64, NULL), *shorter = bind(&s, 1, 48, NULL);
    require(tombac_launch_set_bytes(s.launch, 2, &good, sizeof good, &error), &error);
    require(tombac_launch_set_grid(s.launch, tombac_for_elements(4, 4), &error), &error);
    assert_int_equal(tombac_launch_submit(s.launch, &error), TOMBAC_ERROR_CONTRACT);
    assert_non_null(strstr(tombac_error_message(error),
        "kernel 'copy' requires len(a) == len(out), but len(a) is 4 and len(out) is 3"));
    tombac_error_release(error);
    tombac_buffer *out = bind(&s, 1, 64, NULL);
    require(tombac_launch_set_bytes(s.launch, 2, &bad, sizeof bad, &error), &error);
    error = NULL;
    assert_int_equal(tombac_launch_submit(s.launch, &error), TOMBAC_ERROR_CONTRACT);
    assert_non_null(strstr(tombac_error_message(error), "but p.n is 5 and len(a) is 4"));
    tombac_error_release(error);
    error = NULL;
    require(tombac_launch_set_bytes(s.launch, 2, &good, sizeof good, &error), &error);
    run(&s, (tombac_size3){4, 1, 1}, (tombac_size3){4, 1, 1});
    tombac_buffer_release(a);
    tombac_buffer_release(shorter);
    tombac_buffer_release(out);
    close_session(&s);
}

static void test_contract(void **state)
{
    for (size_t i = 0; i < tombac_device_count(); i++) contract_on(tombac_device_name_at(i));
}

static bool has_device(const char *name)
{
    for (size_t i = 0; i < tombac_device_count(); i++)
        if (strcmp(tombac_device_name_at(i), name) == 0) return true;
    return false;
}

static void test_failing_thread(void **state)
{
    if (!has_device("check")) skip();
    static const char source[] =
        "#include <metal_stdlib>\nusing namespace metal;\n"
        "kernel void k(device float *a, uint2 i [[thread_position_in_grid]])\n"
        "{\n    if (i.x == 5 && i.y == 3) a[1000] = 1;\n}\n";
    session s = open_session("check", source, "k", NULL, 0);
    tombac_buffer *a = bind(&s, 0, 64, NULL);
    tombac_error *error = NULL;
    require(tombac_launch_set_name(s.launch, "overrun", &error), &error);
    require(tombac_launch_set_grid(s.launch, tombac_for_elements_2d(8, 8, 4, 2), &error), &error);
    require(tombac_launch_submit(s.launch, &error), &error);
    assert_int_equal(tombac_launch_wait(s.launch, &error), TOMBAC_ERROR_KERNEL);
    uint32_t thread[3], threadgroup[3];
    assert_true(tombac_error_thread(error, thread, threadgroup));
    assert_true(thread[0] == 1 && thread[1] == 1 && thread[2] == 0);
    assert_true(threadgroup[0] == 1 && threadgroup[1] == 1 && threadgroup[2] == 0);
    assert_int_equal(tombac_error_line(error), 5);
    assert_string_equal(tombac_error_kernel(error), "k");
    assert_string_equal(tombac_error_operation(error), "overrun");
    tombac_error_release(error);
    tombac_buffer_release(a);
    close_session(&s);
}

static void limit_on(const char *device)
{
    static const char source[] = "#include <metal_stdlib>\nusing namespace metal;\n"
                                 "kernel void spin(device volatile uint *a, uint i [[thread_position_in_grid]])\n"
                                 "{ while (a[0] == 0) a[1] = i; }\n";
    session s = open_session(device, source, "spin", NULL, 0);
    tombac_buffer *a = bind(&s, 0, 64, NULL);
    tombac_error *error = NULL;
    struct timespec begin, end;
    require(tombac_launch_set_time_limit(s.launch, 0.2, &error), &error);
    require(tombac_launch_set_grid(s.launch, tombac_for_elements(1, 1), &error), &error);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    require(tombac_launch_submit(s.launch, &error), &error);
    assert_int_equal(tombac_launch_wait(s.launch, &error), TOMBAC_ERROR_TIMEOUT);
    clock_gettime(CLOCK_MONOTONIC, &end);
    double seconds = (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
    assert_true(seconds >= 0.19 && seconds < 20);
    tombac_error_release(error);
    tombac_buffer_release(a);
    close_session(&s);
}

static void test_time_limit(void **state)
{
    if (has_device("check")) limit_on("check");
}

/* Every row by index is what its name gives; the limits are rows; a launch beyond one is refused, at it is not. */
static void capabilities_of(const char *device)
{
    tombac_error *error = NULL;
    session s = open_session(device, "kernel void k(device int *p) { *p = 1; }", "k", NULL, 0);
    tombac_capability c = {0};
    for (size_t i = 0; i < tombac_capability_count(); i++) {
        assert_int_equal(tombac_device_get_capability(s.device, i, &c, NULL), TOMBAC_OK);
        assert_int_equal(tombac_device_capability(s.device, c.name), c.value);
        assert_true(c.meaning[0] && c.enforced_by);
    }
    assert_true(tombac_capability_count() > 20);
    assert_int_equal(tombac_device_get_capability(s.device, tombac_capability_count(), &c, NULL), TOMBAC_ERROR_ARGUMENT);
    assert_int_equal(tombac_device_get_capability(NULL, 0, &c, NULL), TOMBAC_ERROR_ARGUMENT);
    assert_int_equal(tombac_device_capability(s.device, "wings"), 0);
    assert_int_equal(tombac_device_capability(s.device, "checked_accesses"), !strcmp(device, "check"));
    uint32_t most = (uint32_t)tombac_device_capability(s.device, "max_threads_per_threadgroup");
    assert_int_equal(most, tombac_device_get_limits(s.device).max_threads_per_threadgroup);
    tombac_buffer *a = bind(&s, 0, 4, NULL);
    for (uint32_t beyond = 0; beyond < 2; beyond++) {
        require(tombac_launch_set_threads(s.launch, (tombac_size3){4096, 1, 1}, (tombac_size3){most + beyond, 1, 1}, &error), &error);
        assert_int_equal(tombac_launch_submit(s.launch, NULL), beyond ? TOMBAC_ERROR_GEOMETRY : TOMBAC_OK);
        if (!beyond) require(tombac_launch_wait(s.launch, &error), &error);
    }
    tombac_buffer_release(a);
    close_session(&s);
}

static void test_capabilities(void **state)
{
    if (has_device("check")) capabilities_of("check");
    if (has_device("cpu")) capabilities_of("cpu");
}

/* Kernels round to nearest and keep denormals, whatever the program's own threads do. */
static void rounding_on(const char *device)
{
    const unsigned before = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(0xdfc0); /* upwards, denormals flushed; before the device has threads, which inherit it */
    session s = open_session(device,
        "#include <metal_stdlib>\nusing namespace metal;\n"
        "kernel void k(device const float *a [[buffer(0)]], device float *out [[buffer(1)]],\n"
        "              uint i [[thread_position_in_grid]]) { out[i] = a[i] * a[i + 64]; }\n",
        "k", NULL, 0);
    const uint32_t pairs[2][2] = {{0x00000300, 0x40000000}, {0x3f800001, 0x3f800001}}; /* 768 units * 2; (1 + u)^2 */
    uint32_t in[128], want[2] = {0x00000600, 0x3f800002};
    for (int i = 0; i < 128; i++) in[i] = pairs[i % 2][i / 64];
    tombac_buffer *a = bind(&s, 0, sizeof in, in), *out = bind(&s, 1, sizeof in / 2, NULL);
    tombac_error *error = NULL;
    require(tombac_launch_set_threads(s.launch, (tombac_size3){64, 1, 1}, (tombac_size3){64, 1, 1}, &error), &error);
    for (int round = 0; round < 20; round++) { /* now here, now on a worker */
        require(tombac_launch_submit(s.launch, &error), &error);
        if (round % 2) usleep(2000);
        require(tombac_launch_wait(s.launch, &error), &error);
        assert_int_equal(__builtin_ia32_stmxcsr() & 0xffc0, 0xdfc0);
        const uint32_t *found = tombac_buffer_contents(out);
        for (int i = 0; i < 64; i++) assert_int_equal(found[i], want[i % 2]);
        memset(tombac_buffer_contents(out), 0, sizeof in / 2);
    }
    tombac_buffer_release(a);
    tombac_buffer_release(out);
    close_session(&s);
    __builtin_ia32_ldmxcsr(before);
}

static void test_rounding(void **state)
{
    if (has_device("check")) rounding_on("check");
    if (has_device("cpu")) rounding_on("cpu");
}

/* What one launch noted of its accesses is nothing to the next, whatever is bound and however large the grid is. */
static void test_races_again(void **state)
{
    (void)state;
    static const char source[] =
        "#include <metal_stdlib>\nusing namespace metal;\n"
        "kernel void move(device uint *out [[buffer(0)]], constant uint &step [[buffer(1)]],\n"
        "                 uint i [[thread_position_in_grid]]) { out[i * step] = i; }\n";
    if (!has_device("check")) skip();
    session s = open_session("check", source, "move", NULL, 0);
    static const struct {
        uint32_t threads, group, step;
    } rounds[] = {{64, 32, 1}, {64, 16, 1}, {512, 64, 3}, {64, 32, 0}, {64, 32, 1}, {96, 32, 0}, {2000, 40, 2}, {64, 64, 1}};
    for (size_t k = 0; k < sizeof rounds / sizeof *rounds; k++) {
        uint32_t n = rounds[k].threads, step = rounds[k].step;
        tombac_error *error = NULL;
        tombac_buffer *out = bind(&s, 0, (size_t)n * 4 * (step ? step : 1), NULL);
        require(tombac_launch_set_bytes(s.launch, 1, &step, sizeof step, &error), &error);
        require(tombac_launch_set_threads(s.launch, (tombac_size3){n, 1, 1}, (tombac_size3){rounds[k].group, 1, 1}, &error), &error);
        require(tombac_launch_submit(s.launch, &error), &error);
        tombac_status status = tombac_launch_wait(s.launch, &error);
        if (step) {
            require(status, &error);
            const uint32_t *found = tombac_buffer_contents(out);
            for (uint32_t i = 0; i < n; i++) assert_int_equal(found[i * step], i);
        } else {
            assert_int_equal(status, TOMBAC_ERROR_KERNEL);
            assert_non_null(strstr(tombac_error_message(error), "data race"));
            assert_non_null(strstr(tombac_error_message(error), "which thread 0,0,0 wrote"));
            tombac_error_release(error);
        }
        tombac_buffer_release(out);
    }
    close_session(&s);
}

static void test_named(void **state)
{
    add_on(*state);
}

int main(int count, char **arguments)
{
    if (count == 3 && strcmp(arguments[1], "add") == 0) { /* one of the processes above */
        const struct CMUnitTest one[] = {cmocka_unit_test_prestate(test_named, arguments[2])};
        return cmocka_run_group_tests(one, NULL, NULL);
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_processes), cmocka_unit_test(test_add),
        cmocka_unit_test(test_constants), cmocka_unit_test(test_threadgroups), cmocka_unit_test(test_errors),
        cmocka_unit_test(test_cached), cmocka_unit_test(test_contract), cmocka_unit_test(test_failing_thread),
        cmocka_unit_test(test_time_limit), cmocka_unit_test(test_capabilities), cmocka_unit_test(test_rounding), cmocka_unit_test(test_races_again), cmocka_unit_test(test_new_headers)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
