/* Typed buffers on the fake device: sizes, no-copy memory, views, host access and its conflicts, types
 * against kernels. */
#include "graph.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct particle {
    float place[3];
    float mass;
    uint16_t kind;
    uint16_t flags;
} particle;

static const tombac_element floats = TOMBAC_ELEMENT(TOMBAC_TYPE_F32, float);
static const tombac_element uints = TOMBAC_ELEMENT(TOMBAC_TYPE_U32, uint32_t);
static const tombac_element vectors = TOMBAC_ELEMENT_VECTOR(TOMBAC_TYPE_F32, float, 4);
static const tombac_member particle_members[] = {
    TOMBAC_MEMBER(particle, place), TOMBAC_MEMBER(particle, mass), TOMBAC_MEMBER(particle, kind)};
static const tombac_element particles = TOMBAC_ELEMENT_STRUCT(particle, particle_members);

static void test_elements(void **state)
{
    graph g = graph_open();
    tombac_buffer *buffer = NULL;
    const float data[5] = {1, 2, 3, 4, 5};
    REQUIRE(tombac_buffer_create_elements(g.device, &floats, 5, data, &buffer, &require_error));
    assert_int_equal(tombac_buffer_count(buffer), 5);
    assert_int_equal(tombac_buffer_size(buffer), 20);
    assert_memory_equal(tombac_buffer_contents(buffer), data, sizeof data);
    tombac_buffer_release(buffer);
    REQUIRE(tombac_buffer_create_elements(g.device, &particles, 0, NULL, &buffer, &require_error));
    assert_int_equal(tombac_buffer_size(buffer), 0);
    tombac_buffer_release(buffer);
    tombac_error *error = NULL;
    tombac_status status =
        tombac_buffer_create_elements(g.device, &floats, SIZE_MAX / 2, NULL, &buffer, &error);
    expect_failure(
        status, error, TOMBAC_ERROR_MEMORY, "9223372036854775807 elements of 4 bytes are more than memory");
    status = tombac_buffer_create_elements(g.device, &floats, SIZE_MAX / 8, NULL, &buffer, &error);
    expect_failure(status, error, TOMBAC_ERROR_MEMORY, "larger than the device's limit");
    tombac_element wrong = floats;
    wrong.size = 8;
    status = tombac_buffer_create_elements(g.device, &wrong, 1, NULL, &buffer, &error);
    expect_failure(status, error, TOMBAC_ERROR_ARGUMENT, "no element is f32 x 1 and 8 bytes long");
    const tombac_member outside = {"x", 20, 8};
    wrong = particles;
    wrong.members = &outside;
    wrong.member_count = 1;
    status = tombac_buffer_create_elements(g.device, &wrong, 1, NULL, &buffer, &error);
    expect_failure(status, error, TOMBAC_ERROR_ARGUMENT,
        "'x', offset 20, 8 bytes) is not inside its element of 20 bytes");
    graph_close(&g);
}

static atomic_int freed;

static void unmap(void *context, void *memory)
{
    munmap(memory, *(const size_t *)context);
    atomic_fetch_add(&freed, 1);
}

static void test_no_copy(void **state)
{
    graph g = graph_open();
    static size_t size;
    size = (size_t)sysconf(_SC_PAGESIZE) * 2;
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    tombac_buffer *buffer = NULL;
    tombac_error *error = NULL;
    tombac_status status =
        tombac_buffer_create_no_copy(g.device, NULL, memory + 64, size / 2, unmap, &size, &buffer, &error);
    expect_failure(status, error, TOMBAC_ERROR_ARGUMENT, "must be multiples of the page size");
    status = tombac_buffer_create_no_copy(g.device, NULL, memory, size - 1, unmap, &size, &buffer, &error);
    expect_failure(status, error, TOMBAC_ERROR_ARGUMENT, "must be multiples of the page size");
    status = tombac_buffer_create_no_copy(g.device, NULL, memory, 0, unmap, &size, &buffer, &error);
    expect_failure(status, error, TOMBAC_ERROR_ARGUMENT, "of 0 bytes");
    assert_int_equal(freed, 0);
    REQUIRE(
        tombac_buffer_create_no_copy(g.device, &uints, memory, size, unmap, &size, &buffer, &require_error));
    assert_ptr_equal(tombac_buffer_contents(buffer), memory);
    assert_int_equal(tombac_buffer_count(buffer), size / 4);
    tombac_operation *operation = make_operation(&g, "append n 60", "w", (tombac_buffer *[]){buffer});
    tombac_buffer *view = NULL;
    REQUIRE(tombac_buffer_create_view(buffer, NULL, 16, 4, &view, &require_error));
    REQUIRE(tombac_operation_submit(operation, &require_error));
    tombac_buffer_release(buffer);
    assert_int_equal(freed, 0);
    REQUIRE(tombac_operation_wait(operation, -1, &require_error));
    assert_string_equal(memory, "n"); /* in place */
    tombac_operation_release(operation);
    assert_int_equal(freed, 0); /* the view */
    tombac_buffer_release(view);
    assert_int_equal(freed, 1);
    graph_close(&g);
}

