/* Copies and collectives: what is refused, how they are ordered and how failures travel; on the devices of
 * this processor. What they compute is tested by tests/device/group.c, but for how the host rounds. */
#include "tombac/tombac.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { DEVICES = 3, BYTES = 256 };

typedef struct world {
    tombac_device *devices[DEVICES];
    tombac_group *group;
    tombac_buffer *buffers[DEVICES];
} world;

static int open_world(void **state)
{
    static const char *const names[] = {"check", "cpu", "check"};
    world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    for (int i = 0; i < DEVICES; i++) {
        assert_int_equal(tombac_device_open(names[i], &w->devices[i], NULL), TOMBAC_OK);
        assert_int_equal(tombac_buffer_create(w->devices[i], BYTES, NULL, &w->buffers[i], NULL), TOMBAC_OK);
    }
    assert_int_equal(
        tombac_group_create(w->devices, DEVICES, TOMBAC_TRANSPORT_ANY, &w->group, NULL), TOMBAC_OK);
    *state = w;
    return 0;
}

static int close_world(void **state)
{
    world *w = *state;
    tombac_group_release(w->group);
    for (int i = 0; i < DEVICES; i++) {
        tombac_buffer_release(w->buffers[i]);
        tombac_device_release(w->devices[i]);
    }
    free(w);
    return 0;
}

/* Ends what a call made, or tells why it made nothing. */
static void finish(tombac_status status, tombac_operation **operation, tombac_error **error)
{
    if (status == TOMBAC_OK) status = tombac_operation_wait(*operation, -1, error);
    if (status != TOMBAC_OK) fail_msg("%s", tombac_error_message(*error));
    tombac_operation_release(*operation);
}

static void refused(tombac_status status, tombac_status expected, tombac_error **error, const char *words)
{
    assert_int_equal(status, expected);
    if (!strstr(tombac_error_message(*error), words)) fail_msg("%s", tombac_error_message(*error));
    tombac_error_release(*error);
    *error = NULL;
}

/* ---- Refusals ---- */

static void test_copy_refusals(void **state)
{
    const world *w = *state;
    tombac_operation *o = NULL;
    tombac_error *e = NULL;
    tombac_buffer *a = w->buffers[0], *b = w->buffers[1];
    tombac_status s = tombac_buffer_copy(a, 1, b, 0, BYTES, &o, &e);
    refused(s, TOMBAC_ERROR_ARGUMENT, &e,
        "256 bytes at offset 1 are not in the buffer of 256 bytes to copy from");
    s = tombac_buffer_copy(a, 0, b, SIZE_MAX, 2, &o, &e);
    refused(s, TOMBAC_ERROR_ARGUMENT, &e, "to copy to");
    s = tombac_buffer_copy(a, 0, a, 8, 9, &o, &e);
    refused(s, TOMBAC_ERROR_ARGUMENT, &e, "overlap");
    s = tombac_buffer_copy(NULL, 0, b, 0, 1, &o, &e);
    refused(s, TOMBAC_ERROR_ARGUMENT, &e, "'from' is NULL");
    assert_null(o);
    finish(tombac_buffer_copy(a, 0, a, 8, 8, &o, &e), &o, &e);
    finish(tombac_buffer_copy(a, 0, b, BYTES, 0, &o, &e), &o, &e); /* nothing, at the end */
}

