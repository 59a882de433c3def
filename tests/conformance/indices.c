/* Index arithmetic: every model computes the index in 64 bits and cuts it to the type's width as the language
 * says. */
#include "conformance.h"

#include <string.h>

enum { WORDS = 1024, MOST = 512 };

static void fill(uint32_t *in, size_t count, uint64_t seed)
{
    for (size_t i = 0; i < count; i++) in[i] = (uint32_t)cf_random(&seed);
}

/* ---- Walks ---- */

static const uint32_t walks[][4] = {
    /* scale, first, limit, step */
    {1, 0, 1000, 64}, /* all lanes leave together, or not */
    {1, 0, 1001, 32},
    {1, 0, 17, 256}, /* some lanes never enter */
    {1, 0, 0, 32},
    {3, 5, 777, 96},
    {0, 4, 100, 7},                             /* all lanes the same */
    {1, 0xfffffff0u, 0xf0000000u, 0x10000000u}, /* lanes wrap before they start */
    {1, 0xffffffe1u, 0xfffffff0u, 0x10000000u},
    {1, 0x7ffffff0u, 0x7fffffffu, 0x08000000u}, /* the sign turns within a SIMD-group */
    {1, 0x80000000u, 0x90000000u, 0x04000000u},
    {1, 0xffffff00u, 300, 32},                  /* below zero, if signed */
    {0xffffffffu, 2000, 3000, 100},             /* strides below zero */
    {0x01000000u, 0, 0xf0000000u, 0x08000000u}, /* large strides */
    {2048, 0, 60000, 4096},
    {1, 100, 127, 20},
    {1100, 0x8000, 20000, 8000}, /* all lanes span more than half of 16 bits */
};

typedef struct cut {
    const char *kernel;
    unsigned width;
    bool is_signed;
} cut;
static const cut cuts[] = {{"walk_uint", 32, false}, {"walk_int", 32, true}, {"walk_ushort", 16, false},
    {"walk_short", 16, true}, {"walk_char", 8, true}};

static int64_t to_type(const cut *c, uint64_t x)
{
    uint64_t low = x & ((UINT64_C(1) << c->width) - 1);
    if (c->is_signed && low >> (c->width - 1)) return (int64_t)low - ((int64_t)1 << c->width);
    return (int64_t)low;
}

/* Does the walk end soon for all threads, and by reaching the limit rather than by wrapping past it? */
static bool is_finite(const cut *c, const uint32_t *w, uint32_t threads)
{
    for (uint32_t t = 0; t < threads; t++) {
        int64_t i = to_type(c, (uint64_t)t * w[0] + w[1]), limit = to_type(c, w[2]), step = to_type(c, w[3]);
        unsigned trips = 0;
        for (; i < limit; i = to_type(c, (uint64_t)(i + step)))
            if (++trips > 400) return false;
    }
    return true;
}

static void run_walk(cf_test *t, const int *p)
{
    const cut *c = &cuts[p[0]];
    const uint32_t *w = walks[p[1]], threads = (uint32_t)p[2];
    uint32_t in[WORDS], expected[2 * MOST], got[2 * MOST] = {0};
    fill(in, WORDS, 1);
    for (uint32_t n = 0; n < threads; n++) {
        int64_t limit = to_type(c, w[2]), step = to_type(c, w[3]);
        uint32_t sum = 0, trips = 0;
        for (int64_t i = to_type(c, (uint64_t)n * w[0] + w[1]); i < limit;
            i = to_type(c, (uint64_t)(i + step))) {
            sum = sum * 31 + (in[(uint32_t)i & 1023] ^ (uint32_t)i);
            trips++;
        }
        expected[2 * n] = sum;
        expected[2 * n + 1] = trips;
    }
    cf_call call = {.file = "indices.metal",
        .kernel = c->kernel,
        .grid = {threads, 1, 1},
        .group = {(uint32_t)p[3], 1, 1}};
    cf_buffer(&call, 0, in, sizeof in);
    cf_buffer(&call, 1, got, sizeof *got * 2 * threads);
    cf_constant(&call, "scale", &w[0], 4);
    cf_bytes(&call, 2, w + 1, 12);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_U32, expected, got, 2 * threads, "walk");
}

