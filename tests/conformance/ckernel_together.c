/* Kernels in C: what threads do together. Models are loops over the lanes of a SIMD-group or quad-group. */
#include "ckernel.h"

#include <string.h>

/* ---- Positions ---- */

static const uint32_t shapes[][6] = {
    {70, 1, 1, 64, 1, 1}, {9, 5, 1, 4, 2, 1}, {5, 4, 3, 2, 3, 2}, {33, 2, 2, 32, 2, 2}};

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static void model_positions(const uint32_t *s, const uint32_t *at, uint32_t *o)
{
    uint32_t inside[3], group[3], own[3], groups[3];
    for (int d = 0; d < 3; d++) {
        group[d] = at[d] / s[3 + d];
        inside[d] = at[d] % s[3 + d];
        own[d] = least(s[3 + d], s[d] - group[d] * s[3 + d]);
        groups[d] = (s[d] + s[3 + d] - 1) / s[3 + d];
    }
    for (int d = 0; d < 3; d++) {
        uint32_t values[] = {at[d], inside[d], group[d], own[d], s[3 + d], s[d], groups[d], 0};
        for (int k = 0; k < 8; k++) o[3 * k + d] = values[k];
    }
    uint32_t index = (inside[2] * own[1] + inside[1]) * own[0] + inside[0];
    uint32_t count = own[0] * own[1] * own[2], launched = s[3] * s[4] * s[5];
    uint32_t scalars[] = {index, index % 32, index / 32, (count + 31) / 32, (launched + 31) / 32, 32, 32,
        index % 4, index / 4, (count + 3) / 4, (launched + 3) / 4, (at[2] * s[1] + at[1]) * s[0] + at[0]};
    memcpy(o + 24, scalars, sizeof scalars);
}

static void run_positions(cf_test *t, const int *p)
{
    const uint32_t *s = shapes[p[1]];
    size_t n = (size_t)s[0] * s[1] * s[2];
    uint32_t *expected = cf_alloc(t, n * 144), *got = cf_alloc(t, n * 144);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at[3] = {i % s[0], i / s[0] % s[1], i / s[0] / s[1]};
        model_positions(s, at, expected + (size_t)i * 36);
    }
    cf_call call = ck_call(t, (ck_form)p[0], "together", "positions", 1, 1);
    call.grid = (tombac_size3){s[0], s[1], s[2]};
    call.group = (tombac_size3){s[3], s[4], s[5]};
    cf_buffer(&call, 0, got, n * 144);
    if (ck_run(t, (ck_form)p[0], &call)) cf_equal(t, TOMBAC_TYPE_U32, expected, got, n * 36, "position");
}

/* ---- Threadgroup memory ---- */

static void run_reverse(cf_test *t, const int *p)
{
    uint32_t group = (uint32_t)p[1], n = group * 2 + 7;
    int *in = cf_alloc(t, n * 4u), *expected = cf_alloc(t, n * 8u), *got = cf_alloc(t, n * 8u);
    for (uint32_t i = 0; i < n; i++) in[i] = (int)(i * i % 1001);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t first = i / group * group, size = least(group, n - first), k = i - first;
        uint32_t next = (k + 1) % size;
        expected[2 * i] = in[first + size - 1 - k];
        expected[2 * i + 1] = in[first + size - 1 - k] * 2 + in[first + size - 1 - next];
    }
    cf_call call = ck_call(t, (ck_form)p[0], "together", "reverse", n, group);
    cf_buffer(&call, 0, in, n * 4u);
    cf_buffer(&call, 1, got, n * 8u);
    cf_threadgroup(&call, 0, group * 4u);
    if (ck_run(t, (ck_form)p[0], &call)) cf_equal(t, TOMBAC_TYPE_I32, expected, got, n * 2u, "element");
}

/* ---- Reductions and scans: values small enough that every type holds every result ---- */

enum { THREADS = 77, GROUP = 50, OPERATIONS = 8 };

static double step(int operation, double a, double b)
{
    switch (operation) {
    case 0:
    case 4:
    case 5: return a + b;
    case 1:
    case 6:
    case 7: return a * b;
    case 2: return b < a ? b : a;
    default: return b > a ? b : a;
    }
}

