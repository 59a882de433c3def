/* The language: the same computations in C, on small integers and binary fractions. */
#include "conformance.h"

#include <math.h>
#include <string.h>

static cf_call call_of(const char *kernel, uint32_t n, uint32_t group)
{
    return (cf_call){.file = "language.metal", .kernel = kernel, .grid = {n, 1, 1}, .group = {group, 1, 1}};
}

/* ---- Vectors and matrices ---- */

static void expect_swizzles(float *o, const float *v, uint32_t i)
{
    float x = v[0], y = v[1], z = v[2], w = v[3];
    float h[4] = {x, 2, z, 4};
    const float d[4] = {y, y, w, w + 10}; /* after d.xz = v.yw; d.w += 10 */
    const float head[21] = {z, x, w, w, y, w, z, y, x, d[0], d[1], d[2], d[3], d[1] * 2, d[0] * 2, d[2] * 2,
        d[3], y, w, 7, 2 + z};
    memcpy(o, head, sizeof head);
    h[i % 4] = -1;
    memcpy(o + 21, h, sizeof h);
    o[25] = 16 + y;
    o[26] = y - x;
    o[27] = z + w;
    const float u[4] = {y, x, z, w}; /* v.xy = v.yx */
    o[28] = (float)((uint32_t)-(int32_t)u[0] >> 28);
    int less = 0;
    float dot = 0;
    for (int k = 0; k < 4; k++) {
        bool l = u[k] < (float)(2 * k + 2);
        less |= l << k;
        o[30 + k] = l ? -u[k] : u[k];
        dot += u[k] * (float)(k + 1);
    }
    o[29] = (float)less;
    o[34] = u[0] * 2 + 1 - u[3] / 2;
    o[35] = u[3] * 2 + 1 - u[3] / 2;
    for (int k = 0; k < 3; k++) o[36 + k] = (1 - u[k]) / (float)(2 << k);
    o[39] = dot;
}

static void run_swizzles(cf_test *t, const int *p)
{
    enum { N = 50 };
    float in[4 * N], expected[40 * N], got[40 * N] = {0};
    for (uint32_t i = 0; i < N; i++) {
        for (uint32_t k = 0; k < 4; k++) in[4 * i + k] = (float)((i * 7 + k * 5) % 23) + (k == 1 ? 0.5f : 1);
        expect_swizzles(expected + 40 * i, in + 4 * i, i);
    }
    cf_call call = call_of("swizzles", N, 33);
    cf_buffer(&call, 0, got, sizeof got);
    cf_buffer(&call, 1, in, sizeof in);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_F32, expected, got, 40 * N, "out (40 per thread)");
}

static float determinant3(const float *m)
{
    return m[0] * (m[4] * m[8] - m[5] * m[7]) - m[3] * (m[1] * m[8] - m[2] * m[7]) +
           m[6] * (m[1] * m[5] - m[2] * m[4]);
}

/* Matrices are column by column: m[c][r] is m[4 * c + r]. */
static void expect_matrices(float *o, const float *m)
{
    for (int k = 0; k < 4; k++) {
        o[k] = m[4 * k + 1];
        o[4 + k] = o[8 + k] = o[12 + k] = 0;
        for (int j = 0; j < 4; j++) {
            o[4 + k] += m[4 * j + 3 - k] * m[4 * k + j];
            o[8 + k] += m[4 * j + k] * (float)(j + 1);
            o[12 + k] += m[4 * k + j] * (float)(j + 1);
        }
    }
    o[16] = m[0] - m[2] + 2 * m[4];
    o[17] = m[1] - m[3] + 2 * m[5];
    for (int c = 0; c < 2; c++)
        for (int r = 0; r < 2; r++)
            o[18 + 2 * c + r] = m[r] * m[c] + m[2 + r] * m[2 + c] + m[4 + r] * m[4 + c];
    o[22] = 303;
    o[23] = determinant3(m);
    o[24] = m[0] * m[3] - m[1] * m[2];
    for (int k = 0; k < 4; k++) o[25 + k] = m[k] * 2 + (k == 0 || k == 3 ? 3.0f : 0.0f) - 1;
    o[29] = m[0] + 4;
    o[30] = 9 + m[0] + m[3];
    o[31] = 6 * m[15]; /* triangular but for one element off the diagonal on either side */
    o[32] = m[3] * m[6] + m[4] * m[7] + m[5] * m[8];
    o[33] = m[1] * m[5] - m[2] * m[4];
    o[34] = m[2] * m[3] - m[0] * m[5];
    o[35] = m[0] * m[4] - m[1] * m[3];
}

