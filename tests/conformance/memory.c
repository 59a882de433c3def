/* Memory: layouts are written down as byte offsets from Metal's sizes and alignments; accesses are modelled
 * bytewise. */
#include "conformance.h"

#include <string.h>

static cf_call call_of(const char *kernel, uint32_t n, uint32_t group)
{
    return (cf_call){.file = "memory.metal", .kernel = kernel, .grid = {n, 1, 1}, .group = {group, 1, 1}};
}

static void put_half(uint8_t *at, double v)
{
    uint16_t bits = cf_half_from_double(v);
    memcpy(at, &bits, 2);
}

static void put_float(uint8_t *at, float v)
{
    memcpy(at, &v, 4);
}

/* inner_t: c 0, h 2, p 4 (12 bytes), v 16 (16 bytes): 32. outer_t: a 0, inner 16, s 80, flag 84, wide 88,
 * bytes 96, h3 104: 112. */
static void run_layout(cf_test *t, const int *p)
{
    enum { N = 20, SIZE = 112 };
    uint8_t expected[N * SIZE], got[N * SIZE];
    uint32_t sizes[12] = {32, 112, 16, 16, 12, 808, 802, 402, 64 * 100 + 48, 16 * 100 + 8, 808, 804},
             got_sizes[12] = {0};
    memset(expected, 0, sizeof expected);
    memset(got, 0, sizeof got);
    for (uint32_t i = 0; i < N; i++) {
        uint8_t *o = expected + i * SIZE;
        o[0] = (uint8_t)i;
        for (uint32_t k = 0; k < 2; k++) {
            uint8_t *q = o + 16 + 32 * k;
            q[0] = (uint8_t)(-(int)i - (int)k);
            put_half(q + 2, i + k);
            put_float(q + 4, (float)i);
            put_float(q + 8, (float)k);
            put_float(q + 12, (float)(i + k));
            put_float(q + 16, (float)k);
            put_float(q + 20, (float)i);
            put_float(q + 24, -1);
        }
        memcpy(o + 80, (const uint16_t[]){(uint16_t)i, 65535}, 4);
        o[84] = i & 1;
        memcpy(o + 88, &(uint64_t){(uint64_t)i << 40}, 8);
        memcpy(o + 96, (const uint8_t[]){1, 2, (uint8_t)i}, 3);
        put_half(o + 104, i);
        put_half(o + 106, 0.5);
        put_half(o + 108, 2);
    }
    cf_call call = call_of("layout", N, 17);
    cf_buffer(&call, 0, got, sizeof got);
    cf_buffer(&call, 1, got_sizes, sizeof got_sizes);
    if (!cf_run(t, &call)) return;
    cf_equal(t, TOMBAC_TYPE_U32, sizes, got_sizes, 12, "sizes and alignments");
    for (uint32_t i = 0; i < N; i++) { /* padding may hold anything */
        uint8_t *g = got + i * SIZE;
        memset(g + 28 + 16, 0, 4);
        memset(g + 60 + 16, 0, 4);
        g[17] = g[49] = 0;
        memset(g + 110, 0, 2);
    }
    cf_equal(t, TOMBAC_TYPE_U8, expected, got, sizeof got, "bytes of outer_t (112 per thread)");
}

