/* The portable layer (tombac/portable.h): each behaviour of docs/kernels-in-c.md's table, on a device:
 * test_portable DEVICE. */
#include "harness.h"
#include "portable_kernels.h"
#include "tombac/portable.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

tombac_device *device;
tombac_algorithms *ready;
bool large;
static tombac_library *library;
static tombac_stream *stream;
static tombac_error *error;

static tombac_kernel *kernel_of(const char *name)
{
    tombac_kernel *kernel = NULL;
    if (!succeeded(tombac_kernel_create(library, name, NULL, 0, &kernel, &error), &error, name)) exit(1);
    return kernel;
}

static bool launch(
    const char *name, tombac_nd range, tombac_nd group, const tombac_argument_value *values, size_t count)
{
    tombac_kernel *kernel = kernel_of(name);
    bool done =
        succeeded(tombac_stream_launch(stream, kernel, range, group, values, count, &error), &error, name);
    tombac_kernel_release(kernel); /* the launch goes on */
    return done;
}

static void finish(const char *what)
{
    succeeded(tombac_stream_synchronize(stream, &error), &error, what);
}

/* launch.sizes: any number of items, chosen and given workgroups; nothing beyond the range is touched. */
static void test_sizes(void)
{
    static const uint32_t sizes[] = {0, 1, 127, 128, 129, 255, 256, 257, 1000003};
    for (size_t s = 0; s < COUNT(sizes) - !large; s++)
        for (uint32_t group = 0; group <= 96; group += 96) {
            uint32_t n = sizes[s];
            float a = 2, *x = allocate((n + 8) * 4), *y = allocate((n + 8) * 4);
            double *expected = allocate((n + 8) * 8);
            for (uint32_t i = 0; i < n + 8; i++) {
                x[i] = (float)(i % 1000);
                y[i] = 1;
                expected[i] = i < n ? 1 + 2.0 * (i % 1000) : 1;
            }
            tombac_buffer *in = buffer_of(x, (n + 8) * 4), *out = buffer_of(y, (n + 8) * 4);
            tombac_argument_value values[] = {tombac_value(a), tombac_array(in), tombac_array(out)};
            launch("axpy", tombac_range(n), group ? tombac_range(group) : tombac_any_group, values, 3);
            a = 100; /* the launch has its own copy */
            finish("axpy");
            take(in, NULL, 0);
            take(out, y, (n + 8) * 4);
            close_to("axpy", n, expected, y, n + 8, 0);
            free(x);
            free(y);
            free(expected);
        }
}

/* index.*: linear and cartesian; one to three dimensions, not multiples of the workgroup. */
static void test_indices(void)
{
    static const tombac_nd ranges[] = {{70, 1, 1}, {13, 9, 1}, {5, 6, 7}, {64, 4, 2}, {1, 1, 33}};
    static const tombac_nd groups[] = {{32, 1, 1}, {8, 4, 1}, {4, 2, 4}, {32, 4, 2}, {1, 2, 8}};
    for (size_t r = 0; r < COUNT(ranges); r++) {
        tombac_nd n = ranges[r], g = groups[r];
        size_t items = (size_t)n.x * n.y * n.z;
        uint32_t count[3] = {(n.x + g.x - 1) / g.x, (n.y + g.y - 1) / g.y, (n.z + g.z - 1) / g.z}, ran;
        uint32_t *got[4], *expected[4];
        static const size_t words[4] = {3, 4, 4, 6};
        tombac_argument_value values[5];
        for (int a = 0; a < 4; a++) {
            got[a] = allocate(items * words[a] * 4);
            expected[a] = allocate(items * words[a] * 4);
            values[a] = tombac_array(buffer_of(NULL, items * words[a] * 4));
        }
        values[4] = tombac_array(buffer_of(NULL, 4));
        size_t i = 0;
        for (uint32_t z = 0; z < n.z; z++)
            for (uint32_t y = 0; y < n.y; y++)
                for (uint32_t x = 0; x < n.x; x++, i++) {
                    uint32_t l[3] = {x % g.x, y % g.y, z % g.z}, w[3] = {x / g.x, y / g.y, z / g.z};
                    uint32_t lines[4][6] = {{x, y, z}, {l[0], l[1], l[2], (l[2] * g.y + l[1]) * g.x + l[0]},
                        {w[0], w[1], w[2], (w[2] * count[1] + w[1]) * count[0] + w[0]},
                        {g.x, g.y, g.z, count[0], count[1], count[2]}};
                    for (int a = 0; a < 4; a++) memcpy(expected[a] + i * words[a], lines[a], words[a] * 4);
                }
        launch("indices", n, g, values, 5);
        finish("indices");
        for (int a = 0; a < 4; a++) {
            take(values[a].buffer, got[a], items * words[a] * 4);
            equal("indices", items, expected[a], got[a], items * words[a] * 4, 4);
            free(got[a]);
            free(expected[a]);
        }
        take(values[4].buffer, &ran, 4);
        if (ran != items) fail("indices: %u items ran the body, not %zu", ran, items);
    }
}