static void run_matrices(cf_test *t, const int *p)
{
    enum { N = 40 };
    float in[16 * N], expected[48 * N] = {0}, got[48 * N] = {0};
    for (int i = 0; i < 16 * N; i++) in[i] = (float)(i * 31 % 17) - 8;
    for (int i = 0; i < N; i++) expect_matrices(expected + 48 * i, in + 16 * i);
    cf_call call = call_of("matrices", N, 17);
    cf_buffer(&call, 0, got, sizeof got);
    cf_buffer(&call, 1, in, sizeof in);
    if (!cf_run(t, &call)) return;
    for (int i = 0; i < 48 * N; i++)
        if (got[i] == 0 && expected[i] == 0) got[i] = expected[i];
    cf_equal(t, TOMBAC_TYPE_F32, expected, got, 48 * N, "out (48 per thread)");
}

/* ---- Types ---- */

static void expect_types(uint32_t *o, float f, uint32_t i)
{
    uint32_t bits = cf_float_bits(f), h = cf_half_from_double((double)f);
    float x = (f + 1) * 2, y = 12;
    float points[3] = {0, 0, 0};
    points[i % 3] = x;
    int tag = (int)(i - 3) & 31;
    uint32_t c = i % 2 ? 4 : 40000;
    int64_t big = (int64_t)i * 0x123456789 - 5;
    const uint32_t r[24] = {bits, bits >> 24, bits ^ 0x80000000u, h | 0x3c00u << 16, 0x40000000u,
        bits << 16 | bits >> 16, (uint32_t)(x + y), (uint32_t)(points[0] + 2 * points[1] + 4 * points[2]),
        (uint32_t)(tag & 16 ? tag - 32 : tag), 0u - i, i * 7, c + (c == 4) + 30,
        (uint32_t)((f + 1) + 40 + 100 * (2 * f + 1)), (uint32_t)(2 * f), 21,
        (uint32_t)((i & 3) != 0) + 2 * ((i & 3) == 3) + 4 * !(i & 1), (300 + i) & 255,
        (uint32_t)(int8_t)(200 + i), 8 + 100 * 32 + 10000 * 2, (uint32_t)(big >> 30),
        (uint32_t)((uint64_t)big / 1000003u), (uint32_t)(big % 97), cf_float_bits((float)big),
        (uint32_t)((int32_t)f * -(int32_t)f)};
    memcpy(o, r, sizeof r);
}

static void run_types(cf_test *t, const int *p)
{
    enum { N = 45 };
    float in[N];
    uint32_t expected[24 * N], got[24 * N] = {0};
    for (uint32_t i = 0; i < N; i++) {
        in[i] = (float)(i * 3 + 1);
        expect_types(expected + 24 * i, in[i], i);
    }
    cf_call call = call_of("types", N, 32);
    cf_buffer(&call, 0, got, sizeof got);
    cf_buffer(&call, 1, in, sizeof in);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_U32, expected, got, 24 * N, "out (24 per thread)");
}

/* ---- Address spaces; the arguments' indices are implicit: buffers 0, 1, 2, 3 and threadgroup 0 ---- */

static void run_spaces(cf_test *t, const int *p)
{
    enum { N = 40 };
    static const int squares[6] = {0, 1, 4, 9, 16, 25};
    float in[N + 1], k[2] = {0.25f, 0.75f}, expected[16 * N], got[16 * N] = {0};
    int32_t shift = -7;
    for (int i = 0; i <= N; i++) in[i] = (float)i;
    for (int i = 0; i < N; i++) {
        float f = in[i];
        const float own[3] = {f, 1, 2}, both[2] = {1.25f, -2 + 8.0f};
        const float r[16] = {(float)(1 << i % 8), 1000 + f, 2000 + own[i % 3], 3000 + f + 0.5f, k[i % 2] + 1,
            f + 103, 6 * f, (float)((i % 3 * 2 + 1) * 10 + i % 3 * 2 + 2), (float)(squares[i % 6] + shift),
            both[i % 2], 58, i % 2 ? f : f + 1, 3, 4, 48, 7};
        memcpy(expected + 16 * i, r, sizeof r);
    }
    cf_call call = call_of("spaces", N, 33);
    cf_buffer(&call, 0, got, sizeof got);
    cf_buffer(&call, 1, in, sizeof in);
    cf_bytes(&call, 2, k, sizeof k);
    cf_bytes(&call, 3, &shift, 4);
    cf_threadgroup(&call, 0, 33 * 4);
    if (!cf_run(t, &call)) return;
    cf_equal(t, TOMBAC_TYPE_F32, expected, got, 16 * N, "out (16 per thread)");
}

/* ---- Templates ---- */

static const struct {
    const char *name;
    tombac_type type;
    int width;
    bool negate;
} instances[] = {{"templated_float_4", TOMBAC_TYPE_F32, 4, false},
    {"templated_int_3", TOMBAC_TYPE_I32, 3, true}, {"templated_half_2", TOMBAC_TYPE_F16, 2, true},
    {"templated_short_4", TOMBAC_TYPE_I16, 4, true}};