/* dense_t: a 0, p 1, v 13 (12 of 16 bytes), h 29 (8), w 37 (16), e 53: 57. tight_t: a 0, u 1, s 17: 19. */
static void run_packed(cf_test *t, const int *p)
{
    enum { N = 45, DENSE = 57, TIGHT = 19 };
    uint8_t expected[N * DENSE] = {0}, got[N * DENSE] = {0}, expected_tight[N * TIGHT], got_tight[N * TIGHT] = {0};
    uint32_t sizes[4] = {DENSE, 1, TIGHT, 1}, got_sizes[4] = {0};
    for (uint32_t i = 0; i < N; i++) {
        uint8_t *o = expected + i * DENSE, *q = expected_tight + i * TIGHT;
        float x = (float)i, part[3] = {2 * x, 2 * (2 + x), 6}, v[3] = {(part[0] + 1) * 3, (part[1] + 1) * 3, 18};
        o[0] = (uint8_t)i;
        for (int k = 0; k < 3; k++) {
            put_float(o + 1 + 4 * k, part[k]);
            put_float(o + 13 + 4 * k, v[k]);
            put_float(o + 37 + 4 * k, v[k] + 1);
        }
        for (int k = 0; k < 4; k++) put_half(o + 29 + 2 * k, k % 2 ? 1 : i);
        put_float(o + 49, 6);
        memcpy(o + 53, &(int32_t){(int32_t)(8 * i) + 2 * 19 + (int32_t)(v[0] - 1)}, 4);
        q[0] = 0xff;
        memcpy(q + 1, (const uint32_t[]){2 * i, 2 * i, 2 * i, 7}, 16);
        memcpy(q + 17, &(uint16_t){9}, 2);
    }
    cf_call call = call_of("packed_members", N, 19);
    cf_buffer(&call, 0, got, sizeof got);
    cf_buffer(&call, 1, got_tight, sizeof got_tight);
    cf_buffer(&call, 2, got_sizes, sizeof got_sizes);
    if (!cf_run(t, &call)) return;
    for (uint32_t i = 0; i < N; i++) memset(got + i * DENSE + 25, 0, 4); /* padding of a float3 */
    cf_equal(t, TOMBAC_TYPE_U32, sizes, got_sizes, 4, "sizes and alignments");
    cf_equal(t, TOMBAC_TYPE_U8, expected, got, sizeof got, "bytes of dense_t (57 per thread)");
    cf_equal(t, TOMBAC_TYPE_U8, expected_tight, got_tight, sizeof got_tight, "bytes of tight_t (19 per thread)");
}

/* x is exact in half, and so is all that is computed of it. */
static void run_parts(cf_test *t, const int *p)
{
    enum { N = 128 };
    float x[N];
    uint8_t bytes[3 * N], got_bytes[3 * N] = {0}, packed[7 * N], got_packed[7 * N] = {0};
    uint16_t halves[N], got_halves[N] = {0};
    uint32_t words[N], got_words[N] = {0};
    for (int i = 0; i < N; i++) x[i] = (float)(i * 13 % 512) + 0.625f;
    for (int i = 0; i < N; i++) {
        float y = x[i] * 2 + 1, other = x[i ^ 1] * 2 + 2;
        uint8_t h[2], f[4], o[4];
        put_half(h, x[i]);
        put_float(f, y);
        put_float(o, other);
        memcpy(bytes + 3 * i, (uint8_t[]){f[0], h[0], o[0]}, 3);
        memcpy(halves + i, f, 2);
        memcpy(words + i, f, 4);
        packed[7 * i] = 1;
        memcpy(packed + 7 * i + 1, f, 4);
        memcpy(packed + 7 * i + 5, h, 2);
    }
    cf_call call = call_of("parts", N, 64);
    cf_buffer(&call, 0, x, sizeof x);
    cf_buffer(&call, 1, got_bytes, sizeof got_bytes);
    cf_buffer(&call, 2, got_halves, sizeof got_halves);
    cf_buffer(&call, 3, got_packed, sizeof got_packed);
    cf_buffer(&call, 4, got_words, sizeof got_words);
    if (!cf_run(t, &call)) return;
    cf_equal(t, TOMBAC_TYPE_U8, bytes, got_bytes, 3 * N, "low bytes (3 per thread)");
    cf_equal(t, TOMBAC_TYPE_U16, halves, got_halves, N, "low halves");
    cf_equal(t, TOMBAC_TYPE_U8, packed, got_packed, 7 * N, "packed structures (7 bytes each)");
    cf_equal(t, TOMBAC_TYPE_U32, words, got_words, N, "low words");
}