/* local.reverse: the reference's example; the last workgroup is not full, but its items arrive at the
 * barriers. */
static void test_reverse(void)
{
    static const uint32_t sizes[] = {0, 1, 255, 256, 257, 512, 1000};
    for (size_t s = 0; s < COUNT(sizes); s++) {
        uint32_t n = sizes[s];
        float *x = allocate(n * 4), *got = allocate(n * 4);
        double *expected = allocate(n * 8);
        for (uint32_t i = 0; i < n; i++) {
            x[i] = (float)(i + 1);
            uint32_t from = i / 256 * 256 + 255 - i % 256;
            expected[i] = from < n ? (double)from + 1 : -1.0; /* what the items outside left */
        }
        tombac_buffer *in = buffer_of(x, n * 4), *out = buffer_of(NULL, n * 4);
        tombac_argument_value values[] = {tombac_array(in), tombac_array(out)};
        launch("reverse_groups", tombac_range(n), tombac_any_group, values, 2);
        finish("reverse");
        take(in, NULL, 0);
        take(out, got, n * 4);
        close_to("reverse", n, expected, got, n, 0);
        free(x);
        free(got);
        free(expected);
    }
}

/* local.loop, private: barriers in loops; values that live across them. */
static void test_barriers(void)
{
    enum { N = 200 };
    uint32_t x[N], sums[N], got[N], own[4 * N], got_own[4 * N], swapped[N];
    for (uint32_t i = 0; i < N; i++) x[i] = i * i % 101;
    for (uint32_t i = 0; i < N; i++) {
        sums[i] = x[i] + (i % 64 ? sums[i - 1] : 0);
        swapped[i] = (i ^ 1) < N ? x[i ^ 1] : 0;
        uint32_t mine = x[i], first = x[i / 64 * 64];
        for (uint32_t k = 0; k < 4; k++) {
            own[4 * i + k] = mine;
            mine += first;
            first += first;
        }
    }
    tombac_buffer *in = buffer_of(x, sizeof x), *a = buffer_of(NULL, sizeof got),
                  *b = buffer_of(NULL, sizeof got_own), *c = buffer_of(NULL, sizeof got);
    tombac_argument_value loop[] = {tombac_array(in), tombac_array(a)},
                          arrays[] = {tombac_array(in), tombac_array(b)},
                          local[] = {tombac_array(in), tombac_array(c), tombac_local(64 * 4)};
    launch("barrier_in_loop", tombac_range(N), tombac_range(64), loop, 2);
    launch("private_arrays", tombac_range(N), tombac_range(64), arrays, 2);
    launch("local_argument", tombac_range(N), tombac_range(64), local, 3);
    finish("barriers");
    take(in, NULL, 0);
    take(a, got, sizeof got);
    equal("barrier in a loop", N, sums, got, sizeof got, 4);
    take(b, got_own, sizeof got_own);
    equal("private array", N, own, got_own, sizeof got_own, 4);
    take(c, got, sizeof got);
    equal("local memory as an argument", N, swapped, got, sizeof got, 4);
}