static void test_group_refusals(void **state)
{
    const world *w = *state;
    tombac_operation *o = NULL;
    tombac_error *e = NULL;
    tombac_group *group = NULL;
    tombac_status s = tombac_group_create(w->devices, DEVICES, TOMBAC_TRANSPORT_NCCL, &group, &e);
    refused(s, TOMBAC_ERROR_UNSUPPORTED, &e, "no NCCL: it does not serve the device 'check'");
    s = tombac_group_create(w->devices, 0, TOMBAC_TRANSPORT_ANY, &group, &e);
    refused(s, TOMBAC_ERROR_ARGUMENT, &e, "1 to 1024 devices, not 0");
    s = tombac_group_create(w->devices, 1, (tombac_transport)7, &group, &e);
    refused(s, TOMBAC_ERROR_ARGUMENT, &e, "no transport 7");
    assert_null(group);
    assert_int_equal(tombac_group_transport(w->group), TOMBAC_TRANSPORT_HOST);
    assert_non_null(strstr(tombac_group_note(w->group), "no NCCL"));
    tombac_buffer *wrong[] = {w->buffers[1], w->buffers[0], w->buffers[2]};
    s = tombac_group_all_reduce(w->group, TOMBAC_REDUCE_SUM, TOMBAC_TYPE_F32, 4, wrong, w->buffers, &o, &e);
    refused(s, TOMBAC_ERROR_BINDING, &e,
        "buffer 0 is one of the device 'cpu', not of the group's member 0, 'check'");
    s = tombac_group_all_reduce(
        w->group, TOMBAC_REDUCE_SUM, TOMBAC_TYPE_F32, 65, w->buffers, w->buffers, &o, &e);
    refused(s, TOMBAC_ERROR_ARGUMENT, &e, "buffer 0 has 256 bytes, the operation needs 260");
    s = tombac_group_all_gather(w->group, TOMBAC_TYPE_F32, 22, w->buffers, w->buffers, &o, &e);
    refused(s, TOMBAC_ERROR_ARGUMENT, &e, "needs 264");
    s = tombac_group_all_gather(w->group, TOMBAC_TYPE_F32, 20, w->buffers, w->buffers, &o, &e);
    refused(s, TOMBAC_ERROR_ARGUMENT, &e, "members 1 and 1 overlap"); /* member 0 is in place */
    s = tombac_group_all_reduce(
        w->group, TOMBAC_REDUCE_SUM, TOMBAC_TYPE_BOOL, 4, w->buffers, w->buffers, &o, &e);
    refused(s, TOMBAC_ERROR_ARGUMENT, &e, "bools cannot be reduced");
    s = tombac_group_all_reduce(
        w->group, (tombac_reduction)3, TOMBAC_TYPE_F32, 4, w->buffers, w->buffers, &o, &e);
    refused(s, TOMBAC_ERROR_ARGUMENT, &e, "no reduction 3");
    s = tombac_group_broadcast(w->group, 3, TOMBAC_TYPE_F32, 4, w->buffers, &o, &e);
    refused(s, TOMBAC_ERROR_ARGUMENT, &e, "a group of 3 has no member 3");
    s = tombac_group_broadcast(w->group, 0, TOMBAC_TYPE_F32, SIZE_MAX / 2, w->buffers, &o, &e);
    refused(s, TOMBAC_ERROR_MEMORY, &e, "more than memory can have");
    s = tombac_group_broadcast(w->group, 0, TOMBAC_TYPE_OTHER, 1, w->buffers, &o, &e);
    refused(s, TOMBAC_ERROR_ARGUMENT, &e, "needs a scalar type");
    assert_null(o);
}

static void test_typed_and_unaligned(void **state)
{
    const world *w = *state;
    static const tombac_element ints = TOMBAC_ELEMENT(TOMBAC_TYPE_I32, int);
    tombac_operation *o = NULL;
    tombac_error *e = NULL;
    tombac_buffer *list[DEVICES], *typed, *odd;
    memcpy(list, w->buffers, sizeof list);
    assert_int_equal(tombac_buffer_create_elements(w->devices[1], &ints, 4, NULL, &typed, NULL), TOMBAC_OK);
    assert_int_equal(tombac_buffer_create_view(w->buffers[2], NULL, 2, 16, &odd, NULL), TOMBAC_OK);
    list[1] = typed;
    tombac_status s = tombac_group_broadcast(w->group, 0, TOMBAC_TYPE_F32, 4, list, &o, &e);
    refused(s, TOMBAC_ERROR_BINDING, &e, "buffer 1 holds i32, not f32");
    finish(tombac_group_broadcast(w->group, 0, TOMBAC_TYPE_I32, 4, list, &o, &e), &o, &e);
    list[2] = odd;
    s = tombac_group_all_reduce(w->group, TOMBAC_REDUCE_MIN, TOMBAC_TYPE_I32, 4, list, list, &o, &e);
    refused(s, TOMBAC_ERROR_ARGUMENT, &e, "buffer 2 begins at offset 2, which no i32 does");
    tombac_buffer_release(typed);
    tombac_buffer_release(odd);
}

