/* Tensor operations. An element of a product is c or 0, then fma over k in float in ascending order, rounded to
 * the result's type once per run; products of 8-bit integers are sums of integers. Outside of its extents a
 * tensor is zero. The layout of elements in a SIMD-group is the one that public kernels rely on: 16 x 16
 * fragments, a thread has rows r and r + 8 and columns c to c + 3 of each. */
#include "conformance.h"

#include <math.h>
#include <string.h>

typedef enum kind { char_, uchar_, int_, half_, bfloat_, float_ } kind;
static const tombac_type types[] = {
    TOMBAC_TYPE_I8, TOMBAC_TYPE_U8, TOMBAC_TYPE_I32, TOMBAC_TYPE_F16, TOMBAC_TYPE_BF16, TOMBAC_TYPE_F32};

static void put(kind k, void *array, size_t i, double v)
{
    switch (k) {
    case char_: ((int8_t *)array)[i] = (int8_t)v; break;
    case uchar_: ((uint8_t *)array)[i] = (uint8_t)v; break;
    case int_: ((int32_t *)array)[i] = (int32_t)v; break;
    case half_: ((uint16_t *)array)[i] = cf_half_from_double(v); break;
    case bfloat_: ((uint16_t *)array)[i] = cf_bfloat_from_double(v); break;
    case float_: ((float *)array)[i] = (float)v; break;
    }
}

static double get(kind k, const void *array, size_t i)
{
    switch (k) {
    case char_: return ((const int8_t *)array)[i];
    case uchar_: return ((const uint8_t *)array)[i];
    case int_: return ((const int32_t *)array)[i];
    case half_: return cf_half_to_double(((const uint16_t *)array)[i]);
    case bfloat_: return cf_bfloat_to_double(((const uint16_t *)array)[i]);
    default: return (double)((const float *)array)[i];
    }
}

/* Integers of the whole range, or numbers between -1 and 1 whose products need rounding. */
static void fill(kind k, void *array, size_t count, uint64_t seed)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t bits = cf_random(&seed);
        double v = k == char_   ? (double)(int8_t)(bits >> 56)
                   : k == uchar_ ? (double)(bits >> 56)
                   : k == int_  ? (double)(int16_t)(bits >> 48)
                                : (double)(int32_t)(bits >> 32) / 2147483648.0;
        put(k, array, i, v);
    }
}

/* A matrix in memory: rows x columns, or turned. */
typedef struct matrix {
    kind k;
    bool turned;
    size_t rows, columns; /* as the product sees it */
    size_t extents[2], strides[2];
    void *data;
    size_t count;
} matrix;

static matrix make(cf_test *t, kind k, bool turned, size_t rows, size_t columns, size_t gap, uint64_t seed)
{
    matrix m = {.k = k, .turned = turned, .rows = rows, .columns = columns};
    m.extents[0] = turned ? rows : columns;
    m.extents[1] = turned ? columns : rows;
    m.strides[0] = 1;
    m.strides[1] = m.extents[0] + gap;
    m.count = m.strides[1] * m.extents[1];
    m.data = cf_alloc(t, m.count * tombac_type_size(types[k]) + 1);
    fill(k, m.data, m.count, seed);
    return m;
}

static double at(const matrix *m, size_t row, size_t column)
{
    return row >= m->rows || column >= m->columns
               ? 0
               : get(m->k, m->data, m->turned ? column * m->strides[1] + row : row * m->strides[1] + column);
}

static void bind(cf_call *call, uint32_t index, matrix *m)
{
    tombac_tensor tensor = {types[m->k], 2, m->extents, m->strides};
    cf_tensor(call, index, tensor, m->data, m->count * tombac_type_size(types[m->k]));
}

/* What c is to become; step 0: all of k in one run. Each run's last steps are filled with zeros up to a multiple
 * of 8, which may change the sign of a zero. */
static void multiply(const matrix *a, const matrix *b, matrix *c, size_t step, bool adds)
{
    size_t size = tombac_type_size(types[c->k]);
    if (!step) step = a->columns;
    for (size_t m = 0; m < c->rows; m++)
        for (size_t n = 0; n < c->columns; n++) {
            char element[8];
            size_t place = m * c->strides[1] + n;
            put(c->k, element, 0, adds ? get(c->k, c->data, place) : 0);
            for (size_t k0 = 0; k0 < a->columns; k0 += step) {
                float sum = (float)get(c->k, element, 0);
                int64_t whole = c->k == int_ ? (int64_t)get(c->k, element, 0) : 0;
                for (size_t k = k0; k < k0 + step; k++) {
                    sum = fmaf((float)at(a, m, k), (float)at(b, k, n), sum);
                    whole += (int64_t)at(a, m, k) * (int64_t)at(b, k, n);
                }
                put(c->k, element, 0, c->k == int_ ? (double)whole : (double)sum);
            }
            memcpy((char *)c->data + place * size, element, size);
        }
}

