/* SIMD-group matrices. A product's element is c, then fma over k = 0 ... 7 in float, rounded once to the
 * result's type. */
#include "conformance.h"

#include <math.h>
#include <string.h>

typedef enum kind { FLOAT, HALF, BFLOAT } kind;
static const char *const kind_names[] = {"float", "half", "bfloat"};
static const tombac_type kind_types[] = {TOMBAC_TYPE_F32, TOMBAC_TYPE_F16, TOMBAC_TYPE_BF16};
static size_t size_of(kind k)
{
    return k == FLOAT ? 4 : 2;
}

static void store(kind k, void *array, size_t i, float v)
{
    if (k == FLOAT)
        ((float *)array)[i] = v;
    else
        ((uint16_t *)array)[i] =
            k == HALF ? cf_half_from_double((double)v) : cf_bfloat_from_double((double)v);
}

static float load(kind k, const void *array, size_t i)
{
    if (k == FLOAT) return ((const float *)array)[i];
    uint16_t bits = ((const uint16_t *)array)[i];
    return (float)(k == HALF ? cf_half_to_double(bits) : cf_bfloat_to_double(bits));
}

static cf_call call_of(const char *kernel, uint32_t groups, uint32_t group)
{
    return (cf_call){.file = "matrix.metal",
        .kernel = kernel,
        .grid = {groups, 1, 1},
        .group = {group, 1, 1},
        .whole_groups = true};
}

/* p: kind, options (bit 0: load transposed, 1: store transposed, 2: through threadgroup memory, which
 * transposes), case. A load's element (row, column) is at origin + column + row * stride; transposed, row and
 * column change places. */
static void run_move(cf_test *t, const int *p)
{
    enum { N = 2 * 2048 };
    static const uint32_t cases[][6] = {{8, 8, 0, 0, 0, 0}, {33, 17, 3, 5, 2, 1}, {64, 20, 50, 10, 11, 13}};
    kind k = (kind)p[0];
    uint32_t how[7];
    memcpy(how, cases[p[2]], sizeof cases[0]);
    how[6] = (uint32_t)p[1];
    uint8_t *in = cf_alloc(t, N * 4), *expected = cf_alloc(t, N * 4), *got = cf_alloc(t, N * 4);
    for (uint32_t i = 0; i < N; i++) store(k, in, i, (float)(i % 128) - 31);
    bool turned = ((p[1] & 1) != 0) ^ ((p[1] & 2) != 0) ^ ((p[1] & 4) != 0);
    for (uint32_t s = 0; s < 2; s++)
        for (uint32_t r = 0; r < 8; r++)
            for (uint32_t c = 0; c < 8; c++) {
                uint32_t from = s * 2048 + how[2] + c + (how[3] + r) * how[0];
                uint32_t x = turned ? r : c, y = turned ? c : r;
                uint32_t to = s * 2048 + how[4] + x + (how[5] + y) * how[1];
                memcpy(expected + to * size_of(k), in + from * size_of(k), size_of(k));
            }
    char kernel[32];
    snprintf(kernel, sizeof kernel, "move_%s", kind_names[k]);
    cf_call call = call_of(kernel, 1, 64);
    cf_buffer(&call, 0, got, N * size_of(k));
    cf_buffer(&call, 1, in, N * size_of(k));
    cf_bytes(&call, 2, how, sizeof how);
    cf_threadgroup(&call, 0, 256 * size_of(k));
    if (cf_run(t, &call)) cf_equal(t, kind_types[k], expected, got, N, "out");
}

/* The layout that docs/operations.md fixes. */
static void run_elements(cf_test *t, const int *p)
{
    float in[64], layout[64], got[64] = {0}, got_layout[64] = {0}, expected[64];
    for (int i = 0; i < 64; i++) in[i] = (float)i;
    for (uint32_t lane = 0; lane < 32; lane++) {
        uint32_t row = ((lane / 4) & 4) + (lane / 2) % 4, column = ((lane / 4) & 2) * 2 + (lane % 2) * 2;
        float e0 = (float)(8 * row + column);
        layout[2 * lane] = e0;
        layout[2 * lane + 1] = e0 + 1;
        expected[8 * row + column] = e0 * 10;
        expected[8 * row + column + 1] = e0 + 1 + (float)lane;
    }
    cf_call call = call_of("elements", 1, 32);
    cf_buffer(&call, 0, got, sizeof got);
    cf_buffer(&call, 1, got_layout, sizeof got_layout);
    cf_buffer(&call, 2, in, sizeof in);
    if (!cf_run(t, &call)) return;
    cf_equal(t, TOMBAC_TYPE_F32, layout, got_layout, 64, "layout (2 elements per lane)");
    cf_equal(t, TOMBAC_TYPE_F32, expected, got, 64, "written through thread_elements");
}