static void run_quantised(cf_test *t, const int *p)
{
    enum { N = 100 };
    uint8_t *b8 = cf_alloc(t, N * 34), *b4 = cf_alloc(t, N * 18);
    float expected[3 * N], got[3 * N] = {0};
    uint64_t seed = 13;
    for (int i = 0; i < N * 34; i++) b8[i] = (uint8_t)cf_random(&seed);
    for (int i = 0; i < N * 18; i++) b4[i] = (uint8_t)cf_random(&seed);
    for (int i = 0; i < N; i++) {
        put_half(b8 + 34 * i, 0.25 * (i % 5));
        put_half(b4 + 18 * i, 0.5 * (i % 3));
        int sum = 0, low = 0, high = 0;
        for (int k = 0; k < 32; k++) sum += (int8_t)b8[34 * i + 2 + k] * (k + 1);
        for (int k = 0; k < 16; k++) {
            uint8_t q = b4[18 * i + 2 + k];
            low += q & 15;
            high += k % 2 ? q >> 4 : (q >> 4) * (k / 2 + 1);
        }
        expected[3 * i] = (float)sum * 0.25f * (float)(i % 5);
        expected[3 * i + 1] = (float)low * 0.5f * (float)(i % 3);
        expected[3 * i + 2] = (float)high;
    }
    cf_call call = call_of("quantised", N, 33);
    cf_buffer(&call, 0, got, sizeof got);
    cf_buffer(&call, 1, b8, N * 34);
    cf_buffer(&call, 2, b4, N * 18);
    if (!cf_run(t, &call)) return;
    for (int i = 0; i < 3 * N; i++) /* zero times a negative sum is -0 */
        if (expected[i] == 0 && got[i] == 0) got[i] = expected[i];
    cf_equal(t, TOMBAC_TYPE_F32, expected, got, 3 * N, "sums (3 per block)");
}

static uint32_t word_at(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}

static void run_views(cf_test *t, const int *p)
{
    enum { N = 70 };
    uint8_t bytes[16 * N], copy[16 * N] = {0}, want_copy[16 * N] = {0};
    uint32_t expected[4 * N], got[4 * N] = {0};
    uint64_t seed = 37;
    for (int i = 0; i < 16 * N; i++) bytes[i] = (uint8_t)cf_random(&seed);
    for (uint32_t i = 0; i < N; i++) {
        const uint8_t *b = bytes + 16 * i;
        uint64_t high;
        memcpy(&high, b + 8, 8);
        expected[4 * i] = word_at(b) + (uint32_t)(b[6] | b[7] << 8);
        expected[4 * i + 1] = word_at(b + 12) ^ (uint32_t)(b[10] | b[11] << 8);
        expected[4 * i + 2] = word_at(b + 4);
        expected[4 * i + 3] = (uint32_t)(high >> 20);
        uint8_t *c = want_copy + 16 * i;
        c[0] = b[1];
        c[1] = b[0];
        memcpy(c + 3, (const uint8_t[]){b[5], b[4], b[3]}, 3);
        memcpy(c + 8, (const uint32_t[]){i, ~i}, 8);
    }
    cf_call call = call_of("views", N, 32);
    cf_buffer(&call, 0, got, sizeof got);
    cf_buffer(&call, 1, bytes, sizeof bytes);
    cf_buffer(&call, 2, copy, sizeof copy);
    if (!cf_run(t, &call)) return;
    cf_equal(t, TOMBAC_TYPE_U32, expected, got, 4 * N, "loads (4 per thread)");
    cf_equal(t, TOMBAC_TYPE_U8, want_copy, copy, 16 * N, "bytes stored (16 per thread)");
}

static const struct {
    const char *name;
    tombac_type type;
} strided_types[] = {{"uchar", TOMBAC_TYPE_U8}, {"ushort", TOMBAC_TYPE_U16}, {"uint", TOMBAC_TYPE_U32},
    {"ulong", TOMBAC_TYPE_U64}, {"float", TOMBAC_TYPE_F32}};

