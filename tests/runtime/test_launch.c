/* Buffers and launches on the fake device: every refusal with its message, geometry as the driver gets it,
 * order, logs, times, failures, several threads, and objects that are released while their launch runs. */
#include "fake.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct fixture {
    tombac_device *device;
    tombac_library *library;
    tombac_kernel *kernel;
    tombac_launch *launch;
    tombac_buffer *buffer; /* 64 bytes */
} fixture;

static fixture make(const char *source)
{
    fixture f = {.device = open_device()};
    f.library = open_library(f.device, source);
    f.kernel = open_kernel(f.library, "k");
    assert_int_equal(tombac_launch_create(f.kernel, &f.launch, NULL), TOMBAC_OK);
    assert_int_equal(tombac_buffer_create(f.device, 64, NULL, &f.buffer, NULL), TOMBAC_OK);
    return f;
}

static void drop(fixture *f)
{
    tombac_launch_release(f->launch);
    tombac_buffer_release(f->buffer);
    tombac_kernel_release(f->kernel);
    tombac_library_release(f->library);
    tombac_device_release(f->device);
}

static void set_threads(
    tombac_launch *launch, uint32_t x, uint32_t y, uint32_t z, uint32_t tx, uint32_t ty, uint32_t tz)
{
    assert_int_equal(
        tombac_launch_set_threads(launch, (tombac_size3){x, y, z}, (tombac_size3){tx, ty, tz}, NULL),
        TOMBAC_OK);
}

static void set_threadgroups(
    tombac_launch *launch, uint32_t x, uint32_t y, uint32_t z, uint32_t tx, uint32_t ty, uint32_t tz)
{
    assert_int_equal(
        tombac_launch_set_threadgroups(launch, (tombac_size3){x, y, z}, (tombac_size3){tx, ty, tz}, NULL),
        TOMBAC_OK);
}

static void expect_refused(tombac_launch *launch, tombac_status expected, const char *part)
{
    tombac_error *error = NULL;
    tombac_status status = tombac_launch_submit(launch, &error);
    assert_string_equal(tombac_error_kernel(error) ? tombac_error_kernel(error) : "(none)", "k");
    expect_failure(status, error, expected, part);
    assert_int_equal(tombac_launch_submit(launch, NULL), expected);
}

static void run(tombac_launch *launch)
{
    tombac_error *error = NULL;
    if (tombac_launch_submit(launch, &error) != TOMBAC_OK || tombac_launch_wait(launch, &error) != TOMBAC_OK)
        fail_msg("%s", tombac_error_message(error));
}

/* ---- Buffers ---- */

static void test_buffers(void **state)
{
    tombac_device *device = open_device();
    tombac_buffer *buffer = NULL;
    static const size_t sizes[] = {0, 1, 63, 64, 65, 4096, (1 << 20) - 1, 1 << 20, 3 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_int_equal(tombac_buffer_create(device, sizes[i], NULL, &buffer, NULL), TOMBAC_OK);
        unsigned char *bytes = tombac_buffer_contents(buffer);
        assert_non_null(bytes);
        assert_int_equal((uintptr_t)bytes % (sizes[i] >= 1 << 20 ? 4096 : 64), 0);
        assert_int_equal(tombac_buffer_size(buffer), sizes[i]);
        for (size_t k = 0; k < sizes[i]; k++) assert_int_equal(bytes[k], 0);
        memset(bytes, 0xa5, sizes[i]);
        tombac_buffer_release(buffer);
    }
    char *data = malloc(2 << 20);
    for (size_t i = 0; i < 2 << 20; i++) data[i] = (char)(i * 7 + i / 256);
    for (size_t size = 1; size <= 2 << 20; size *= 8) {
        assert_int_equal(tombac_buffer_create(device, size, data, &buffer, NULL), TOMBAC_OK);
        assert_memory_equal(tombac_buffer_contents(buffer), data, size);
        tombac_buffer_release(buffer);
    }
    free(data);
    tombac_error *error = NULL;
    buffer = NULL;
    tombac_status status = tombac_buffer_create(device, SIZE_MAX, NULL, &buffer, &error);
    expect_failure(status, error, TOMBAC_ERROR_MEMORY, "18446744073709551615 bytes");
    assert_null(buffer);
    assert_int_equal(tombac_buffer_create(NULL, 1, NULL, &buffer, NULL), TOMBAC_ERROR_ARGUMENT);
    assert_int_equal(tombac_buffer_create(device, 1, NULL, NULL, NULL), TOMBAC_ERROR_ARGUMENT);
    tombac_device_release(device);
}