/* The same device twice, and two views of one buffer. */
static void test_overlap_of_members(void **state)
{
    const world *w = *state;
    tombac_device *twice[] = {w->devices[0], w->devices[0]};
    tombac_buffer *views[2];
    tombac_group *group;
    tombac_operation *o = NULL;
    tombac_error *e = NULL;
    assert_int_equal(tombac_group_create(twice, 2, TOMBAC_TRANSPORT_HOST, &group, NULL), TOMBAC_OK);
    assert_string_equal(tombac_group_note(group), "");
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(
            tombac_buffer_create_view(w->buffers[0], NULL, 32 * i, 64, &views[i], NULL), TOMBAC_OK);
    tombac_status s =
        tombac_group_all_reduce(group, TOMBAC_REDUCE_SUM, TOMBAC_TYPE_U8, 33, views, views, &o, &e);
    refused(s, TOMBAC_ERROR_ARGUMENT, &e, "members 0 and 1 overlap");
    finish(
        tombac_group_all_reduce(group, TOMBAC_REDUCE_SUM, TOMBAC_TYPE_U8, 32, views, views, &o, &e), &o, &e);
    for (size_t i = 0; i < 2; i++) tombac_buffer_release(views[i]);
    tombac_group_release(group);
}

/* ---- Values ---- */

static void fill(tombac_buffer *buffer, const void *data, size_t size)
{
    void *to;
    assert_int_equal(tombac_buffer_begin_write(buffer, &to, NULL), TOMBAC_OK);
    memcpy(to, data, size);
    assert_int_equal(tombac_buffer_end_write(buffer, NULL), TOMBAC_OK);
}

static void expect(tombac_buffer *buffer, const void *data, size_t size)
{
    const void *is;
    assert_int_equal(tombac_buffer_begin_read(buffer, &is, NULL), TOMBAC_OK);
    assert_memory_equal(is, data, size);
    assert_int_equal(tombac_buffer_end_read(buffer, NULL), TOMBAC_OK);
}

static void reduce(const world *w, tombac_reduction how, tombac_type type, size_t count)
{
    tombac_operation *o = NULL;
    tombac_error *e = NULL;
    finish(tombac_group_all_reduce(w->group, how, type, count, w->buffers, w->buffers, &o, &e), &o, &e);
}

/* Rounded once: 256 + 1 + 1 is 258 in brain floats, and 256 if each sum is rounded; so 2048 + 1 + 1 in
 * halves. Ties go to even: 256 + 1 + 0 is 256, 258 + 1 + 0 is 260. */
static void test_rounding(void **state)
{
    const world *w = *state;
    static const uint16_t brain[3][4] = {
        {0x4380, 0x4380, 0x4381, 0x7f7f}, {0x3f80, 0x3f80, 0x3f80, 0x7f7f}, {0x3f80, 0, 0, 0}};
    static const uint16_t brain_sum[] = {
        0x4381, 0x4380, 0x4382, 0x7f80}; /* and beyond the largest: infinity */
    static const uint16_t half[3][3] = {{0x6800, 0x6800, 0x7bff}, {0x3c00, 0x3c00, 0x7bff}, {0x3c00, 0, 0}};
    static const uint16_t half_sum[] = {0x6801, 0x6800, 0x7c00};
    for (int i = 0; i < DEVICES; i++) fill(w->buffers[i], brain[i], sizeof brain[i]);
    reduce(w, TOMBAC_REDUCE_SUM, TOMBAC_TYPE_BF16, 4);
    for (int i = 0; i < DEVICES; i++) expect(w->buffers[i], brain_sum, sizeof brain_sum);
    for (int i = 0; i < DEVICES; i++) fill(w->buffers[i], half[i], sizeof half[i]);
    reduce(w, TOMBAC_REDUCE_SUM, TOMBAC_TYPE_F16, 3);
    for (int i = 0; i < DEVICES; i++) expect(w->buffers[i], half_sum, sizeof half_sum);
}

