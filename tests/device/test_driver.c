/* The cuda driver around a launch, on a stand-in for libcuda (fake_cuda.c; $FAKE_CUDA says how it behaves):
 * what it offers, compiles for, copies and reports. LD_LIBRARY_PATH must name the stand-in's folder, or
 * NO_DRIVER=1 be set, or OLD_DRIVER=1 with the folder of one that has only cuInit. */
#include "tombac/tombac.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char source[] =
    "#include <metal_stdlib>\nusing namespace metal;\n"
    "kernel void scale(device float *out [[buffer(0)]], const device float *in [[buffer(1)]],\n"
    "    constant float &factor [[buffer(2)]], threadgroup float *scratch [[threadgroup(0)]],\n"
    "    uint i [[thread_position_in_grid]]) { scratch[0] = factor; out[i] = in[i] * scratch[0]; }\n";

typedef struct fixture {
    tombac_device *device;
    tombac_library *library;
    tombac_kernel *kernel;
    tombac_buffer *out, *in;
    tombac_launch *launch;
} fixture;

static void mode(const char *name)
{
    if (name)
        setenv("FAKE_CUDA", name, 1);
    else
        unsetenv("FAKE_CUDA");
}

static void require(tombac_status status, tombac_error *error)
{
    if (status != TOMBAC_OK) print_error("%s\n", tombac_error_message(error));
    assert_int_equal(status, TOMBAC_OK);
}

static void build(fixture *f)
{
    tombac_error *error = NULL;
    float factor = 2;
    *f = (fixture){0};
    require(tombac_device_open("cuda", &f->device, &error), error);
    require(tombac_library_create_from_source(
                f->device, "scale.metal", source, sizeof source - 1, NULL, &f->library, &error),
        error);
    require(tombac_kernel_create(f->library, "scale", NULL, 0, &f->kernel, &error), error);
    require(tombac_buffer_create(f->device, 64, NULL, &f->out, &error), error);
    require(tombac_buffer_create(f->device, 64, NULL, &f->in, &error), error);
    require(tombac_launch_create(f->kernel, &f->launch, &error), error);
    require(tombac_launch_set_buffer(f->launch, 0, f->out, 0, &error), error);
    require(tombac_launch_set_buffer(f->launch, 1, f->in, 0, &error), error);
    require(tombac_launch_set_bytes(f->launch, 2, &factor, sizeof factor, &error), error);
    require(tombac_launch_set_threadgroup_memory(f->launch, 0, 16, &error), error);
    require(tombac_launch_set_threads(f->launch, (tombac_size3){16, 1, 1}, (tombac_size3){16, 1, 1}, &error),
        error);
}

static void release(fixture *f)
{
    tombac_launch_release(f->launch);
    tombac_buffer_release(f->in);
    tombac_buffer_release(f->out);
    tombac_kernel_release(f->kernel);
    tombac_library_release(f->library);
    tombac_device_release(f->device);
}

/* Runs the launch in a mode and checks the error; "" for none. */
static void expect(const char *behaviour, tombac_status status, const char *text)
{
    fixture f;
    mode(NULL);
    build(&f);
    mode(behaviour);
    tombac_error *error = NULL;
    assert_int_equal(tombac_launch_submit(f.launch, NULL), TOMBAC_OK);
    assert_int_equal(tombac_launch_wait(f.launch, &error), status);
    if (error && !strstr(tombac_error_message(error), text)) fail_msg("%s", tombac_error_message(error));
    if (error) assert_string_equal(tombac_error_kernel(error), "scale");
    tombac_error_release(error);
    release(&f);
    mode(NULL);
}

static bool offered(void)
{
    for (size_t i = 0; i < tombac_device_count(); i++)
        if (!strcmp(tombac_device_name_at(i), "cuda")) return true;
    return false;
}

static void refused(const char *text)
{
    tombac_device *device = NULL;
    tombac_error *error = NULL;
    assert_int_equal(tombac_device_open("cuda", &device, &error), TOMBAC_ERROR_UNSUPPORTED);
    assert_null(device);
    assert_non_null(strstr(tombac_error_message(error), text));
    tombac_error_release(error);
    assert_false(offered());
}

