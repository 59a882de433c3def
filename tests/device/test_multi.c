/* Several GPUs, and copies beside kernels, on the stand-ins for libcuda and NCCL (fake_cuda.c, fake_nccl.c):
 * which calls are made, on which streams. LD_LIBRARY_PATH must name the stand-ins' folder. */
#include "tombac/tombac.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { SIZE = 64 };

static const char source[] = "kernel void mark(device uchar *out [[buffer(0)]]) { out[0] = 0x5a; }\n";

static void require(tombac_status status, tombac_error *const *error)
{
    if (status != TOMBAC_OK) fail_msg("%s", tombac_error_message(*error));
}

static void *stand_in(const char *library, const char *name)
{
    void *opened = dlopen(library, RTLD_NOW), *symbol = opened ? dlsym(opened, name) : NULL;
    assert_non_null(symbol);
    return symbol;
}

/* What streams did since the last call. */
static void read_calls(char *text, size_t size)
{
    void *symbol = stand_in("libcuda.so.1", "fake_cuda_calls");
    void (*read)(char *, size_t);
    memcpy(&read, &symbol, sizeof read);
    read(text, size);
}

static size_t count(const char *text, char letter)
{
    size_t n = 0;
    for (; *text; text++) n += *text == letter;
    return n;
}

static unsigned collectives(void)
{
    void *symbol = stand_in("libnccl.so.2", "fake_nccl_collectives");
    unsigned (*read)(void);
    memcpy(&read, &symbol, sizeof read);
    return read();
}

typedef struct gpu {
    tombac_device *device;
    tombac_launch *launch; /* marks its buffer */
    tombac_buffer *buffer;
} gpu;

static gpu open_gpu(const char *name)
{
    gpu g = {0};
    tombac_error *e = NULL;
    tombac_library *library;
    tombac_kernel *kernel;
    tombac_status s = tombac_device_open(name, &g.device, &e);
    require(s, &e);
    s = tombac_library_create_from_source(
        g.device, "mark.metal", source, sizeof source - 1, NULL, &library, &e);
    require(s, &e);
    s = tombac_kernel_create(library, "mark", NULL, 0, &kernel, &e);
    require(s, &e);
    s = tombac_launch_create(kernel, &g.launch, &e);
    require(s, &e);
    assert_int_equal(tombac_buffer_create(g.device, SIZE, NULL, &g.buffer, NULL), TOMBAC_OK);
    assert_int_equal(tombac_launch_set_buffer(g.launch, 0, g.buffer, 0, NULL), TOMBAC_OK);
    assert_int_equal(
        tombac_launch_set_threads(g.launch, (tombac_size3){1, 1, 1}, (tombac_size3){1, 1, 1}, NULL),
        TOMBAC_OK);
    tombac_kernel_release(kernel);
    tombac_library_release(library);
    return g;
}

static void close_gpu(gpu *g)
{
    tombac_launch_release(g->launch);
    tombac_buffer_release(g->buffer);
    tombac_device_release(g->device);
}

static void run(const gpu *g)
{
    assert_int_equal(tombac_launch_submit(g->launch, NULL), TOMBAC_OK);
    assert_int_equal(tombac_launch_wait(g->launch, NULL), TOMBAC_OK);
}

static void copy(tombac_buffer *from, size_t from_offset, tombac_buffer *to, size_t to_offset, size_t size)
{
    tombac_operation *o = NULL;
    tombac_error *e = NULL;
    tombac_status s = tombac_buffer_copy(from, from_offset, to, to_offset, size, &o, &e);
    if (s == TOMBAC_OK) s = tombac_operation_wait(o, -1, &e);
    require(s, &e);
    tombac_operation_release(o);
}

static unsigned char first_byte(tombac_buffer *buffer)
{
    const void *data;
    assert_int_equal(tombac_buffer_begin_read(buffer, &data, NULL), TOMBAC_OK);
    unsigned char byte = *(const unsigned char *)data;
    assert_int_equal(tombac_buffer_end_read(buffer, NULL), TOMBAC_OK);
    return byte;
}

/* ---- Copies ---- */

