/* Sequences on the fake device: order inside and against others, one submission, failures while recording and
 * while running, reservations. */
#include "graph.h"

static tombac_sequence *begin(graph *g)
{
    tombac_sequence *sequence = NULL;
    REQUIRE(tombac_sequence_begin(g->device, &sequence, &require_error));
    return sequence;
}

static tombac_operation *finish(tombac_sequence *sequence)
{
    tombac_operation *operation = NULL;
    REQUIRE(tombac_sequence_end(sequence, &operation, &require_error));
    return operation;
}

enum { BUFFERS = 5, STEPS = 2000 };

static void test_order(void **state)
{
    graph g = graph_open();
    tombac_buffer *buffers[BUFFERS];
    uint32_t model[BUFFERS] = {0}, seed = 11;
    for (int i = 0; i < BUFFERS; i++) buffers[i] = make_buffer(&g, 4);
    tombac_launch *launch = make_launch(&g, "fold", "rw", (tombac_buffer *[]){buffers[0], buffers[1]});
    for (int round = 0; round < 2; round++) {
        tombac_sequence *sequence = begin(&g);
        for (int i = 0; i < STEPS / 2; i++) {
            seed = seed * 1664525u + 1013904223u;
            uint32_t from = (seed >> 8) % BUFFERS, to = (from + 1 + (seed >> 16) % (BUFFERS - 1)) % BUFFERS;
            REQUIRE(tombac_launch_set_buffer(launch, 0, buffers[from], 0, &require_error));
            REQUIRE(tombac_launch_set_buffer(launch, 1, buffers[to], 0, &require_error));
            REQUIRE(tombac_sequence_add(sequence, launch, &require_error));
            model[to] = model[to] * 31 + model[from] + 1;
        }
        tombac_operation *operation = finish(sequence);
        if (round == 0)
            REQUIRE(tombac_operation_submit(operation, &require_error));
        else
            REQUIRE(tombac_operation_wait(operation, -1, &require_error));
        tombac_operation_release(operation);
    }
    for (int i = 0; i < BUFFERS; i++) {
        assert_int_equal(*(uint32_t *)tombac_buffer_contents(buffers[i]), model[i]);
        tombac_buffer_release(buffers[i]);
    }
    tombac_launch_release(launch);
    graph_close(&g);
}

static void test_independent_inside(void **state)
{
    graph g = graph_open();
    tombac_launch *launch = make_launch(&g, "sleep 200", "", NULL);
    tombac_sequence *sequence = begin(&g);
    for (int i = 0; i < 4; i++) REQUIRE(tombac_sequence_add(sequence, launch, &require_error));
    tombac_operation *operation = finish(sequence);
    double from = clock_now();
    REQUIRE(tombac_operation_wait(operation, -1, &require_error));
    assert_true(clock_now() - from < 0.6);
    tombac_operation_release(operation);
    tombac_launch_release(launch);
    graph_close(&g);
}

static void test_recording_fails(void **state)
{
    graph g = graph_open();
    tombac_buffer *buffer = make_buffer(&g, 64);
    tombac_launch *good = make_launch(&g, "append a 0", "w", &buffer),
                  *bad = make_launch(&g, "append b 0", "w", &buffer);
    REQUIRE(tombac_launch_set_grid(bad, tombac_for_elements(8, 0), &require_error));
    tombac_sequence *sequence = begin(&g);
    REQUIRE(tombac_sequence_add(sequence, good, &require_error));
    tombac_error *error = NULL;
    tombac_status status = tombac_sequence_add(sequence, bad, &error);
    expect_failure(status, error, TOMBAC_ERROR_GEOMETRY, "0 x 1 x 1 threads is empty");
    void *mine = NULL;
    REQUIRE(tombac_buffer_begin_write(buffer, &mine, &require_error)); /* the reservation is gone */
    REQUIRE(tombac_buffer_end_write(buffer, &require_error));
    status = tombac_sequence_add(sequence, good, &error);
    expect_failure(status, error, TOMBAC_ERROR_GEOMETRY, "0 x 1 x 1");
    tombac_operation *operation = NULL;
    status = tombac_sequence_end(sequence, &operation, &error);
    expect_failure(status, error, TOMBAC_ERROR_GEOMETRY, "0 x 1 x 1");
    assert_null(operation);
    assert_string_equal(tombac_buffer_contents(buffer), "");
    REQUIRE(tombac_launch_submit(good, &require_error));
    REQUIRE(tombac_launch_wait(good, &require_error));
    assert_string_equal(tombac_buffer_contents(buffer), "a");
    tombac_launch_release(good);
    tombac_launch_release(bad);
    tombac_buffer_release(buffer);
    graph_close(&g);
}