/* Lane by lane, SIMD-groups of 32 from the start of each threadgroup. */
static void run_together(cf_test *t, const int *p)
{
    const uint32_t *w = walks[p[0]], threads = (uint32_t)p[1], group = (uint32_t)p[2];
    uint32_t in[WORDS], expected[2 * MOST] = {0}, got[2 * MOST] = {0};
    fill(in, WORDS, 2);
    for (uint32_t base = 0; base < threads; base += group)
        for (uint32_t first = base; first < base + group && first < threads; first += 32) {
            uint32_t lanes = base + group - first < 32 ? base + group - first : 32, i[32], sum[32] = {0};
            if (threads - first < lanes) lanes = threads - first;
            for (uint32_t l = 0; l < lanes; l++) i[l] = (first + l) * w[0] + w[1];
            for (bool some = true; some;) {
                uint32_t all = 0;
                some = false;
                for (uint32_t l = 0; l < lanes; l++)
                    if (i[l] < w[2]) all += i[l] & 255;
                for (uint32_t l = 0; l < lanes; l++) {
                    if (i[l] >= w[2]) continue;
                    for (uint32_t j = 0; j < (i[l] & 3); j++) sum[l] += in[(i[l] + j) & 1023];
                    sum[l] += all;
                    expected[2 * (first + l) + 1]++;
                    i[l] += w[3];
                    some = true;
                }
            }
            for (uint32_t l = 0; l < lanes; l++) expected[2 * (first + l)] = sum[l] + lanes;
        }
    cf_call call = {
        .file = "indices.metal", .kernel = "walk_together", .grid = {threads, 1, 1}, .group = {group, 1, 1}};
    cf_buffer(&call, 0, in, sizeof in);
    cf_buffer(&call, 1, got, sizeof *got * 2 * threads);
    cf_constant(&call, "scale", &w[0], 4);
    cf_bytes(&call, 2, w + 1, 12);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_U32, expected, got, 2 * threads, "walk together");
}

static void run_twice(cf_test *t, const int *p)
{
    const uint32_t *w = walks[p[0]], threads = (uint32_t)p[1];
    uint32_t in[WORDS], expected[2 * MOST], got[2 * MOST] = {0};
    fill(in, WORDS, 3);
    for (uint32_t n = 0; n < threads; n++) {
        uint32_t sum = 7, last = 0;
        for (uint32_t i = n * w[0] + w[1]; (in[n] & 1) && i < w[2]; i += w[3]) sum += last = in[i & 1023];
        for (uint32_t i = n * w[0] + w[1]; i < w[2]; i += w[3]) last ^= sum + i;
        expected[2 * n] = sum;
        expected[2 * n + 1] = last;
    }
    cf_call call = {.file = "indices.metal",
        .kernel = "walk_twice",
        .grid = {threads, 1, 1},
        .group = {(uint32_t)p[2], 1, 1}};
    cf_buffer(&call, 0, in, sizeof in);
    cf_buffer(&call, 1, got, sizeof *got * 2 * threads);
    cf_constant(&call, "scale", &w[0], 4);
    cf_bytes(&call, 2, w + 1, 12);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_U32, expected, got, 2 * threads, "two walks");
}

/* ---- Constants around a variable ---- */

static const uint32_t places[][2] = {/* scale, first */
    {1, 0}, {1, 0xfffffff0u}, {1, 0xffffffc1u}, {1, 0xffffffd8u}, {2, 0xffffff81u}, {1, 30},
    {0xffffffffu, 1000}, {0xfffffffeu, 200}, {0, 0xffffffffu}, {0, 17}, {1, 0x80000000u - 60},
    {1, 0xfffeee00u}, {1, 0xfffffe00u}};

static uint32_t pick(const uint32_t *in, uint64_t i, uint32_t count)
{
    uint32_t at = (uint32_t)i;
    return at < count ? in[at] : 0x10000 + (at & 0xff);
}

static void run_around(cf_test *t, const int *p)
{
    enum { THREADS = 96 };
    static const uint32_t constants[] = {0, 1, 5, 63, (uint32_t)-1, (uint32_t)-40, 70000};
    static const char *const kernels[] = {"around_uint", "around_int", "around_uchar"};
    const uint32_t scale = places[p[1]][0], place[2] = {places[p[1]][1], WORDS};
    uint32_t in[WORDS], expected[THREADS], got[THREADS] = {0};
    uint8_t bytes[sizeof in];
    fill(in, WORDS, 4);
    memcpy(bytes, in, sizeof in);
    for (uint32_t n = 0; n < THREADS; n++) {
        uint32_t i = n * scale + place[0], sum = 0;
        for (int c = 0; p[0] == 0 && c < 7; c++) sum = sum * 3 + pick(in, (uint64_t)i + constants[c], WORDS);
        for (int64_t d = -3; p[0] == 1 && d <= 3; d++) {
            int32_t at = (int32_t)(i + (uint32_t)(d * 16));
            if (at >= -512 && at < WORDS - 512) sum = sum * 3 + in[at + 512];
        }
        for (uint32_t d = 0; p[0] == 2 && d < 4; d++) {
            uint32_t at = i + 3 * d - 6;
            if (at < WORDS) sum = sum * 3 + bytes[at];
        }
        expected[n] = sum;
    }
    cf_call call = {.file = "indices.metal",
        .kernel = kernels[p[0]],
        .grid = {THREADS, 1, 1},
        .group = {(uint32_t)p[2], 1, 1}};
    cf_buffer(&call, 0, in, sizeof in);
    cf_buffer(&call, 1, got, sizeof got);
    cf_constant(&call, "scale", &scale, 4);
    cf_bytes(&call, 2, place, sizeof place);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_U32, expected, got, THREADS, "%s", kernels[p[0]]);
}

