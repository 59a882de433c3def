/* Tensors. An element lies at the sum of its indices times the strides; outside of the extents load gives zero and
 * store does nothing; a slice has what remains from its origin on, or the extents that were asked for. */
#include "conformance.h"

#include <string.h>

static cf_call call_of(const char *kernel, uint32_t x, uint32_t y)
{
    return (cf_call){.file = "tensor.metal",
        .kernel = kernel,
        .standard = "metal4.0",
        .grid = {x, y, 1},
        .group = {x, y, 1}};
}

/* Dimension after dimension: extent, stride, static extent (-1: dynamic). */
static int64_t *put(int64_t *p, int rank, const int64_t (*dimensions)[3])
{
    *p++ = rank;
    memcpy(p, dimensions, sizeof *dimensions * (size_t)rank);
    return p + 3 * rank;
}
#define PUT(p, rank, ...) put(p, rank, (const int64_t[rank][3]){__VA_ARGS__})

static void run_facts(cf_test *t, const int *p)
{
    (void)p;
    enum { FACTS = 14 * 7 };
    static const size_t a[] = {10, 6}, a_strides[] = {1, 17}, b[] = {5, 9}, c[] = {3, 1, 4}, c_strides[] = {2, 8, 9}, d[] = {70000};
    static int32_t a_data[6 * 17];
    static int16_t b_data[45];
    static uint8_t c_data[64];
    static float d_data[70000];
    int64_t expected[FACTS + 8] = {0}, got[FACTS + 8] = {0}, *e = expected;
    e = PUT(e, 2, {10, 1, -1}, {6, 17, -1});
    e = PUT(e, 2, {5, 1, 5}, {9, 5, -1});
    e = PUT(e, 3, {3, 2, -1}, {1, 8, -1}, {4, 9, -1});
    e = PUT(e, 1, {70000, 1, -1});
    e = PUT(e, 2, {8, 1, -1}, {5, 17, -1});
    e = PUT(e, 2, {7, 1, -1}, {4, 17, -1});
    e = PUT(e, 2, {4, 1, 4}, {2, 17, 2});
    e = PUT(e, 2, {8, 1, -1}, {2, 17, 2});
    e = PUT(e, 2, {0, 1, -1}, {6, 17, -1});
    e = PUT(e, 2, {4, 1, -1}, {7, 5, -1});
    e = PUT(e, 2, {3, 1, 3}, {4, 3, -1});
    e = PUT(e, 2, {3, 7, -1}, {4, 1, -1});
    e = PUT(e, 2, {10, 1, -1}, {6, 17, -1});
    e = PUT(e, 2, {3, 1, -1}, {4, 3, -1});
    cf_call call = call_of("facts", 1, 1);
    cf_tensor(&call, 0, (tombac_tensor){TOMBAC_TYPE_I32, 2, a, a_strides}, a_data, sizeof a_data);
    cf_tensor(&call, 1, (tombac_tensor){TOMBAC_TYPE_I16, 2, b, NULL}, b_data, sizeof b_data);
    cf_tensor(&call, 2, (tombac_tensor){TOMBAC_TYPE_U8, 3, c, c_strides}, c_data, sizeof c_data);
    cf_tensor(&call, 3, (tombac_tensor){TOMBAC_TYPE_F32, 1, d, NULL}, d_data, sizeof d_data);
    cf_buffer(&call, 4, got, sizeof got);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_I64, expected, got, FACTS + 8, "facts");
}

/* p: 1 with gaps between the rows and columns. */
static void run_subscripts(cf_test *t, const int *p)
{
    enum { X = 7, Y = 5 };
    static const size_t extents[] = {X, Y};
    size_t strides[] = {p[0] ? 2 : 1, p[0] ? 19 : X};
    int32_t in[Y * 19], out[Y * 19], expected[Y * 19];
    for (int i = 0; i < Y * 19; i++) in[i] = 1000 * i, expected[i] = out[i] = -i;
    for (int y = 0; y < Y; y++)
        for (int x = 0; x < X; x++) {
            size_t i = (size_t)x * strides[0] + (size_t)y * strides[1];
            expected[i] = in[i] + 1 + x % 4 + (x == 4 ? 101 : 0);
        }
    cf_call call = call_of("subscripts", X, Y);
    cf_tensor(&call, 0, (tombac_tensor){TOMBAC_TYPE_I32, 2, extents, strides}, in, sizeof in);
    cf_tensor(&call, 1, (tombac_tensor){TOMBAC_TYPE_I32, 2, extents, strides}, out, sizeof out);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_I32, expected, out, Y * 19, "out");
}