static void test_running_fails(void **state)
{
    graph g = graph_open();
    tombac_buffer *a = make_buffer(&g, 64), *b = make_buffer(&g, 64);
    tombac_launch *steps[] = {make_launch(&g, "append a 0", "w", &a), make_launch(&g, "fail", "w", &a),
        make_launch(&g, "append c 0", "w", &a), make_launch(&g, "append b 0", "w", &b)};
    REQUIRE(tombac_launch_set_name(steps[1], "step two", &require_error));
    tombac_sequence *sequence = begin(&g);
    for (int i = 0; i < 4; i++) REQUIRE(tombac_sequence_add(sequence, steps[i], &require_error));
    tombac_operation *operation = finish(sequence);
    tombac_error *error = NULL;
    tombac_status status = tombac_operation_wait(operation, -1, &error);
    assert_string_equal(tombac_error_operation(error), "step two");
    expect_failure(status, error, TOMBAC_ERROR_KERNEL, "it failed");
    assert_string_equal(tombac_buffer_contents(a), "a");
    assert_string_equal(tombac_buffer_contents(b), "b"); /* independent of the failure */
    tombac_operation_release(operation);
    for (int i = 0; i < 4; i++) tombac_launch_release(steps[i]);
    tombac_buffer_release(a);
    tombac_buffer_release(b);
    graph_close(&g);
}

static void test_reservations(void **state)
{
    graph g = graph_open();
    tombac_buffer *buffer = make_buffer(&g, 64);
    tombac_launch *writer = make_launch(&g, "append w 0", "w", &buffer),
                  *reader = make_launch(&g, "sleep 0", "r", &buffer);
    tombac_error *error = NULL;
    const void *seen = NULL;
    void *mine = NULL;
    tombac_sequence *reads = begin(&g), *also_reads = begin(&g), *writes = begin(&g);
    REQUIRE(tombac_sequence_add(reads, reader, &require_error));
    REQUIRE(tombac_sequence_add(also_reads, reader, &require_error));
    REQUIRE(tombac_buffer_begin_read(buffer, &seen, &require_error));
    REQUIRE(tombac_buffer_end_read(buffer, &require_error));
    tombac_status status = tombac_buffer_begin_write(buffer, &mine, &error);
    expect_failure(status, error, TOMBAC_ERROR_BUSY,
        "cannot be written by the host: a sequence that is not submitted yet reads it");
    status = tombac_sequence_add(writes, writer, &error);
    expect_failure(
        status, error, TOMBAC_ERROR_BUSY, "kernel 'k' writes a buffer of 64 bytes that another sequence");
    tombac_sequence_release(writes);
    tombac_sequence_release(reads);
    tombac_operation_release(finish(also_reads)); /* dropped before submission */
    writes = begin(&g);
    REQUIRE(tombac_sequence_add(writes, writer, &require_error));
    REQUIRE(tombac_sequence_add(writes, reader, &require_error)); /* its own */
    REQUIRE(tombac_sequence_add(writes, writer, &require_error));
    status = tombac_buffer_begin_read(buffer, &seen, &error);
    expect_failure(status, error, TOMBAC_ERROR_BUSY,
        "cannot be read by the host: a sequence that is not submitted yet writes it");
    reads = begin(&g);
    status = tombac_sequence_add(reads, reader, &error);
    expect_failure(status, error, TOMBAC_ERROR_BUSY,
        "reads a buffer of 64 bytes that another sequence, recorded and not yet submitted, writes");
    tombac_sequence_release(reads);
    tombac_operation *operation = finish(writes);
    REQUIRE(tombac_operation_submit(operation, &require_error));
    REQUIRE(tombac_buffer_begin_read(buffer, &seen, &require_error)); /* submitted: waits instead */
    assert_string_equal(seen, "ww");
    tombac_operation *blocked = NULL;
    tombac_sequence *last = begin(&g);
    REQUIRE(tombac_sequence_add(last, writer, &require_error));
    blocked = finish(last);
    status = tombac_operation_submit(blocked, &error);
    expect_failure(status, error, TOMBAC_ERROR_BUSY, "while the host has a read view");
    REQUIRE(tombac_buffer_end_read(buffer, &require_error));
    REQUIRE(tombac_buffer_begin_write(buffer, &mine, &require_error)); /* the refused one reserves nothing */
    REQUIRE(tombac_buffer_end_write(buffer, &require_error));
    tombac_operation_release(blocked);
    tombac_operation_release(operation);
    tombac_launch_release(writer);
    tombac_launch_release(reader);
    tombac_buffer_release(buffer);
    graph_close(&g);
}

static void test_empty_and_foreign(void **state)
{
    graph g = graph_open(), h = {0};
    REQUIRE(tombac_device_open("other", &h.device, &require_error));
    tombac_operation *empty = finish(begin(&g));
    REQUIRE(tombac_operation_wait(empty, -1, &require_error));
    tombac_operation_release(empty);
    tombac_launch *launch = make_launch(&h, "sleep 0", "", NULL);
    tombac_sequence *sequence = begin(&g);
    tombac_error *error = NULL;
    tombac_status status = tombac_sequence_add(sequence, launch, &error);
    expect_failure(status, error, TOMBAC_ERROR_BINDING, "for another device");
    tombac_sequence_release(sequence);
    tombac_launch_release(launch);
    graph_close(&g);
    graph_close(&h);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, world_setup, world_teardown)
    const struct CMUnitTest tests[] = {TEST(test_order), TEST(test_independent_inside),
        TEST(test_recording_fails), TEST(test_running_fails), TEST(test_reservations),
        TEST(test_empty_and_foreign)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
