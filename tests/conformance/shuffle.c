/* Shuffles and broadcasts. What Metal leaves open is fixed by docs/operations.md: lane numbers count modulo
 * 32 (4), a lane outside gives the own value where Metal's shuffle has no wrap, an inactive lane gives zero.
 */
#include "conformance.h"
#include "divergence_model.h"

#include <string.h>

enum { DELTAS = 6, OPERATIONS = 18, SIMD_OPERATIONS = 9 };

static const struct {
    const char *name;
    size_t size;
} types[] = {
    {"char", 1},
    {"ushort", 2},
    {"int", 4},
    {"float", 4},
    {"half", 2},
    {"uint2", 8},
    {"half4", 8},
};
static const char *const operation_names[SIMD_OPERATIONS] = {"broadcast", "shuffle", "shuffle_up",
    "shuffle_down", "shuffle_xor", "shuffle_rotate_up", "shuffle_rotate_down", "shuffle_and_fill_up",
    "shuffle_and_fill_down"};
static const uint16_t deltas[DELTAS] = {0, 1, 2, 7, 16, 31};
static const uint8_t zeros[8];

/* What lane `lane` gets from operation `o` within blocks of `width` lanes: where the value comes from. */
typedef struct source {
    const uint8_t *array;
    unsigned lane;
} source;

static source source_of(
    int o, unsigned lane, unsigned width, unsigned d, unsigned chosen, const uint8_t *x, const uint8_t *fill)
{
    unsigned base = lane & ~(width - 1), k = lane - base;
    source own = {x, lane};
    switch (o) {
    case 0: return (source){x, base + d % width};
    case 1: return (source){x, base + chosen % width};
    case 2: return k >= d ? (source){x, lane - d} : own;
    case 3: return k + d < width ? (source){x, lane + d} : own;
    case 4: return (k ^ d) < width ? (source){x, base + (k ^ d)} : own;
    case 5: return (source){x, base + (k - d) % width};
    case 6: return (source){x, base + (k + d) % width};
    case 7: return k >= d ? (source){x, lane - d} : (source){fill, base + k + width - d};
    default: return k + d < width ? (source){x, lane + d} : (source){fill, base + k + d - width};
    }
}

/* p: type, shape, threads. One threadgroup and a second one that is smaller. */
static void run_shuffles(cf_test *t, const int *p)
{
    size_t size = types[p[0]].size;
    int shape = p[1];
    unsigned whole = (unsigned)p[2], n = whole + whole / 2 + 1;
    uint8_t *x = cf_alloc(t, n * size), *fill = cf_alloc(t, n * size), *control = cf_alloc(t, n);
    uint16_t *lanes = cf_alloc(t, n * DELTAS * 2u);
    uint64_t seed = 11;
    for (size_t i = 0; i < n * size; i++) {
        /* no NaN: bit 6 of the high byte of a float stays clear, so that every copy keeps all bits */
        x[i] = (uint8_t)cf_random(&seed) & 0xbd;
        fill[i] = (uint8_t)cf_random(&seed) & 0xbd;
    }
    for (unsigned i = 0; i < n; i++) control[i] = (uint8_t)cf_random(&seed);
    for (unsigned i = 0; i < n * DELTAS; i++) lanes[i] = (uint16_t)(cf_random(&seed) % (i % 5 ? 32 : 70));
    size_t count = (size_t)CF_MAX_SITES * n * DELTAS * OPERATIONS;
    uint8_t *expected = cf_alloc(t, count * size), *got = cf_alloc(t, count * size);
    for (int site = 0; site < cf_site_count(shape); site++)
        for (unsigned i = 0; i < n; i++) {
            unsigned g = i < whole ? 0 : whole, group_size = g ? n - whole : whole;
            unsigned first = g + ((i - g) & ~31u), lane = (i - g) & 31u;
            uint32_t mask = cf_active_mask(shape, (unsigned)site, control + g, first - g, group_size);
            if (!(mask >> lane & 1)) continue;
            for (unsigned j = 0; j < DELTAS; j++)
                for (int o = 0; o < OPERATIONS; o++) {
                    bool quad = o >= SIMD_OPERATIONS;
                    unsigned d = quad ? deltas[j] & 3u : deltas[j];
                    source s = source_of(quad ? o - SIMD_OPERATIONS : o, lane, quad ? 4 : 32, d,
                        lanes[i * DELTAS + j], x, fill);
                    const uint8_t *from = mask >> s.lane & 1 ? s.array + (first + s.lane) * size : zeros;
                    memcpy(expected + ((((size_t)site * n + i) * DELTAS + j) * OPERATIONS + (size_t)o) * size,
                        from, size);
                }
        }
    char kernel[32];
    snprintf(kernel, sizeof kernel, "shuffle_%s", types[p[0]].name);
    cf_call call = {.file = "shuffle.metal", .kernel = kernel, .grid = {n, 1, 1}, .group = {whole, 1, 1}};
    cf_constant(&call, "SHAPE", &shape, sizeof shape);
    cf_buffer(&call, 0, got, count * size);
    cf_buffer(&call, 1, x, n * size);
    cf_buffer(&call, 2, fill, n * size);
    cf_buffer(&call, 3, control, n);
    cf_bytes(&call, 4, &n, sizeof n);
    cf_bytes(&call, 5, deltas, sizeof deltas);
    cf_buffer(&call, 6, lanes, n * DELTAS * 2u);
    if (!cf_run(t, &call)) return;
    for (size_t i = 0; i < count; i++) {
        size_t o = i % OPERATIONS, row = i / OPERATIONS, thread = row / DELTAS % n;
        if (memcmp(expected + i * size, got + i * size, size) == 0) continue;
        cf_equal(t, TOMBAC_TYPE_U8, expected + i * size, got + i * size, size,
            "%s_%s by %u (lane %u) at site %zu, thread %zu: byte", o < SIMD_OPERATIONS ? "simd" : "quad",
            operation_names[o % SIMD_OPERATIONS], deltas[row % DELTAS], lanes[thread * DELTAS + row % DELTAS],
            row / DELTAS / n, thread);
        return;
    }
}