static void test_views(void **state)
{
    graph g = graph_open();
    tombac_buffer *whole = NULL, *part = NULL, *inner = NULL, *other = NULL;
    const float data[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    REQUIRE(tombac_buffer_create_elements(g.device, &floats, 8, data, &whole, &require_error));
    REQUIRE(tombac_buffer_create_view(whole, NULL, 8, 5, &part, &require_error));
    REQUIRE(tombac_buffer_create_view(part, NULL, 4, 4, &inner, &require_error));
    assert_true(*(float *)tombac_buffer_contents(part) == 2 && *(float *)tombac_buffer_contents(inner) == 3);
    assert_int_equal(tombac_buffer_size(inner), 16);
    tombac_error *error = NULL;
    tombac_status status = tombac_buffer_create_view(part, NULL, 4, 5, &other, &error);
    expect_failure(status, error, TOMBAC_ERROR_ARGUMENT,
        "a view of 20 bytes at offset 4 does not fit into a buffer of 20 bytes");
    status = tombac_buffer_create_view(part, NULL, 0, SIZE_MAX / 2, &other, &error);
    expect_failure(status, error, TOMBAC_ERROR_MEMORY, "more than memory can have");
    status = tombac_buffer_create_view(part, &vectors, 0, 1, &other, &error);
    expect_failure(status, error, TOMBAC_ERROR_ARGUMENT, "offset 8 is not aligned to 16 bytes");
    REQUIRE(tombac_buffer_create_view(part, &vectors, 8, 0, &other, &require_error));
    tombac_buffer_release(other);
    /* A kernel gets the view's bounds, and the view's writes are ordered with those of the whole. */
    REQUIRE(tombac_buffer_create_view(part, &uints, 0, 5, &other, &require_error));
    tombac_launch *show = make_launch(&g, "geometry", "r", &other);
    REQUIRE(tombac_launch_submit(show, &require_error));
    REQUIRE(tombac_launch_wait(show, &require_error));
    assert_non_null(strstr(tombac_launch_log(show), "[0 20 20]"));
    tombac_buffer *bytes[] = {NULL, NULL};
    REQUIRE(tombac_buffer_create_view(whole, &uints, 0, 8, &bytes[0], &require_error));
    REQUIRE(tombac_buffer_create_view(whole, &uints, 28, 1, &bytes[1], &require_error));
    memset(tombac_buffer_contents(whole), 0, 32);
    tombac_operation *slow = make_operation(&g, "append s 80", "w", &bytes[0]);
    tombac_operation *after = make_operation(&g, "sleep 0", "r", &bytes[1]);
    REQUIRE(tombac_operation_submit(slow, &require_error));
    REQUIRE(tombac_operation_wait(after, -1, &require_error));
    assert_string_equal(tombac_buffer_contents(whole), "s");
    tombac_operation_release(slow);
    tombac_operation_release(after);
    tombac_buffer_release(bytes[0]);
    tombac_buffer_release(bytes[1]);
    tombac_buffer_release(other);
    tombac_launch_release(show);
    tombac_buffer_release(whole);
    tombac_buffer_release(part);
    assert_true(*(float *)tombac_buffer_contents(inner) == 0);
    tombac_buffer_release(inner);
    graph_close(&g);
}

static tombac_status try_launch(graph *g, const char *argument, tombac_buffer *buffer, tombac_error **error)
{
    tb_text source = {0};
    tb_text_printf(&source, "kernel k\nargument buffer a 0 %s -\nobject FAKE geometry\n", argument);
    tombac_library *library = open_library(g->device, source.data);
    tombac_kernel *kernel = open_kernel(library, "k");
    tombac_launch *launch = NULL;
    tombac_operation *operation = NULL;
    REQUIRE(tombac_launch_create(kernel, &launch, &require_error));
    REQUIRE(tombac_launch_set_buffer(launch, 0, buffer, 0, &require_error));
    REQUIRE(tombac_launch_set_grid(launch, tombac_for_elements(1, 1), &require_error));
    tombac_status status = tombac_launch_operation(launch, &operation, error);
    tombac_operation_release(operation);
    tombac_launch_release(launch);
    tombac_kernel_release(kernel);
    tombac_library_release(library);
    tb_text_free(&source);
    return status;
}

static void test_types(void **state)
{
    graph g = graph_open();
    tombac_buffer *buffer = NULL, *as_vectors = NULL;
    REQUIRE(tombac_buffer_create_elements(g.device, &floats, 8, NULL, &buffer, &require_error));
    REQUIRE(tombac_buffer_create_view(buffer, &vectors, 0, 2, &as_vectors, &require_error));
    tombac_error *error = NULL;
    assert_int_equal(try_launch(&g, "float f32 1 4 4", buffer, &error), TOMBAC_OK);
    assert_int_equal(try_launch(&g, "void - 0 0 0", buffer, &error), TOMBAC_OK);
    assert_int_equal(try_launch(&g, "float4 f32 4 16 16", as_vectors, &error), TOMBAC_OK);
    tombac_status status = try_launch(&g, "uint u32 1 4 4", buffer, &error);
    expect_failure(status, error, TOMBAC_ERROR_BINDING,
        "argument 'a' [[buffer(0)]] has a buffer of another type: its elements are f32, the kernel's are "
        "u32");
    status = try_launch(&g, "float4 f32 4 16 16", buffer, &error);
    expect_failure(
        status, error, TOMBAC_ERROR_BINDING, "its elements are f32, the kernel's are f32 x 4 (16 bytes)");
    status = try_launch(&g, "args_t - 0 24 8", buffer, &error);
    expect_failure(status, error, TOMBAC_ERROR_BINDING, "the kernel's are 'args_t' (24 bytes)");
    tombac_buffer_release(buffer);
    tombac_buffer_release(as_vectors);
    graph_close(&g);
}

/* ---- Host access ---- */

static void test_views_wait(void **state)
{
    graph g = graph_open();
    tombac_buffer *buffer = make_buffer(&g, 64);
    tombac_operation *writer = make_operation(&g, "append a 80", "w", &buffer);
    tombac_operation *reader = make_operation(&g, "sleep 150", "r", &buffer);
    REQUIRE(tombac_operation_submit(writer, &require_error));
    REQUIRE(tombac_operation_submit(reader, &require_error));
    const void *seen = NULL;
    void *mine = NULL;
    bool ended = true;
    REQUIRE(tombac_buffer_begin_read(buffer, &seen, &require_error));
    assert_string_equal(seen, "a");
    REQUIRE(tombac_operation_poll(reader, &ended, &require_error));
    assert_false(ended); /* nobody waits for another reader */
    REQUIRE(tombac_buffer_end_read(buffer, &require_error));
    REQUIRE(tombac_buffer_begin_write(buffer, &mine, &require_error));
    REQUIRE(tombac_operation_poll(reader, &ended, &require_error));
    assert_true(ended);
    REQUIRE(tombac_buffer_end_write(buffer, &require_error));
    tombac_operation_release(writer);
    tombac_operation_release(reader);
    tombac_buffer_release(buffer);
    graph_close(&g);
}

static void test_conflicts(void **state)
{
    graph g = graph_open();
    tombac_buffer *buffer = make_buffer(&g, 64);
    tombac_operation *writer = make_operation(&g, "append a 0", "w", &buffer);
    tombac_operation *reader = make_operation(&g, "sleep 0", "r", &buffer);
    tombac_error *error = NULL;
    const void *seen = NULL;
    void *mine = NULL;
    REQUIRE(tombac_buffer_begin_read(buffer, &seen, &require_error));
    REQUIRE(tombac_buffer_begin_read(buffer, &seen, &require_error)); /* two readers are fine */
    tombac_status status = tombac_operation_submit(writer, &error);
    expect_failure(status, error, TOMBAC_ERROR_BUSY,
        "kernel 'k' writes a buffer of 64 bytes while the host has a read view");
    status = tombac_operation_wait(writer, -1, &error); /* ended so */
    expect_failure(status, error, TOMBAC_ERROR_BUSY, "end the view first");
    status = tombac_buffer_begin_write(buffer, &mine, &error);
    expect_failure(status, error, TOMBAC_ERROR_BUSY, "a read view of it is open");
    REQUIRE(tombac_operation_wait(reader, -1, &require_error));
    REQUIRE(tombac_buffer_end_read(buffer, &require_error));
    REQUIRE(tombac_buffer_end_read(buffer, &require_error));
    status = tombac_buffer_end_read(buffer, &error);
    expect_failure(status, error, TOMBAC_ERROR_ARGUMENT, "no such view is open");
    REQUIRE(tombac_buffer_begin_write(buffer, &mine, &require_error));
    status = tombac_buffer_begin_read(buffer, &seen, &error);
    expect_failure(status, error, TOMBAC_ERROR_BUSY, "a write view of it is open");
    tombac_operation *late = make_operation(&g, "sleep 0", "r", &buffer);
    status = tombac_operation_submit(late, &error);
    expect_failure(
        status, error, TOMBAC_ERROR_BUSY, "reads a buffer of 64 bytes while the host has a write view");
    REQUIRE(tombac_buffer_end_write(buffer, &require_error));
    tombac_operation *last = make_operation(&g, "append b 0", "w", &buffer);
    REQUIRE(tombac_operation_wait(last, -1, &require_error));
    assert_string_equal(tombac_buffer_contents(buffer), "b"); /* the refused one left nothing */
    tombac_operation *all[] = {writer, reader, late, last};
    for (int i = 0; i < 4; i++) tombac_operation_release(all[i]);
    tombac_buffer_release(buffer);
    graph_close(&g);
}

static void test_failure_is_told_once(void **state)
{
    graph g = graph_open();
    tombac_buffer *buffer = make_buffer(&g, 64);
    tombac_operation *bad = make_operation(&g, "fail", "w", &buffer);
    REQUIRE(tombac_operation_submit(bad, &require_error));
    const void *seen = NULL;
    tombac_error *error = NULL;
    tombac_status status = tombac_buffer_begin_read(buffer, &seen, &error);
    expect_failure(
        status, error, TOMBAC_ERROR_DEPENDENCY, "was not written, because kernel 'k' failed: it failed");
    REQUIRE(tombac_buffer_begin_read(buffer, &seen, &require_error));
    REQUIRE(tombac_buffer_end_read(buffer, &require_error));
    tombac_operation_release(bad);
    tombac_buffer_release(buffer);
    graph_close(&g);
}

/* Large ones begin at a large page, are zero, and hold what they are given, up to their last byte. */
static void test_large(void **state)
{
    static const size_t sizes[] = {((size_t)1 << 20) + 5, (size_t)2 << 20, ((size_t)2 << 20) + 1, ((size_t)7 << 20) - 3};
    graph g = graph_open();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t size = sizes[i];
        tombac_buffer *zeros = make_buffer(&g, size), *copy = NULL;
        unsigned char *bytes = tombac_buffer_contents(zeros);
        if (size >= (size_t)2 << 20) assert_int_equal((uintptr_t)bytes % ((size_t)2 << 20), 0);
        for (size_t k = 0; k < size; k++) assert_int_equal(bytes[k], 0);
        for (size_t k = 0; k < size; k++) bytes[k] = (unsigned char)(k * 7 + 1);
        REQUIRE(tombac_buffer_create(g.device, size, bytes, &copy, &require_error));
        assert_memory_equal(tombac_buffer_contents(copy), bytes, size);
        tombac_buffer_release(zeros);
        assert_int_equal(((unsigned char *)tombac_buffer_contents(copy))[size - 1], (unsigned char)((size - 1) * 7 + 1));
        tombac_buffer_release(copy);
    }
    graph_close(&g);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)
    const struct CMUnitTest tests[] = {TEST(test_elements), TEST(test_no_copy), TEST(test_views),
        TEST(test_types), TEST(test_views_wait), TEST(test_conflicts), TEST(test_failure_is_told_once),
        TEST(test_large)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