/* What is on a GPU goes directly to the other, and what will be overwritten is not brought there first. */
static void test_peer_copy(void **state)
{
    char calls[4096];
    setenv("FAKE_CUDA", "two", 1);
    gpu a = open_gpu("cuda:0"), b = open_gpu("cuda:1");
    run(&a);
    read_calls(calls, sizeof calls);
    copy(a.buffer, 0, b.buffer, 0, SIZE);
    read_calls(calls, sizeof calls);
    assert_int_equal(count(calls, 'P'), 1);
    assert_int_equal(count(calls, 'U') + count(calls, 'D') + count(calls, 'O'), 0);
    assert_int_equal(first_byte(b.buffer), 0x5a);
    read_calls(calls, sizeof calls);
    assert_int_equal(count(calls, 'D'), 1);
    /* A part: the rest must be there, too; it is, from the copy before. */
    copy(a.buffer, 0, b.buffer, 8, 8);
    read_calls(calls, sizeof calls);
    assert_int_equal(count(calls, 'P'), 1);
    assert_int_equal(count(calls, 'U'), 0);
    tombac_buffer *view;
    assert_int_equal(tombac_buffer_create_view(b.buffer, NULL, 8, 1, &view, NULL), TOMBAC_OK);
    assert_int_equal(first_byte(view), 0x5a);
    tombac_buffer_release(view);
    close_gpu(&a);
    close_gpu(&b);
}

static void test_copy_on_one(void **state)
{
    char calls[4096];
    setenv("FAKE_CUDA", "two", 1);
    gpu a = open_gpu("cuda:0");
    run(&a);
    read_calls(calls, sizeof calls);
    copy(a.buffer, 0, a.buffer, 32, 8);
    read_calls(calls, sizeof calls);
    assert_int_equal(count(calls, 'O'), 1);
    assert_int_equal(count(calls, 'U') + count(calls, 'D') + count(calls, 'P'), 0);
    const void *data;
    assert_int_equal(tombac_buffer_begin_read(a.buffer, &data, NULL), TOMBAC_OK);
    assert_int_equal(((const unsigned char *)data)[32], 0x5a);
    assert_int_equal(tombac_buffer_end_read(a.buffer, NULL), TOMBAC_OK);
    close_gpu(&a);
}

/* From the host's memory into a buffer that is on a GPU: only the part moves. Between two buffers that no GPU
 * has, nothing does. */
static void test_copy_from_host(void **state)
{
    char calls[4096];
    setenv("FAKE_CUDA", "two", 1);
    gpu a = open_gpu("cuda:0");
    tombac_buffer *filled, *other;
    unsigned char bytes[SIZE];
    memset(bytes, 7, sizeof bytes);
    assert_int_equal(tombac_buffer_create(a.device, SIZE, bytes, &filled, NULL), TOMBAC_OK);
    assert_int_equal(tombac_buffer_create(a.device, SIZE, NULL, &other, NULL), TOMBAC_OK);
    run(&a);
    read_calls(calls, sizeof calls);
    copy(filled, 0, a.buffer, 4, 4);
    read_calls(calls, sizeof calls);
    assert_int_equal(count(calls, 'U'), 1);
    assert_int_equal(count(calls, 'D') + count(calls, 'O') + count(calls, 'P'), 0);
    const unsigned char *data;
    const void *seen;
    assert_int_equal(tombac_buffer_begin_read(a.buffer, &seen, NULL), TOMBAC_OK);
    data = seen;
    assert_int_equal(data[0], 0x5a);
    assert_int_equal(data[3], 0);
    assert_int_equal(data[4], 7);
    assert_int_equal(data[8], 0);
    assert_int_equal(tombac_buffer_end_read(a.buffer, NULL), TOMBAC_OK);
    read_calls(calls, sizeof calls);
    copy(filled, 0, other, 0, SIZE);
    assert_int_equal(first_byte(other), 7);
    read_calls(calls, sizeof calls);
    assert_string_equal(calls, "");
    tombac_buffer_release(filled);
    tombac_buffer_release(other);
    close_gpu(&a);
}

/* Memory that the host has a bare pointer to shows what was copied at once. */
static void test_copy_to_shared(void **state)
{
    setenv("FAKE_CUDA", "two", 1);
    gpu a = open_gpu("cuda:0"), b = open_gpu("cuda:1");
    unsigned char *bare = tombac_buffer_contents(b.buffer);
    run(&a);
    bare[9] = 3;
    copy(a.buffer, 0, b.buffer, 8, 1);
    assert_int_equal(bare[8], 0x5a);
    assert_int_equal(bare[9], 3);
    close_gpu(&a);
    close_gpu(&b);
}

/* ---- Collectives ---- */

static tombac_status sum(
    tombac_group *group, tombac_type type, tombac_buffer *const *buffers, tombac_error **error)
{
    tombac_operation *o = NULL;
    tombac_status s = tombac_group_all_reduce(group, TOMBAC_REDUCE_SUM, type, 4, buffers, buffers, &o, error);
    if (s == TOMBAC_OK) s = tombac_operation_wait(o, -1, error);
    tombac_operation_release(o);
    return s;
}

