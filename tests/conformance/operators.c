/* Operators on tensors as frameworks write them: every registered kernel against a model on the host. All
 * values are small integers or halves of them, exact in every type. */
#include "conformance.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 96 };

static const struct {
    const char *name;
    tombac_type type;
    int size, parts;
    bool integer;
} types[] = {
    {"float", TOMBAC_TYPE_F32, 4, 1, false},
    {"half", TOMBAC_TYPE_F16, 2, 1, false},
    {"bfloat", TOMBAC_TYPE_BF16, 2, 1, false},
    {"long", TOMBAC_TYPE_I64, 8, 1, true},
    {"int", TOMBAC_TYPE_I32, 4, 1, true},
    {"short", TOMBAC_TYPE_I16, 2, 1, true},
    {"uchar", TOMBAC_TYPE_U8, 1, 1, true},
    {"char", TOMBAC_TYPE_I8, 1, 1, true},
    {"bool", TOMBAC_TYPE_BOOL, 1, 1, true},
    {"float2", TOMBAC_TYPE_F32, 4, 2, false},
    {"half2", TOMBAC_TYPE_F16, 2, 2, false},
};
enum { TYPES = sizeof types / sizeof *types, BOOL = 8 };

/* The element k of an array of this type becomes x. */
static void put(void *array, int k, tombac_type type, double x)
{
    switch (type) {
    case TOMBAC_TYPE_F32: ((float *)array)[k] = (float)x; break;
    case TOMBAC_TYPE_F16: ((uint16_t *)array)[k] = cf_half_from_double(x); break;
    case TOMBAC_TYPE_BF16: ((uint16_t *)array)[k] = cf_bfloat_from_double(x); break;
    case TOMBAC_TYPE_I64: ((int64_t *)array)[k] = (int64_t)x; break;
    case TOMBAC_TYPE_I32: ((int32_t *)array)[k] = (int32_t)x; break;
    case TOMBAC_TYPE_I16: ((int16_t *)array)[k] = (int16_t)x; break;
    case TOMBAC_TYPE_I8: ((int8_t *)array)[k] = (int8_t)x; break;
    default: ((uint8_t *)array)[k] = (uint8_t)x; break;
    }
}

/* Between -7 and 7, for unsigned types their magnitude, for bool 0 or 1. */
static double value(int type, int k)
{
    int x = k * 5 % 15 - 7;
    if (type == BOOL) return x & 1;
    return types[type].type == TOMBAC_TYPE_U8 ? abs(x) : x;
}

static cf_call call_to(const char *kernel)
{
    return (cf_call){.file = "operators.metal",
        .kernel = kernel,
        .standard = "metal3.1",
        .grid = {N, 1, 1},
        .group = {32, 1, 1}};
}

static cf_call call_of(char name[64], const char *form, int type)
{
    snprintf(name, 64, "%s_%s", form, types[type].name);
    return call_to(name);
}

static tombac_type output_of(int type)
{
    return types[type].integer ? TOMBAC_TYPE_F32 : types[type].type;
}

static void square(int type, const double *x, double *y)
{
    y[0] = x[0] * x[0] + 1;
    if (types[type].parts == 2) y[0] -= x[1] * x[1], y[1] = 2 * x[0] * x[1];
}

static void run_unary(cf_test *t, const int *p)
{
    int type = p[0], parts = types[type].parts;
    uint64_t in[2 * N] = {0}, out[2 * N] = {0}, expected[2 * N] = {0};
    char name[64];
    cf_call call = call_of(name, "square_plus_one_dense", type);
    for (int i = 0; i < N; i++) {
        double x[2] = {value(type, i), value(type, i + 3)}, y[2] = {0};
        square(type, x, y);
        for (int k = 0; k < parts; k++) {
            put(in, parts * i + k, types[type].type, x[k]);
            put(expected, parts * i + k, output_of(type), y[k]);
        }
    }
    cf_buffer(&call, 0, out, sizeof out);
    cf_buffer(&call, 1, in, sizeof in);
    if (cf_run(t, &call)) cf_equal(t, output_of(type), expected, out, (size_t)N * (size_t)parts, "%s", name);
}

