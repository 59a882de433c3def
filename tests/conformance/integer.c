/* Integer arithmetic: every result is computed in 128 bits from the definition and cut to the type. */
#include "conformance.h"

#include <math.h>
#include <string.h>

enum { N = 640, RESULTS = 48 };
typedef __int128 wide;

static const struct kind {
    const char *name;
    tombac_type type;
    int bits;
    bool is_signed;
} kinds[] = {
    {"char", TOMBAC_TYPE_I8, 8, true},
    {"uchar", TOMBAC_TYPE_U8, 8, false},
    {"short", TOMBAC_TYPE_I16, 16, true},
    {"ushort", TOMBAC_TYPE_U16, 16, false},
    {"int", TOMBAC_TYPE_I32, 32, true},
    {"uint", TOMBAC_TYPE_U32, 32, false},
    {"long", TOMBAC_TYPE_I64, 64, true},
    {"ulong", TOMBAC_TYPE_U64, 64, false},
};

static uint64_t bits_of(const struct kind *k, wide v)
{
    return (uint64_t)v & (~0ull >> (64 - k->bits));
}

static wide of_bits(const struct kind *k, uint64_t bits)
{
    bits = bits_of(k, (wide)bits);
    return k->is_signed && bits >> (k->bits - 1) ? (wide)bits - ((wide)1 << k->bits) : (wide)bits;
}

static wide wrap(const struct kind *k, wide v)
{
    return of_bits(k, (uint64_t)v);
}

static wide saturate(const struct kind *k, wide v)
{
    wide top = k->is_signed ? ((wide)1 << (k->bits - 1)) - 1 : ((wide)1 << k->bits) - 1;
    wide bottom = k->is_signed ? -top - 1 : 0;
    return v > top ? top : v < bottom ? bottom : v;
}

static wide least(wide a, wide b)
{
    return b < a ? b : a;
}
static wide greatest(wide a, wide b)
{
    return b > a ? b : a;
}
static wide floor_shift(wide v, int by)
{
    return v >> by;
} /* arithmetic on this compiler family */

static int ones(uint64_t v)
{
    int n = 0;
    for (; v; v &= v - 1) n++;
    return n;
}

static int leading_zeros(const struct kind *k, uint64_t v)
{
    int n = 0;
    while (n < k->bits && !(v >> (k->bits - 1 - n) & 1)) n++;
    return n;
}

static int trailing_zeros(const struct kind *k, uint64_t v)
{
    int n = 0;
    while (n < k->bits && !(v >> n & 1)) n++;
    return n;
}

static uint64_t reversed(const struct kind *k, uint64_t v)
{
    uint64_t r = 0;
    for (int i = 0; i < k->bits; i++) r |= (v >> i & 1) << (k->bits - 1 - i);
    return r;
}

static uint64_t rotated(const struct kind *k, uint64_t v, uint64_t by)
{
    by &= (uint64_t)k->bits - 1;
    return by ? v << by | v >> ((uint64_t)k->bits - by) : v;
}

static void expect_functions(const struct kind *k, wide *o, wide a, wide b, wide c)
{
    uint64_t ua = bits_of(k, a), ub = bits_of(k, b);
    wide low = least(b, c), high = greatest(b, c);
    wide magnitude = a < 0 ? -a : a;
    /* |a * b| needs up to 128 bits for ulong: the high half is taken without sign there */
    wide product_high = k->is_signed || k->bits < 64
                            ? floor_shift(a * b, k->bits)
                            : (wide)(((unsigned __int128)a * (unsigned __int128)b) >> 64);
    wide product_saturated =
        !k->is_signed && k->bits == 64 && product_high ? saturate(k, (wide)1 << 100) : saturate(k, a * b + c);
    if (!k->is_signed && k->bits == 64 && !product_high)
        product_saturated = saturate(k, (wide)(uint64_t)(ua * ub) + c);
    const wide r[28] = {a + b, a - b, (wide)(ua * ub), a & b, a | b, a ^ b, ~a, -a, least(a, b),
        greatest(a, b), least(least(a, b), c), greatest(greatest(a, b), c),
        greatest(least(a, b), least(greatest(a, b), c)), least(greatest(a, low), high), magnitude,
        greatest(a, b) - least(a, b), saturate(k, a + b), saturate(k, a - b), floor_shift(a + b, 1),
        floor_shift(a + b + 1, 1), product_high, product_high + c, product_saturated, leading_zeros(k, ua),
        trailing_zeros(k, ua), ones(ua), (wide)reversed(k, ua), (wide)rotated(k, ua, ub)};
    memcpy(o, r, sizeof r);
}