/* The lanes of thread i's SIMD-group or quad-group. */
static void lanes_of(int i, int width, int *first, int *count)
{
    int group = i / GROUP * GROUP, size = group + GROUP < THREADS ? GROUP : THREADS - group;
    *first = group + (i - group) / width * width;
    *count = *first + width <= group + size ? width : group + size - *first;
}

static double model_reduce(const double *x, int i, int operation, int width)
{
    int first, count;
    lanes_of(i, width, &first, &count);
    bool scan = operation >= 4, exclusive = operation == 5 || operation == 7;
    int end = !scan ? first + count : exclusive ? i : i + 1;
    double result = operation == 0 || operation == 4 || operation == 5   ? 0
                    : operation == 1 || operation == 6 || operation == 7 ? 1
                                                                         : x[first];
    for (int k = first; k < end; k++) result = step(operation, result, x[k]);
    return result;
}

static void run_reduce(cf_test *t, const int *p)
{
    const ck_type *type = &ck_types[p[1]];
    size_t size = tombac_type_size(type->type), count = THREADS * 2 * OPERATIONS;
    void *in = cf_alloc(t, THREADS * size), *expected = cf_alloc(t, count * size),
         *got = cf_alloc(t, count * size);
    double x[THREADS];
    for (int i = 0; i < THREADS; i++) {
        x[i] = i % 11 == 3 ? 2 : 1;
        ck_store(type->type, in, (size_t)i, x[i]);
    }
    for (int o = 0; o < 2 * OPERATIONS; o++)
        for (int i = 0; i < THREADS; i++)
            ck_store(type->type, expected, (size_t)(o * THREADS + i),
                model_reduce(x, i, o % OPERATIONS, o < OPERATIONS ? 32 : 4));
    char kernel[32];
    snprintf(kernel, sizeof kernel, "reduce_%s", type->name);
    cf_call call = ck_call(t, (ck_form)p[0], "together", kernel, THREADS, GROUP);
    cf_buffer(&call, 0, in, THREADS * size);
    cf_buffer(&call, 1, got, count * size);
    if (ck_run(t, (ck_form)p[0], &call)) cf_equal(t, type->type, expected, got, count, "operation * 77 + thread");
}

static void run_bits(cf_test *t, const int *p)
{
    const ck_type *type = &ck_types[p[1]];
    size_t size = tombac_type_size(type->type), count = THREADS * 6;
    char *in = cf_alloc(t, THREADS * size), *expected = cf_alloc(t, count * size),
         *got = cf_alloc(t, count * size);
    uint64_t seed = 3;
    for (size_t i = 0; i < THREADS * size; i++) in[i] = (char)(cf_random(&seed) | cf_random(&seed));
    for (int o = 0; o < 6; o++)
        for (int i = 0; i < THREADS; i++)
            for (size_t b = 0; b < size; b++) {
                int first, lanes;
                lanes_of(i, o < 3 ? 32 : 4, &first, &lanes);
                char *to = &expected[((size_t)(o * THREADS + i)) * size + b];
                *to = o % 3 == 0 ? (char)-1 : 0;
                for (int k = first; k < first + lanes; k++) {
                    char from = in[(size_t)k * size + b];
                    if (o % 3 == 0)
                        *to = (char)(*to & from);
                    else if (o % 3 == 1)
                        *to = (char)(*to | from);
                    else
                        *to = (char)(*to ^ from);
                }
            }
    char kernel[32];
    snprintf(kernel, sizeof kernel, "bits_%s", type->name);
    cf_call call = ck_call(t, (ck_form)p[0], "together", kernel, THREADS, GROUP);
    cf_buffer(&call, 0, in, THREADS * size);
    cf_buffer(&call, 1, got, count * size);
    if (ck_run(t, (ck_form)p[0], &call)) cf_equal(t, type->type, expected, got, count, "operation * 77 + thread");
}

/* ---- Moves: where operation o takes thread i's value from: *fill says from which array, -1 is "zero" ----
 */