/* early return; atomics; conversions. */
static void test_bodies(void)
{
    enum { N = 300 };
    uint32_t expected[N] = {0}, got[N], word = 0;
    int32_t most = -5, *integers = allocate(N * 16), *got_integers = allocate(N * 16);
    float x[N], sum = 1;
    uint16_t halves[N];
    for (uint32_t i = 0; i < N; i++) {
        expected[i] = i % 3 == 1 ? 0 : 7;
        x[i] = (float)i * 0.25f - 30;
        integers[4 * i] = (int32_t)floorf(x[i]);
        integers[4 * i + 1] = (int32_t)ceilf(x[i]);
        integers[4 * i + 2] = (int32_t)rintf(x[i]);
        integers[4 * i + 3] = (int32_t)x[i];
    }
    tombac_buffer *out = buffer_of(NULL, sizeof got), *words = buffer_of(&word, 4),
                  *signs = buffer_of(&most, 4), *floats = buffer_of(&sum, 4), *in = buffer_of(x, sizeof x),
                  *to = buffer_of(NULL, N * 16), *small = buffer_of(NULL, sizeof halves);
    tombac_argument_value early[] = {tombac_array(out)},
                          count[] = {tombac_array(words), tombac_array(signs), tombac_array(floats)},
                          convert[] = {tombac_array(in), tombac_array(to), tombac_array(small)};
    launch("early_return", tombac_range(N), tombac_any_group, early, 1);
    launch("counts", tombac_range(N), tombac_any_group, count, 3);
    launch("to_integers", tombac_range(N), tombac_any_group, convert, 3);
    finish("bodies");
    take(out, got, sizeof got);
    equal("early return", N, expected, got, sizeof got, 4);
    take(words, &word, 4);
    take(signs, &most, 4);
    take(floats, &sum, 4);
    if (word != N || most != N - 1 || sum != 1 + 0.5f * N)
        fail("atomics: %u, %d, %g", word, most, (double)sum);
    take(in, NULL, 0);
    take(to, got_integers, N * 16);
    equal("conversions", N, integers, got_integers, N * 16, 4);
    take(small, halves, sizeof halves);
    if (halves[124] != 0x3c00 || halves[120] != 0 || halves[112] != 0xc000) fail("conversion to half");
    free(integers);
    free(got_integers);
}

/* stream.order: without a wait between them. */
static void test_order(void)
{
    enum { N = 64, LAUNCHES = 100 };
    uint32_t expected[N] = {0}, got[N], rounds = large ? 20000 : 20;
    tombac_buffer *x = buffer_of(NULL, sizeof got), *other = buffer_of(NULL, sizeof got);
    tombac_kernel *kernel = kernel_of("slow_add");
    for (uint32_t k = 0; k < LAUNCHES; k++) {
        tombac_argument_value values[] = {tombac_array(x), tombac_value(rounds), tombac_value(k)};
        if (!succeeded(
                tombac_stream_launch(stream, kernel, tombac_range(N), tombac_any_group, values, 3, &error),
                &error, "order"))
            break;
        uint32_t value = expected[0];
        for (uint32_t i = 0; i < rounds; i++) value = value * 1664525u + 1013904223u;
        value = value * 3 + k;
        for (uint32_t i = 0; i < N; i++) expected[i] = value;
    }
    succeeded(tombac_stream_copy(stream, other, x, &error), &error, "copy in the stream");
    uint32_t nine = 9;
    succeeded(tombac_stream_fill(stream, x, &nine, 4, &error), &error, "fill in the stream");
    finish("order");
    take(other, got, sizeof got);
    equal("order", N, expected, got, sizeof got, 4);
    take(x, got, sizeof got);
    for (int i = 0; i < N; i++)
        if (got[i] != 9) fail("fill in the stream: %u", got[i]);
    tombac_kernel_release(kernel);
}