static void refused_open(const char *text)
{
    tombac_device *device = NULL;
    tombac_error *error = NULL;
    assert_int_equal(tombac_device_open("cuda", &device, &error), TOMBAC_ERROR_UNSUPPORTED);
    assert_null(device);
    if (!strstr(tombac_error_message(error), text)) fail_msg("%s", tombac_error_message(error));
    tombac_error_release(error);
}

static void test_no_driver(void **state)
{
    refused("no cuda device: libcuda.so.1 is not installed");
}

static void test_no_gpu(void **state)
{
    mode("none");
    refused("no cuda device: NVIDIA's driver finds no GPU");
    mode(NULL);
}

static void test_old_gpu(void **state)
{
    mode("sm_75");
    refused_open("no cuda device: the GPU has compute capability 7.5, kernels need 8.0 or later");
    mode(NULL);
}

/* On a library that has cuInit alone. */
static void test_old_driver(void **state)
{
    refused("no cuda device: NVIDIA's driver is too old, it has no cuDriverGetVersion");
}

static void test_offered(void **state)
{
    assert_true(offered());
    assert_string_not_equal(tombac_device_name_at(0), "cuda");
}

static void test_several(void **state)
{
    static const struct {
        const char *mode, *name, *called, *refusal;
    } cases[] = {{NULL, "cuda", "cuda", NULL}, {NULL, "cuda:0", "cuda:0", NULL},
        {NULL, "cuda:1", NULL, "no cuda device 1: NVIDIA's driver finds 1 GPU"},
        {"two", "cuda", "cuda", NULL}, {"two", "cuda:1", "cuda:1", NULL},
        {"two", "cuda:2", NULL, "no cuda device 2: NVIDIA's driver finds 2 GPUs"},
        {NULL, "cuda:", NULL, "there is no device 'cuda:'"}, {NULL, "cuda:01", NULL, "there is no device"},
        {NULL, "cpu:0", NULL, "there is no device"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tombac_device *device = NULL;
        tombac_error *error = NULL;
        mode(cases[i].mode);
        tombac_status status = tombac_device_open(cases[i].name, &device, &error);
        assert_int_equal(status == TOMBAC_OK, cases[i].called != NULL);
        if (device) assert_string_equal(tombac_device_name(device), cases[i].called);
        if (error) assert_non_null(strstr(tombac_error_message(error), cases[i].refusal));
        tombac_error_release(error);
        tombac_device_release(device);
    }
    mode("two");
    size_t count = tombac_device_count();
    assert_string_equal(tombac_device_name_at(count - 2), "cuda:0");
    assert_string_equal(tombac_device_name_at(count - 1), "cuda:1");
    mode(NULL);
}

static void test_target(void **state)
{
    static const char *const targets[] = {"sm_80", "sm_90"};
    for (int i = 0; i < 2; i++) {
        fixture f;
        char text[64] = "\"target\": \"";
        mode(i ? NULL : targets[i]);
        build(&f);
        assert_non_null(
            strstr(tombac_kernel_reflection_json(f.kernel), strcat(strcat(text, targets[i]), "\"")));
        release(&f);
    }
    mode(NULL);
}

/* The stand-in's kernel writes to both buffers; what is const must not come back. */
static void test_copies(void **state)
{
    fixture f;
    mode("fill");
    build(&f);
    unsigned char *out = tombac_buffer_contents(f.out), *in = tombac_buffer_contents(f.in);
    memset(out, 1, 64);
    memset(in, 2, 64);
    assert_int_equal(tombac_launch_submit(f.launch, NULL), TOMBAC_OK);
    assert_int_equal(tombac_launch_wait(f.launch, NULL), TOMBAC_OK);
    assert_int_equal(out[0], 0x5a);
    assert_int_equal(out[1], 1);
    assert_int_equal(in[0], 2);
    assert_float_equal(tombac_launch_seconds(f.launch), 0.0015, 1e-9);
    release(&f);
    mode(NULL);
}

/* ---- What is copied when ---- */

/* A function of the stand-in that reads two of its counters. It stays loaded, so that the counters do. */
typedef void read_two(unsigned *, unsigned *);
static read_two *symbol_of(const char *name)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *symbol = library ? dlsym(library, name) : NULL;
    assert_non_null(symbol);
    read_two *read;
    memcpy(&read, &symbol, sizeof read);
    return read;
}