static void run_commas(cf_test *t, const int *p)
{
    (void)p;
    static const size_t extents[] = {3, 2};
    int32_t in[] = {11, 12, 13, 14, 15, 16}, out[6] = {0}, expected[] = {30, 40, 2, 16 + 14, 15, 20};
    cf_call call = call_of("commas", 1, 1);
    cf_buffer(&call, 0, out, sizeof out);
    cf_tensor(&call, 1, (tombac_tensor){TOMBAC_TYPE_I32, 2, extents, NULL}, in, sizeof in);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_I32, expected, out, 6, "out");
}

static void run_edges(cf_test *t, const int *p)
{
    (void)p;
    enum { X = 4, Y = 3, OUT_X = 9, OUT_Y = 8 };
    static const size_t extents[] = {X, Y}, strides[] = {1, X + 2}, out_extents[] = {OUT_X, OUT_Y};
    float in[Y * (X + 2)], after[Y * (X + 2)], out[OUT_X * OUT_Y] = {0}, expected[OUT_X * OUT_Y] = {0};
    for (int i = 0; i < Y * (X + 2); i++) in[i] = after[i] = (float)(i + 1);
    for (int oy = 0; oy < OUT_Y; oy++)
        for (int ox = 0; ox < OUT_X; ox++) {
            int x = ox - 2, y = oy - 2;
            float *e = &expected[oy * OUT_X + ox];
            if (x >= 0 && x < X && y >= 0 && y < Y) *e += in[y * (X + 2) + x];
            if (x >= 0 && x < X - 1 && y >= 0 && y < Y - 1) {
                *e += 1000 * in[(y + 1) * (X + 2) + x + 1];
                after[(y + 1) * (X + 2) + x + 1] = (float)-x;
            }
            if (x >= 0 && x < 2 && y >= 0 && y < 2) *e += 1000000 * in[y * (X + 2) + x];
        }
    cf_call call = call_of("edges", OUT_X, OUT_Y);
    cf_tensor(&call, 0, (tombac_tensor){TOMBAC_TYPE_F32, 2, extents, strides}, in, sizeof in);
    cf_tensor(&call, 1, (tombac_tensor){TOMBAC_TYPE_F32, 2, out_extents, NULL}, out, sizeof out);
    if (!cf_run(t, &call)) return;
    cf_equal(t, TOMBAC_TYPE_F32, expected, out, OUT_X * OUT_Y, "loads");
    cf_equal(t, TOMBAC_TYPE_F32, after, in, Y * (X + 2), "after stores");
}

static void run_ranks(cf_test *t, const int *p)
{
    (void)p;
    static const size_t one_extents[] = {5}, one_strides[] = {3}, three_extents[] = {3, 2, 4}, three_strides[] = {1, 4, 9};
    static const size_t four_extents[] = {2, 3, 2, 2};
    int32_t one[15], three[40], four[24], after[79], got[79], out[53] = {0}, expected[53];
    int n = 0;
    for (int i = 0; i < 79; i++) *(i < 15 ? &one[i] : i < 55 ? &three[i - 15] : &four[i - 55]) = after[i] = 7 * i;
    for (int i = 0; i < 5; i++) expected[n++] = one[3 * i];
    for (int z = 0; z < 4; z++)
        for (int y = 0; y < 2; y++)
            for (int x = 0; x < 3; x++) expected[n++] = three[x + 4 * y + 9 * z];
    for (int i = 0; i < 24; i++) expected[n++] = four[i];
    after[3] = -1;
    after[15 + 1 + 4 + 9] = -2;
    after[55 + 1 + 2 + 6 + 12] = -3;
    cf_call call = call_of("ranks", 1, 1);
    cf_tensor(&call, 0, (tombac_tensor){TOMBAC_TYPE_I32, 1, one_extents, one_strides}, one, sizeof one);
    cf_tensor(&call, 1, (tombac_tensor){TOMBAC_TYPE_I32, 3, three_extents, three_strides}, three, sizeof three);
    cf_tensor(&call, 2, (tombac_tensor){TOMBAC_TYPE_I32, 4, four_extents, NULL}, four, sizeof four);
    cf_buffer(&call, 3, out, sizeof out);
    if (!cf_run(t, &call)) return;
    cf_equal(t, TOMBAC_TYPE_I32, expected, out, (size_t)n, "out");
    memcpy(got, one, sizeof one);
    memcpy(got + 15, three, sizeof three);
    memcpy(got + 55, four, sizeof four);
    cf_equal(t, TOMBAC_TYPE_I32, after, got, 79, "after stores");
}

static int32_t total(int x_count, int y_count, const int *elements, int x_stride, int y_stride)
{
    int32_t sum = 0;
    for (int y = 0; y < y_count; y++)
        for (int x = 0; x < x_count; x++) sum = sum * 3 + elements[x * x_stride + y * y_stride];
    return sum;
}