/* ---- Bindings ---- */

static const char bindings[] =
    "kernel k\nargument buffer a 2 float4 f32 4 16 16 -\nargument buffer out 0 float f32 1 4 4 w\n"
    "argument constant p 1 args_t - 0 24 8 r\nargument threadgroup t 0 float f32 1 4 4 -\n"
    "argument threadgroup u 3 half f16 1 2 2 -\nargument buffer gone 7 float f32 1 4 4 i\nstatic 100\n"
    "object FAKE geometry\n";

static void test_bindings(void **state)
{
    fixture f = make(bindings);
    tombac_launch *l = f.launch;
    char bytes[64] = {0};
    set_threads(l, 1, 1, 1, 1, 1, 1);
    expect_refused(l, TOMBAC_ERROR_BINDING, "kernel 'k': argument 'a' [[buffer(2)]] is missing");
    assert_int_equal(tombac_launch_set_buffer(l, 2, f.buffer, 65, NULL), TOMBAC_OK);
    expect_refused(l, TOMBAC_ERROR_BINDING,
        "'a' [[buffer(2)]] starts at offset 65, beyond the end of its buffer of 64 bytes");
    assert_int_equal(tombac_launch_set_buffer(l, 2, f.buffer, 8, NULL), TOMBAC_OK);
    expect_refused(
        l, TOMBAC_ERROR_BINDING, "offset 8, which is not a multiple of 16, the alignment of 'float4'");
    assert_int_equal(tombac_launch_set_bytes(l, 2, bytes, 8, NULL), TOMBAC_OK);
    expect_refused(
        l, TOMBAC_ERROR_BINDING, "'a' [[buffer(2)]] has 8 bytes, but one element of type 'float4' takes 16");
    assert_int_equal(
        tombac_launch_set_buffer(l, 2, f.buffer, 64, NULL), TOMBAC_OK); /* empty: a pointer may be that */
    expect_refused(l, TOMBAC_ERROR_BINDING, "'out' [[buffer(0)]] is missing");
    assert_int_equal(tombac_launch_set_buffer(l, 2, f.buffer, 32, NULL), TOMBAC_OK);
    assert_int_equal(tombac_launch_set_bytes(l, 0, bytes, 64, NULL), TOMBAC_OK);
    expect_refused(l, TOMBAC_ERROR_BINDING, "'out' [[buffer(0)]] is written by the kernel");
    assert_int_equal(tombac_launch_set_buffer(l, 0, f.buffer, 0, NULL), TOMBAC_OK);
    assert_int_equal(tombac_launch_set_bytes(l, 1, bytes, 0, NULL), TOMBAC_OK);
    expect_refused(
        l, TOMBAC_ERROR_BINDING, "'p' [[buffer(1)]] has 0 bytes, but one element of type 'args_t' takes 24");
    assert_int_equal(tombac_launch_set_bytes(l, 1, bytes, 23, NULL), TOMBAC_OK);
    expect_refused(
        l, TOMBAC_ERROR_BINDING, "'p' [[buffer(1)]] has 23 bytes, but one element of type 'args_t' takes 24");
    assert_int_equal(tombac_launch_set_bytes(l, 1, bytes, 24, NULL), TOMBAC_OK);
    expect_refused(l, TOMBAC_ERROR_BINDING, "'t' [[threadgroup(0)]] is missing");
    assert_int_equal(tombac_launch_set_threadgroup_memory(l, 0, 3, NULL), TOMBAC_OK);
    assert_int_equal(tombac_launch_set_threadgroup_memory(l, 3, 50, NULL), TOMBAC_OK);
    expect_refused(l, TOMBAC_ERROR_BINDING, "'t' [[threadgroup(0)]] has 3 bytes of threadgroup memory");
    assert_int_equal(tombac_launch_set_threadgroup_memory(l, 0, 32769, NULL), TOMBAC_OK);
    expect_refused(l, TOMBAC_ERROR_BINDING, "has 32769 bytes of threadgroup memory; at most 32768");
    assert_int_equal(tombac_launch_set_threadgroup_memory(l, 0, 32600, NULL), TOMBAC_OK);
    /* 100 of its own, at 112: 32600, at 32720: 50 */
    expect_refused(l, TOMBAC_ERROR_BINDING, "needs 32770 bytes of threadgroup memory (100 of them its own)");
    assert_int_equal(tombac_launch_set_threadgroup_memory(l, 0, 32592, NULL), TOMBAC_OK);
    run(l);
    assert_string_equal(tombac_launch_log(l), "grid 1 1 1 groups 1 1 1 group 1 1 1 simd 1 memory 32754 [32 "
                                              "32 64] [0 64 64] [0 24 24] [-1 32592 0] [-1 50 0] "
                                              "[-1 0 0]\n");
    drop(&f);
}