/* stream.asynchronous */
static void test_asynchronous(void)
{
    uint32_t rounds = large ? 30000000 : 1000000, add = 1, got = 0, zero = 0;
    tombac_buffer *x = buffer_of(&zero, 4);
    tombac_kernel *kernel = kernel_of("slow_add");
    tombac_argument_value values[] = {tombac_array(x), tombac_value(rounds), tombac_value(add)};
    tombac_launch *measured = NULL;
    tombac_operation *probe = NULL;
    bool ended = true, launched = succeeded(tombac_stream_launch(stream, kernel, tombac_range(1),
                                                tombac_any_group, values, 3, &error),
                           &error, "asynchronous");
    /* Another launch behind it, seen from outside: it has not ended when both calls have returned. */
    succeeded(tombac_launch_create(kernel, &measured, &error), &error, "launch");
    uint32_t range[3] = {1, 1, 1}, one = 1;
    bool bound = tombac_launch_set_bytes(measured, 0, range, 12, &error) == TOMBAC_OK &&
                 tombac_launch_set_buffer(measured, 1, x, 0, &error) == TOMBAC_OK &&
                 tombac_launch_set_bytes(measured, 2, &one, 4, &error) == TOMBAC_OK &&
                 tombac_launch_set_bytes(measured, 3, &one, 4, &error) == TOMBAC_OK &&
                 tombac_launch_set_threads(
                     measured, (tombac_size3){1, 1, 1}, (tombac_size3){1, 1, 1}, &error) == TOMBAC_OK &&
                 tombac_launch_operation(measured, &probe, &error) == TOMBAC_OK &&
                 tombac_operation_submit(probe, &error) == TOMBAC_OK &&
                 tombac_operation_poll(probe, &ended, &error) == TOMBAC_OK;
    if (!launched || !bound) fail("asynchronous: the probe failed");
    if (ended) fail("a launch of %u rounds had ended when the call returned", rounds);
    finish("asynchronous");
    succeeded(tombac_operation_wait(probe, -1, &error), &error, "probe");
    uint32_t value = 0;
    for (uint32_t i = 0; i < rounds; i++) value = value * 1664525u + 1013904223u;
    value = (value * 3 + add) * 1664525u + 1013904223u;
    value = value * 3 + 1;
    tombac_operation_release(probe);
    tombac_launch_release(measured);
    tombac_kernel_release(kernel);
    take(x, &got, 4);
    if (got != value) fail("asynchronous: %u, not %u", got, value);
}

/* stream.failure: reported once, by synchronize; what came after it did not run; then the stream works again.
 */
static void test_failure(void)
{
    uint32_t zero = 0, got = 0, rounds = 0, add = 5;
    tombac_buffer *x = buffer_of(&zero, 4);
    tombac_argument_value fails[] = {tombac_array(x)},
                          adds[] = {tombac_array(x), tombac_value(rounds), tombac_value(add)};
    launch("fails", tombac_range(1), tombac_any_group, fails, 1);
    launch("slow_add", tombac_range(1), tombac_any_group, adds, 3);
    refused(tombac_stream_synchronize(stream, &error), &error, TOMBAC_ERROR_KERNEL, "a failing kernel");
    finish("after a failure");
    launch("slow_add", tombac_range(1), tombac_any_group, adds, 3);
    finish("the stream after a failure");
    take(x, &got, 4);
    if (got != 5) fail("after a failure: %u, not 5", got);
}

/* print; random: fresh for each launch, the same with a seed. */
static void test_print_and_random(void)
{
    enum { N = 50 };
    uint32_t got[4][N];
    const uint64_t seed = 42;
    for (int k = 0; k < 4; k++) {
        tombac_buffer *out = buffer_of(NULL, sizeof got[k]);
        tombac_argument_value values[] = {tombac_value(seed), tombac_array(out)};
        launch("draws", tombac_range(N), tombac_any_group, values + (k < 2), k < 2 ? 1 : 2);
        finish("draws");
        take(out, got[k], sizeof got[k]);
    }
    if (memcmp(got[0], got[1], sizeof got[0]) == 0) fail("two launches without a seed draw the same");
    if (memcmp(got[2], got[3], sizeof got[2]) != 0) fail("two launches with a seed differ");

    /* Printing goes to the operation's log; here through a launch of its own. */
    tombac_kernel *kernel = kernel_of("prints");
    tombac_launch *print = NULL;
    uint32_t range[3] = {3, 1, 1};
    succeeded(tombac_launch_create(kernel, &print, &error), &error, "print");
    succeeded(tombac_launch_set_bytes(print, 0, range, 12, &error), &error, "print");
    succeeded(tombac_launch_set_threadgroups(print, (tombac_size3){1, 1, 1}, (tombac_size3){8, 1, 1}, &error),
        &error, "print");
    succeeded(tombac_launch_submit(print, &error), &error, "print");
    succeeded(tombac_launch_wait(print, &error), &error, "print");
    if (strcmp(tombac_launch_log(print), "item 0 of 3\nitem 1 of 3\nitem 2 of 3\n") != 0)
        fail("print: '%s'", tombac_launch_log(print));
    tombac_launch_release(print);
    tombac_kernel_release(kernel);
}