/* p: width, threads */
static void run_fill(cf_test *t, const int *p)
{
    unsigned width = (unsigned)p[0], n = (unsigned)p[1];
    uint32_t *x = cf_alloc(t, n * 4u), *fill = cf_alloc(t, n * 4u), *expected = cf_alloc(t, n * 8u),
             *got = cf_alloc(t, n * 8u);
    for (unsigned i = 0; i < n; i++) {
        x[i] = 1000 + i;
        fill[i] = 2000 + i;
    }
    for (uint16_t delta = 0; delta < width; delta++) {
        for (unsigned i = 0; i < n; i++)
            for (int o = 0; o < 2; o++) {
                source s = source_of(7 + o, i & 31u, width, delta, 0, (uint8_t *)x, (uint8_t *)fill);
                unsigned from = (i & ~31u) + s.lane;
                expected[2 * i + (unsigned)o] =
                    from < n ? ((const uint32_t *)(const void *)s.array)[from] : 0;
            }
        char kernel[16];
        snprintf(kernel, sizeof kernel, "fill_%u", width);
        cf_call call = {.file = "shuffle.metal", .kernel = kernel, .grid = {n, 1, 1}, .group = {n, 1, 1}};
        cf_buffer(&call, 0, got, n * 8u);
        cf_buffer(&call, 1, x, n * 4u);
        cf_buffer(&call, 2, fill, n * 4u);
        cf_bytes(&call, 3, &delta, sizeof delta);
        if (!cf_run(t, &call)) return;
        if (!cf_equal(t, TOMBAC_TYPE_U32, expected, got, 2 * n, "fill up and down by %u in blocks of %u",
                delta, width))
            return;
    }
}

static void run_by_hand(cf_test *t, const int *p)
{
    enum { N = 128 };
    float in[N], expected[2 * N], got[2 * N] = {0};
    for (int i = 0; i < N; i++) in[i] = (float)(i * 37 % 101);
    for (int i = 0; i < N; i++) {
        float sum = 0, scan = 0;
        for (int k = i & ~31; k < (i & ~31) + 32; k++) {
            sum += in[k];
            if (k <= i) scan += in[k];
        }
        expected[2 * i] = sum;
        expected[2 * i + 1] = scan;
    }
    cf_call call = {
        .file = "shuffle.metal", .kernel = "reduce_by_hand", .grid = {N, 1, 1}, .group = {64, 1, 1}};
    cf_buffer(&call, 0, got, sizeof got);
    cf_buffer(&call, 1, in, sizeof in);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_F32, expected, got, 2 * N, "sum and scan");
}

/* Inactive lanes give zero. Whole SIMD-groups. p: which lanes take part: those with (lane * p[0] + p[1]) % p[2] == 0 */
static void run_in_part(cf_test *t, const int *p)
{
    enum { N = 96 };
    uint32_t in[N], part[N], expected[5 * N], got[5 * N] = {0};
    uint64_t seed = 3;
    for (int i = 0; i < N; i++) {
        in[i] = (uint32_t)cf_random(&seed);
        part[i] = (i * p[0] + p[1]) % p[2] == 0;
    }
    for (int i = 0; i < N; i++) {
        int lane = i % 32, first = i - lane, quad = lane & ~3;
        const int from[5] = {lane ^ 1, lane ^ 2, (lane + 1) % 32, quad + 2, lane ^ 3};
        for (int k = 0; k < 5; k++) {
            int other = first + from[k];
            const uint32_t values[5] = {(uint32_t)from[0], in[other], (uint32_t)from[2] * 3 + 1, in[other], (uint32_t)from[4] + 7};
            expected[5 * i + k] = !part[i] ? 100u + (uint32_t)k : part[other] ? values[k] : 0;
        }
    }
    cf_call call = {.file = "shuffle.metal", .kernel = "in_part", .grid = {N, 1, 1}, .group = {N, 1, 1}};
    cf_buffer(&call, 0, got, sizeof got);
    cf_buffer(&call, 1, in, sizeof in);
    cf_buffer(&call, 2, part, sizeof part);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_U32, expected, got, 5 * N, "out");
}

void cf_family_shuffle(cf_suite *suite)
{
    static const int parts[][3] = {{1, 0, 3}, {1, 1, 2}, {1, 0, 1}, {5, 2, 7}, {1, 31, 32}};
    for (int i = 0; i < 5; i++)
        cf_add(suite, run_in_part, CF_P(parts[i][0], parts[i][1], parts[i][2]), "shuffle.in-part.%d-%d-%d", parts[i][0], parts[i][1],
            parts[i][2]);
    static const int shapes[] = {0, 1, 3, 4, 5, 7}, sizes[] = {64, 17, 33, 100};
    for (int s = 0; s < 6; s++)
        for (int type = 0; type < 7; type++)
            for (int n = 0; n < 4; n++)
                cf_add(suite, run_shuffles, CF_P(type, shapes[s], sizes[n]), "shuffle.%s.%s.%d",
                    types[type].name, cf_shape_name(shapes[s]), sizes[n]);
    for (int width = 2; width <= 32; width *= 2)
        for (int n = 0; n < 4; n++)
            cf_add(suite, run_fill, CF_P(width, sizes[n]), "shuffle.fill.%d.%d", width, sizes[n]);
    cf_add(suite, run_by_hand, CF_P(0), "shuffle.reduce-by-hand");
}