static void count_copies(unsigned *up, unsigned *down)
{
    symbol_of("fake_cuda_copies")(up, down);
}

static void launch_once(const fixture *f)
{
    assert_int_equal(tombac_launch_submit(f->launch, NULL), TOMBAC_OK);
    assert_int_equal(tombac_launch_wait(f->launch, NULL), TOMBAC_OK);
}

static unsigned before[2];

static void start_counting(void)
{
    count_copies(&before[0], &before[1]);
}

/* Checks how often buffers were copied since the last call. */
static void copied(unsigned up, unsigned down)
{
    unsigned now[2];
    count_copies(&now[0], &now[1]);
    assert_int_equal(now[0] - before[0], up);
    assert_int_equal(now[1] - before[1], down);
    memcpy(before, now, sizeof before);
}

static void test_lazy(void **state)
{
    fixture f;
    const void *seen;
    void *data;
    mode("fill");
    build(&f);
    start_counting();
    launch_once(&f);
    copied(2, 0); /* both arrive, nobody has asked for the result */
    launch_once(&f);
    copied(0, 0);
    assert_int_equal(tombac_buffer_begin_read(f.out, &seen, NULL), TOMBAC_OK);
    assert_int_equal(*(const unsigned char *)seen, 0x5a);
    copied(0, 1);
    assert_int_equal(tombac_buffer_end_read(f.out, NULL), TOMBAC_OK);
    assert_int_equal(tombac_buffer_begin_read(f.in, &seen, NULL), TOMBAC_OK);
    assert_int_equal(
        *(const unsigned char *)seen, 0); /* const: whatever is on the GPU, it does not come back */
    assert_int_equal(tombac_buffer_end_read(f.in, NULL), TOMBAC_OK);
    launch_once(&f);
    copied(0, 0); /* reading does not make the GPU's copy old */
    assert_int_equal(tombac_buffer_begin_write(f.out, &data, NULL), TOMBAC_OK);
    copied(0, 1); /* a write view shows the newest content, too */
    ((unsigned char *)data)[0] = 1;
    ((unsigned char *)data)[1] = 2;
    assert_int_equal(tombac_buffer_end_write(f.out, NULL), TOMBAC_OK);
    launch_once(&f);
    copied(1, 0);
    assert_int_equal(tombac_buffer_begin_read(f.out, &seen, NULL), TOMBAC_OK);
    assert_int_equal(((const unsigned char *)seen)[0], 0x5a);
    assert_int_equal(((const unsigned char *)seen)[1], 2);
    assert_int_equal(tombac_buffer_end_read(f.out, NULL), TOMBAC_OK);
    release(&f);
    mode(NULL);
}

/* A bare pointer taken after the launch shows its result; from then on everything is copied each time. */
static void test_bare_pointer(void **state)
{
    fixture f;
    mode("fill");
    build(&f);
    start_counting();
    launch_once(&f);
    copied(2, 0);
    unsigned char *out = tombac_buffer_contents(f.out);
    copied(0, 1);
    assert_int_equal(out[0], 0x5a);
    out[0] = 7, out[1] = 8;
    launch_once(&f);
    copied(1, 1);
    assert_int_equal(out[0], 0x5a);
    assert_int_equal(out[1], 8);
    release(&f);
    mode(NULL);
}

/* Two views of one buffer are one copy, so what is written through one is there for the other. */
static void test_views_share(void **state)
{
    fixture f;
    const void *seen;
    tombac_buffer *half;
    mode("fill");
    build(&f);
    start_counting();
    assert_int_equal(tombac_buffer_create_view(f.out, NULL, 32, 32, &half, NULL), TOMBAC_OK);
    assert_int_equal(tombac_launch_set_buffer(f.launch, 1, half, 0, NULL), TOMBAC_OK);
    launch_once(&f);
    copied(1, 0);
    assert_int_equal(tombac_buffer_begin_read(half, &seen, NULL), TOMBAC_OK);
    assert_int_equal(*(const unsigned char *)seen, 0x5a); /* written as argument 1 */
    assert_int_equal(tombac_buffer_end_read(half, NULL), TOMBAC_OK);
    tombac_buffer_release(half);
    release(&f);
    mode(NULL);
}