static void run_spaces(cf_test *t, const int *p)
{
    (void)p;
    static const size_t c_extents[] = {2, 3}, d_extents[] = {4, 2};
    uint16_t c[6];
    int32_t d[8], out[12 * 6] = {0}, expected[12 * 6];
    int c_values[6], own[] = {1, 2, 3, 4, 5, 0}, shared[12], fixed[] = {6, 7, 9, 10};
    for (int i = 0; i < 6; i++) c[i] = cf_half_from_double(c_values[i] = 5 * i - 7);
    for (int i = 0; i < 8; i++) d[i] = 3 * i + 1;
    for (int i = 0; i < 12; i++) shared[i] = 2 * i;
    for (int i = 0; i < 12; i++) {
        own[5] = i;
        int32_t *e = expected + i * 6;
        e[0] = total(2, 3, c_values, 1, 2);
        e[1] = total(4, 2, d, 1, 4);
        e[2] = total(3, 4, shared, 1, 3);
        e[3] = total(3, 2, own, 1, 3);
        e[4] = total(2, 2, fixed, 1, 2);
        e[5] = total(2, 4, d, 4, 1);
    }
    cf_call call = call_of("spaces", 12, 1);
    cf_tensor(&call, 0, (tombac_tensor){TOMBAC_TYPE_F16, 2, c_extents, NULL}, c, sizeof c);
    cf_tensor(&call, 1, (tombac_tensor){TOMBAC_TYPE_I32, 2, d_extents, NULL}, d, sizeof d);
    cf_buffer(&call, 2, out, sizeof out);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_I32, expected, out, 12 * 6, "out");
}

/* p: 1 the constant is true. */
static void run_optional(cf_test *t, const int *p)
{
    static const size_t extents[] = {2, 2};
    int32_t in[] = {1, 2, 3, 4}, out = 0, expected = p[0] ? 4 : -1;
    uint8_t present = (uint8_t)p[0];
    cf_call call = call_of("optional", 1, 1);
    cf_buffer(&call, 0, &out, sizeof out);
    if (p[0]) cf_tensor(&call, 1, (tombac_tensor){TOMBAC_TYPE_I32, 2, extents, NULL}, in, sizeof in);
    cf_constant(&call, "present", &present, 1);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_I32, &expected, &out, 1, "out");
}

/* Memory of one row and one column is spread over all rows and columns; out is smaller than the tile. */
static void run_cooperative(cf_test *t, const int *p)
{
    (void)p;
    enum { M = 8, N = 12, OUT_M = 7 };
    static const size_t in_extents[] = {N, M - 1}, row_extents[] = {N, 1}, column_extents[] = {1, M}, out_extents[] = {N, OUT_M};
    float in[N * (M - 1)], row[N], column[M], out[N * OUT_M] = {0}, expected[N * OUT_M];
    int32_t facts[6] = {0}, expected_facts[] = {1, 2, N, M, 1, 0};
    for (int i = 0; i < N * (M - 1); i++) in[i] = (float)(i % 10);
    for (int i = 0; i < N; i++) row[i] = (float)i;
    for (int i = 0; i < M; i++) column[i] = (float)(M - i);
    /* Of 16 x 16 elements a thread has rows r and r + 8 and columns c to c + 3: its first element is in row r. */
    for (int y = 0; y < OUT_M; y++)
        for (int x = 0; x < N; x++)
            expected[y * N + x] = in[y * N + x] + 16 * row[x] + 256 * column[y] + 4096.0f * (float)(x + 16 * y) + 0.5f;
    for (int y = 0; y < OUT_M; y++)
        for (int x = 0; x < N; x += 4) expected[y * N + x] += 0.25f;
    cf_call call = call_of("cooperative", 32, 1);
    cf_tensor(&call, 0, (tombac_tensor){TOMBAC_TYPE_F32, 2, in_extents, NULL}, in, sizeof in);
    cf_tensor(&call, 1, (tombac_tensor){TOMBAC_TYPE_F32, 2, row_extents, NULL}, row, sizeof row);
    cf_tensor(&call, 2, (tombac_tensor){TOMBAC_TYPE_F32, 2, column_extents, NULL}, column, sizeof column);
    cf_tensor(&call, 3, (tombac_tensor){TOMBAC_TYPE_F32, 2, out_extents, NULL}, out, sizeof out);
    cf_buffer(&call, 4, facts, sizeof facts);
    if (!cf_run(t, &call)) return;
    cf_equal(t, TOMBAC_TYPE_F32, expected, out, N * OUT_M, "out");
    cf_equal(t, TOMBAC_TYPE_I32, expected_facts, facts, 6, "facts");
}

/* ---- Mistakes of the host ---- */