/* ---- Tensors ---- */

static const char tensors[] =
    "kernel k\ntensor {\"extents\":[null,4],\"index\":\"i8\"}\nargument tensor a 2 half f16 1 2 2 w\n"
    "argument constant n 0 int i32 1 4 4 r\ntensor {\"extents\":[3],\"index\":\"u64\"}\n"
    "argument tensor gone 1 half f16 1 2 2 i\nargument layout a 2 layout - 0 32 8 r\n"
    "argument layout gone 1 layout - 0 16 8 ri\nobject FAKE geometry\n";

static void refuse_tensor(fixture *f, const tombac_tensor *tensor, size_t offset, tombac_status expected, const char *part)
{
    tombac_error *error = NULL;
    tombac_status status = tombac_launch_set_tensor(f->launch, 2, f->buffer, offset, tensor, &error);
    expect_failure(status, error, expected, part);
}

static void test_tensors(void **state)
{
    fixture f = make(tensors);
    tombac_launch *l = f.launch;
    assert_int_equal(tombac_kernel_argument_count(f.kernel), 3); /* without the layouts */
    tombac_argument argument;
    assert_int_equal(tombac_kernel_get_argument(f.kernel, 0, &argument, NULL), TOMBAC_OK);
    assert_int_equal(argument.kind, TOMBAC_ARGUMENT_TENSOR);
    assert_int_equal(argument.rank, 2);
    assert_true(argument.extents[0] == SIZE_MAX && argument.extents[1] == 4 && argument.writable);
    assert_int_equal(tombac_kernel_get_argument(f.kernel, 1, &argument, NULL), TOMBAC_OK);
    assert_true(argument.rank == 0 && !argument.extents);

    size_t extents[17] = {5, 4, 1}, strides[2] = {1, 9};
    tombac_tensor t = {TOMBAC_TYPE_F16, 2, extents, NULL};
    set_threads(l, 1, 1, 1, 1, 1, 1);
    assert_int_equal(tombac_launch_set_bytes(l, 0, "abcd", 4, NULL), TOMBAC_OK);
    expect_refused(l, TOMBAC_ERROR_BINDING, "'a' [[buffer(2)]] is missing");
    assert_int_equal(tombac_launch_set_tensor(l, 2, NULL, 0, &t, NULL), TOMBAC_ERROR_ARGUMENT);
    assert_int_equal(tombac_launch_set_tensor(l, 2, f.buffer, 0, NULL, NULL), TOMBAC_ERROR_ARGUMENT);
    t.rank = 17;
    refuse_tensor(&f, &t, 0, TOMBAC_ERROR_ARGUMENT, "1 to 16 dimensions, not 17");
    t.rank = 3;
    refuse_tensor(&f, &t, 0, TOMBAC_ERROR_BINDING, "'a' [[buffer(2)]] is a tensor of 2 dimensions; the bound one has 3");
    t.rank = 2;
    t.type = TOMBAC_TYPE_BF16;
    refuse_tensor(&f, &t, 0, TOMBAC_ERROR_BINDING, "is a tensor of f16; the bound one is of bf16");
    t.type = TOMBAC_TYPE_F16;
    extents[1] = 5;
    refuse_tensor(&f, &t, 0, TOMBAC_ERROR_BINDING, "has the extent 4 in dimension 1; the bound tensor has 5");
    extents[1] = 4;
    extents[0] = 128;
    refuse_tensor(&f, &t, 0, TOMBAC_ERROR_BINDING, "counts extents up to 127; the bound tensor has 128 in dimension 0");
    extents[0] = 5;
    refuse_tensor(&f, &t, 26, TOMBAC_ERROR_BINDING, "ends 20 elements behind offset 26 of a buffer of 64 bytes");
    t.strides = strides;
    refuse_tensor(&f, &t, 2, TOMBAC_ERROR_BINDING, "ends 32 elements behind offset 2 of a buffer of 64 bytes");
    strides[1] = SIZE_MAX / 2;
    refuse_tensor(&f, &t, 0, TOMBAC_ERROR_BINDING, "does not fit");
    strides[1] = 9;

    /* Either kind of argument takes only its own kind of binding. */
    tombac_error *error = NULL;
    tombac_status status = tombac_launch_set_tensor(l, 0, f.buffer, 0, &t, &error);
    expect_failure(status, error, TOMBAC_ERROR_BINDING, "is no tensor");
    error = NULL;
    status = tombac_launch_set_buffer(l, 2, f.buffer, 0, &error);
    expect_failure(status, error, TOMBAC_ERROR_BINDING, "is a tensor");
    error = NULL;
    status = tombac_launch_set_bytes(l, 2, "", 1, &error);
    expect_failure(status, error, TOMBAC_ERROR_BINDING, "is a tensor");

    assert_int_equal(tombac_launch_set_tensor(l, 2, f.buffer, 0, &t, NULL), TOMBAC_OK);
    run(l);
    assert_string_equal(tombac_launch_log(l), "grid 1 1 1 groups 1 1 1 group 1 1 1 simd 1 memory 0 [0 64 64] [0 4 4] "
                                              "[-1 0 0] [0 32 32] [-1 0 0]\n");
    t.strides = NULL;
    assert_int_equal(tombac_launch_set_tensor(l, 2, f.buffer, 24, &t, NULL), TOMBAC_OK);
    extents[0] = 0; /* was copied; and nothing fits everywhere */
    run(l);
    assert_int_equal(tombac_launch_set_tensor(l, 2, f.buffer, 64, &t, NULL), TOMBAC_OK);
    assert_int_equal(tombac_launch_set_tensor(l, 1, f.buffer, 0, &t, NULL), TOMBAC_OK); /* not active: dropped */
    run(l);
    drop(&f);
}