/* Page-aligned memory of the caller's is used in place. */
static void test_no_copy(void **state)
{
    fixture f;
    mode("fill");
    build(&f);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *memory = aligned_alloc(page, page);
    assert_non_null(memory);
    memset(memory, 3, page);
    tombac_buffer *mine;
    require(tombac_buffer_create_no_copy(f.device, NULL, memory, page, NULL, NULL, &mine, NULL), NULL);
    assert_int_equal(tombac_launch_set_buffer(f.launch, 0, mine, 0, NULL), TOMBAC_OK);
    start_counting();
    launch_once(&f);
    copied(1, 0); /* only the other argument */
    assert_int_equal(memory[0], 0x5a);
    assert_int_equal(memory[1], 3);
    tombac_buffer_release(mine);
    release(&f);
    free(memory);
    mode(NULL);
}

/* A full GPU: what no launch uses is moved out, newest content first. */
static void test_eviction(void **state)
{
    fixture f;
    const void *seen;
    mode("small");
    build(&f);
    tombac_buffer *others[3];
    for (int i = 0; i < 3; i++) {
        require(tombac_buffer_create(f.device, 64, NULL, &others[i], NULL), NULL);
        assert_int_equal(tombac_launch_set_buffer(f.launch, 0, others[i], 0, NULL), TOMBAC_OK);
        launch_once(&f);
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(tombac_buffer_begin_read(others[i], &seen, NULL), TOMBAC_OK);
        assert_int_equal(*(const unsigned char *)seen, 0x5a);
        assert_int_equal(tombac_buffer_end_read(others[i], NULL), TOMBAC_OK);
        tombac_buffer_release(others[i]);
    }
    release(&f);
    mode(NULL);
}

/* ---- Two entries ---- */

static int ask(const char *name)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(library);
    void *symbol = dlsym(library, name);
    assert_non_null(symbol);
    int (*read)(void);
    memcpy(&read, &symbol, sizeof read);
    int result = read();
    dlclose(library);
    return result;
}

static bool second_ran(void)
{
    return ask("fake_cuda_second");
}

/* The entry for plain launches is only taken for these: multiples of 16 where the code counts on them, whole threadgroups of whole
 * SIMD-groups, no more threads than it takes (here 512). */
static void test_entries(void **state)
{
    static const char text[] =
        "#include <metal_stdlib>\nusing namespace metal;\nstruct args { uint first; ulong stride; };\n"
        "kernel void four(device float *out [[buffer(0)]], const device char *in [[buffer(1)]],\n"
        "    constant args &a [[buffer(2)]], uint i [[thread_position_in_grid]]) {\n"
        "    const device float *p = (const device float *)(in + i * a.stride);\n"
        "    out[i] = p[0] + p[1] + p[2] + p[3]; }\n";
    static const struct {
        size_t in;
        uint64_t stride;
        bool second;
        tombac_size3 grid, group;
    } cases[] = {{0, 16, false, {32, 1, 1}, {32, 1, 1}}, {16, 32, false, {32, 1, 1}, {32, 1, 1}},
        {4, 16, true, {32, 1, 1}, {32, 1, 1}}, {0, 8, true, {32, 1, 1}, {32, 1, 1}},
        {0, 0, false, {32, 1, 1}, {32, 1, 1}}, {0, UINT64_C(1) << 63, false, {32, 1, 1}, {32, 1, 1}},
        {0, 17, true, {32, 1, 1}, {32, 1, 1}}, {0, 16, false, {64, 6, 4}, {16, 2, 4}},
        {0, 16, true, {33, 1, 1}, {32, 1, 1}}, {0, 16, true, {32, 5, 1}, {32, 2, 1}},
        {0, 16, true, {48, 1, 1}, {48, 1, 1}}, {0, 16, false, {512, 1, 1}, {512, 1, 1}},
        {0, 16, true, {544, 1, 1}, {544, 1, 1}}, {0, 16, true, {32, 1, 70000}, {32, 1, 1}}};
    fixture f;
    tombac_error *error = NULL;
    mode(NULL);
    build(&f);
    tombac_library *library;
    tombac_kernel *kernel;
    tombac_launch *launch;
    require(tombac_library_create_from_source(
                f.device, "four.metal", text, sizeof text - 1, NULL, &library, &error),
        error);
    require(tombac_kernel_create(library, "four", NULL, 0, &kernel, &error), error);
    require(tombac_launch_create(kernel, &launch, &error), error);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        require(tombac_launch_set_threads(launch, cases[i].grid, cases[i].group, &error), error);
        struct {
            uint32_t first;
            uint64_t stride;
        } arguments = {7, cases[i].stride};
        require(tombac_launch_set_buffer(launch, 0, f.out, 0, &error), error);
        require(tombac_launch_set_buffer(launch, 1, f.in, cases[i].in, &error), error);
        require(tombac_launch_set_bytes(launch, 2, &arguments, sizeof arguments, &error), error);
        require(tombac_launch_submit(launch, &error), error);
        require(tombac_launch_wait(launch, &error), error);
        assert_int_equal(second_ran(), cases[i].second);
    }
    tombac_launch_release(launch);
    tombac_kernel_release(kernel);
    tombac_library_release(library);
    release(&f);
}