static void run_templates(cf_test *t, const int *p)
{
    enum { N = 40 };
    tombac_type type = instances[p[0]].type;
    int width = instances[p[0]].width;
    uint8_t in[4 * (N + 4)], raw[N + 4];
    float v[N + 4], expected[16 * N], got[16 * N] = {0};
    for (int i = 0; i < N + 4; i++) {
        v[i] = (float)(i * 13 % 29 - 9);
        raw[i] = (uint8_t)(i * 53);
        int32_t integer = (int32_t)v[i];
        uint16_t h = cf_half_from_double((double)v[i]);
        const void *from = type == TOMBAC_TYPE_F32   ? (void *)&v[i]
                           : type == TOMBAC_TYPE_F16 ? (void *)&h
                                                     : &integer;
        memcpy(in + (size_t)i * tombac_type_size(type), from, tombac_type_size(type));
    }
    for (int i = 0; i < N; i++) {
        float sum = 0, max = -1000, f = (float)i, c = v[i];
        for (int k = 0; k < width; k++) {
            sum += v[i + k];
            max = v[i + k] > max ? v[i + k] : max;
        }
        const uint8_t *q = raw + i;
        const float r[16] = {sum, max, 2 * f + 1 + f / 2 + 1,
            (float)((q[0] & 15) + (q[0] >> 4) + (q[1] & 15) + (q[1] >> 4)),
            (float)(q[0] + q[1] + q[2] + q[3]), c - 1 + 3 * f, 10, f + 0.5f, 120, 2 * (c + 1), 3 * (c + 2),
            f * (f + 1), instances[p[0]].negate ? -c : c, width == 4 ? 44 : (float)width, 3 * c,
            (float)tombac_type_size(type)};
        memcpy(expected + 16 * i, r, sizeof r);
    }
    cf_call call = call_of(instances[p[0]].name, N, 32);
    cf_buffer(&call, 0, got, sizeof got);
    cf_buffer(&call, 1, in, (N + 4) * tombac_type_size(type));
    cf_buffer(&call, 2, raw, sizeof raw);
    if (!cf_run(t, &call)) return;
    for (int i = 0; i < 16 * N; i++)
        if (got[i] == 0 && expected[i] == 0) got[i] = expected[i];
    cf_equal(t, TOMBAC_TYPE_F32, expected, got, 16 * N, "out (16 per thread)");
}

static void run_chosen(cf_test *t, const int *p)
{
    enum { N = 21 };
    static const char *const names[] = {"chosen_two", "chosen_more", "chosen_three"};
    const float by[3] = {3, 50, 700}, more[2] = {0.25f, 0.5f};
    float expected[N], got[N] = {0};
    for (int i = 0; i < N; i++) {
        const float results[3] = {3 * (float)i + 50, 3 * (float)i + 700 + more[i % 2], 700 - (float)i};
        expected[i] = results[p[0]];
    }
    cf_call call = call_of(names[p[0]], N, 7);
    cf_buffer(&call, 0, got, sizeof got);
    cf_buffer(&call, p[0] == 2 ? 3 : 1, (void *)by, (p[0] ? 3 : 2) * sizeof *by);
    if (p[0] == 1) cf_buffer(&call, 2, (void *)more, sizeof more);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_F32, expected, got, N, "out");
}

/* ---- Control flow ---- */

static int collatz(uint32_t n)
{
    int steps = 0;
    for (; n != 1; n = n & 1 ? 3 * n + 1 : n / 2)
        if (steps++ >= 200) return -1;
    return steps;
}

static int nested_loops(uint32_t n)
{
    int s = 0;
    for (uint32_t a = 0; a < n % 13 && s <= 3000; a++)
        for (uint32_t b = a; a != 3 && b <= n % 17 + a; b += 2) {
            if (a * b % 7 == 5) {
                s += 1000;
                break;
            }
            s += (int)(a * b);
        }
    return s;
}

static void expect_flow(int32_t *o, uint32_t n)
{
    int s = nested_loops(n), k = 3;
    o[0] = collatz(n % 1000 + 1);
    o[1] = s;
    switch (n % 6) {
    case 0: s = 3; break;
    case 1: s = s + 2; break;
    case 2: s = s / 2; break;
    case 5: s = -s ^ 3; break;
    default: s = s ^ 3;
    }
    o[2] = s;
    o[3] = n % 2 ? (n > 1000 ? 1 : 2) : n % 5 ? 4 : 3;
    while (k < (int)(n % 20)) k += 3;
    o[4] = k;
    bool side = n & 4;
    if (side) side = k > 5 || k + 1 > 1;
    if (n & 4) k += k > 5 ? 1 : 2;
    o[5] = k + 100 * side;
    int last = (int)(n % 7), digit[6], place = 0;
    for (int d = 1; d <= 5; d++) {
        if (last < d && (d == 1 || last >= d - 1)) digit[place++] = last;
        digit[place++] = d;
    }
    if (last >= 5) digit[place++] = last;
    o[6] = digit[0] + 10 * digit[1] + 100 * digit[2] + 1000 * digit[3] + 10000 * digit[4] + 100000 * digit[5];
    o[7] = 30;
}