/* simdgroup_matrix(d) is a diagonal matrix; make_filled fills. */
static void run_fills(cf_test *t, const int *p)
{
    float expected[192], got[192] = {0};
    for (int i = 0; i < 64; i++) {
        expected[i] = 2.5f;
        expected[64 + i] = i / 8 == i % 8 ? 3 : 0;
        expected[128 + i] = 2.5f + 8 * 0.25f;
    }
    cf_call call = call_of("fills", 1, 32);
    cf_buffer(&call, 0, got, sizeof got);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_F32, expected, got, 192, "filled, diagonal, multiplied");
}

static void multiply(kind kc, void *d, size_t at, const float *a, const float *b, const float *c)
{
    for (int i = 0; i < 64; i++) {
        float sum = c ? c[i] : 0;
        for (int k = 0; k < 8; k++) sum = fmaf(a[i / 8 * 8 + k], b[k * 8 + i % 8], sum);
        store(kc, d, at + (size_t)i, sum);
    }
}

/* p: kinds of A, B, C; random values (fractions) or small integers */
static void run_multiply(cf_test *t, const int *p)
{
    kind ka = (kind)p[0], kb = (kind)p[1], kc = (kind)p[2];
    uint8_t a[256], b[256], c[256], expected[3 * 256], got[3 * 256] = {0};
    float fa[64], fb[64], fc[64], twice[64];
    uint64_t seed = 31;
    for (size_t i = 0; i < 64; i++) {
        float divisor = p[3] ? 977.0f : 1.0f;
        store(ka, a, i, (float)(cf_random(&seed) % 17) / divisor - 8);
        store(kb, b, i, (float)(cf_random(&seed) % 15) / divisor - 7);
        store(kc, c, i, (float)(cf_random(&seed) % 32) / divisor - 16);
        fa[i] = load(ka, a, i);
        fb[i] = load(kb, b, i);
        fc[i] = load(kc, c, i);
    }
    multiply(kc, expected, 0, fa, fb, NULL);
    multiply(kc, expected, 64, fa, fb, fc);
    for (size_t i = 0; i < 64; i++) twice[i] = load(kc, expected, 64 + i);
    multiply(kc, expected, 128, fa, fb, twice);
    char kernel[64];
    snprintf(kernel, sizeof kernel, "multiply_%s_%s_%s", kind_names[ka], kind_names[kb], kind_names[kc]);
    cf_call call = call_of(kernel, 1, 32);
    if (p[3]) call.math = TOMBAC_MATH_SAFE; /* where the order of the sum is fixed for all engines */
    cf_buffer(&call, 0, got, 192 * size_of(kc));
    cf_buffer(&call, 1, a, 64 * size_of(ka));
    cf_buffer(&call, 2, b, 64 * size_of(kb));
    cf_buffer(&call, 3, c, 64 * size_of(kc));
    if (cf_run(t, &call)) cf_equal(t, kind_types[kc], expected, got, 192, "product, sum with c, twice");
}

static void run_product(cf_test *t, const int *p)
{
    float a[64], b[64], expected[64], got[64] = {0};
    for (int i = 0; i < 64; i++) {
        a[i] = (float)(i * 7 % 13) - 6;
        b[i] = (float)(i * 5 % 11) - 5;
    }
    multiply(FLOAT, expected, 0, a, b, NULL);
    cf_call call = call_of(p[0] ? "product_kept" : "product", 1, 32);
    cf_buffer(&call, 0, got, sizeof got);
    cf_buffer(&call, 1, a, sizeof a);
    cf_buffer(&call, 2, b, sizeof b);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_F32, expected, got, 64, "a * b");
}