/* Wide code, in which a thread does the work of four, is taken for plain launches that leave a multiprocessor (there are 132) 1024
 * threads. */
static void test_wide(void **state)
{
    static const char text[] =
        "#include <metal_stdlib>\nusing namespace metal;\n[[required_threads_per_threadgroup(256, 1, 1)]]\n"
        "kernel void twice(device float *out [[buffer(0)]], const device float *in [[buffer(1)]],\n"
        "    uint i [[thread_position_in_grid]]) { out[i] = 2 * in[i]; }\n";
    static const struct {
        uint32_t groups;
        size_t in;
        bool wide;
    } cases[] = {{132 * 16, 0, true}, {132 * 16 - 1, 0, false}, {132 * 16, 4, false}, {1 << 20, 16, true}, {1, 0, false}};
    fixture f;
    tombac_error *error = NULL;
    mode(NULL);
    build(&f);
    tombac_library *library;
    tombac_kernel *kernel;
    tombac_launch *launch;
    tombac_compile_options options = {.standard = "metal4.0"};
    require(tombac_library_create_from_source(
                f.device, "twice.metal", text, sizeof text - 1, &options, &library, &error),
        error);
    require(tombac_kernel_create(library, "twice", NULL, 0, &kernel, &error), error);
    require(tombac_launch_create(kernel, &launch, &error), error);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tombac_size3 groups = {cases[i].groups, 1, 1}, group = {256, 1, 1};
        require(tombac_launch_set_threadgroups(launch, groups, group, &error), error);
        require(tombac_launch_set_buffer(launch, 0, f.out, 0, &error), error);
        require(tombac_launch_set_buffer(launch, 1, f.in, cases[i].in, &error), error);
        require(tombac_launch_submit(launch, &error), error);
        require(tombac_launch_wait(launch, &error), error);
        assert_int_equal(ask("fake_cuda_wide"), cases[i].wide);
        assert_int_equal(ask("fake_cuda_block"), cases[i].wide ? 64 : 256);
    }
    tombac_launch_release(launch);
    tombac_kernel_release(kernel);
    tombac_library_release(library);
    release(&f);
}