static void run_neighbours(cf_test *t, const int *p)
{
    uint32_t width = (uint32_t)p[0], height = (uint32_t)p[1], count = width * height;
    uint32_t *in = cf_alloc(t, count * sizeof *in), *expected = cf_alloc(t, count * sizeof *in),
             *got = cf_alloc(t, count * sizeof *in);
    fill(in, count, 5);
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++) {
            uint32_t sum = 0, back = count - 1 - (y * width + x);
            for (int dy = -1; dy <= 1; dy++)
                for (int dx = -1; dx <= 1; dx++) {
                    int64_t row = (int64_t)y + dy, column = (int64_t)x + dx;
                    if (row < 0 || column < 0 || row >= height || column >= width) continue;
                    sum = sum * 5 + in[row * width + column];
                }
            sum ^= in[back];
            if (x >= 2) sum += in[back + 2];
            expected[y * width + x] = sum;
        }
    cf_call call = {.file = "indices.metal",
        .kernel = "neighbours",
        .grid = {width, height, 1},
        .group = {(uint32_t)p[2], (uint32_t)p[3], 1}};
    cf_buffer(&call, 0, in, count * sizeof *in);
    cf_buffer(&call, 1, got, count * sizeof *in);
    cf_bytes(&call, 2, &width, 4);
    cf_bytes(&call, 3, &height, 4);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_U32, expected, got, count, "neighbours");
}

static void run_scatter(cf_test *t, const int *p)
{
    enum { THREADS = 128 };
    uint32_t expected[4 * THREADS], got[4 * THREADS] = {0}, place[2] = {THREADS - 1, 0};
    for (uint32_t n = 0; n < THREADS; n++)
        for (uint32_t c = 0; c < 4; c++) expected[(THREADS - 1 - n) * 4 + c] = n + 1000 * (3 - c);
    cf_call call = {.file = "indices.metal",
        .kernel = "scatter",
        .grid = {THREADS, 1, 1},
        .group = {(uint32_t)p[0], 1, 1}};
    cf_buffer(&call, 0, got, sizeof got);
    cf_bytes(&call, 1, place, sizeof place);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_U32, expected, got, 4 * THREADS, "columns");
}

/* ---- Places from memory ---- */

static void run_gather(cf_test *t, const int *p)
{
    enum { THREADS = 512 };
    uint32_t in[WORDS], at[THREADS], expected[THREADS], got[THREADS] = {0}, group = (uint32_t)p[0];
    int64_t stride = p[1];
    fill(in, WORDS, 6);
    fill(at, THREADS, 7);
    for (uint32_t n = 0; n < THREADS; n++) {
        uint32_t x = at[n] & 255, sum = in[x + 3];
        sum = sum * 3 + in[x < 3 ? x : x - 3];
        sum = sum * 3 + in[512 + x - 300];
        sum = sum * 3 + in[512 - x];
        sum = sum * 3 + in[x * stride + 255];
        sum = sum * 3 + in[4 * x + 2] + in[4 * (255 - x) + 3];
        sum = sum * 3 + in[(x * 257 & 0xffff) >> 8];
        if (x & 2)
            sum += in[(n & 63) * 8 + 3] + in[(n & 31) * 24 + 1];
        else
            sum ^= in[511 - (n & 127) * 3] + in[(n & 31) * 24 + 2];
        expected[n] = sum;
    }
    uint32_t tile[THREADS];
    memcpy(tile, expected, sizeof tile);
    for (uint32_t n = 0; n < THREADS; n++) { /* groups are multiples of 32 threads */
        uint32_t x = at[n] & 31, row = n / 32 * 32;
        expected[n] += tile[row + x];
        if (x & 1) expected[n] += tile[row + 31 - x];
    }
    cf_call call = {.file = "indices.metal", .kernel = "gather", .grid = {THREADS, 1, 1}, .group = {group, 1, 1}};
    cf_buffer(&call, 0, in, sizeof in);
    cf_buffer(&call, 1, at, sizeof at);
    cf_buffer(&call, 2, got, sizeof got);
    cf_bytes(&call, 3, &stride, 8);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_U32, expected, got, THREADS, "gather");
}