static uint64_t get(tombac_type type, const void *array, size_t i)
{
    if (type == TOMBAC_TYPE_F32) return (uint64_t)((const float *)array)[i];
    uint64_t v = 0;
    memcpy(&v, (const char *)array + i * tombac_type_size(type), tombac_type_size(type));
    return v;
}

static void set(tombac_type type, void *array, size_t i, uint64_t v)
{
    if (type == TOMBAC_TYPE_F32)
        ((float *)array)[i] = (float)v;
    else
        memcpy((char *)array + i * tombac_type_size(type), &v, tombac_type_size(type));
}

/* p: type, stride, first, threads per threadgroup. Strides of threads reach from backwards to a few words. */
static void run_strided(cf_test *t, const int *p)
{
    enum { N = 256 };
    tombac_type type = strided_types[p[0]].type;
    size_t size = tombac_type_size(type), in_count = 8 * N, out_count = 12 * N;
    int32_t how[2] = {p[1], p[2]};
    void *in = cf_alloc(t, in_count * size), *expected = cf_alloc(t, out_count * size),
         *got = cf_alloc(t, out_count * size);
    for (size_t i = 0; i < in_count; i++) set(type, in, i, i * 37 + (i >> 5));
    for (int i = 0; i < N; i++) {
        int at = how[1] + i * how[0];
        uint64_t a = get(type, in, (size_t)at), b = get(type, in, (size_t)(3 * i + 1));
        set(type, expected, (size_t)i, a + b);
        set(type, expected, (size_t)(N + 2 * i), get(type, in, (size_t)(N - 1 - i)));
        set(type, expected, (size_t)(N + 2 * i + 1), get(type, in, (size_t)(i ^ 5)));
        set(type, expected, (size_t)(3 * N + i % 4 * (N / 4) + i / 4),
            get(type, in, (size_t)(2 * (i & 7) + 16 * (i >> 3) + 1)));
    }
    for (int i = 0; i < N; i++) {
        int at = how[1] + i * how[0];
        set(type, expected, (size_t)(4 * N + at), get(type, in, (size_t)at) * 3);
    }
    char kernel[32];
    snprintf(kernel, sizeof kernel, "strided_%s", strided_types[p[0]].name);
    cf_call call = call_of(kernel, N, (uint32_t)p[3]);
    cf_buffer(&call, 0, got, out_count * size);
    cf_buffer(&call, 1, in, in_count * size);
    cf_bytes(&call, 2, how, sizeof how);
    if (cf_run(t, &call))
        cf_equal(t, type, expected, got, out_count, "out (stride %d from %d)", how[0], how[1]);
}

static void run_vectors(cf_test *t, const int *p)
{
    enum { N = 100 };
    float f4[4 * N], p3[3 * N], f3[4 * N], expected[16 * N], got[16 * N] = {0};
    uint8_t u4[4 * N];
    uint16_t h2[4 * N] = {0}, got_h2[4 * N] = {0};
    for (int i = 0; i < 4 * N; i++) {
        f4[i] = (float)(i * 3);
        f3[i] = (float)(1000 + i);
        u4[i] = (uint8_t)(i * 7);
    }
    for (int i = 0; i < 3 * N; i++) p3[i] = (float)(-i);
    for (int i = 0; i < N; i++) {
        float *o = expected + 16 * i;
        const uint8_t *u = u4 + 4 * i;
        int j = N - 1 - i;
        for (int k = 0; k < 4; k++) {
            o[k] = f4[4 * i + 3 - k] + f4[4 * j + k];
            o[12 + k] = (float)(u[k] + u[0]);
        }
        for (int k = 0; k < 3; k++) o[4 + k] = p3[3 * i + k] * 2;
        o[7] = p3[3 * i + 1];
        o[8] = f3[4 * i + 2];
        o[9] = f3[4 * i];
        o[10] = o[11] = f3[4 * j + 1];
        h2[2 * i] = cf_half_from_double(u[2]);
        h2[2 * i + 1] = cf_half_from_double(u[1]);
        h2[2 * (N + i) + 1] = cf_half_from_double((double)f4[4 * i + 2]);
    }
    cf_call call = call_of("vectors", N, 64);
    cf_buffer(&call, 0, got, sizeof got);
    cf_buffer(&call, 1, f4, sizeof f4);
    cf_buffer(&call, 2, p3, sizeof p3);
    cf_buffer(&call, 3, f3, sizeof f3);
    cf_buffer(&call, 4, u4, sizeof u4);
    cf_buffer(&call, 5, got_h2, sizeof got_h2);
    if (!cf_run(t, &call)) return;
    for (int i = 0; i < 16 * N; i++)
        if (got[i] == 0 && expected[i] == 0) got[i] = expected[i];
    cf_equal(t, TOMBAC_TYPE_F32, expected, got, 16 * N, "out (16 per thread)");
    cf_equal(t, TOMBAC_TYPE_F16, h2, got_h2, 4 * N, "half2");
}