static int model_move(int i, int o, bool *fill)
{
    bool quad = o >= 10;
    int width = quad ? 4 : 32, block = quad ? 2 : 8, first, count;
    lanes_of(i, width, &first, &count);
    int lane = i - first, from = lane;
    *fill = false;
    switch (o % 10) {
    case 0: from = 1; break;
    case 1: from = quad ? i * 3 % 4 : i * 7 % 32; break;
    case 2: from = lane >= 1 ? lane - 1 : lane; break;
    case 3: from = lane + 1 < width ? lane + 1 : lane; break;
    case 4: from = lane ^ 3; break;
    case 5: from = (lane + width - 1) % width; break;
    case 6: from = (lane + 1) % width; break;
    case 7:
        *fill = lane % block == 0;
        from = *fill ? lane + block - 1 : lane - 1;
        break;
    case 8:
        *fill = lane % block == block - 1;
        from = *fill ? lane - block + 1 : lane + 1;
        break;
    default: from = 0; break;
    }
    return from < count ? first + from : -1;
}

static void run_move(cf_test *t, const int *p)
{
    const ck_type *type = &ck_types[p[1]];
    size_t size = tombac_type_size(type->type), count = THREADS * 20;
    char *in = cf_alloc(t, THREADS * size), *fill = cf_alloc(t, THREADS * size),
         *expected = cf_alloc(t, count * size), *got = cf_alloc(t, count * size);
    for (int i = 0; i < THREADS; i++) {
        ck_store(type->type, in, (size_t)i, i);
        ck_store(type->type, fill, (size_t)i, 120 - i);
    }
    for (int o = 0; o < 20; o++)
        for (int i = 0; i < THREADS; i++) {
            bool filled;
            int from = model_move(i, o, &filled);
            if (from >= 0)
                memcpy(expected + (size_t)(o * THREADS + i) * size,
                    (filled ? fill : in) + (size_t)from * size, size);
        }
    char kernel[32];
    snprintf(kernel, sizeof kernel, "move_%s", type->name);
    cf_call call = ck_call(t, (ck_form)p[0], "together", kernel, THREADS, GROUP);
    cf_buffer(&call, 0, in, THREADS * size);
    cf_buffer(&call, 1, fill, THREADS * size);
    cf_buffer(&call, 2, got, count * size);
    if (ck_run(t, (ck_form)p[0], &call)) cf_equal(t, type->type, expected, got, count, "operation * 77 + thread");
}

static void run_votes(cf_test *t, const int *p)
{
    int in[THREADS];
    uint64_t expected[6 * THREADS], got[6 * THREADS] = {0};
    for (int i = 0; i < THREADS; i++) in[i] = i * i / 3 + (i > 40 && i < 60);
    for (int i = 0; i < THREADS; i++)
        for (int q = 0; q < 2; q++) {
            int first, count;
            lanes_of(i, q ? 4 : 32, &first, &count);
            uint64_t odd = 0, all = (UINT64_C(1) << count) - 1;
            for (int k = 0; k < count; k++) odd |= (uint64_t)(in[first + k] % 2) << k;
            expected[q * THREADS + i] = odd;
            expected[(2 + q) * THREADS + i] = (uint64_t)(odd == all) + 2 * (odd != 0) + 4 * (i == first);
            expected[(4 + q) * THREADS + i] = q == 0 && in[i] % 2 ? odd : all;
        }
    cf_call call = ck_call(t, (ck_form)p[0], "together", "votes", THREADS, GROUP);
    cf_buffer(&call, 0, in, sizeof in);
    cf_buffer(&call, 1, got, sizeof got);
    if (ck_run(t, (ck_form)p[0], &call)) cf_equal(t, TOMBAC_TYPE_U64, expected, got, 6 * THREADS, "vote * 77 + thread");
}

/* ---- Atomics ---- */