static matrix copy(cf_test *t, const matrix *m)
{
    matrix made = *m;
    size_t size = m->count * tombac_type_size(types[m->k]);
    made.data = cf_alloc(t, size + 1);
    memcpy(made.data, m->data, size);
    return made;
}

static cf_call call_of(const char *kernel, uint32_t x, uint32_t y, uint32_t threads)
{
    return (cf_call){.file = "product.metal",
        .kernel = kernel,
        .standard = "metal4.0",
        .grid = {x, y, 1},
        .group = {threads, 1, 1},
        .whole_groups = true};
}

/* ---- Products ---- */

typedef struct product {
    const char *name;
    kind a, b, c;
    int m, n, step;
    bool turned_left, turned_right, adds;
    int groups;
} product;
static const product products[] = {
#define PRODUCT(NAME, A, B, C, ...) {"product_" #NAME, A##_, B##_, C##_, __VA_ARGS__},
#define IN_THREADS(...)
#include "product.def"
#undef PRODUCT
#undef IN_THREADS
};
typedef struct in_threads {
    const char *name;
    kind a, b, c;
    unsigned m, n, k;
    bool turned_left, turned_right;
} in_threads;
static const in_threads thread_products[] = {
#define PRODUCT(...)
#define IN_THREADS(NAME, A, B, C, ...) {"in_threads_" #NAME, A##_, B##_, C##_, __VA_ARGS__},
#include "product.def"
#undef PRODUCT
#undef IN_THREADS
};
enum { PRODUCTS = sizeof products / sizeof *products, THREAD_PRODUCTS = sizeof thread_products / sizeof *thread_products };

/* p: product, case: 0 whole tiles; 1 tiles at both edges, odd k, gaps between rows; 2 less than a tile. */
static void run_product(cf_test *t, const int *p)
{
    const product *q = &products[p[0]];
    size_t m = (size_t)q->m, n = (size_t)q->n;
    size_t rows = p[1] == 0 ? 2 * m : p[1] == 1 ? 2 * m - 1 : (m + 1) / 2, k = p[1] == 0 ? 64 : p[1] == 1 ? 43 : 3;
    size_t columns = p[1] == 0 ? 2 * n : p[1] == 1 ? 2 * n - n / 2 : 1, gap = p[1] == 1 ? 5 : 0;
    matrix a = make(t, q->a, q->turned_left, rows, k, gap, 1), b = make(t, q->b, q->turned_right, k, columns, gap, 2);
    matrix c = make(t, q->c, false, rows, columns, gap, 3), expected = copy(t, &c);
    multiply(&a, &b, &expected, (size_t)q->step, q->adds);
    cf_call call = call_of(q->name, (uint32_t)((columns + n - 1) / n), (uint32_t)((rows + m - 1) / m),
        q->groups ? 32 * (uint32_t)q->groups : 1);
    bind(&call, 0, &a);
    bind(&call, 1, &b);
    bind(&call, 2, &c);
    if (cf_run(t, &call)) cf_equal(t, types[q->c], expected.data, c.data, c.count, "%s", q->name);
}

static void run_in_threads(cf_test *t, const int *p)
{
    const in_threads *q = &thread_products[p[0]];
    matrix a = make(t, q->a, q->turned_left, q->m, q->k, 0, 4), b = make(t, q->b, q->turned_right, q->k, q->n, 3, 5);
    matrix c = make(t, q->c, false, q->m, q->n, 0, 6), expected = copy(t, &c);
    multiply(&a, &b, &expected, 0, true);
    cf_call call = call_of(q->name, 1, 1, 32);
    bind(&call, 0, &a);
    bind(&call, 1, &b);
    bind(&call, 2, &c);
    if (cf_run(t, &call)) cf_equal(t, types[q->c], expected.data, c.data, c.count, "%s", q->name);
}