/* NCCL adds on the GPUs; what it cannot add the host does. */
static void test_nccl(void **state)
{
    char calls[4096];
    setenv("FAKE_CUDA", "two", 1);
    gpu a = open_gpu("cuda:0"), b = open_gpu("cuda:1");
    tombac_device *devices[] = {a.device, b.device}, *twice[] = {a.device, a.device};
    tombac_buffer *buffers[] = {a.buffer, b.buffer};
    tombac_group *group = NULL;
    tombac_error *e = NULL;
    tombac_status s = tombac_group_create(devices, 2, TOMBAC_TRANSPORT_ANY, &group, &e);
    require(s, &e);
    assert_int_equal(tombac_group_transport(group), TOMBAC_TRANSPORT_NCCL);
    assert_string_equal(tombac_group_note(group), "");
    run(&a);
    run(&b);
    unsigned before = collectives();
    read_calls(calls, sizeof calls);
    s = sum(group, TOMBAC_TYPE_I32, buffers, &e);
    require(s, &e);
    read_calls(calls, sizeof calls);
    assert_int_equal(collectives() - before, 1);
    assert_int_equal(count(calls, 'U') + count(calls, 'D'), 0);
    assert_int_equal(first_byte(a.buffer), 0xb4);
    assert_int_equal(first_byte(b.buffer), 0xb4);
    s = sum(group, TOMBAC_TYPE_U16, buffers, &e);
    require(s, &e);
    assert_int_equal(collectives() - before, 1);
    assert_int_equal(first_byte(b.buffer), 0x68);
    setenv("FAKE_NCCL", "fail", 1);
    s = sum(group, TOMBAC_TYPE_I32, buffers, &e);
    assert_int_equal(s, TOMBAC_ERROR_KERNEL);
    assert_non_null(strstr(
        tombac_error_message(e), "running a collective operation: a made-up system error (NCCL's error 2)"));
    unsetenv("FAKE_NCCL");
    tombac_error_release(e);
    e = NULL;
    assert_int_equal(first_byte(a.buffer), 0x68); /* as before */
    tombac_group_release(group);
    s = tombac_group_create(twice, 2, TOMBAC_TRANSPORT_NCCL, &group, &e);
    assert_int_equal(s, TOMBAC_ERROR_UNSUPPORTED);
    assert_string_equal(tombac_error_message(e), "no NCCL: members 0 and 1 are the same GPU");
    tombac_error_release(e);
    close_gpu(&a);
    close_gpu(&b);
}

static void test_no_nccl(void **state)
{
    setenv("FAKE_CUDA", "two", 1);
    gpu a = open_gpu("cuda:0"), b = open_gpu("cuda:1");
    tombac_device *devices[] = {a.device, b.device};
    tombac_buffer *buffers[] = {a.buffer, b.buffer};
    tombac_group *group = NULL;
    tombac_error *e = NULL;
    setenv("TOMBAC_NCCL", "/nowhere/libnccl.so.2", 1);
    tombac_status s = tombac_group_create(devices, 2, TOMBAC_TRANSPORT_NCCL, &group, &e);
    assert_int_equal(s, TOMBAC_ERROR_UNSUPPORTED);
    assert_non_null(strstr(tombac_error_message(e), "no NCCL: /nowhere/libnccl.so.2: cannot open"));
    tombac_error_release(e);
    e = NULL;
    setenv("TOMBAC_NCCL", "libcuda.so.1", 1); /* a library, but another */
    s = tombac_group_create(devices, 2, TOMBAC_TRANSPORT_ANY, &group, &e);
    require(s, &e);
    assert_string_equal(tombac_group_note(group), "no NCCL: libcuda.so.1 has no ncclCommInitAll");
    unsetenv("TOMBAC_NCCL");
    run(&a);
    run(&b);
    s = sum(group, TOMBAC_TYPE_I32, buffers, &e);
    require(s, &e);
    assert_int_equal(first_byte(a.buffer), 0xb4);
    tombac_group_release(group);
    close_gpu(&a);
    close_gpu(&b);
}

/* ---- Graphs ---- */

static tombac_operation *record(const gpu *g, tombac_launch *const *launches, size_t count)
{
    tombac_sequence *sequence;
    tombac_operation *o;
    tombac_error *e = NULL;
    tombac_status s = tombac_sequence_begin(g->device, &sequence, &e);
    for (size_t i = 0; i < count && s == TOMBAC_OK; i++) s = tombac_sequence_add(sequence, launches[i], &e);
    require(s, &e);
    s = tombac_sequence_end(sequence, &o, &e);
    require(s, &e);
    return o;
}