static void run_counters(cf_test *t, const int *p)
{
    const ck_type *type = &ck_types[p[1]];
    size_t size = tombac_type_size(type->type);
    enum { N = 200 };
    char *in = cf_alloc(t, N * size), *old = cf_alloc(t, N * size), cells[64] = {0}, expected[64] = {0};
    double sum = 0;
    for (int i = 0; i < N; i++) {
        ck_store(type->type, in, (size_t)i, i % 9 + 1);
        sum += i % 9 + 1;
    }
    ck_store(type->type, cells, 1, 5000);
    ck_store(type->type, expected, 0, N);
    ck_store(type->type, expected, 1, 5000 - sum);
    ck_store(type->type, expected, 2, sum);
    ck_store(type->type, expected, 3, 7);
    ck_store(type->type, expected, 4, 1);
    ck_store(type->type, expected, 7, sum);
    char kernel[32];
    snprintf(kernel, sizeof kernel, "counters_%s", type->name);
    cf_call call = ck_call(t, (ck_form)p[0], "together", kernel, N, 64);
    cf_buffer(&call, 0, in, N * size);
    cf_buffer(&call, 1, cells, 8 * size);
    cf_buffer(&call, 2, old, N * size);
    if (!ck_run(t, (ck_form)p[0], &call)) return;
    /* Cells 5 and 6: every value was swapped in once; the last one stayed. */
    bool *seen = cf_alloc(t, N);
    double last = 0, swapped = 0;
    for (int i = 0; i < 10; i++) {
        char one[8];
        ck_store(type->type, one, 0, i);
        if (!memcmp(one, cells + 5 * size, size)) last = i;
    }
    if (last == 0) cf_fail(t, "no value was left by the exchange");
    swapped = sum - last;
    memcpy(expected + 5 * size, cells + 5 * size, size);
    ck_store(type->type, expected, 6, swapped);
    cf_equal(t, type->type, expected, cells, 8, "cell");
    for (int i = 0; i < N; i++) /* the old values of a counter are all numbers below N */
        for (int k = 0; k < N; k++) {
            char one[8];
            ck_store(type->type, one, 0, k);
            if (!memcmp(one, old + (size_t)i * size, size)) seen[k] = true;
        }
    for (int k = 0; k < N; k++)
        if (!seen[k]) cf_fail(t, "no thread saw the counter at %d", k);
}

static void run_counter_bits(cf_test *t, const int *p)
{
    const ck_type *type = &ck_types[p[1]];
    size_t size = tombac_type_size(type->type);
    enum { N = 70 };
    char *in = cf_alloc(t, N * size), cells[40], expected[40];
    int64_t and = -1, or = 0, xor = 0, most = 0, fewest = 1000;
    for (int i = 0; i < N; i++) {
        int64_t x = 64 + i * 37 % 61;
        ck_store(type->type, in, (size_t)i, (double)x);
        and &= x;
        or |= x;
        xor ^= x;
        if (x > most) most = x;
        if (x < fewest) fewest = x;
    }
    int64_t results[5] = {and & 127, or, xor, fewest, most}, start[5] = {127, 0, 0, 1000, 1};
    for (size_t i = 0; i < 5; i++) {
        ck_store(type->type, cells, i, (double)start[i]);
        ck_store(type->type, expected, i, (double)results[i]);
    }
    char kernel[32];
    snprintf(kernel, sizeof kernel, "counter_bits_%s", type->name);
    cf_call call = ck_call(t, (ck_form)p[0], "together", kernel, N, 32);
    cf_buffer(&call, 0, in, N * size);
    cf_buffer(&call, 1, cells, 5 * size);
    if (ck_run(t, (ck_form)p[0], &call)) cf_equal(t, type->type, expected, cells, 5, "cell");
}

static void run_last_arrives(cf_test *t, const int *p)
{
    enum { GROUPS = 40 };
    uint32_t *in = cf_alloc(t, GROUPS * 128), partial[GROUPS] = {0}, arrived = 0, total = 0, expected = 0;
    for (uint32_t i = 0; i < GROUPS * 32; i++) expected += in[i] = i * 7 % 1000;
    cf_call call = ck_call(t, (ck_form)p[0], "together", "last_arrives", GROUPS * 32, 32);
    cf_buffer(&call, 0, in, GROUPS * 128);
    cf_buffer(&call, 1, partial, sizeof partial);
    cf_buffer(&call, 2, &arrived, 4);
    cf_buffer(&call, 3, &total, 4);
    if (ck_run(t, (ck_form)p[0], &call)) cf_equal(t, TOMBAC_TYPE_U32, &expected, &total, 1, "total");
}

/* ---- Matrices: small whole numbers, so that every order of summation is exact ---- */