/* A kernel that is launched twice with the same bytes runs code made for them; their driver is the same. */
static void test_specialised(void **state)
{
    fixture f;
    tombac_error *error = NULL;
    mode(NULL);
    build(&f);
    require(tombac_device_specialise_after(f.device, 1, &error), error);
    tombac_library *library; /* the kernel of the first one counts otherwise */
    tombac_kernel *kernel;
    tombac_launch *launch;
    float factor = 3;
    require(tombac_library_create_from_source(
                f.device, "scale.metal", source, sizeof source - 1, NULL, &library, &error),
        error);
    require(tombac_kernel_create(library, "scale", NULL, 0, &kernel, &error), error);
    require(tombac_launch_create(kernel, &launch, &error), error);
    require(tombac_launch_set_buffer(launch, 0, f.out, 0, &error), error);
    require(tombac_launch_set_buffer(launch, 1, f.in, 0, &error), error);
    require(tombac_launch_set_bytes(launch, 2, &factor, sizeof factor, &error), error);
    require(tombac_launch_set_threadgroup_memory(launch, 0, 16, &error), error);
    require(tombac_launch_set_threads(launch, (tombac_size3){64, 1, 1}, (tombac_size3){32, 1, 1}, &error), error);
    for (uint64_t i = 0; i < 2; i++) {
        require(tombac_launch_submit(launch, &error), error);
        require(tombac_launch_wait(launch, &error), error);
        require(tombac_kernel_await_specialisation(kernel, 60, &error), error);
        tombac_specialisation facts = tombac_kernel_get_specialisation(kernel);
        assert_int_equal(facts.failed, 0);
        assert_int_equal(facts.ready, 1);
        assert_int_equal(facts.launches, i);
        assert_false(second_ran());
        assert_int_equal(ask("fake_cuda_sized"), i > 0);
    }
    launch_once(&f); /* code for any size */
    assert_false(ask("fake_cuda_sized"));
    tombac_sequence *sequence; /* of several, which take another way to the driver */
    tombac_operation *operation;
    require(tombac_sequence_begin(f.device, &sequence, &error), error);
    for (int i = 0; i < 2; i++) require(tombac_sequence_add(sequence, launch, &error), error);
    require(tombac_sequence_end(sequence, &operation, &error), error);
    require(tombac_operation_wait(operation, -1, &error), error);
    tombac_operation_release(operation);
    assert_true(ask("fake_cuda_sized"));
    tombac_launch_release(launch);
    tombac_kernel_release(kernel);
    tombac_library_release(library);
    release(&f);
}

/* ---- Sequences ---- */

static tombac_operation *record(const fixture *f, size_t count)
{
    tombac_sequence *sequence;
    tombac_operation *operation;
    assert_int_equal(tombac_sequence_begin(f->device, &sequence, NULL), TOMBAC_OK);
    for (size_t i = 0; i < count; i++) {
        tombac_size3 grid = {i == 1 ? 0 : 16, 1, 1}; /* one of them is empty */
        assert_int_equal(
            tombac_launch_set_threads(f->launch, grid, (tombac_size3){16, 1, 1}, NULL), TOMBAC_OK);
        assert_int_equal(tombac_sequence_add(sequence, f->launch, NULL), TOMBAC_OK);
    }
    assert_int_equal(tombac_sequence_end(sequence, &operation, NULL), TOMBAC_OK);
    return operation;
}

/* What the first launch wrote must not be overwritten by a second upload; and the memory is reserved until
 * submission. */
static void test_sequence(void **state)
{
    fixture f;
    const void *seen;
    mode("fill");
    build(&f);
    start_counting();
    tombac_operation *operation = record(&f, 100);
    assert_int_equal(tombac_buffer_begin_read(f.out, &seen, NULL), TOMBAC_ERROR_BUSY);
    assert_int_equal(tombac_operation_submit(operation, NULL), TOMBAC_OK);
    assert_int_equal(tombac_buffer_begin_read(f.out, &seen, NULL), TOMBAC_OK); /* waits */
    copied(2, 1);
    assert_int_equal(*(const unsigned char *)seen, 0x5a);
    assert_int_equal(tombac_buffer_end_read(f.out, NULL), TOMBAC_OK);
    assert_int_equal(tombac_operation_wait(operation, -1, NULL), TOMBAC_OK);
    tombac_operation_release(operation);
    tombac_operation_release(record(&f, 3)); /* dropped: nothing runs, nothing stays reserved */
    assert_int_equal(tombac_buffer_begin_read(f.out, &seen, NULL), TOMBAC_OK);
    copied(0, 0);
    assert_int_equal(tombac_buffer_end_read(f.out, NULL), TOMBAC_OK);
    release(&f);
    mode(NULL);
}

/* The failure of one of many is that of the sequence; what depends on it is not run. */
static void test_sequence_fails(void **state)
{
    fixture f;
    const void *seen;
    tombac_error *error = NULL;
    mode(NULL);
    build(&f);
    tombac_operation *operation = record(&f, 4);
    mode("fault");
    assert_int_equal(tombac_operation_submit(operation, NULL), TOMBAC_OK);
    assert_int_equal(tombac_buffer_begin_read(f.out, &seen, &error), TOMBAC_ERROR_DEPENDENCY);
    assert_non_null(strstr(tombac_error_message(error), "an illegal memory access was encountered"));
    tombac_error_release(error);
    tombac_operation_release(operation);
    release(&f);
    mode(NULL);
}