static void test_extra_bindings(void **state)
{
    fixture f = make(bindings);
    tombac_error *error = NULL;
    tombac_status status = tombac_launch_set_buffer(f.launch, 3, f.buffer, 0, &error);
    expect_failure(status, error, TOMBAC_ERROR_BINDING, "kernel 'k' has no argument [[buffer(3)]]");
    status = tombac_launch_set_bytes(f.launch, 30, "x", 1, &error);
    expect_failure(status, error, TOMBAC_ERROR_BINDING, "[[buffer(30)]]");
    status = tombac_launch_set_threadgroup_memory(f.launch, 1, 16, &error);
    expect_failure(status, error, TOMBAC_ERROR_BINDING, "[[threadgroup(1)]]");
    /* What a function constant removed may be bound all the same. */
    assert_int_equal(tombac_launch_set_buffer(f.launch, 7, f.buffer, 1000, NULL), TOMBAC_OK);
    assert_int_equal(tombac_launch_set_bytes(f.launch, 7, "x", 1, NULL), TOMBAC_OK);
    tombac_device *device = open_device();
    tombac_buffer *foreign = NULL;
    assert_int_equal(tombac_buffer_create(device, 64, NULL, &foreign, NULL), TOMBAC_OK);
    status = tombac_launch_set_buffer(f.launch, 0, foreign, 0, &error);
    expect_failure(status, error, TOMBAC_ERROR_BINDING, "another device");
    tombac_buffer_release(foreign);
    tombac_device_release(device);
    assert_int_equal(tombac_launch_set_buffer(f.launch, 0, NULL, 0, NULL), TOMBAC_ERROR_ARGUMENT);
    assert_int_equal(tombac_launch_set_bytes(f.launch, 1, NULL, 4, NULL), TOMBAC_ERROR_ARGUMENT);
    assert_int_equal(tombac_launch_set_bytes(f.launch, 1, "", SIZE_MAX, NULL), TOMBAC_ERROR_MEMORY);
    assert_int_equal(tombac_launch_set_buffer(NULL, 0, f.buffer, 0, NULL), TOMBAC_ERROR_ARGUMENT);
    assert_int_equal(tombac_launch_submit(NULL, NULL), TOMBAC_ERROR_ARGUMENT);
    assert_int_equal(tombac_launch_wait(NULL, NULL), TOMBAC_ERROR_ARGUMENT);
    assert_int_equal(tombac_launch_create(NULL, &f.launch, NULL), TOMBAC_ERROR_ARGUMENT);
    assert_int_equal(tombac_launch_create(f.kernel, NULL, NULL), TOMBAC_ERROR_ARGUMENT);
    drop(&f);
}