/* p: 0 the left operand in threads, 1 the right one. */
static void run_mixed(cf_test *t, const int *p)
{
    matrix a = make(t, half_, false, 24, 16, 0, 7), b = make(t, half_, false, 16, 24, 0, 8);
    matrix c = make(t, float_, false, 24, 24, 0, 9), expected = copy(t, &c);
    multiply(&a, &b, &expected, 0, false);
    cf_call call = call_of(p[0] ? "right_in_threads" : "left_in_threads", 1, 1, 32);
    bind(&call, 0, &a);
    bind(&call, 1, &b);
    bind(&call, 2, &c);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_F32, expected.data, c.data, c.count, "c");
}

/* p: 0 (A B) C, 1 A (B C). */
static void run_chain(cf_test *t, const int *p)
{
    matrix a = make(t, float_, false, 16, 24, 0, 10), b = make(t, float_, false, 24, 16, 0, 11);
    matrix c = make(t, float_, false, 16, 32, 0, 12), out = make(t, float_, false, 16, 32, 0, 13);
    matrix first = p[0] ? make(t, float_, false, 24, 32, 0, 14) : make(t, float_, false, 16, 16, 0, 14);
    matrix expected = copy(t, &out);
    multiply(p[0] ? &b : &a, p[0] ? &c : &b, &first, 0, false);
    multiply(p[0] ? &a : &first, p[0] ? &first : &c, &expected, 0, false);
    uint32_t fits[3] = {9, 9, 9}, expected_fits[3] = {1, 0, 0};
    cf_call call = call_of(p[0] ? "chain_right" : "chain_left", 1, 1, 32);
    bind(&call, 0, &a);
    bind(&call, 1, &b);
    bind(&call, 2, &c);
    bind(&call, 3, &out);
    cf_buffer(&call, 4, fits, sizeof fits);
    if (!cf_run(t, &call)) return;
    cf_equal(t, TOMBAC_TYPE_F32, expected.data, out.data, out.count, "out");
    cf_equal(t, TOMBAC_TYPE_U32, expected_fits, fits, 3, "is_compatible_as_..._input");
}

/* ---- Layouts ---- */

/* Of a tile of rows x columns whose fragments are numbered row by row or (turned) column by column. */
static void expect_layout(int32_t *out, unsigned rows, unsigned columns, bool turned)
{
    unsigned high = (rows + 15) / 16, wide = (columns + 15) / 16, capacity = 8 * high * wide;
    for (unsigned lane = 0; lane < 32; lane++)
        for (unsigned i = 0; i < capacity; i++) {
            unsigned q = lane / 4, f = i / 8, e = i % 8;
            unsigned row = 16 * (turned ? f % high : f / wide) + ((q & 4) | (lane / 2 & 3)) + e / 4 * 8;
            unsigned column = 16 * (turned ? f / high : f % wide) + ((q & 2) | (lane & 1)) * 4 + e % 4;
            int32_t *p = out + (lane * capacity + i) * 3;
            p[0] = (int32_t)column;
            p[1] = (int32_t)row;
            p[2] = row < rows && column < columns;
        }
}

/* m 24, n 32, k 32, the right one turned: 32 x 32 fragments of n by k. */
static void run_layouts(cf_test *t, const int *p)
{
    (void)p;
    enum { LEFT = 32 * 32 * 3, RIGHT = 32 * 32 * 3 };
    int32_t *expected = cf_alloc(t, LEFT * 4), *left = cf_alloc(t, LEFT * 4), *right = cf_alloc(t, RIGHT * 4),
            *result = cf_alloc(t, LEFT * 4);
    cf_call call = call_of("layouts", 1, 1, 32);
    cf_buffer(&call, 0, left, LEFT * 4);
    cf_buffer(&call, 1, right, RIGHT * 4);
    cf_buffer(&call, 2, result, LEFT * 4);
    if (!cf_run(t, &call)) return;
    expect_layout(expected, 24, 32, false);
    cf_equal(t, TOMBAC_TYPE_I32, expected, left, LEFT, "left input");
    cf_equal(t, TOMBAC_TYPE_I32, expected, result, LEFT, "destination");
    expect_layout(expected, 32, 32, true);
    cf_equal(t, TOMBAC_TYPE_I32, expected, right, RIGHT, "right input, transposed");
}