static void run_spread(cf_test *t, const int *p)
{
    enum { THREADS = 200 };
    uint32_t at[THREADS], expected[THREADS], got[THREADS] = {0}, rows[4 * THREADS] = {0}, got_rows[4 * THREADS] = {0};
    uint64_t seed = 8;
    for (uint32_t n = 0; n < THREADS; n++) at[n] = n;
    for (uint32_t n = THREADS - 1; n > 0; n--) { /* Fisher and Yates */
        uint32_t other = (uint32_t)(cf_random(&seed) % (n + 1)), x = at[n];
        at[n] = at[other];
        at[other] = x;
    }
    for (uint32_t n = 0; n < THREADS; n++) {
        expected[at[n]] = n;
        rows[4 * at[n] + 1] = n * 3;
        if (at[n] & 1) rows[4 * at[n] + 3] = at[n];
    }
    cf_call call = {.file = "indices.metal", .kernel = "spread", .grid = {THREADS, 1, 1}, .group = {(uint32_t)p[0], 1, 1}};
    cf_buffer(&call, 0, at, sizeof at);
    cf_buffer(&call, 1, got, sizeof got);
    cf_buffer(&call, 2, got_rows, sizeof got_rows);
    if (!cf_run(t, &call)) return;
    cf_equal(t, TOMBAC_TYPE_U32, expected, got, THREADS, "places");
    cf_equal(t, TOMBAC_TYPE_U32, rows, got_rows, 4 * THREADS, "rows");
}

/* ---- The family ---- */

void cf_family_indices(cf_suite *suite)
{
    static const int shapes[][2] = {{512, 256}, {200, 96}, {70, 40}};
    static const int pictures[][4] = {{64, 9, 32, 3}, {37, 8, 16, 4}, {50, 5, 8, 2}, {5, 40, 5, 7}};
    for (int c = 0; c < 5; c++)
        for (size_t w = 0; w < sizeof walks / sizeof *walks; w++)
            for (int s = 0; s < 3; s += 1 + (c > 1))
                if (is_finite(&cuts[c], walks[w], MOST))
                    cf_add(suite, run_walk, CF_P(c, (int)w, shapes[s][0], shapes[s][1]), "indices.%s.%zu.%d",
                        cuts[c].kernel, w, shapes[s][1]);
    for (size_t w = 0; w < sizeof walks / sizeof *walks; w++)
        for (int s = 0; s < 2 && is_finite(&cuts[0], walks[w], MOST); s++) {
            cf_add(suite, run_together, CF_P((int)w, shapes[s][0], shapes[s][1]),
                "indices.walk_together.%zu.%d", w, shapes[s][1]);
            cf_add(suite, run_twice, CF_P((int)w, shapes[s][0], shapes[s][1]), "indices.walk_twice.%zu.%d", w,
                shapes[s][1]);
        }
    for (int k = 0; k < 3; k++)
        for (size_t w = 0; w < sizeof places / sizeof *places; w++)
            for (int g = 0; g < 2 && !(k == 1 && places[w][1] == 0x80000000u - 60); g++) /* int may not overflow */
                cf_add(suite, run_around, CF_P(k, (int)w, g ? 40 : 96), "indices.around.%s.%zu.%d",
                    (const char *[]){"uint", "int", "uchar"}[k], w, g ? 40 : 96);
    for (int i = 0; i < 4; i++)
        cf_add(suite, run_neighbours, CF_P(pictures[i][0], pictures[i][1], pictures[i][2], pictures[i][3]),
            "indices.neighbours.%dx%d", pictures[i][0], pictures[i][1]);
    for (int stride = -1; stride <= 3; stride++)
        cf_add(suite, run_gather, CF_P(64, stride), "indices.gather.64.%d", stride);
    cf_add(suite, run_gather, CF_P(256, 2), "indices.gather.256.2");
    cf_add(suite, run_spread, CF_P(64), "indices.spread.64");
    cf_add(suite, run_spread, CF_P(40), "indices.spread.40");
    cf_add(suite, run_scatter, CF_P(128), "indices.scatter.128");
    cf_add(suite, run_scatter, CF_P(40), "indices.scatter.40");
}