typedef struct mistake {
    const char *name;
    tombac_tensor b; /* the second tensor of "facts": short, of 5 by what the host says */
    tombac_status status;
    const char *words;
} mistake;
static const size_t good[] = {5, 2}, narrow[] = {4, 2}, empty[] = {5, 0}, huge[] = {5, SIZE_MAX / 8}, cube[] = {5, 1, 1};
static const size_t far[] = {1, SIZE_MAX / 2};
static const mistake mistakes[] = {
    {"element type", {TOMBAC_TYPE_I32, 2, good, NULL}, TOMBAC_ERROR_BINDING, "i16"},
    {"rank", {TOMBAC_TYPE_I16, 3, cube, NULL}, TOMBAC_ERROR_BINDING, "dimensions"},
    {"static extent", {TOMBAC_TYPE_I16, 2, narrow, NULL}, TOMBAC_ERROR_BINDING, "extent"},
    {"index type", {TOMBAC_TYPE_I16, 2, huge, NULL}, TOMBAC_ERROR_BINDING, ""},
    {"strides that overflow", {TOMBAC_TYPE_I16, 2, good, far}, TOMBAC_ERROR_BINDING, ""},
    {"no extent", {TOMBAC_TYPE_I16, 2, empty, NULL}, TOMBAC_OK, ""},
};
enum { MISTAKES = sizeof mistakes / sizeof *mistakes };

static void run_mistake(cf_test *t, const int *p)
{
    const mistake *m = &mistakes[p[0]];
    static const size_t ones[] = {1, 1, 1};
    int64_t out[128] = {0};
    int32_t a = 0;
    float d = 0;
    uint8_t c = 0, b[64] = {0};
    char message[512] = "";
    cf_call call = call_of("facts", 1, 1);
    cf_tensor(&call, 0, (tombac_tensor){TOMBAC_TYPE_I32, 2, ones, NULL}, &a, sizeof a);
    cf_tensor(&call, 1, m->b, b, sizeof b);
    cf_tensor(&call, 2, (tombac_tensor){TOMBAC_TYPE_U8, 3, ones, NULL}, &c, sizeof c);
    cf_tensor(&call, 3, (tombac_tensor){TOMBAC_TYPE_F32, 1, ones, NULL}, &d, sizeof d);
    cf_buffer(&call, 4, out, sizeof out);
    tombac_status status = cf_try(t, &call, message, sizeof message);
    if (status != m->status) cf_fail(t, "status %d: %s", (int)status, message);
    if (!strstr(message, m->words)) cf_fail(t, "'%s' does not say '%s'", message, m->words);
}

/* p: 0 a tensor is bound as a buffer, 1 a buffer as a tensor. */
static void run_kind(cf_test *t, const int *p)
{
    static const size_t extents[] = {2, 2};
    int32_t data[64] = {0}, out[64] = {0};
    char message[512] = "";
    uint8_t present = 1;
    cf_call call = call_of("optional", 1, 1);
    if (p[0]) {
        cf_tensor(&call, 0, (tombac_tensor){TOMBAC_TYPE_I32, 2, extents, NULL}, out, sizeof out);
        cf_tensor(&call, 1, (tombac_tensor){TOMBAC_TYPE_I32, 2, extents, NULL}, data, sizeof data);
    } else {
        cf_buffer(&call, 0, out, sizeof out);
        cf_buffer(&call, 1, data, sizeof data);
    }
    cf_constant(&call, "present", &present, 1);
    tombac_status status = cf_try(t, &call, message, sizeof message);
    if (status != TOMBAC_ERROR_BINDING) cf_fail(t, "status %d: %s", (int)status, message);
    if (!strstr(message, "tensor")) cf_fail(t, "'%s' does not name the tensor", message);
}

void cf_family_tensor(cf_suite *suite)
{
    cf_add(suite, run_facts, CF_P(0), "tensor.facts");
    for (int i = 0; i < 2; i++) cf_add(suite, run_subscripts, CF_P(i), "tensor.subscripts.%s", i ? "strides" : "packed");
    cf_add(suite, run_commas, CF_P(0), "tensor.commas");
    cf_add(suite, run_edges, CF_P(0), "tensor.edges");
    cf_add(suite, run_ranks, CF_P(0), "tensor.ranks");
    cf_add(suite, run_spaces, CF_P(0), "tensor.spaces");
    for (int i = 0; i < 2; i++) cf_add(suite, run_optional, CF_P(i), "tensor.optional.%s", i ? "present" : "absent");
    cf_add(suite, run_cooperative, CF_P(0), "tensor.cooperative");
    for (int i = 0; i < MISTAKES; i++) cf_add(suite, run_mistake, CF_P(i), "tensor.mistakes.%s", mistakes[i].name);
    for (int i = 0; i < 2; i++)
        cf_add(suite, run_kind, CF_P(i), "tensor.mistakes.%s", i ? "tensor for a buffer" : "buffer for a tensor");
}