/* p: M, N, K, staged. Small integers, so that sums are exact in any order. */
static void run_gemm(cf_test *t, const int *p)
{
    uint32_t m = (uint32_t)p[0], n = (uint32_t)p[1], k = (uint32_t)p[2], mnk[4] = {m, n, k, 0};
    bool staged = p[3];
    kind in = staged ? HALF : FLOAT;
    float *expected = cf_alloc(t, m * n * 4), *got = cf_alloc(t, m * n * 4);
    void *a = cf_alloc(t, m * k * 4), *b = cf_alloc(t, k * n * 4);
    for (uint32_t i = 0; i < m * k; i++) store(in, a, i, (float)(i * 7 % 19) - 9);
    for (uint32_t i = 0; i < k * n; i++) store(in, b, i, (float)(i * 11 % 17) - 8);
    for (uint32_t r = 0; r < m; r++)
        for (uint32_t c = 0; c < n; c++)
            for (uint32_t i = 0; i < k; i++)
                expected[r * n + c] += load(in, a, r * k + i) * load(in, b, staged ? c * k + i : i * n + c);
    cf_call call = {.file = "matrix.metal", .kernel = staged ? "gemm_staged" : "gemm", .whole_groups = true};
    call.grid =
        staged ? (tombac_size3){(n + 31) / 32, (m + 31) / 32, 1} : (tombac_size3){(n + 15) / 16, m / 8, 1};
    call.group = (tombac_size3){staged ? 128 : 64, 1, 1};
    cf_buffer(&call, 0, got, m * n * 4);
    cf_buffer(&call, 1, a, m * k * size_of(in));
    cf_buffer(&call, 2, b, k * n * size_of(in));
    cf_bytes(&call, 3, mnk, sizeof mnk);
    if (staged) cf_threadgroup(&call, 0, 2 * 32 * 16 * 2);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_F32, expected, got, m * n, "out (%u columns)", n);
}

/* p: width of the threadgroup, of 96 threads. Small integers. Element 0 of each lane is in an even column. */
static void run_many(cf_test *t, const int *p)
{
    enum { ROWS = 96, COLUMNS = 32, DEPTH = 88 };
    float *expected = cf_alloc(t, ROWS * COLUMNS * 4), *got = cf_alloc(t, ROWS * COLUMNS * 4);
    void *a = cf_alloc(t, ROWS * DEPTH * 2), *b = cf_alloc(t, COLUMNS * DEPTH * 4);
    for (uint32_t i = 0; i < ROWS * DEPTH; i++) store(HALF, a, i, (float)(i * 7 % 19) - 9);
    for (uint32_t i = 0; i < COLUMNS * DEPTH; i++) store(FLOAT, b, i, (float)(i * 11 % 17) - 8);
    for (uint32_t r = 0; r < ROWS; r++)
        for (uint32_t c = 0; c < COLUMNS; c++) {
            float sum = (float)(r % 32 / 8 * 4 + c / 8);
            for (uint32_t k = 0; k < DEPTH; k++) {
                float added = k / 8 % 2 && c % 2 == 0 ? 1.0f : 0.0f;
                sum += load(HALF, a, r * DEPTH + k) * (load(FLOAT, b, c * DEPTH + k) + added);
            }
            expected[r * COLUMNS + c] = sum;
        }
    cf_call call = {.file = "matrix.metal", .kernel = "many", .grid = {1, 1, 1}, .whole_groups = true};
    call.group = (tombac_size3){(uint32_t)p[0], 96 / (uint32_t)p[0], 1};
    cf_buffer(&call, 0, got, ROWS * COLUMNS * 4);
    cf_buffer(&call, 1, a, ROWS * DEPTH * 2);
    cf_buffer(&call, 2, b, COLUMNS * DEPTH * 4);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_F32, expected, got, ROWS * COLUMNS, "out");
}