static void run_flow(cf_test *t, const int *p)
{
    enum { N = 300 };
    uint32_t in[N];
    int32_t expected[8 * N], got[8 * N] = {0};
    uint64_t seed = 77;
    for (int i = 0; i < N; i++) {
        in[i] = (uint32_t)cf_random(&seed) >> (i % 3 * 10);
        expect_flow(expected + 8 * i, in[i]);
    }
    cf_call call = call_of("flow", N, (uint32_t)p[0]);
    cf_buffer(&call, 0, got, sizeof got);
    cf_buffer(&call, 1, in, sizeof in);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_I32, expected, got, 8 * N, "out (8 per thread)");
}

static void run_lists(cf_test *t, const int *p)
{
    static const float expected[16] = {1, 2, 3, 4, 5, 8, 9, 0, 11, 8, 10, 0, 5, 2, 3, 2};
    int32_t in[2] = {INT32_MAX, INT32_MIN}, got[8] = {0};
    float out[16] = {0};
    uint32_t x = INT32_MAX, y = (uint32_t)INT32_MIN, high = 3 * x; /* of three times x in the upper half of 64 bits */
    const uint32_t wrapped[8] = {x + x, 3 * x, 0 - y, y - 1, x + 1, high, 1, 0};
    cf_call call = call_of("lists", 1, 1);
    cf_buffer(&call, 0, out, sizeof out);
    cf_buffer(&call, 1, got, sizeof got);
    cf_buffer(&call, 2, in, sizeof in);
    if (!cf_run(t, &call)) return;
    cf_equal(t, TOMBAC_TYPE_F32, expected, out, 16, "out");
    cf_equal(t, TOMBAC_TYPE_U32, wrapped, got, 8, "wrapped");
}

static void run_late_value(cf_test *t, const int *p)
{
    uint32_t in[64], expected[64] = {0}, got[64] = {0}, n = 9, never = 1000;
    uint64_t seed = 5;
    for (int i = 0; i < 64; i++) in[i] = (uint32_t)cf_random(&seed);
    for (uint32_t i = 0; i < 64; i++)
        for (uint32_t k = 0; k < n; k++) expected[i] += in[(i + k) % 64] * k;
    cf_call call = call_of("late_value", 64, (uint32_t)p[0]);
    cf_buffer(&call, 0, got, sizeof got);
    cf_buffer(&call, 1, in, sizeof in);
    cf_bytes(&call, 2, &n, 4);
    cf_bytes(&call, 3, &never, 4);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_U32, expected, got, 64, "out");
}

static void run_likely(cf_test *t, const int *p)
{
    enum { N = 100 };
    int32_t in[N], expected[N], got[N] = {0};
    for (int i = 0; i < N; i++) {
        int x = in[i] = 3 * i + i % 7;
        x += x % 2 ? 200 : 100;
        x *= x % 3 ? 1 : 2;
        x -= x > 250 ? 7 : 0;
        x ^= x % 4 == 0 ? 1 : x % 4 == 3 ? 16 : 8;
        while (x > 320) x -= 10;
        expected[i] = x;
    }
    cf_call call = call_of("likely", N, 64);
    cf_buffer(&call, 0, got, sizeof got);
    cf_buffer(&call, 1, in, sizeof in);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_I32, expected, got, N, "out");
}

void cf_family_language(cf_suite *suite)
{
    cf_add(suite, run_likely, CF_P(0), "language.likely");
    cf_add(suite, run_lists, CF_P(0), "language.lists");
    cf_add(suite, run_swizzles, CF_P(0), "language.swizzles");
    cf_add(suite, run_matrices, CF_P(0), "language.matrices");
    cf_add(suite, run_types, CF_P(0), "language.types");
    cf_add(suite, run_spaces, CF_P(0), "language.address-spaces");
    for (int i = 0; i < 4; i++) cf_add(suite, run_templates, CF_P(i), "language.%s", instances[i].name);
    for (int i = 0; i < 3; i++) cf_add(suite, run_chosen, CF_P(i), "language.chosen-template.%d", i);
    cf_add(suite, run_late_value, CF_P(64), "language.late-value.64");
    cf_add(suite, run_late_value, CF_P(24), "language.late-value.24");
    cf_add(suite, run_flow, CF_P(64), "language.flow.64");
    cf_add(suite, run_flow, CF_P(33), "language.flow.33");
}