static void run_far(cf_test *t, const int *p)
{
    enum { N = 64 };
    uint32_t in[N], expected[N], got[N] = {0};
    int64_t distance = 0x300000000;
    for (uint32_t i = 0; i < N; i++) {
        in[i] = i * i;
        expected[i] = in[i] + i + 3;
    }
    cf_call call = call_of("far", N, 32);
    cf_buffer(&call, 0, got, sizeof got);
    cf_buffer(&call, 1, in, sizeof in);
    cf_bytes(&call, 2, &distance, 8);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_U32, expected, got, N, "out");
}

static void run_sparse(cf_test *t, const int *p)
{
    uint64_t stride = 1000003;
    size_t size = 60 * 1000003;
    uint8_t *data = cf_alloc(t, size), expected[60], got[60];
    cf_call call = call_of("sparse", 60, 60);
    cf_buffer(&call, 0, data, size);
    cf_bytes(&call, 1, &stride, 8);
    if (!cf_run(t, &call)) return;
    size_t touched = 0;
    for (size_t i = 0; i < size; i++) touched += data[i] != 0;
    for (size_t i = 0; i < 60; i++) {
        expected[i] = (uint8_t)(i * 7 + 1);
        got[i] = data[i * stride];
    }
    cf_equal(t, TOMBAC_TYPE_U8, expected, got, 60, "byte i * stride");
    if (touched != 60) cf_fail(t, "%zu bytes are not zero, expected 60", touched);
}

void cf_family_memory(cf_suite *suite)
{
    cf_add(suite, run_layout, CF_P(0), "memory.layout");
    cf_add(suite, run_packed, CF_P(0), "memory.packed");
    cf_add(suite, run_parts, CF_P(0), "memory.parts-of-numbers");
    cf_add(suite, run_quantised, CF_P(0), "memory.quantised-blocks");
    cf_add(suite, run_views, CF_P(0), "memory.views");
    static const int patterns[][3] = {{1, 0, 64}, {1, 3, 17}, {2, 1, 33}, {3, 0, 100}, {4, 2, 64},
        {7, 5, 256}, {-1, 255, 64}, {-3, 800, 33}};
    for (int type = 0; type < 5; type++)
        for (int i = 0; i < 8; i++)
            cf_add(suite, run_strided, CF_P(type, patterns[i][0], patterns[i][1], patterns[i][2]),
                "memory.strided.%s.by-%d-from-%d.%d", strided_types[type].name, patterns[i][0],
                patterns[i][1], patterns[i][2]);
    cf_add(suite, run_vectors, CF_P(0), "memory.vectors");
    cf_add(suite, run_far, CF_P(0), "memory.far-offsets");
    cf_add(suite, run_sparse, CF_P(0), "memory.sparse");
}