static void finish(tombac_operation *o)
{
    tombac_error *e = NULL;
    tombac_status s = tombac_operation_wait(o, -1, &e);
    require(s, &e);
    tombac_operation_release(o);
}

static int number(const char *name)
{
    void *symbol = stand_in("libcuda.so.1", name);
    int (*read)(void);
    memcpy(&read, &symbol, sizeof read);
    return read();
}

/* A sequence with the same launches as one before is a graph; with other memory it is not. */
static void test_graph(void **state)
{
    char calls[4096];
    enum { COUNT = 5 };
    setenv("FAKE_CUDA", "fill", 1);
    gpu a = open_gpu("cuda");
    tombac_launch *list[COUNT] = {a.launch, a.launch, a.launch, a.launch, a.launch};
    tombac_buffer *other;
    assert_int_equal(tombac_buffer_create(a.device, SIZE, NULL, &other, NULL), TOMBAC_OK);
    static const struct {
        const char *mode;
        bool other;
        size_t length, launches, graphs;
    } steps[] = {{"fill", false, COUNT, COUNT, 0}, {"fill", false, COUNT, 0, 1}, {"fill", false, COUNT, 0, 1},
        {"fill", true, COUNT, COUNT, 0}, {"fill", false, 4, 4, 0}, {"fill", true, COUNT, 0, 1},
        {"fill", false, COUNT, 0, 1}, {"fill", false, 3, 3, 0}, {"fill", false, 3, 3, 0},
        {"no graphs", false, 4, 4, 0}, {"fill", false, 4, 4, 0}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        void *data;
        setenv("FAKE_CUDA", steps[i].mode, 1);
        tombac_buffer *buffer = steps[i].other ? other : a.buffer;
        assert_int_equal(tombac_buffer_begin_write(buffer, &data, NULL), TOMBAC_OK);
        *(unsigned char *)data = 1;
        assert_int_equal(tombac_buffer_end_write(buffer, NULL), TOMBAC_OK);
        assert_int_equal(tombac_launch_set_buffer(a.launch, 0, buffer, 0, NULL), TOMBAC_OK);
        read_calls(calls, sizeof calls);
        finish(record(&a, list, steps[i].length));
        read_calls(calls, sizeof calls);
        assert_int_equal(count(calls, 'L'), steps[i].launches);
        assert_int_equal(count(calls, 'G'), steps[i].graphs);
        if (!strcmp(steps[i].mode, "fill")) assert_int_equal(first_byte(buffer), 0x5a);
    }
    assert_int_equal(number("fake_cuda_graphs"), 2);
    tombac_buffer_release(other);
    close_gpu(&a); /* and its kernel with it */
    assert_int_equal(number("fake_cuda_graphs"), 0);
}

/* Many different sequences: the graphs of those that were used last stay. */
static void test_graphs_are_few(void **state)
{
    enum { MANY = 40 };
    setenv("FAKE_CUDA", "fill", 1);
    gpu a = open_gpu("cuda");
    tombac_launch *list[4] = {a.launch, a.launch, a.launch, a.launch};
    for (uint32_t i = 0; i < 2 * MANY; i++) {
        tombac_size3 grid = {1 + i / 2, 1, 1};
        assert_int_equal(tombac_launch_set_threads(a.launch, grid, (tombac_size3){1, 1, 1}, NULL), TOMBAC_OK);
        finish(record(&a, list, 4));
    }
    assert_in_range(number("fake_cuda_graphs"), 15, 16);
    close_gpu(&a);
    assert_int_equal(number("fake_cuda_graphs"), 0);
}

/* ---- Arguments by value ---- */

/* What a kernel wrote is what the next takes by value: as launches, and in a sequence, where it must be
 * waited for. */
