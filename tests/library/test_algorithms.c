/* The ready kernels against plain computations of the host, for lengths around a threadgroup and, on a fast
 * device, a million: test_algorithms DEVICE. Whole numbers must be equal; floats lie within what the order of
 * additions may change. */
#include "harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

tombac_device *device;
tombac_algorithms *ready;
bool large;

static const float edges[] = {0.0f, -0.0f, 1.0f, -1.0f, INFINITY, -INFINITY, 3e38f, -3e38f, 1e-40f, -1e-40f};

static void test_map(size_t n)
{
    typedef double function(double);
    static const struct {
        tombac_map map;
        function *f;
        double tolerance;
    } maps[] = {{TOMBAC_MAP_SQRT, sqrt, 1e-6}, {TOMBAC_MAP_EXP, exp, 3e-5}, {TOMBAC_MAP_LOG, log, 1e-6},
        {TOMBAC_MAP_SIN, sin, 1e-6}, {TOMBAC_MAP_COS, cos, 1e-6}, {TOMBAC_MAP_TANH, tanh, 1e-6},
        {TOMBAC_MAP_ABS, fabs, 0}};
    float *x = allocate(n * 4), *got = allocate(n * 4);
    double *expected = allocate(n * 8);
    tombac_error *error = NULL;
    for (size_t i = 0; i < n; i++) x[i] = next_unit() * 2 + 2.25f;
    for (size_t m = 0; m < sizeof maps / sizeof *maps; m++) {
        tombac_buffer *in = buffer_of(x, n * 4), *out = buffer_of(NULL, n * 4);
        for (size_t i = 0; i < n; i++) expected[i] = maps[m].f((double)x[i]);
        succeeded(
            tombac_map_apply(ready, maps[m].map, TOMBAC_TYPE_F32, in, out, n, NULL, &error), &error, "map");
        take(in, NULL, 0);
        take(out, got, n * 4);
        close_to("map", n, expected, got, n, maps[m].tolerance);
    }
    static const tombac_map rest[] = {TOMBAC_MAP_NEGATE, TOMBAC_MAP_SQUARE, TOMBAC_MAP_RECIPROCAL};
    for (size_t m = 0; m < 4; m++) {
        tombac_buffer *buffer = buffer_of(x, n * 4); /* in place */
        for (size_t i = 0; i < n; i++) {
            double v = (double)x[i];
            expected[i] = m == 0 ? -v : m == 1 ? v * v : m == 2 ? 1 / v : 0.5 * v + 3;
        }
        succeeded(m < 3 ? tombac_map_apply(ready, rest[m], TOMBAC_TYPE_F32, buffer, buffer, n, NULL, &error)
                        : tombac_map_affine(ready, 0.5f, 3, buffer, buffer, n, NULL, &error),
            &error, "map in place");
        take(buffer, got, n * 4);
        close_to("map in place", n, expected, got, n, 2e-6);
    }
    free(x);
    free(got);
    free(expected);
}