/* memory.*: zeros, ones, fill, copies of all lengths, between devices, the buffer's device. */
static void test_memory(void)
{
    static const struct {
        tombac_type type;
        uint64_t one;
    } ones[] = {{TOMBAC_TYPE_F32, 0x3f800000}, {TOMBAC_TYPE_F16, 0x3c00}, {TOMBAC_TYPE_BF16, 0x3f80},
        {TOMBAC_TYPE_I8, 1}, {TOMBAC_TYPE_U16, 1}, {TOMBAC_TYPE_I32, 1}, {TOMBAC_TYPE_U64, 1},
        {TOMBAC_TYPE_BOOL, 1}};
    for (size_t k = 0; k < COUNT(ones); k++) {
        tombac_buffer *one = NULL, *zero = NULL;
        uint64_t got[2][3] = {{0}};
        size_t size = tombac_type_size(ones[k].type);
        succeeded(tombac_ones(device, ones[k].type, 3, &one, &error), &error, "ones");
        succeeded(tombac_zeros(device, ones[k].type, 3, &zero, &error), &error, "zeros");
        if (tombac_buffer_count(one) != 3 || tombac_buffer_device(zero) != device) fail("ones and zeros");
        take(one, got[0], 3 * size);
        take(zero, got[1], 3 * size);
        for (size_t i = 0; i < 3; i++)
            if (memcmp((char *)got[0] + i * size, &ones[k].one, size) != 0)
                fail("a one of %s", tombac_type_name(ones[k].type));
        if (got[1][0] | got[1][1] | got[1][2]) fail("zeros of %s", tombac_type_name(ones[k].type));
    }
    tombac_device *check = NULL;
    succeeded(tombac_device_open("check", &check, &error), &error, "another device");
    for (size_t n = 0; n < 70; n += n < 40 ? 1 : 7) {
        unsigned char bytes[80], got[80];
        for (size_t i = 0; i < 80; i++) bytes[i] = (unsigned char)next_random();
        tombac_buffer *from = buffer_of(bytes, n), *to = buffer_of(NULL, n), *there = NULL,
                      *back = buffer_of(NULL, n);
        succeeded(tombac_buffer_create(check, n, NULL, &there, &error), &error, "a buffer there");
        succeeded(tombac_stream_copy(stream, to, from, &error), &error, "copy");
        succeeded(tombac_stream_copy(stream, there, to, &error), &error, "copy to a device");
        succeeded(tombac_stream_copy(stream, back, there, &error), &error, "copy from a device");
        finish("copies");
        take(from, NULL, 0);
        take(to, NULL, 0);
        take(there, NULL, 0);
        take(back, got, n);
        equal("copies", n, bytes, got, n, 1);
    }
    tombac_device_release(check);
    float *typed = NULL, value = 2.5f;
    tombac_buffer *floats = NULL;
    succeeded(tombac_filled(device, TOMBAC_TYPE_F32, 100, &value, &floats, &error), &error, "filled");
    value = -1;
    succeeded(tombac_stream_fill(stream, floats, &value, 4, &error), &error, "fill of floats");
    finish("fill");
    take(floats, typed = allocate(400), 400);
    for (int i = 0; i < 100; i++)
        if (typed[i] != -1) fail("fill of floats: %g", (double)typed[i]);
    free(typed);
}