/* ---- Geometry ---- */

static void test_geometry(void **state)
{
    fixture f = make("kernel k\nobject FAKE geometry\n");
    tombac_launch *l = f.launch;
    expect_refused(l, TOMBAC_ERROR_GEOMETRY, "kernel 'k': the launch has no grid");
    set_threads(l, 8, 8, 8, 4, 0, 1);
    expect_refused(l, TOMBAC_ERROR_GEOMETRY, "a threadgroup of 4 x 0 x 1 threads is empty");
    set_threads(l, 8, 8, 8, 32, 33, 1);
    expect_refused(
        l, TOMBAC_ERROR_GEOMETRY, "32 x 33 x 1 threads is larger than the device's maximum of 1024");
    set_threads(l, 8, 8, 8, 65536, 65536, 1); /* the product is 0 in 32 bits */
    expect_refused(l, TOMBAC_ERROR_GEOMETRY, "65536 x 65536 x 1");
    set_threadgroups(l, 1, 1u << 31, 1, 1, 2, 1);
    expect_refused(
        l, TOMBAC_ERROR_GEOMETRY, "2147483648 threadgroups of 2 threads in y are more than 4294967295");
    set_threads(l, 100, 7, 3, 32, 2, 1);
    run(l);
    assert_string_equal(tombac_launch_log(l), "grid 100 7 3 groups 4 4 3 group 32 2 1 simd 2 memory 0\n");
    set_threadgroups(l, 4, 3, 2, 33, 1, 1);
    run(l);
    assert_string_equal(tombac_launch_log(l), "grid 132 3 2 groups 4 3 2 group 33 1 1 simd 2 memory 0\n");
    set_threads(l, UINT32_MAX, 1, 1, 1024, 1, 1);
    run(l);
    assert_string_equal(
        tombac_launch_log(l), "grid 4294967295 1 1 groups 4194304 1 1 group 1024 1 1 simd 32 memory 0\n");
    set_threadgroups(l, UINT32_MAX, 1, 1, 1, 1, 1);
    run(l);
    set_threads(l, 5, 0, 5, 1, 1, 1); /* nothing to do */
    run(l);
    assert_string_equal(tombac_launch_log(l), "");
    drop(&f);
}