static void test_extremes(void **state)
{
    const world *w = *state;
    static const int64_t wide[3] = {INT64_MAX, 1, 0}, wide_sum = INT64_MIN;
    static const int8_t narrow[3][3] = {{127, -128, 5}, {1, -1, -5}, {0, 0, 100}},
                        narrow_sum[] = {-128, 127, 100};
    static const int16_t shorts[3][2] = {{-3, 7}, {-4, 6}, {-2, 9}}, least[] = {-4, 6};
    static const uint64_t large[3] = {5, UINT64_C(1) << 63, 7}, most = UINT64_C(1) << 63;
    for (int i = 0; i < DEVICES; i++) fill(w->buffers[i], &wide[i], 8);
    reduce(w, TOMBAC_REDUCE_SUM, TOMBAC_TYPE_I64, 1);
    expect(w->buffers[1], &wide_sum, 8);
    for (int i = 0; i < DEVICES; i++) fill(w->buffers[i], narrow[i], 3);
    reduce(w, TOMBAC_REDUCE_SUM, TOMBAC_TYPE_I8, 3);
    expect(w->buffers[2], narrow_sum, 3);
    for (int i = 0; i < DEVICES; i++) fill(w->buffers[i], shorts[i], 4);
    reduce(w, TOMBAC_REDUCE_MIN, TOMBAC_TYPE_I16, 2);
    expect(w->buffers[0], least, 4);
    for (int i = 0; i < DEVICES; i++) fill(w->buffers[i], &large[i], 8);
    reduce(w, TOMBAC_REDUCE_MAX, TOMBAC_TYPE_U64, 1);
    expect(w->buffers[0], &most, 8);
}

/* ---- Order and failure ---- */

static tombac_status break_down(void *context, tombac_error **error)
{
    return tombac_error_create(TOMBAC_ERROR_KERNEL, "made to fail", error);
}

/* What a copy was to write is not written if what was put before it fails; that reaches the other device's
 * buffer. */
static void test_failure_travels(void **state)
{
    const world *w = *state;
    tombac_operation *first = NULL, *broken = NULL, *copy = NULL, *after = NULL;
    tombac_error *e = NULL;
    assert_int_equal(tombac_buffer_copy(w->buffers[0], 0, w->buffers[0], 64, 8, &first, NULL), TOMBAC_OK);
    assert_int_equal(tombac_operation_map(first, break_down, NULL, NULL, &broken, NULL), TOMBAC_OK);
    assert_int_equal(tombac_buffer_copy(w->buffers[0], 0, w->buffers[1], 0, 8, &copy, NULL), TOMBAC_OK);
    assert_int_equal(tombac_operation_then(broken, copy, NULL), TOMBAC_OK);
    assert_int_equal(tombac_group_all_reduce(w->group, TOMBAC_REDUCE_SUM, TOMBAC_TYPE_I32, 2, w->buffers,
                         w->buffers, &after, NULL),
        TOMBAC_OK);
    assert_int_equal(tombac_operation_submit(copy, NULL), TOMBAC_OK);
    assert_int_equal(tombac_operation_submit(after, NULL), TOMBAC_OK);
    tombac_status s = tombac_operation_wait(after, -1, &e);
    refused(s, TOMBAC_ERROR_DEPENDENCY, &e, "made to fail");
    tombac_operation_release(first);
    tombac_operation_release(broken);
    tombac_operation_release(copy);
    tombac_operation_release(after);
    const void *data;
    assert_int_equal(tombac_buffer_begin_read(w->buffers[2], &data, NULL), TOMBAC_OK); /* told once */
    assert_int_equal(tombac_buffer_end_read(w->buffers[2], NULL), TOMBAC_OK);
}