/* The kernel is named once; what comes later is refused with the reason, also where CUDA would go on. */
static void test_fault(void **state)
{
    expect("fault", TOMBAC_ERROR_KERNEL,
        "kernel 'scale' failed: an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS); the GPU does no "
        "further work in this process");
    static const char since[] = "no further work in this process, since kernel 'scale' failed: an illegal memory access";
    fixture f;
    tombac_error *error = NULL;
    mode("fault");
    build(&f);
    assert_int_equal(tombac_launch_submit(f.launch, NULL), TOMBAC_OK);
    assert_int_equal(tombac_launch_wait(f.launch, NULL), TOMBAC_ERROR_KERNEL);
    mode(NULL);
    assert_int_equal(tombac_launch_submit(f.launch, NULL), TOMBAC_OK);
    assert_int_equal(tombac_launch_wait(f.launch, &error), TOMBAC_ERROR_KERNEL);
    if (!strstr(tombac_error_message(error), since)) fail_msg("%s", tombac_error_message(error));
    tombac_error_release(error);
    release(&f);
    mode("dead"); /* what CUDA says to a new context of the process */
    refused_open("no cuda device: a kernel failed in this process (CUDA's error 700), after which it cannot use the GPU");
    mode(NULL);
}

/* Which of two kernels it was CUDA does not say. */
static void test_fault_of_many(void **state)
{
    static const char text[] = "kernel void other(device float *out [[buffer(0)]]) { out[0] = 1; }\n";
    fixture f;
    tombac_error *error = NULL;
    tombac_library *library;
    tombac_kernel *kernel;
    tombac_launch *launch;
    tombac_sequence *sequence;
    tombac_operation *operation;
    mode(NULL);
    build(&f);
    require(tombac_library_create_from_source(f.device, "other.metal", text, sizeof text - 1, NULL, &library, &error), error);
    require(tombac_kernel_create(library, "other", NULL, 0, &kernel, &error), error);
    require(tombac_launch_create(kernel, &launch, &error), error);
    require(tombac_launch_set_buffer(launch, 0, f.out, 0, &error), error);
    require(tombac_launch_set_threads(launch, (tombac_size3){1, 1, 1}, (tombac_size3){1, 1, 1}, &error), error);
    require(tombac_sequence_begin(f.device, &sequence, &error), error);
    require(tombac_sequence_add(sequence, launch, &error), error);
    for (int i = 0; i < 3; i++) require(tombac_sequence_add(sequence, f.launch, &error), error);
    require(tombac_sequence_end(sequence, &operation, &error), error);
    mode("fault");
    assert_int_equal(tombac_operation_wait(operation, -1, &error), TOMBAC_ERROR_KERNEL);
    if (!strstr(tombac_error_message(error), "one of the kernels 'other', 'scale' failed")) fail_msg("%s", tombac_error_message(error));
    tombac_error_release(error);
    tombac_operation_release(operation);
    tombac_launch_release(launch);
    tombac_kernel_release(kernel);
    tombac_library_release(library);
    release(&f);
    mode(NULL);
}
static void test_memory(void **state)
{
    expect("memory", TOMBAC_ERROR_MEMORY, "allocating 64 bytes on the GPU: out of memory (CUDA_ERROR_OUT_OF_MEMORY)");
}

/* After a launch that was given up the device refuses work, as CUDA's calls could wait for ever. */
static void test_hang(void **state)
{
    setenv("TOMBAC_TIME_LIMIT", "0.2", 1);
    expect("hang", TOMBAC_ERROR_TIMEOUT, "did not end within 0.2 s");
    fixture f;
    build(&f);
    mode("hang");
    for (int i = 0; i < 2; i++) {
        tombac_error *error = NULL;
        assert_int_equal(tombac_launch_submit(f.launch, NULL), TOMBAC_OK);
        assert_int_equal(tombac_launch_wait(f.launch, &error), TOMBAC_ERROR_TIMEOUT);
        assert_non_null(strstr(tombac_error_message(error), i ? "still busy" : "did not end within"));
        tombac_error_release(error);
    }
    release(&f);
    mode(NULL);
    unsetenv("TOMBAC_TIME_LIMIT");
}