static void test_written_by_value(void **state)
{
    static const char text[] = "kernel void take(device uchar *out [[buffer(0)]], constant uchar &value "
                               "[[buffer(1)]]) { out[1] = value; }\n";
    setenv("FAKE_CUDA", "fill", 1);
    gpu a = open_gpu("cuda");
    tombac_error *e = NULL;
    tombac_library *library;
    tombac_kernel *kernel;
    tombac_launch *take;
    tombac_buffer *out;
    tombac_status s =
        tombac_library_create_from_source(a.device, "take.metal", text, sizeof text - 1, NULL, &library, &e);
    require(s, &e);
    s = tombac_kernel_create(library, "take", NULL, 0, &kernel, &e);
    require(s, &e);
    s = tombac_launch_create(kernel, &take, &e);
    require(s, &e);
    assert_int_equal(tombac_buffer_create(a.device, SIZE, NULL, &out, NULL), TOMBAC_OK);
    assert_int_equal(tombac_launch_set_buffer(take, 0, out, 0, NULL), TOMBAC_OK);
    assert_int_equal(
        tombac_launch_set_threads(take, (tombac_size3){1, 1, 1}, (tombac_size3){1, 1, 1}, NULL), TOMBAC_OK);
    for (int sequence = 0; sequence < 2; sequence++) {
        tombac_buffer *value;
        assert_int_equal(tombac_buffer_create(a.device, SIZE, NULL, &value, NULL), TOMBAC_OK);
        assert_int_equal(tombac_launch_set_buffer(take, 1, value, 0, NULL), TOMBAC_OK);
        assert_int_equal(tombac_launch_set_buffer(a.launch, 0, value, 0, NULL), TOMBAC_OK);
        assert_int_equal(tombac_launch_submit(take, NULL), TOMBAC_OK);
        assert_int_equal(tombac_launch_wait(take, NULL), TOMBAC_OK);
        assert_int_equal(number("fake_cuda_by_value"), 0);
        if (sequence) {
            finish(record(&a, (tombac_launch *[]){a.launch, take, take}, 3));
        } else {
            run(&a);
            assert_int_equal(tombac_launch_submit(take, NULL), TOMBAC_OK);
            assert_int_equal(tombac_launch_wait(take, NULL), TOMBAC_OK);
        }
        assert_int_equal(number("fake_cuda_by_value"), 0x5a);
        tombac_buffer_release(value);
    }
    tombac_buffer_release(out);
    tombac_launch_release(take);
    tombac_kernel_release(kernel);
    tombac_library_release(library);
    close_gpu(&a);
}

/* ---- Copies beside kernels ---- */

/* While one kernel runs, another launch's data arrives and a result goes back, on streams of their own. */
static void test_overlap(void **state)
{
    char calls[4096], begin[8], end[8];
    setenv("FAKE_CUDA", "slow", 1);
    gpu a = open_gpu("cuda");
    tombac_buffer *second, *done;
    assert_int_equal(tombac_buffer_create(a.device, SIZE, NULL, &second, NULL), TOMBAC_OK);
    assert_int_equal(tombac_buffer_create(a.device, SIZE, NULL, &done, NULL), TOMBAC_OK);
    tombac_operation *operations[2];
    assert_int_equal(tombac_launch_set_buffer(a.launch, 0, done, 0, NULL), TOMBAC_OK);
    run(&a);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(tombac_launch_set_buffer(a.launch, 0, i ? second : a.buffer, 0, NULL), TOMBAC_OK);
        assert_int_equal(tombac_launch_operation(a.launch, &operations[i], NULL), TOMBAC_OK);
    }
    read_calls(calls, sizeof calls);
    assert_int_equal(tombac_operation_submit(operations[0], NULL), TOMBAC_OK);
    nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL); /* it runs for 100 ms */
    assert_int_equal(tombac_operation_submit(operations[1], NULL), TOMBAC_OK);
    assert_int_equal(first_byte(done), 0x5a);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(tombac_operation_wait(operations[i], -1, NULL), TOMBAC_OK);
        tombac_operation_release(operations[i]);
    }
    read_calls(calls, sizeof calls);
    const char *launch = strchr(calls, 'L');
    assert_non_null(launch);
    snprintf(begin, sizeof begin, "W%d ", atoi(launch + 1));
    snprintf(end, sizeof end, "E%d ", atoi(launch + 1));
    const char *from = strstr(launch, begin), *to = from ? strstr(from, end) : NULL;
    assert_non_null(to);
    const char *up = strchr(from, 'U'), *down = strchr(from, 'D');
    if (!up || up > to || !down || down > to)
        fail_msg("nothing is copied during the first kernel: %s", calls);
    assert_int_not_equal(atoi(up + 1), atoi(launch + 1));
    assert_int_not_equal(atoi(down + 1), atoi(launch + 1));
    tombac_buffer_release(second);
    tombac_buffer_release(done);
    close_gpu(&a);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test(test_peer_copy),
        cmocka_unit_test(test_copy_on_one), cmocka_unit_test(test_copy_from_host),
        cmocka_unit_test(test_copy_to_shared), cmocka_unit_test(test_nccl), cmocka_unit_test(test_no_nccl),
        cmocka_unit_test(test_graph), cmocka_unit_test(test_graphs_are_few),
        cmocka_unit_test(test_written_by_value), cmocka_unit_test(test_overlap)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
