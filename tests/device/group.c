/* group DEVICE... [--transport any|nccl|host]: copies and collectives between the devices' buffers, every
 * type and reduction, compared with values that are computed here from the elements' numbers. Prints what it
 * found and how fast large ones were; 0 if all is right. Elements are small integers, which every type holds
 * and adds exactly, in whatever order. */
#include "tombac/tombac.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 16 };

static struct {
    tombac_device *devices[MOST];
    size_t count;
    tombac_group *group;
    unsigned failures, checks;
} the;

static void demand(tombac_status status, tombac_error *const *error)
{
    if (status == TOMBAC_OK) return;
    fprintf(stderr, "%s\n", tombac_error_message(*error));
    exit(1);
}

/* ---- Elements ---- */

static int input(size_t member, size_t i)
{
    return (int)((i * 7 + member * 5 + i / 11) % 13) + (int)member;
}

static void store(tombac_type type, void *array, size_t i, int value)
{
    float real = (float)value;
    uint32_t bits;
    memcpy(&bits, &real, 4);
    /* Small integers as half: the exponent moved, the mantissa cut. */
    uint16_t half = value ? (uint16_t)((bits >> 23) - 112) << 10 | (bits >> 13 & 0x3ff) : 0,
             brain = (uint16_t)(bits >> 16);
    switch (type) {
    case TOMBAC_TYPE_BOOL:
    case TOMBAC_TYPE_I8:
    case TOMBAC_TYPE_U8: ((uint8_t *)array)[i] = (uint8_t)value; break;
    case TOMBAC_TYPE_I16:
    case TOMBAC_TYPE_U16: ((uint16_t *)array)[i] = (uint16_t)value; break;
    case TOMBAC_TYPE_I32:
    case TOMBAC_TYPE_U32: ((uint32_t *)array)[i] = (uint32_t)value; break;
    case TOMBAC_TYPE_I64:
    case TOMBAC_TYPE_U64: ((uint64_t *)array)[i] = (uint64_t)value; break;
    case TOMBAC_TYPE_F16: ((uint16_t *)array)[i] = half; break;
    case TOMBAC_TYPE_BF16: ((uint16_t *)array)[i] = brain; break;
    case TOMBAC_TYPE_F32: ((float *)array)[i] = real; break;
    case TOMBAC_TYPE_OTHER: break;
    }
}

static int reduced(tombac_reduction how, size_t i)
{
    int all = input(0, i);
    for (size_t k = 1; k < the.count; k++) {
        int one = input(k, i);
        if (how == TOMBAC_REDUCE_SUM) all += one;
        if ((how == TOMBAC_REDUCE_MIN && one < all) || (how == TOMBAC_REDUCE_MAX && one > all)) all = one;
    }
    return all;
}

/* ---- Buffers ---- */

/* Of `count` elements behind `offset` bytes; elements of member `member`, or zeros where it is SIZE_MAX. */
static tombac_buffer *make(size_t device, tombac_type type, size_t count, size_t offset, size_t member)
{
    tombac_buffer *whole, *view;
    tombac_error *error = NULL;
    size_t size = count * tombac_type_size(type);
    void *data;
    demand(tombac_buffer_create(the.devices[device], offset + size + 16, NULL, &whole, &error), &error);
    demand(tombac_buffer_begin_write(whole, &data, &error), &error);
    memset(data, 0x77, offset + size + 16);
    for (size_t i = 0; i < count; i++)
        store(type, (char *)data + offset, i, member == SIZE_MAX ? 0 : input(member, i));
    demand(tombac_buffer_end_write(whole, &error), &error);
    demand(tombac_buffer_create_view(whole, NULL, offset, size, &view, &error), &error);
    tombac_buffer_release(whole);
    return view;
}

static void compare(tombac_buffer *buffer, const void *expected, const char *what, size_t member)
{
    const void *data;
    tombac_error *error = NULL;
    demand(tombac_buffer_begin_read(buffer, &data, &error), &error);
    size_t size = tombac_buffer_size(buffer), at = 0;
    while (at < size && ((const char *)data)[at] == ((const char *)expected)[at]) at++;
    bool around = true;
    for (int i = 0; i < 16; i++) around = around && ((const char *)data)[size + (size_t)i] == 0x77;
    demand(tombac_buffer_end_read(buffer, &error), &error);
    the.checks++;
    if (at == size && around) return;
    the.failures++;
    fprintf(stderr, "FAIL  %s, member %zu: %s %zu of %zu\n", what, member,
        around ? "byte" : "what lies behind; byte", at, size);
}