/* p: rows, terms, left kind, whether through threadgroup memory; 64 columns. Small integers. */
static void run_tiles(cf_test *t, const int *p)
{
    enum { COLUMNS = 64, TILE = 32 };
    uint32_t rows = (uint32_t)p[0], depth = (uint32_t)p[1], stride = p[3] ? 256 : depth, steps = depth / TILE;
    kind left = (kind)p[2];
    float *expected = cf_alloc(t, rows * COLUMNS * 4), *got = cf_alloc(t, rows * COLUMNS * 4);
    void *a = cf_alloc(t, rows * stride * size_of(left)), *b = cf_alloc(t, depth * COLUMNS * 2);
    for (uint32_t i = 0; i < rows * stride; i++) store(left, a, i, (float)(i * 7 % 19) - 9);
    for (uint32_t i = 0; i < depth * COLUMNS; i++) store(HALF, b, i, (float)(i * 11 % 17) - 8);
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t c = 0; c < COLUMNS; c++)
            for (uint32_t k = 0; k < depth; k++)
                expected[r * COLUMNS + c] += load(left, a, r * stride + k) * load(HALF, b, k * COLUMNS + c);
    cf_call call = {.file = "matrix.metal",
        .kernel = p[3] ? "gemm_segments" : "pieces",
        .grid = {1, 1, 1},
        .group = {128, 1, 1},
        .whole_groups = true};
    cf_buffer(&call, 0, got, rows * COLUMNS * 4);
    cf_buffer(&call, 1, a, rows * stride * size_of(left));
    cf_buffer(&call, 2, b, depth * COLUMNS * 2);
    if (p[3]) cf_bytes(&call, 3, &steps, sizeof steps);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_F32, expected, got, rows * COLUMNS, "out");
}

void cf_family_matrix(cf_suite *suite)
{
    for (int k = 0; k < 3; k++)
        for (int options = 0; options < 8; options++)
            for (int c = 0; c < 3; c++)
                cf_add(suite, run_move, CF_P(k, options, c), "matrix.move.%s.%s%s%s.%d", kind_names[k],
                    options & 1 ? "load-transposed" : "load", options & 2 ? "-store-transposed" : "-store",
                    options & 4 ? "-through-threadgroup" : "", c);
    cf_add(suite, run_elements, CF_P(0), "matrix.elements");
    cf_add(suite, run_fills, CF_P(0), "matrix.fills");
    static const int kinds[][3] = {{FLOAT, FLOAT, FLOAT}, {HALF, HALF, HALF}, {HALF, HALF, FLOAT},
        {HALF, FLOAT, FLOAT}, {FLOAT, HALF, FLOAT}, {BFLOAT, BFLOAT, FLOAT}, {BFLOAT, BFLOAT, BFLOAT},
        {BFLOAT, FLOAT, FLOAT}};
    for (int i = 0; i < 8; i++)
        for (int random = 0; random < 2; random++)
            cf_add(suite, run_multiply, CF_P(kinds[i][0], kinds[i][1], kinds[i][2], random),
                "matrix.multiply.%s-%s-%s.%s", kind_names[kinds[i][0]], kind_names[kinds[i][1]],
                kind_names[kinds[i][2]], random ? "fractions" : "integers");
    cf_add(suite, run_product, CF_P(0), "matrix.product");
    cf_add(suite, run_product, CF_P(1), "matrix.product-of-kept");
    cf_add(suite, run_many, CF_P(32), "matrix.many.rows");
    cf_add(suite, run_many, CF_P(24), "matrix.many.other-shape");
    cf_add(suite, run_gemm, CF_P(16, 24, 32, 0), "matrix.gemm.16x24x32");
    cf_add(suite, run_gemm, CF_P(64, 48, 128, 0), "matrix.gemm.64x48x128");
    cf_add(suite, run_gemm, CF_P(64, 64, 64, 1), "matrix.gemm-staged.64x64x64");
    cf_add(suite, run_gemm, CF_P(40, 56, 50, 1), "matrix.gemm-staged.40x56x50");
    for (int steps = 1; steps <= 8; steps += steps < 3 ? 1 : 5)
        cf_add(suite, run_tiles, CF_P(64, steps * 32, HALF, 1), "matrix.gemm-segments.%d", steps);
    cf_add(suite, run_tiles, CF_P(16, 64, FLOAT, 0), "matrix.pieces");
}