static void expect_counted(const struct kind *k, wide *o, wide a, wide b, wide d, unsigned s, unsigned n)
{
    uint64_t ua = bits_of(k, a), ub = bits_of(k, b);
    uint64_t field = n == 0 ? 0 : ~0ull >> (64 - n);
    uint64_t extracted = ua >> s & field;
    if (k->is_signed && n && extracted >> (n - 1) & 1) extracted |= ~field;
    wide x = wrap(k, wrap(k, wrap(k, a + b) * 3) - d), y = wrap(k, x); /* x++ then --x gives x again */
    const wide r[20] = {(wide)(ua << s), floor_shift(a, (int)s), a / d, a % d, (wide)extracted,
        (wide)((ua & ~(field << s)) | (ub & field) << s), a < b, a >= b, a == b, x, y,
        wrap(k, (wide)((uint64_t)x << 1)) ^ b, a < d ? b : a, (a && b) || !d, (wide)(ua * ub + (uint64_t)d),
        (wide)(ua * (uint64_t)d + (uint64_t)d), greatest(a, b), greatest(b, d), ones(ub),
        (a < b || b < d || d < a) + 2 * (a != d && b != d)};
    memcpy(o, r, sizeof r);
}

static uint64_t interesting(uint64_t *seed)
{
    static const uint64_t values[] = {0, 1, 2, 127, 128, 255, 32767, 32768, 65535, 0x7fffffff, 0x80000000u,
        0xffffffffu, 0x7fffffffffffffffu, 0x8000000000000000u, 0xffffffffffffffffu, 0x5555555555555555u};
    uint64_t r = cf_random(seed);
    return r & 3 ? cf_random(seed) >> (r >> 8) % 64 : values[r >> 8 & 15];
}

static void put(const struct kind *k, void *array, size_t i, wide v)
{
    uint64_t bits = bits_of(k, v);
    memcpy((char *)array + i * (size_t)k->bits / 8, &bits, (size_t)k->bits / 8);
}