/* Pointers, as the status is that of a call that sets what they point to. */
static void run(tombac_status status, tombac_operation **operation, tombac_error **error)
{
    demand(status, error);
    tombac_status ended = tombac_operation_wait(*operation, 60, error);
    demand(ended, error);
    tombac_operation_release(*operation);
}

static void release(tombac_buffer **list)
{
    for (size_t i = 0; i < the.count; i++) tombac_buffer_release(list[i]);
}

/* ---- What is tested ---- */

static void test_reduce(tombac_type type, tombac_reduction how, size_t count, size_t offset, bool in_place)
{
    tombac_buffer *from[MOST], *to[MOST];
    tombac_operation *operation = NULL;
    tombac_error *error = NULL;
    char what[96];
    static const char *const names[] = {"sum", "min", "max"};
    snprintf(what, sizeof what, "all_reduce %s %s %zu%s", names[how], tombac_type_name(type), count,
        in_place ? " in place" : "");
    for (size_t i = 0; i < the.count; i++) {
        from[i] = make(i, type, count, offset, i);
        to[i] = in_place ? tombac_buffer_retain(from[i]) : make(i, type, count, offset, SIZE_MAX);
    }
    tombac_status status = tombac_group_all_reduce(the.group, how, type, count, from, to, &operation, &error);
    run(status, &operation, &error);
    char *expected = calloc(count, 8);
    for (size_t i = 0; i < count; i++) store(type, expected, i, reduced(how, i));
    for (size_t i = 0; i < the.count; i++) compare(to[i], expected, what, i);
    for (size_t m = 0; m < the.count && !in_place; m++) {
        for (size_t i = 0; i < count; i++) store(type, expected, i, input(m, i));
        compare(from[m], expected, what, m); /* unchanged */
    }
    free(expected);
    release(from);
    release(to);
}

static void test_gather(tombac_type type, size_t count, bool in_place)
{
    tombac_buffer *from[MOST], *to[MOST];
    tombac_operation *operation = NULL;
    tombac_error *error = NULL;
    size_t size = count * tombac_type_size(type);
    for (size_t i = 0; i < the.count; i++) {
        tombac_buffer *own = make(i, type, count, 0, i);
        to[i] = make(i, type, the.count * count, 32, SIZE_MAX);
        from[i] = own;
        if (!in_place) continue;
        demand(tombac_buffer_create_view(to[i], NULL, i * size, size, &from[i], &error), &error);
        tombac_operation *copy = NULL;
        run(tombac_buffer_copy(own, 0, from[i], 0, size, &copy, &error), &copy, &error);
        tombac_buffer_release(own);
    }
    run(tombac_group_all_gather(the.group, type, count, from, to, &operation, &error), &operation, &error);
    char *expected = calloc(the.count * count, 8);
    for (size_t k = 0; k < the.count; k++)
        for (size_t i = 0; i < count; i++) store(type, expected, k * count + i, input(k, i));
    for (size_t i = 0; i < the.count; i++)
        compare(to[i], expected, in_place ? "all_gather in place" : "all_gather", i);
    free(expected);
    release(from);
    release(to);
}

static void test_broadcast(tombac_type type, size_t root, size_t count)
{
    tombac_buffer *buffers[MOST];
    tombac_operation *operation = NULL;
    tombac_error *error = NULL;
    for (size_t i = 0; i < the.count; i++) buffers[i] = make(i, type, count, 16, i);
    run(tombac_group_broadcast(the.group, root, type, count, buffers, &operation, &error), &operation,
        &error);
    char *expected = calloc(count, 8);
    for (size_t i = 0; i < count; i++) store(type, expected, i, input(root, i));
    for (size_t i = 0; i < the.count; i++) compare(buffers[i], expected, "broadcast", i);
    free(expected);
    release(buffers);
}

/* Parts around the ring of devices and back into another part of the first, without waiting between. A
 * reduction first brings everything to the devices. */