/* Three dimensions of 4, 3 and 8 elements: the input transposed, with gaps; the output with the last
 * dimension first. */
static void run_strided(cf_test *t, const int *p)
{
    enum { A = 4, B = 3, C = 8, ROOM = 8 * 2 * A * B * C };
    int type = p[0], parts = types[type].parts;
    int64_t size = (int64_t)types[type].size * parts,
            to = (int64_t)(types[type].integer ? 4 : types[type].size) * parts;
    int64_t sizes[3] = {A, B, C}, in_strides[3] = {2 * C * size, 2 * A * C * size, 2 * size},
            out_strides[3] = {B * to, to, A * B * to};
    uint64_t in[ROOM] = {0}, out[ROOM] = {0}, expected[ROOM] = {0};
    uint32_t dimensions = 3;
    char name[64];
    cf_call call = call_of(name, "square_plus_one_strided", type);
    for (int i = 0; i < N; i++) {
        int a = i % A, b = i / A % B, c = i / (A * B);
        double x[2] = {value(type, i), value(type, i + 3)}, y[2] = {0};
        square(type, x, y);
        for (int k = 0; k < parts; k++) {
            put(in, parts * (2 * C * a + 2 * A * C * b + 2 * c) + k, types[type].type, x[k]);
            put(expected, parts * (B * a + b + A * B * c) + k, output_of(type), y[k]);
        }
    }
    cf_buffer(&call, 0, out, sizeof out);
    cf_buffer(&call, 1, in, sizeof in);
    cf_bytes(&call, 2, sizes, sizeof sizes);
    cf_bytes(&call, 3, in_strides, sizeof in_strides);
    cf_bytes(&call, 4, out_strides, sizeof out_strides);
    cf_bytes(&call, 5, &dimensions, sizeof dimensions);
    if (cf_run(t, &call)) cf_equal(t, output_of(type), expected, out, (size_t)N * (size_t)parts, "%s", name);
}

/* p[1]: with alpha, a number of the same type. */
static void run_binary(cf_test *t, const int *p)
{
    int type = p[0];
    uint64_t a[N] = {0}, b[N] = {0}, alpha = 0, out[N] = {0}, expected[N] = {0};
    char name[64];
    cf_call call = call_of(name, p[1] ? "scaled_sum_alpha" : "largest_dense", type);
    put(&alpha, 0, types[type].type, -3);
    for (int i = 0; i < N; i++) {
        double x = value(type, i), y = value(type, 7 * i + 2);
        put(a, i, types[type].type, x);
        put(b, i, types[type].type, y);
        put(expected, i, types[type].type, p[1] ? x - 3 * y : fmax(x, y));
    }
    cf_buffer(&call, 0, out, sizeof out);
    cf_buffer(&call, 1, a, sizeof a);
    cf_buffer(&call, 2, b, sizeof b);
    if (p[1]) cf_bytes(&call, 3, &alpha, (size_t)types[type].size);
    if (cf_run(t, &call)) cf_equal(t, types[type].type, expected, out, N, "%s", name);
}

static void run_options(cf_test *t, const int *p)
{
    struct {
        int64_t length;
        float scale;
        uint8_t reverse, negate;
    } options = {N, 0.5f, p[0] & 1, p[0] >> 1 & 1};
    uint8_t flags[2] = {p[0] >> 2 & 1, p[0] >> 3 & 1}, more[4] = {0, 0, p[0] >> 4 & 1, 0};
    int64_t sizes[2] = {INT64_C(1) << 20, 300}, steps[4] = {1, 2, 70000, 0};
    int32_t ends[2] = {3, N - 1};
    float out[N] = {0}, expected[N];
    for (int i = 0; i < N; i++) {
        double x = 2 * i + 1;
        if (flags[0]) x += 1048576;
        if (flags[1]) x += 1000;
        if (more[2]) x += 70000;
        if (i == 3 || i == N - 1) x += 300;
        expected[options.reverse ? N - 1 - i : i] = (float)((options.negate ? -x : x) / 2);
    }
    cf_call call = call_to("with_options");
    cf_buffer(&call, 0, out, sizeof out);
    cf_bytes(&call, 1, flags, sizeof flags);
    cf_bytes(&call, 2, more, sizeof more);
    cf_bytes(&call, 3, sizes, sizeof sizes);
    cf_bytes(&call, 4, steps, sizeof steps);
    cf_bytes(&call, 5, ends, sizeof ends);
    cf_bytes(&call, 6, &options, sizeof options);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_F32, expected, out, N, "flags %d", p[0]);
}