/* In several SIMD-groups the layout is not fixed: every element is valid in exactly one place. */
static void run_shared_layout(cf_test *t, const int *p)
{
    (void)p;
    enum { THREADS = 96, CAPACITY = 8 * 5, ROWS = 40, COLUMNS = 72 };
    int32_t *out = cf_alloc(t, THREADS * CAPACITY * 12), *seen = cf_alloc(t, ROWS * COLUMNS * 4);
    cf_call call = call_of("shared_layout", 1, 1, THREADS);
    cf_buffer(&call, 0, out, THREADS * CAPACITY * 12);
    if (!cf_run(t, &call)) return;
    for (int i = 0; i < THREADS * CAPACITY; i++) {
        int32_t column = out[3 * i], row = out[3 * i + 1];
        if (!out[3 * i + 2]) continue;
        if (column < 0 || column >= COLUMNS || row < 0 || row >= ROWS)
            cf_fail(t, "element (%d, %d) is valid", (int)column, (int)row);
        else
            seen[row * COLUMNS + column]++;
    }
    for (int i = 0; i < ROWS * COLUMNS; i++)
        if (seen[i] != 1)
            cf_fail(t, "element (%d, %d) is valid in %d places", i % COLUMNS, i / COLUMNS, (int)seen[i]);
}

/* ---- Reductions ---- */

/* Integers as floats, so that no order of adding them matters. */
static void run_reductions(cf_test *t, const int *p)
{
    (void)p;
    enum { ROWS = 24, COLUMNS = 40 };
    float in[ROWS * COLUMNS], sum[ROWS] = {0}, most[ROWS], least[COLUMNS], columns[COLUMNS], centred[ROWS * COLUMNS];
    float got_sum[ROWS], got_most[ROWS], got_least[COLUMNS], got_columns[COLUMNS], got_centred[ROWS * COLUMNS];
    uint32_t facts[7] = {0}, expected_facts[7] = {1, 0, 1, 0, 1, ROWS, COLUMNS};
    uint64_t seed = 16;
    for (int i = 0; i < ROWS * COLUMNS; i++) in[i] = (float)((int)(cf_random(&seed) % 199) - 140);
    for (int c = 0; c < COLUMNS; c++) columns[c] = 100;
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLUMNS; c++) {
            float v = in[r * COLUMNS + c];
            sum[r] += v;
            columns[c] += v;
            if (c == 0 || v > most[r]) most[r] = v;
            if (r == 0 || v < least[c]) least[c] = v;
        }
    for (int i = 0; i < ROWS * COLUMNS; i++) centred[i] = in[i] * 1000 + most[i / COLUMNS] - least[i % COLUMNS];
    static const size_t whole[] = {COLUMNS, ROWS}, rows[] = {ROWS}, across[] = {COLUMNS};
    cf_call call = call_of("reductions", 1, 1, 32);
    cf_tensor(&call, 0, (tombac_tensor){TOMBAC_TYPE_F32, 2, whole, NULL}, in, sizeof in);
    cf_tensor(&call, 1, (tombac_tensor){TOMBAC_TYPE_F32, 1, rows, NULL}, got_sum, sizeof got_sum);
    cf_tensor(&call, 2, (tombac_tensor){TOMBAC_TYPE_F32, 1, rows, NULL}, got_most, sizeof got_most);
    cf_tensor(&call, 3, (tombac_tensor){TOMBAC_TYPE_F32, 1, across, NULL}, got_least, sizeof got_least);
    cf_tensor(&call, 4, (tombac_tensor){TOMBAC_TYPE_F32, 1, across, NULL}, got_columns, sizeof got_columns);
    cf_tensor(&call, 5, (tombac_tensor){TOMBAC_TYPE_F32, 2, whole, NULL}, got_centred, sizeof got_centred);
    cf_buffer(&call, 6, facts, sizeof facts);
    memset(got_sum, 0, sizeof got_sum);
    memset(got_most, 0, sizeof got_most);
    memset(got_least, 0, sizeof got_least);
    memset(got_columns, 0, sizeof got_columns);
    memset(got_centred, 0, sizeof got_centred);
    if (!cf_run(t, &call)) return;
    cf_equal(t, TOMBAC_TYPE_F32, sum, got_sum, ROWS, "sums of rows");
    cf_equal(t, TOMBAC_TYPE_F32, most, got_most, ROWS, "maxima of rows");
    cf_equal(t, TOMBAC_TYPE_F32, least, got_least, COLUMNS, "minima of columns");
    cf_equal(t, TOMBAC_TYPE_F32, columns, got_columns, COLUMNS, "sums of columns and 100");
    cf_equal(t, TOMBAC_TYPE_F32, centred, got_centred, ROWS * COLUMNS, "mapped iterators");
    cf_equal(t, TOMBAC_TYPE_U32, expected_facts, facts, 7, "facts");
}