static void test_fill(size_t n)
{
    const unsigned char value[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    tombac_error *error = NULL;
    for (size_t size = 1; size <= 16; size *= 2) {
        unsigned char *expected = allocate((n + 1) * size), *got = allocate((n + 1) * size);
        for (size_t i = 0; i < n; i++) memcpy(expected + i * size, value, size);
        tombac_buffer *buffer = buffer_of(NULL, (n + 1) * size); /* the last stays zero */
        succeeded(tombac_fill(ready, buffer, value, size, n, NULL, &error), &error, "fill");
        take(buffer, got, (n + 1) * size);
        equal("fill", n, expected, got, (n + 1) * size, size);
        free(expected);
        free(got);
    }
}

static void test_reduce(size_t n)
{
    uint32_t *bits = allocate(n * 4), sum = 0, least = UINT32_MAX, most = 0, got;
    int32_t least_int = INT32_MAX, most_int = INT32_MIN;
    float *floats = allocate(n * 4), least_float = INFINITY, most_float = -INFINITY, got_float;
    double float_sum = 0, magnitude = 0;
    tombac_error *error = NULL;
    for (size_t i = 0; i < n; i++) {
        uint32_t u = bits[i] = (uint32_t)next_random();
        int32_t s = (int32_t)u;
        float f = floats[i] = next_unit();
        sum += u;
        if (u < least) least = u;
        if (u > most) most = u;
        if (s < least_int) least_int = s;
        if (s > most_int) most_int = s;
        if (f < least_float) least_float = f;
        if (f > most_float) most_float = f;
        float_sum += (double)f;
        magnitude += fabs((double)f);
    }
    const uint32_t expected[2][3] = {{sum, least, most}, {sum, (uint32_t)least_int, (uint32_t)most_int}};
    for (int type = 0; type < 3; type++) {
        tombac_buffer *in = buffer_of(type == 2 ? (void *)floats : bits, n * 4);
        static const tombac_type types[] = {TOMBAC_TYPE_U32, TOMBAC_TYPE_I32, TOMBAC_TYPE_F32};
        for (int what = 0; what < 3; what++) {
            tombac_buffer *out = buffer_of(NULL, 4);
            succeeded(tombac_reduce(ready, (tombac_reduction)what, types[type], in, out, n, NULL, &error),
                &error, "reduce");
            take(out, &got, 4);
            memcpy(&got_float, &got, 4);
            if (type < 2 && got != expected[type][what])
                fail("reduce, n = %zu: type %d, %d: %u, not %u", n, type, what, got, expected[type][what]);
            if (type == 2 && what == 0 && fabs((double)got_float - float_sum) > 1e-6 * magnitude)
                fail("reduce, n = %zu: the sum is %g, not %g", n, (double)got_float, float_sum);
            if (type == 2 && what > 0 && got_float != (what == 1 ? least_float : most_float))
                fail("reduce, n = %zu: an extremum of floats is %g", n, (double)got_float);
        }
        take(in, NULL, 0);
    }
    free(bits);
    free(floats);
}

static void test_scan(size_t n)
{
    uint32_t *x = allocate(n * 4), *expected = allocate(n * 4), *got = allocate(n * 4);
    float *f = allocate(n * 4), *got_float = allocate(n * 4);
    double *sums = allocate(n * 8), magnitude = 0;
    tombac_error *error = NULL;
    for (size_t i = 0; i < n; i++) {
        x[i] = (uint32_t)next_random();
        f[i] = next_unit();
        magnitude += fabs((double)f[i]);
    }
    for (int inclusive = 0; inclusive < 2; inclusive++) {
        uint32_t sum = 0;
        double float_sum = 0;
        for (size_t i = 0; i < n; i++) {
            expected[i] = inclusive ? sum + x[i] : sum;
            sums[i] = inclusive ? float_sum + (double)f[i] : float_sum;
            sum += x[i];
            float_sum += (double)f[i];
        }
        for (int type = 0; type < 2; type++) { /* uint into another buffer, int in place */
            tombac_buffer *in = buffer_of(x, n * 4),
                          *out = type ? tombac_buffer_retain(in) : buffer_of(NULL, n * 4);
            succeeded(tombac_scan(ready, type ? TOMBAC_TYPE_I32 : TOMBAC_TYPE_U32, inclusive, in, out, n,
                          NULL, &error),
                &error, "scan");
            take(in, NULL, 0);
            take(out, got, n * 4);
            equal("scan", n, expected, got, n * 4, 4);
        }
        tombac_buffer *in = buffer_of(f, n * 4), *out = buffer_of(NULL, n * 4);
        succeeded(tombac_scan(ready, TOMBAC_TYPE_F32, inclusive, in, out, n, NULL, &error), &error, "scan");
        take(in, NULL, 0);
        take(out, got_float, n * 4);
        close_to("scan of floats", n, sums, got_float, n, 1e-6 * magnitude);
    }
    free(x);
    free(expected);
    free(got);
    free(f);
    free(got_float);
    free(sums);
}

static void test_histogram(size_t n)
{
    static const tombac_type types[] = {TOMBAC_TYPE_U8, TOMBAC_TYPE_U16, TOMBAC_TYPE_U32};
    static const size_t bin_counts[] = {256, 4096, 1000};
    tombac_error *error = NULL;
    for (int type = 0; type < 3; type++) {
        size_t size = (size_t)1 << type, bins = bin_counts[type];
        unsigned char *x = allocate(n * size);
        uint32_t expected[4097] = {0}, got[4097], dirty[4097];
        memset(dirty, 0x55, sizeof dirty);
        expected[bins] = dirty[bins];
        for (size_t i = 0; i < n; i++) {
            uint32_t value = (uint32_t)(next_random() % (type == 0 ? 256 : 1500)); /* some have no bin */
            memcpy(x + i * size, &value, size);
            if (value < bins) expected[value]++;
        }
        tombac_buffer *in = buffer_of(x, n * size), *out = buffer_of(dirty, (bins + 1) * 4);
        succeeded(tombac_histogram(ready, types[type], in, out, n, bins, NULL, &error), &error, "histogram");
        take(in, NULL, 0);
        take(out, got, (bins + 1) * 4);
        equal("histogram", n, expected, got, (bins + 1) * 4, 4);
        free(x);
    }
}

/* Keys in the order of docs: of unsigned numbers after the sign was turned. */
static tombac_type sort_type;
static uint64_t rank(uint32_t key)
{
    if (sort_type == TOMBAC_TYPE_U32) return key;
    if (sort_type == TOMBAC_TYPE_I32) return (uint64_t)((int64_t)(int32_t)key + INT64_C(0x80000000));
    return key >> 31 ? UINT64_C(0xffffffff) - key : UINT64_C(0x80000000) + key;
}
typedef struct pair {
    uint32_t key, value;
} pair;
static int compare_pairs(const void *a, const void *b)
{
    const pair *p = a, *q = b;
    uint64_t x = rank(p->key), y = rank(q->key);
    return x != y ? (x > y) - (x < y) : (p->value > q->value) - (p->value < q->value);
}

static void test_sort(size_t n)
{
    static const tombac_type types[] = {TOMBAC_TYPE_U32, TOMBAC_TYPE_I32, TOMBAC_TYPE_F32};
    uint32_t *keys = allocate(n * 4), *values = allocate(n * 4), *got = allocate(n * 4),
             *got_values = allocate(n * 4);
    pair *pairs = allocate(n * sizeof *pairs);
    tombac_error *error = NULL;
    for (int type = 0; type < 3; type++) {
        sort_type = types[type];
        for (size_t i = 0; i < n; i++) {
            uint64_t r = next_random();
            keys[i] = (uint32_t)r;
            if (r >> 62 == 0) keys[i] &= 0xff0000ff; /* some are equal */
            if (type == 2 && i % 7 == 0) memcpy(&keys[i], &edges[r >> 40 & 7], 4);
            pairs[i] = (pair){keys[i], (uint32_t)i};
        }
        qsort(pairs, n, sizeof *pairs, compare_pairs);
        for (int with_values = 0; with_values < 2; with_values++) {
            for (size_t i = 0; i < n; i++) values[i] = (uint32_t)i;
            tombac_buffer *k = buffer_of(keys, n * 4), *v = with_values ? buffer_of(values, n * 4) : NULL;
            succeeded(tombac_sort(ready, types[type], k, v, n, NULL, &error), &error, "sort");
            take(k, got, n * 4);
            if (v) take(v, got_values, n * 4);
            for (size_t i = 0; i < n; i++) {
                if (got[i] == pairs[i].key && (!v || got_values[i] == pairs[i].value)) continue;
                fail("sort, n = %zu: type %d: element %zu is %08x, not %08x", n, type, i, got[i],
                    pairs[i].key);
                break;
            }
        }
    }
    free(keys);
    free(values);
    free(got);
    free(got_values);
    free(pairs);
}

static void test_compact(size_t n)
{
    for (int kind = 0; kind < 3; kind++) { /* some, none, all */
        uint32_t *x = allocate(n * 4), *expected = allocate(n * 4 + 4), *got = allocate(n * 4 + 4), count = 0,
                 got_count;
        unsigned char *flags = allocate(n);
        tombac_error *error = NULL;
        for (size_t i = 0; i < n; i++) {
            x[i] = (uint32_t)next_random();
            flags[i] = kind == 0 ? (unsigned char)(next_random() & 0x41) : kind == 1 ? 0 : 0x80;
            if (flags[i]) expected[count++] = x[i];
        }
        tombac_buffer *in = buffer_of(x, n * 4), *f = buffer_of(flags, n), *out = buffer_of(NULL, n * 4 + 4),
                      *total = buffer_of(NULL, 4);
        succeeded(
            tombac_compact(ready, TOMBAC_TYPE_U32, in, f, out, total, n, NULL, &error), &error, "compact");
        take(in, NULL, 0);
        take(f, NULL, 0);
        take(out, got, n * 4 + 4);
        take(total, &got_count, 4);
        if (got_count != count) fail("compact, n = %zu: %u elements, not %u", n, got_count, count);
        equal("compact", n, expected, got, n * 4 + 4, 4);
        free(x);
        free(expected);
        free(got);
        free(flags);
    }
}

/* What must not be done, and calls one behind the other without a wait between them. */
static void test_calls(void)
{
    tombac_error *error = NULL;
    uint32_t x[1000], zero = 0, got;
    for (uint32_t i = 0; i < 1000; i++) x[i] = 999 - i;
    tombac_buffer *a = buffer_of(x, sizeof x), *b = buffer_of(NULL, sizeof x), *sum = buffer_of(&zero, 4);
    refused(tombac_reduce(ready, TOMBAC_REDUCE_SUM, TOMBAC_TYPE_U32, a, sum, 1001, NULL, &error), &error,
        TOMBAC_ERROR_CONTRACT, "a buffer that is too short");
    refused(tombac_reduce(ready, TOMBAC_REDUCE_SUM, TOMBAC_TYPE_F16, a, sum, 10, NULL, &error), &error,
        TOMBAC_ERROR_UNSUPPORTED, "a type without a kernel");
    refused(tombac_reduce(ready, (tombac_reduction)3, TOMBAC_TYPE_U32, a, sum, 10, NULL, &error), &error,
        TOMBAC_ERROR_ARGUMENT, "no such reduction");
    refused(tombac_scan(ready, TOMBAC_TYPE_U32, true, a, b, (size_t)1 << 31, NULL, &error), &error,
        TOMBAC_ERROR_ARGUMENT, "too many elements");
    refused(tombac_sort(ready, TOMBAC_TYPE_U32, NULL, NULL, 10, NULL, &error), &error, TOMBAC_ERROR_ARGUMENT,
        "no buffer");
    refused(tombac_compact(ready, TOMBAC_TYPE_U32, a, b, a, sum, 10, NULL, &error), &error,
        TOMBAC_ERROR_ARGUMENT, "an output that is an input");
    refused(tombac_histogram(ready, TOMBAC_TYPE_U32, a, b, 10, 4097, NULL, &error), &error,
        TOMBAC_ERROR_ARGUMENT, "too many bins");
    refused(tombac_fill(ready, a, x, 3, 10, NULL, &error), &error, TOMBAC_ERROR_UNSUPPORTED,
        "elements of three bytes");
    refused(
        tombac_nbody(ready, a, b, 10, 0, 1, 1, NULL, &error), &error, TOMBAC_ERROR_ARGUMENT, "no softening");
    refused(tombac_algorithms_create(NULL, &ready, &error), &error, TOMBAC_ERROR_ARGUMENT, "no device");

    tombac_operation *steps[3] = {NULL};
    bool made =
        succeeded(tombac_sort(ready, TOMBAC_TYPE_U32, a, NULL, 1000, &steps[0], &error), &error, "sort");
    made &=
        succeeded(tombac_scan(ready, TOMBAC_TYPE_U32, true, a, b, 1000, &steps[1], &error), &error, "scan");
    made &=
        succeeded(tombac_reduce(ready, TOMBAC_REDUCE_MAX, TOMBAC_TYPE_U32, b, sum, 1000, &steps[2], &error),
            &error, "reduce");
    for (int i = 0; i < 3; i++) tombac_operation_release(steps[i]);
    take(a, NULL, 0);
    take(b, NULL, 0);
    take(sum, &got, 4);
    if (made && got != 999 * 1000 / 2) fail("a chain of calls gives %u", got);
}

int main(int count, char **arguments)
{
    tombac_error *error = NULL;
    if (!succeeded(tombac_device_open(count > 1 ? arguments[1] : NULL, &device, &error), &error, "device"))
        return 1;
    if (!succeeded(tombac_algorithms_create(device, &ready, &error), &error, "ready kernels")) return 1;
    large = strcmp(tombac_device_name(device), "check") != 0;
    static const size_t sizes[] = {0, 1, 255, 256, 257, 4097, 1000003};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes - !large; i++) {
        size_t n = sizes[i];
        test_map(n);
        test_fill(n);
        test_reduce(n);
        test_scan(n);
        test_histogram(n);
        test_sort(n);
        test_compact(n);
    }
    test_calls();
    test_grids();
    tombac_algorithms_release(ready);
    tombac_device_release(device);
    if (!failures) puts("ready kernels: right");
    return failures != 0;
}