/* p[0] indices are wrong; four messages fit. Each kept one is that of a thread with a wrong index, and of one
 * thread only. */
static void run_errors(cf_test *t, const int *p)
{
    enum { LENGTH = 10, MESSAGES = 4, TEXT = 40 };
    struct {
        uint32_t count;
        struct {
            uint32_t thread;
            char text[TEXT];
        } list[MESSAGES];
    } messages = {0};
    float values[LENGTH], out[N] = {0}, expected[N] = {0};
    int64_t indices[N];
    uint32_t length = LENGTH, kept = p[0] < MESSAGES ? (uint32_t)p[0] : MESSAGES;
    bool seen[N] = {false};
    for (int i = 0; i < LENGTH; i++) values[i] = (float)(i + 1);
    for (int i = 0; i < N; i++) {
        int wanted = i * 7 % (2 * LENGTH) - LENGTH;
        bool wrong = i % 9 == 4 && i / 9 < p[0];
        indices[i] = wrong ? (i % 2 ? INT64_C(-123456789012) - i : LENGTH + i) : wanted;
        expected[i] = wrong ? 0 : values[wanted < 0 ? wanted + LENGTH : wanted];
    }
    cf_call call = call_to("gather");
    cf_buffer(&call, 0, out, sizeof out);
    cf_buffer(&call, 1, values, sizeof values);
    cf_buffer(&call, 2, indices, sizeof indices);
    cf_bytes(&call, 3, &length, sizeof length);
    cf_buffer(&call, 4, &messages, sizeof messages);
    if (!cf_run(t, &call)) return;
    cf_equal(t, TOMBAC_TYPE_F32, expected, out, N, "what was gathered");
    if (messages.count != (uint32_t)p[0]) cf_fail(t, "%u reports, not %d", messages.count, p[0]);
    for (uint32_t k = 0; k < kept && !cf_failed(t); k++) {
        char text[TEXT];
        uint32_t i = messages.list[k].thread;
        if (i >= N || i % 9 != 4 || seen[i]) {
            cf_fail(t, "report %u is of thread %u", k, i);
            return;
        }
        seen[i] = true;
        snprintf(text, sizeof text, "index %" PRId64 " of %d", indices[i], LENGTH);
        if (strcmp(text, messages.list[k].text) != 0)
            cf_fail(t, "'%.39s', not '%s'", messages.list[k].text, text);
    }
}

void cf_family_operators(cf_suite *suite)
{
    for (int type = 0; type < TYPES; type++) {
        const char *name = types[type].name;
        if (type != BOOL) cf_add(suite, run_unary, CF_P(type), "operators.unary.%s", name);
        if (type != BOOL) cf_add(suite, run_strided, CF_P(type), "operators.strided.%s", name);
        if (types[type].parts == 1) cf_add(suite, run_binary, CF_P(type, 0), "operators.largest.%s", name);
        if (!types[type].integer && types[type].parts == 1)
            cf_add(suite, run_binary, CF_P(type, 1), "operators.alpha.%s", name);
    }
    cf_add(suite, run_binary, CF_P(4, 1), "operators.alpha.int");
    for (int flags = 0; flags < 32; flags += 1 + flags / 4)
        cf_add(suite, run_options, CF_P(flags), "operators.options.%d", flags);
    for (int wrong = 0; wrong < 10; wrong += 3)
        cf_add(suite, run_errors, CF_P(wrong), "operators.errors.%d", wrong);
}