/* A number that makes a kernel one that no cache knows. */
static unsigned fresh(void)
{
    return (unsigned)tombac_fresh_seed() & 0x3fffffff;
}

static tombac_status make_kernel(const char *behaviour, unsigned number, bool no_cache, tombac_error **error)
{
    tombac_device *device;
    tombac_library *library;
    tombac_kernel *kernel = NULL;
    tombac_error *none = NULL;
    char text[128];
    const tombac_compile_options options = {.no_cache = no_cache};
    int size = snprintf(text, sizeof text, "kernel void own(device int *out) { out[0] = %u; }\n", number);
    mode(behaviour);
    require(tombac_device_open("cuda", &device, &none), none);
    require(tombac_library_create_from_source(device, "own.metal", text, (size_t)size, &options, &library, &none), none);
    tombac_status status = tombac_kernel_create(library, "own", NULL, 0, &kernel, error);
    tombac_kernel_release(kernel);
    tombac_library_release(library);
    tombac_device_release(device);
    mode(NULL);
    return status;
}

static void test_jit(void **state)
{
    for (int no_cache = 0; no_cache < 2; no_cache++) {
        tombac_error *error = NULL;
        assert_int_equal(make_kernel("jit", fresh(), no_cache, &error), TOMBAC_ERROR_ARTIFACT);
        assert_non_null(strstr(tombac_error_message(error), "a made-up complaint"));
        tombac_error_release(error);
        error = NULL;
        assert_int_equal(make_kernel("old", fresh(), no_cache, &error), TOMBAC_ERROR_UNSUPPORTED);
        assert_non_null(strstr(tombac_error_message(error), "NVIDIA's driver is too old for the kernel's code: it is one for CUDA 12.4"));
        tombac_error_release(error);
    }
}

/* What the driver made of a kernel once is loaded the next time; without the cache it compiles PTX again. */
static void test_code_is_kept(void **state)
{
    unsigned ptx[2], code[2], number = fresh();
    void (*read)(unsigned *, unsigned *) = symbol_of("fake_cuda_modules");
    static const struct {
        bool no_cache;
        unsigned from_ptx, from_code;
    } steps[] = {{false, 1, 1}, {false, 0, 1}, {false, 0, 1}, {true, 1, 0}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        read(&ptx[0], &code[0]);
        assert_int_equal(make_kernel(NULL, number, steps[i].no_cache, NULL), TOMBAC_OK);
        read(&ptx[1], &code[1]);
        assert_int_equal(ptx[1] - ptx[0], steps[i].from_ptx);
        assert_int_equal(code[1] - code[0], steps[i].from_code);
    }
}

int main(void)
{
    static const struct CMUnitTest without[] = {cmocka_unit_test(test_no_driver)};
    static const struct CMUnitTest with[] = {cmocka_unit_test(test_no_gpu), cmocka_unit_test(test_old_gpu), cmocka_unit_test(test_offered),
        cmocka_unit_test(test_target), cmocka_unit_test(test_several), cmocka_unit_test(test_copies),
        cmocka_unit_test(test_lazy), cmocka_unit_test(test_bare_pointer), cmocka_unit_test(test_views_share),
        cmocka_unit_test(test_no_copy), cmocka_unit_test(test_eviction), cmocka_unit_test(test_entries), cmocka_unit_test(test_wide),
        cmocka_unit_test(test_specialised),
        cmocka_unit_test(test_sequence), cmocka_unit_test(test_sequence_fails), cmocka_unit_test(test_fault), cmocka_unit_test(test_fault_of_many),
        cmocka_unit_test(test_code_is_kept),
        cmocka_unit_test(test_memory), cmocka_unit_test(test_hang), cmocka_unit_test(test_jit)};
    static const struct CMUnitTest old[] = {cmocka_unit_test(test_old_driver)};
    if (getenv("OLD_DRIVER")) return cmocka_run_group_tests(old, NULL, NULL);
    return getenv("NO_DRIVER") ? cmocka_run_group_tests(without, NULL, NULL)
                               : cmocka_run_group_tests(with, NULL, NULL);
}