/* p: kind */
static void run_integer(cf_test *t, const int *p)
{
    const struct kind *k = &kinds[p[0]];
    size_t size = (size_t)k->bits / 8;
    void *in = cf_alloc(t, N * 4 * size), *expected = cf_alloc(t, N * RESULTS * size),
         *got = cf_alloc(t, N * RESULTS * size);
    uint8_t *counts = cf_alloc(t, N * 2);
    wide(*arguments)[4] = cf_alloc(t, sizeof(wide[4]) * N);
    uint64_t seed = 1 + (uint64_t)p[0];
    for (size_t i = 0; i < N; i++) {
        wide *v = arguments[i];
        for (size_t j = 0; j < 4; j++) v[j] = of_bits(k, interesting(&seed));
        if (v[3] == 0 || v[3] == -1) v[3] = 7;
        counts[2 * i] = (uint8_t)(cf_random(&seed) % (unsigned)k->bits);
        counts[2 * i + 1] = (uint8_t)(cf_random(&seed) % ((unsigned)k->bits - counts[2 * i] + 1u));
        wide r[RESULTS];
        expect_functions(k, r, v[0], v[1], v[2]);
        expect_counted(k, r + 28, v[0], v[1], v[3], counts[2 * i], counts[2 * i + 1]);
        for (size_t j = 0; j < 4; j++) put(k, in, 4 * i + j, v[j]);
        for (size_t j = 0; j < RESULTS; j++) put(k, expected, RESULTS * i + j, r[j]);
    }
    char kernel[32];
    snprintf(kernel, sizeof kernel, "integer_%s", k->name);
    cf_call call = {.file = "integer.metal", .kernel = kernel, .grid = {N, 1, 1}, .group = {100, 1, 1}};
    cf_buffer(&call, 0, got, N * RESULTS * size);
    cf_buffer(&call, 1, in, N * 4 * size);
    cf_buffer(&call, 2, counts, N * 2);
    if (!cf_run(t, &call)) return;
    for (size_t i = 0; i < N * RESULTS; i++) {
        const wide *v = arguments[i / RESULTS];
        if (!cf_equal(t, k->type, (char *)expected + i * size, (char *)got + i * size, 1,
                "result %zu of a=%lld b=%lld c=%lld d=%lld k=%u n=%u", i % RESULTS, (long long)v[0],
                (long long)v[1], (long long)v[2], (long long)v[3], counts[i / RESULTS * 2],
                counts[i / RESULTS * 2 + 1]))
            return;
    }
}

static void run_24(cf_test *t, const int *p)
{
    int32_t in[3 * N], expected[4 * N], got[4 * N] = {0};
    uint64_t seed = 12;
    for (int i = 0; i < 3 * N; i++) in[i] = (int32_t)cf_random(&seed);
    for (int i = 0; i < N; i++) {
        int64_t a = in[3 * i] & 0xffffff, b = in[3 * i + 1] & 0xffffff;
        a -= (a & 0x800000) << 1;
        b -= (b & 0x800000) << 1;
        uint64_t ua = (uint32_t)in[3 * i] >> 8, ub = (uint32_t)in[3 * i + 1] >> 8;
        expected[4 * i] = (int32_t)(uint32_t)(a * b);
        expected[4 * i + 1] = (int32_t)(uint32_t)(a * b + in[3 * i + 2]);
        expected[4 * i + 2] = (int32_t)(uint32_t)(ua * ub);
        expected[4 * i + 3] = (int32_t)(uint32_t)(ua * ub + (uint32_t)in[3 * i + 2]);
    }
    cf_call call = {.file = "integer.metal", .kernel = "products_24", .grid = {N, 1, 1}, .group = {64, 1, 1}};
    cf_buffer(&call, 0, got, sizeof got);
    cf_buffer(&call, 1, in, sizeof in);
    if (cf_run(t, &call))
        cf_equal(t, TOMBAC_TYPE_I32, expected, got, 4 * N, "mul24, mad24 (signed, unsigned)");
}