static void test_kernel_limits(void **state)
{
    fixture f = make("kernel k\nmax 64\nrequired 8 4 1\nobject FAKE geometry\n");
    set_threads(f.launch, 8, 8, 8, 65, 1, 1);
    expect_refused(
        f.launch, TOMBAC_ERROR_GEOMETRY, "65 x 1 x 1 threads is larger than the kernel's maximum of 64");
    set_threads(f.launch, 8, 8, 8, 4, 8, 1);
    expect_refused(
        f.launch, TOMBAC_ERROR_GEOMETRY, "has 4 x 8 x 1 threads, but the kernel requires 8 x 4 x 1");
    set_threads(f.launch, 8, 8, 8, 8, 4, 1);
    run(f.launch);
    drop(&f);
}

/* ---- Execution ---- */

static const char adder[] =
    "kernel k\nargument buffer a 0 float f32 1 4 4 -\nargument buffer b 1 float f32 1 4 4 -\n"
    "argument buffer out 2 float f32 1 4 4 w\nobject FAKE add\n";

static void test_add(void **state)
{
    fixture f = make(adder);
    float a[10], b[10];
    tombac_buffer *in, *out;
    for (int i = 0; i < 10; i++) a[i] = (float)i, b[i] = 100.0f * (float)i;
    assert_int_equal(tombac_buffer_create(f.device, sizeof a, a, &in, NULL), TOMBAC_OK);
    assert_int_equal(tombac_buffer_create(f.device, sizeof a, NULL, &out, NULL), TOMBAC_OK);
    assert_int_equal(tombac_launch_set_buffer(f.launch, 0, in, 0, NULL), TOMBAC_OK);
    assert_int_equal(tombac_launch_set_bytes(f.launch, 1, b, sizeof b, NULL), TOMBAC_OK);
    assert_int_equal(tombac_launch_set_buffer(f.launch, 2, out, 0, NULL), TOMBAC_OK);
    tombac_buffer_release(in); /* the launch keeps it */
    memset(b, 0, sizeof b);    /* and a copy of the bytes */
    set_threads(f.launch, 10, 1, 1, 4, 1, 1);
    for (int repeat = 0; repeat < 2; repeat++) {
        memset(tombac_buffer_contents(out), 0, sizeof a);
        run(f.launch);
        for (int i = 0; i < 10; i++)
            assert_true(((float *)tombac_buffer_contents(out))[i] == 101.0f * (float)i);
    }
    tombac_buffer_release(out);
    drop(&f);
}

static void test_failure(void **state)
{
    setenv("TOMBAC_TIME_LIMIT", "2.5", 1);
    fixture f = make("kernel k\nobject FAKE fail\n");
    tombac_error *error = NULL;
    tombac_status status = tombac_launch_wait(f.launch, &error);
    expect_failure(status, error, TOMBAC_ERROR_ARGUMENT, "kernel 'k' was not submitted");
    set_threads(f.launch, 1, 1, 1, 1, 1, 1);
    assert_int_equal(tombac_launch_submit(f.launch, NULL), TOMBAC_OK);
    for (int i = 0; i < 2; i++) { /* every wait reports it */
        assert_int_equal(tombac_launch_wait(f.launch, NULL), TOMBAC_ERROR_KERNEL);
        status = tombac_launch_wait(f.launch, &error);
        assert_string_equal(tombac_error_kernel(error), "k");
        assert_string_equal(tombac_error_file(error), "k.metal");
        assert_int_equal(tombac_error_line(error), 7);
        assert_int_equal(tombac_error_column(error), 3);
        expect_failure(status, error, TOMBAC_ERROR_KERNEL, "it failed after 2.5 s");
    }
    assert_int_equal(tombac_launch_submit(f.launch, NULL), TOMBAC_OK);
    assert_int_equal(tombac_launch_wait(f.launch, NULL), TOMBAC_ERROR_KERNEL);
    set_threads(f.launch, 0, 1, 1, 1, 1, 1); /* an empty grid succeeds even so */
    run(f.launch);
    drop(&f);
}