/* query.*, and what is refused. */
static void test_queries(void)
{
    tombac_backend_info info = tombac_backend_get_info(device);
    bool has_memory = strncmp(tombac_device_name(device), "cuda", 4) == 0; /* of its own, and more for groups */
    if (info.float64 || !info.float16 || !info.atomics || info.unified_memory == has_memory ||
        info.largest_group != 1024 || info.subgroup_width != 32 ||
        (has_memory ? info.local_memory < 32768 : info.local_memory != 32768))
        fail("the backend's queries");
    if (tombac_stream_device(stream) != device) fail("the stream's device");
    tombac_kernel *kernel = kernel_of("axpy"), *fixed = kernel_of("reverse_groups");
    static const struct {
        tombac_nd range, group;
    } chosen[] = {{{1000003, 1, 1}, {256, 1, 1}}, {{1, 1, 1}, {1, 1, 1}}, {{100, 1, 1}, {128, 1, 1}},
        {{640, 480, 1}, {32, 8, 1}}, {{2, 480, 1}, {2, 128, 1}}, {{64, 64, 64}, {32, 4, 2}},
        {{0, 1, 1}, {1, 1, 1}}};
    for (size_t i = 0; i < COUNT(chosen); i++) {
        tombac_nd g = tombac_choose_group(kernel, chosen[i].range);
        if (memcmp(&g, &chosen[i].group, sizeof g) != 0)
            fail("chosen group %zu: %u x %u x %u", i, g.x, g.y, g.z);
    }
    tombac_nd g = tombac_choose_group(fixed, tombac_range(5)), range;
    if (g.x != 256 || g.y != 1 || g.z != 1) fail("a required group is not chosen");

    size_t sizes[4] = {2, 3, 4, 5};
    succeeded(tombac_range_of(sizes, 3, &range, &error), &error, "three dimensions");
    if (range.x != 2 || range.y != 3 || range.z != 4) fail("a range of sizes");
    refused(tombac_range_of(sizes, 4, &range, &error), &error, TOMBAC_ERROR_GEOMETRY, "four dimensions");
    refused(tombac_range_of(sizes, 0, &range, &error), &error, TOMBAC_ERROR_GEOMETRY, "no dimension");
    sizes[1] = (size_t)1 << 32;
    refused(tombac_range_of(sizes, 2, &range, &error), &error, TOMBAC_ERROR_GEOMETRY, "a size of 2^32");

    tombac_buffer *x = buffer_of(NULL, 16), *y = buffer_of(NULL, 20);
    float a = 1;
    tombac_argument_value values[] = {tombac_value(a), tombac_array(x), tombac_array(x), tombac_array(x)};
    refused(tombac_stream_launch(stream, kernel, tombac_range(4), tombac_any_group, values, 4, &error),
        &error, TOMBAC_ERROR_BINDING, "too many values");
    refused(tombac_stream_launch(stream, kernel, tombac_range(4), tombac_range(1025), values, 3, &error),
        &error, TOMBAC_ERROR_GEOMETRY, "a group that is too large");
    values[1] = tombac_local(16);
    refused(tombac_stream_launch(stream, kernel, tombac_range(4), tombac_any_group, values, 3, &error),
        &error, TOMBAC_ERROR_BINDING, "local memory for an array");
    refused(tombac_stream_copy(stream, x, y, &error), &error, TOMBAC_ERROR_ARGUMENT, "a copy of other size");
    refused(tombac_stream_copy(stream, x, x, &error), &error, TOMBAC_ERROR_ARGUMENT, "a copy onto itself");
    refused(
        tombac_stream_fill(stream, y, sizes, 8, &error), &error, TOMBAC_ERROR_ARGUMENT, "a fill with a rest");
    take(x, NULL, 0);
    take(y, NULL, 0);
    tombac_kernel_release(kernel);
    tombac_kernel_release(fixed);
}

int main(int count, char **arguments)
{
    if (!succeeded(tombac_device_open(count > 1 ? arguments[1] : NULL, &device, &error), &error, "device") ||
        !succeeded(portable_kernels_open(device, &library, &error), &error, "kernels") ||
        !succeeded(tombac_stream_create(device, &stream, &error), &error, "stream"))
        return 1;
    large = strcmp(tombac_device_name(device), "check") != 0;
    test_sizes();
    test_indices();
    test_reverse();
    test_barriers();
    test_bodies();
    test_order();
    test_asynchronous();
    test_failure();
    test_print_and_random();
    test_memory();
    test_queries();
    tombac_stream_release(stream);
    tombac_library_release(library);
    tombac_device_release(device);
    if (!failures) puts("portable layer: right");
    return failures != 0;
}