static void run_convert(cf_test *t, const int *p)
{
    int64_t *in = cf_alloc(t, N * 8), *expected = cf_alloc(t, N * 96), *got = cf_alloc(t, N * 96);
    float *floats = cf_alloc(t, N * 4), *rounded = cf_alloc(t, N * 24), *got_rounded = cf_alloc(t, N * 24);
    uint64_t seed = 19;
    for (int i = 0; i < N; i++) {
        int64_t v = in[i] = (int64_t)interesting(&seed);
        double f = floor((double)(int32_t)cf_random(&seed) * (i % 2 ? 1 : 1e-4)) + (i % 3) * 0.25;
        floats[i] = f >= 2147483520.0 ? 1.0f : (float)f;
        float x = floats[i];
        const int64_t r[12] = {(int8_t)v, (uint8_t)v, (int16_t)v, (uint16_t)v, (int32_t)v, (uint32_t)v,
            (uint32_t)v, (v & 255) != 0, (int32_t)x, (uint32_t)fabsf(x), (int64_t)x, (int16_t)(x / 65536.0f)};
        memcpy(expected + 12 * i, r, sizeof r);
        const float c[6] = {(float)v, (float)(uint64_t)v, (float)(int32_t)v, (float)(uint32_t)v,
            (float)(int16_t)v, (float)(int32_t)v};
        memcpy(rounded + 6 * i, c, sizeof c);
    }
    cf_call call = {.file = "integer.metal", .kernel = "convert", .grid = {N, 1, 1}, .group = {64, 1, 1}};
    cf_buffer(&call, 0, got, N * 96);
    cf_buffer(&call, 1, in, N * 8);
    cf_buffer(&call, 2, floats, N * 4);
    cf_buffer(&call, 3, got_rounded, N * 24);
    if (!cf_run(t, &call)) return;
    cf_equal(t, TOMBAC_TYPE_I64, expected, got, N * 12, "integers (12 per thread)");
    cf_equal(t, TOMBAC_TYPE_F32, rounded, got_rounded, N * 6, "floats (6 per thread)");
}

static void run_promotion(cf_test *t, const int *p)
{
    uint8_t in[2 * N];
    int32_t expected[8 * N], got[8 * N] = {0};
    uint64_t seed = 29;
    for (int i = 0; i < 2 * N; i++) in[i] = (uint8_t)cf_random(&seed);
    for (int i = 0; i < N; i++) {
        int a = in[2 * i], b = in[2 * i + 1];
        const int32_t r[8] = {a - b, a + b, -1 - a, ((a ^ 128) - 128) >> 1, (a ^ 128) - 128,
            (a * 256 + b) * 3 / 7, (a - 200 < b) + 2 * (a >= 200 && a - 200 < b), a > b ? a : -1};
        memcpy(expected + 8 * i, r, sizeof r);
    }
    cf_call call = {.file = "integer.metal", .kernel = "promotion", .grid = {N, 1, 1}, .group = {33, 1, 1}};
    cf_buffer(&call, 0, got, sizeof got);
    cf_buffer(&call, 1, in, sizeof in);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_I32, expected, got, 8 * N, "out (8 per thread)");
}

static void run_shifts(cf_test *t, const int *p)
{
    uint64_t in[N], expected[8 * N], got[8 * N] = {0}, seed = 41;
    uint32_t counts[N];
    for (uint32_t i = 0; i < N; i++) {
        uint64_t v = in[i] = cf_random(&seed);
        uint32_t n = counts[i] = i < 200 ? i : (uint32_t)cf_random(&seed), w = n % 32, l = n % 64;
        uint32_t low = (uint32_t)v;
        const uint64_t r[8] = {(uint32_t)(low << w), low >> w, (uint64_t)floor_shift((int32_t)low, (int)w),
            v << l, v >> l, (uint64_t)floor_shift((int64_t)v, (int)l), (uint32_t)(low << w),
            (uint32_t)(low << w) >> w};
        memcpy(expected + 8 * i, r, sizeof r);
    }
    cf_call call = {.file = "integer.metal", .kernel = "shifts", .grid = {N, 1, 1}, .group = {64, 1, 1}};
    cf_buffer(&call, 0, got, sizeof got);
    cf_buffer(&call, 1, in, sizeof in);
    cf_buffer(&call, 2, counts, sizeof counts);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_U64, expected, got, 8 * N, "out (8 per thread)");
}

void cf_family_integer(cf_suite *suite)
{
    for (int k = 0; k < 8; k++) cf_add(suite, run_integer, CF_P(k), "integer.functions.%s", kinds[k].name);
    cf_add(suite, run_shifts, CF_P(0), "integer.shift-counts");
    cf_add(suite, run_24, CF_P(0), "integer.24-bit");
    cf_add(suite, run_convert, CF_P(0), "integer.convert");
    cf_add(suite, run_promotion, CF_P(0), "integer.promotion");
}