static void test_views_exclude(void **state)
{
    const world *w = *state;
    tombac_operation *o = NULL;
    tombac_error *e = NULL;
    const void *data;
    assert_int_equal(tombac_buffer_begin_read(w->buffers[1], &data, NULL), TOMBAC_OK);
    assert_int_equal(tombac_buffer_copy(w->buffers[0], 0, w->buffers[1], 0, 8, &o, NULL), TOMBAC_OK);
    tombac_status s = tombac_operation_submit(o, &e);
    refused(s, TOMBAC_ERROR_BUSY, &e, "the host has a read view");
    tombac_operation_release(o);
    finish(
        tombac_buffer_copy(w->buffers[1], 0, w->buffers[2], 0, 8, &o, &e), &o, &e); /* reading is allowed */
    assert_int_equal(tombac_buffer_end_read(w->buffers[1], NULL), TOMBAC_OK);
}

/* Many threads send one number of each device around, in all directions and with collectives between: no
 * deadlock, and every element stays one of those that were there, as all are written and read whole. */
typedef struct sender {
    const world *world;
    unsigned seed;
} sender;

static void *send_around(void *context)
{
    sender *s = context;
    const world *w = s->world;
    tombac_operation *last = NULL;
    for (int i = 0; i < 300; i++) {
        tombac_operation *o = NULL;
        s->seed = s->seed * 1664525u + 1013904223u;
        unsigned a = s->seed >> 8 & 0xff, b = s->seed >> 16 & 0xff;
        tombac_status status = a % 7 == 0 ? tombac_group_all_reduce(w->group, TOMBAC_REDUCE_MAX,
                                                TOMBAC_TYPE_U64, 32, w->buffers, w->buffers, &o, NULL)
                                          : tombac_buffer_copy(w->buffers[a % DEVICES], 0,
                                                w->buffers[(a + 1 + b % 2) % DEVICES], 0, BYTES, &o, NULL);
        if (status == TOMBAC_OK) status = tombac_operation_submit(o, NULL);
        tombac_operation_release(last);
        last = o;
        if (status != TOMBAC_OK) break;
    }
    void *result = tombac_operation_wait(last, 60, NULL) == TOMBAC_OK ? context : NULL;
    tombac_operation_release(last);
    return result;
}

static void test_many_threads(void **state)
{
    const world *w = *state;
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    sender senders[THREADS];
    for (int i = 0; i < DEVICES; i++) {
        uint64_t content[BYTES / 8];
        for (size_t k = 0; k < BYTES / 8; k++) content[k] = UINT64_C(0x0101010101010101) * (uint64_t)(i + 1);
        fill(w->buffers[i], content, sizeof content);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        senders[i] = (sender){w, i};
        assert_int_equal(pthread_create(&threads[i], NULL, send_around, &senders[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        void *result;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_ptr_equal(result, &senders[i]);
    }
    for (int i = 0; i < DEVICES; i++) {
        const void *data;
        assert_int_equal(tombac_buffer_begin_read(w->buffers[i], &data, NULL), TOMBAC_OK);
        for (size_t k = 0; k < BYTES / 8; k++) {
            uint64_t value = ((const uint64_t *)data)[k] / UINT64_C(0x0101010101010101);
            assert_in_range(value, 1, DEVICES);
            assert_int_equal(((const uint64_t *)data)[k], value * UINT64_C(0x0101010101010101));
        }
        assert_int_equal(tombac_buffer_end_read(w->buffers[i], NULL), TOMBAC_OK);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_copy_refusals, open_world, close_world),
        cmocka_unit_test_setup_teardown(test_group_refusals, open_world, close_world),
        cmocka_unit_test_setup_teardown(test_typed_and_unaligned, open_world, close_world),
        cmocka_unit_test_setup_teardown(test_overlap_of_members, open_world, close_world),
        cmocka_unit_test_setup_teardown(test_rounding, open_world, close_world),
        cmocka_unit_test_setup_teardown(test_extremes, open_world, close_world),
        cmocka_unit_test_setup_teardown(test_failure_travels, open_world, close_world),
        cmocka_unit_test_setup_teardown(test_views_exclude, open_world, close_world),
        cmocka_unit_test_setup_teardown(test_many_threads, open_world, close_world)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