static void test_pending(void **state)
{
    fixture f = make("kernel k\nargument buffer a 0 float f32 1 4 4 -\nobject FAKE sleep 300\n");
    tombac_launch *l = f.launch;
    assert_int_equal(tombac_launch_set_buffer(l, 0, f.buffer, 0, NULL), TOMBAC_OK);
    set_threads(l, 1, 1, 1, 1, 1, 1);
    assert_int_equal(tombac_launch_submit(l, NULL), TOMBAC_OK);
    tombac_error *error = NULL;
    tombac_status status = tombac_launch_submit(l, &error);
    expect_failure(status, error, TOMBAC_ERROR_ARGUMENT, "kernel 'k' has not ended yet");
    assert_int_equal(tombac_launch_set_buffer(l, 0, f.buffer, 0, NULL), TOMBAC_ERROR_ARGUMENT);
    assert_int_equal(tombac_launch_set_bytes(l, 0, "abcd", 4, NULL), TOMBAC_ERROR_ARGUMENT);
    assert_int_equal(tombac_launch_set_threads(l, (tombac_size3){1, 1, 1}, (tombac_size3){1, 1, 1}, NULL),
        TOMBAC_ERROR_ARGUMENT);
    assert_string_equal(tombac_launch_log(l), "");
    assert_int_equal(tombac_launch_wait(l, NULL), TOMBAC_OK);
    assert_true(tombac_launch_seconds(l) >= 0.29 && tombac_launch_seconds(l) < 10);
    /* Everything may be released while it runs: the last reference then goes on the device's own thread. */
    assert_int_equal(tombac_launch_submit(l, NULL), TOMBAC_OK);
    drop(&f);
    struct timespec half_second = {.tv_nsec = 500000000};
    nanosleep(&half_second, NULL); /* so that a leak checker sees the end */
}

enum { THREADS = 4, LAUNCHES = 200 };

static void *submit_many(void *argument)
{
    const fixture *f = argument;
    tombac_launch *launches[LAUNCHES];
    for (int i = 0; i < LAUNCHES; i++) {
        if (tombac_launch_create(f->kernel, &launches[i], NULL) != TOMBAC_OK) return "create";
        if (tombac_launch_set_buffer(launches[i], 0, f->buffer, 0, NULL) != TOMBAC_OK) return "set";
        if (tombac_launch_set_threads(launches[i], (tombac_size3){1, 1, 1}, (tombac_size3){1, 1, 1}, NULL) !=
            TOMBAC_OK)
            return "grid";
        if (tombac_launch_submit(launches[i], NULL) != TOMBAC_OK) return "submit";
    }
    for (int i = 0; i < LAUNCHES; i++) {
        if (tombac_launch_wait(launches[i], NULL) != TOMBAC_OK) return "wait";
        tombac_launch_release(launches[i]);
    }
    return NULL;
}

/* The kernel adds 1 without atomics: right only if launches run one after the other, each after what was
 * submitted before. */
static void test_threads(void **state)
{
    fixture f = make("kernel k\nargument buffer a 0 uint u32 1 4 4 w\nobject FAKE count\n");
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, submit_many, &f), 0);
    for (int i = 0; i < THREADS; i++) {
        void *problem;
        pthread_join(threads[i], &problem);
        assert_null(problem);
    }
    assert_int_equal(*(uint32_t *)tombac_buffer_contents(f.buffer), THREADS * LAUNCHES);
    drop(&f);
}

static void *wait_for(void *argument)
{
    return (void *)(intptr_t)tombac_launch_wait(argument, NULL);
}

static void test_many_waiters(void **state)
{
    fixture f = make("kernel k\nobject FAKE sleep 100\n");
    set_threads(f.launch, 1, 1, 1, 1, 1, 1);
    assert_int_equal(tombac_launch_submit(f.launch, NULL), TOMBAC_OK);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, wait_for, f.launch), 0);
    for (int i = 0; i < THREADS; i++) {
        void *status;
        pthread_join(threads[i], &status);
        assert_int_equal((intptr_t)status, TOMBAC_OK);
    }
    drop(&f);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)
    const struct CMUnitTest tests[] = {TEST(test_buffers), TEST(test_bindings), TEST(test_tensors), TEST(test_extra_bindings),
        TEST(test_geometry), TEST(test_kernel_limits), TEST(test_add), TEST(test_failure), TEST(test_pending),
        TEST(test_threads), TEST(test_many_waiters)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