static void run_multiply_float(cf_test *t, const int *p)
{
    float a[64], b[64], c[64], expected[256] = {0}, got[256] = {0};
    for (int i = 0; i < 64; i++) {
        a[i] = (float)(i * 5 % 17 - 8);
        b[i] = (float)(i * 3 % 13 - 6);
        c[i] = (float)(i - 32);
    }
    for (int row = 0; row < 8; row++)
        for (int column = 0; column < 8; column++) {
            float sum = 0;
            for (int k = 0; k < 8; k++)
                sum += a[row * 8 + k] * b[column * 8 + k]; /* b was loaded transposed */
            expected[row * 8 + column] = sum + c[row * 8 + column];
            expected[64 + column * 8 + row] = sum;
            expected[128 + row * 8 + column] = 2.5f;
            expected[192 + row * 8 + column] = row == column ? 3.0f : 0.0f;
        }
    cf_call call = ck_call(t, (ck_form)p[0], "together", "multiply_float", 32, 32);
    cf_buffer(&call, 0, a, sizeof a);
    cf_buffer(&call, 1, b, sizeof b);
    cf_buffer(&call, 2, c, sizeof c);
    cf_buffer(&call, 3, got, sizeof got);
    if (ck_run(t, (ck_form)p[0], &call)) cf_equal(t, TOMBAC_TYPE_F32, expected, got, 256, "element");
}

static void run_multiply_half(cf_test *t, const int *p)
{
    uint16_t a[64], b[64], expected_half[64], got_half[64] = {0};
    float expected[64], got[64] = {0};
    for (int i = 0; i < 64; i++) {
        a[i] = cf_half_from_double(i * 5 % 17 - 8);
        b[i] = cf_half_from_double((i * 3 % 13 - 6) * 0.5);
    }
    for (int i = 0; i < 64; i++) {
        double sum = 0;
        for (int k = 0; k < 8; k++)
            sum += cf_half_to_double(a[i / 8 * 8 + k]) * cf_half_to_double(b[k * 8 + i % 8]);
        expected[i] = (float)sum + 1;
        expected_half[i] = cf_half_from_double(sum);
    }
    cf_call call = ck_call(t, (ck_form)p[0], "together", "multiply_half", 32, 32);
    cf_buffer(&call, 0, a, sizeof a);
    cf_buffer(&call, 1, b, sizeof b);
    cf_buffer(&call, 2, got, sizeof got);
    cf_buffer(&call, 3, got_half, sizeof got_half);
    if (!ck_run(t, (ck_form)p[0], &call)) return;
    cf_equal(t, TOMBAC_TYPE_F32, expected, got, 64, "float element");
    cf_equal(t, TOMBAC_TYPE_F16, expected_half, got_half, 64, "half element");
}

static void add_typed(cf_suite *suite, cf_function *function, const char *what, int i)
{
    char name[64];
    bool newer = function == run_counters && ck_types[i].type == TOMBAC_TYPE_F32; /* in threadgroup memory */
    snprintf(name, sizeof name, "%s.%s", what, ck_types[i].name);
    if (newer)
        ck_add_newer(suite, function, i, 0, name);
    else
        ck_add_everywhere(suite, function, i, 0, name);
    if (newer) cf_add(suite, function, CF_P(CK_HOST, i), "ckernel.%s.host", name);
}

void ck_together(cf_suite *suite)
{
    char name[64];
    for (int i = 0; i < 4; i++) {
        snprintf(name, sizeof name, "positions.%d", i);
        ck_add_everywhere(suite, run_positions, i, 0, name);
    }
    ck_add_everywhere(suite, run_reverse, 32, 0, "reverse.32");
    ck_add_everywhere(suite, run_reverse, 200, 0, "reverse.200");
    for (int i = 0; i < CK_TYPES; i++) {
        tombac_type type = ck_types[i].type;
        bool floating = type == TOMBAC_TYPE_F16 || type == TOMBAC_TYPE_F32;
        size_t size = tombac_type_size(type);
        add_typed(suite, run_reduce, "reduce", i);
        if (!floating) add_typed(suite, run_bits, "bits", i);
        if (size < 8) add_typed(suite, run_move, "move", i);
        if (size >= 4) add_typed(suite, run_counters, "counters", i);
        if (size >= 4 && !floating) add_typed(suite, run_counter_bits, "counter_bits", i);
    }
    ck_add_everywhere(suite, run_votes, 0, 0, "votes");
    ck_add_everywhere(suite, run_last_arrives, 0, 0, "last_arrives");
    ck_add_everywhere(suite, run_multiply_float, 0, 0, "multiply.float");
    ck_add_everywhere(suite, run_multiply_half, 0, 0, "multiply.half");
}