static void run_integer_reductions(cf_test *t, const int *p)
{
    (void)p;
    int32_t in[256], most[16], sum[16] = {0}, got_most[16] = {0}, got_sum[16] = {0};
    uint64_t seed = 17;
    for (int i = 0; i < 256; i++) in[i] = (int32_t)(cf_random(&seed) >> 36) - (1 << 28);
    for (int i = 0; i < 256; i++) {
        if (i % 16 == 0 || in[i] > most[i / 16]) most[i / 16] = in[i];
        sum[i % 16] = (int32_t)((uint32_t)sum[i % 16] + (uint32_t)in[i]);
    }
    static const size_t whole[] = {16, 16};
    cf_call call = call_of("integer_reductions", 1, 1, 32);
    cf_tensor(&call, 0, (tombac_tensor){TOMBAC_TYPE_I32, 2, whole, NULL}, in, sizeof in);
    cf_tensor(&call, 1, (tombac_tensor){TOMBAC_TYPE_I32, 1, whole, NULL}, got_most, sizeof got_most);
    cf_tensor(&call, 2, (tombac_tensor){TOMBAC_TYPE_I32, 1, whole, NULL}, got_sum, sizeof got_sum);
    if (!cf_run(t, &call)) return;
    cf_equal(t, TOMBAC_TYPE_I32, most, got_most, 16, "maxima of rows");
    cf_equal(t, TOMBAC_TYPE_I32, sum, got_sum, 16, "sums of columns");
}

/* ---- Mistakes at run time ---- */

static void expect_failure(cf_test *t, cf_call *call, const char *words)
{
    char message[512] = "";
    tombac_status status = cf_try(t, call, message, sizeof message);
    if (status != TOMBAC_ERROR_UNSUPPORTED) cf_fail(t, "%s: status %d, %s", call->kernel, (int)status, message);
    if (!strstr(message, words)) cf_fail(t, "%s: '%s' does not say '%s'", call->kernel, message, words);
}

static void run_wrong_groups(cf_test *t, const int *p)
{
    (void)p;
    matrix a = make(t, half_, false, 16, 16, 0, 18), c = make(t, float_, false, 16, 16, 0, 19);
    cf_call call = call_of("wrong_groups", 1, 1, 64);
    bind(&call, 0, &a);
    bind(&call, 1, &a);
    bind(&call, 2, &c);
    expect_failure(t, &call, "another number of SIMD-groups");
}

static void run_wrong_map(cf_test *t, const int *p)
{
    (void)p;
    float out[1] = {0};
    cf_call call = call_of("wrong_map", 1, 1, 32);
    cf_buffer(&call, 0, out, sizeof out);
    expect_failure(t, &call, "is_iterator_compatible");
}

void cf_family_product(cf_suite *suite)
{
    static const char *const cases[] = {"whole tiles", "edges", "less than a tile"};
    for (int i = 0; i < PRODUCTS; i++)
        for (int k = 0; k < 3; k++) cf_add(suite, run_product, CF_P(i, k), "product.%s.%s", products[i].name + 8, cases[k]);
    for (int i = 0; i < THREAD_PRODUCTS; i++)
        cf_add(suite, run_in_threads, CF_P(i), "product.in_threads.%s", thread_products[i].name + 11);
    for (int i = 0; i < 2; i++) cf_add(suite, run_mixed, CF_P(i), "product.%s_in_threads", i ? "right" : "left");
    for (int i = 0; i < 2; i++) cf_add(suite, run_chain, CF_P(i), "product.chain_%s", i ? "right" : "left");
    cf_add(suite, run_layouts, CF_P(0), "product.layouts");
    cf_add(suite, run_shared_layout, CF_P(0), "product.shared_layout");
    cf_add(suite, run_reductions, CF_P(0), "product.reductions");
    cf_add(suite, run_integer_reductions, CF_P(0), "product.integer_reductions");
    cf_add(suite, run_wrong_groups, CF_P(0), "product.wrong_groups");
    cf_add(suite, run_wrong_map, CF_P(0), "product.wrong_map");
}