static void test_copies(size_t count)
{
    tombac_buffer *ring[MOST], *last;
    tombac_operation *operation = NULL, *steps[MOST + 1] = {0};
    tombac_error *error = NULL;
    for (size_t i = 0; i < the.count; i++) ring[i] = make(i, TOMBAC_TYPE_U32, count, 48, i);
    last = make(0, TOMBAC_TYPE_U32, count, 48, 3);
    run(tombac_group_all_reduce(
            the.group, TOMBAC_REDUCE_MAX, TOMBAC_TYPE_U32, count, ring, ring, &operation, &error),
        &operation, &error);
    size_t part = count / 2 * 4, rest = count * 4 - part;
    for (size_t i = 0; i < the.count; i++) {
        bool home = i + 1 == the.count;
        demand(tombac_buffer_copy(ring[i], rest, home ? last : ring[i + 1], rest, part, &steps[i], &error),
            &error);
        demand(tombac_operation_submit(steps[i], &error), &error);
    }
    for (size_t i = 0; i < the.count; i++) run(TOMBAC_OK, &steps[i], &error);
    run(tombac_buffer_copy(ring[0], 0, last, 4, 4, &operation, &error), &operation, &error);
    uint32_t *expected = calloc(count, 4);
    for (size_t i = 0; i < count; i++)
        expected[i] = (uint32_t)(i * 4 >= rest ? reduced(TOMBAC_REDUCE_MAX, i) : input(3, i));
    expected[1] = (uint32_t)reduced(TOMBAC_REDUCE_MAX, 0);
    compare(last, expected, "copies around", 0);
    free(expected);
    release(ring);
    tombac_buffer_release(last);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The third of three: buffers are on their devices by then. */
static void measure(size_t bytes)
{
    tombac_buffer *list[MOST];
    tombac_error *error = NULL;
    double best[2] = {1e9, 1e9};
    for (size_t i = 0; i < the.count; i++)
        demand(tombac_buffer_create(the.devices[i], bytes, NULL, &list[i], &error), &error);
    for (int k = 0; k < 5; k++) {
        tombac_operation *operation = NULL;
        double begin = now();
        run(tombac_group_all_reduce(
                the.group, TOMBAC_REDUCE_SUM, TOMBAC_TYPE_F32, bytes / 4, list, list, &operation, &error),
            &operation, &error);
        double middle = now();
        run(tombac_buffer_copy(
                list[0], 0, list[the.count - 1], 0, the.count > 1 ? bytes : 0, &operation, &error),
            &operation, &error);
        double end = now();
        if (middle - begin < best[0]) best[0] = middle - begin;
        if (end - middle < best[1]) best[1] = end - middle;
    }
    printf("%zu MiB: all_reduce %.3f ms (%.1f GB/s), copy to the last member %.3f ms (%.1f GB/s)\n",
        bytes >> 20, 1e3 * best[0], (double)bytes / best[0] * 1e-9, 1e3 * best[1],
        (double)bytes / best[1] * 1e-9);
    release(list);
}

static void test_all(void)
{
    static const size_t counts[] = {1, 1000, 70001};
    for (int type = TOMBAC_TYPE_I8; type <= TOMBAC_TYPE_F32; type++)
        for (int how = 0; how <= TOMBAC_REDUCE_MAX; how++)
            for (size_t i = 0; i < 3; i++)
                test_reduce((tombac_type)type, (tombac_reduction)how, counts[i], i * 64, (how + (int)i) % 2);
    for (int type = TOMBAC_TYPE_BOOL; type <= TOMBAC_TYPE_F32; type++) {
        test_gather((tombac_type)type, 1001, type % 2);
        test_broadcast((tombac_type)type, (size_t)type % the.count, 777);
    }
    test_copies(5000);
}

int main(int count, char **words)
{
    tombac_transport transport = TOMBAC_TRANSPORT_ANY;
    tombac_error *error = NULL;
    for (int i = 1; i < count; i++) {
        if (!strcmp(words[i], "--transport") && i + 1 < count) {
            const char *name = words[++i];
            transport = !strcmp(name, "nccl")   ? TOMBAC_TRANSPORT_NCCL
                        : !strcmp(name, "host") ? TOMBAC_TRANSPORT_HOST
                                                : TOMBAC_TRANSPORT_ANY;
        } else if (the.count < MOST) {
            demand(tombac_device_open(words[i], &the.devices[the.count++], &error), &error);
        }
    }
    demand(tombac_group_create(the.devices, the.count, transport, &the.group, &error), &error);
    printf("%zu members by %s%s%s\n", tombac_group_size(the.group),
        tombac_group_transport(the.group) == TOMBAC_TRANSPORT_NCCL ? "NCCL" : "the host",
        *tombac_group_note(the.group) ? "; " : "", tombac_group_note(the.group));
    test_all();
    const char *no_bench = getenv("NO_BENCH");
    if (!no_bench || !*no_bench) measure((size_t)256 << 20);
    tombac_group_release(the.group);
    for (size_t i = 0; i < the.count; i++) tombac_device_release(the.devices[i]);
    printf("%u checks, %u failures\n", the.checks, the.failures);
    return the.failures != 0;
}
