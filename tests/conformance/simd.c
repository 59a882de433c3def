/* Reductions, scans and votes: the model takes the active lanes of each site one after the other. */
#include "conformance.h"
#include "divergence_model.h"

#include <string.h>

enum { OPERATIONS = 23, INTEGER_FIRST = 17, VOTES = 10 };

static const struct {
    const char *name;
    tombac_type type;
} types[] = {
    {"char", TOMBAC_TYPE_I8},
    {"uchar", TOMBAC_TYPE_U8},
    {"short", TOMBAC_TYPE_I16},
    {"ushort", TOMBAC_TYPE_U16},
    {"int", TOMBAC_TYPE_I32},
    {"uint", TOMBAC_TYPE_U32},
    {"float", TOMBAC_TYPE_F32},
    {"half", TOMBAC_TYPE_F16},
};
static const char *const operation_names[OPERATIONS] = {"simd_sum", "simd_product", "simd_min", "simd_max",
    "simd_prefix_inclusive_sum", "simd_prefix_exclusive_sum", "simd_prefix_inclusive_product",
    "simd_prefix_exclusive_product", "simd_broadcast_first", "quad_sum", "quad_product", "quad_min",
    "quad_max", "quad_prefix_inclusive_sum", "quad_prefix_exclusive_sum", "quad_prefix_inclusive_product",
    "quad_prefix_exclusive_product", "simd_and", "simd_or", "simd_xor", "quad_and", "quad_or", "quad_xor"};

static const tombac_size3 groups[] = {{64, 1, 1}, {17, 1, 1}, {33, 1, 1}, {100, 1, 1}, {8, 5, 3}};
enum { GROUPS = sizeof groups / sizeof *groups };

/* Two whole threadgroups; a 1-D launch has a third of five threads. */
typedef struct layout {
    tombac_size3 grid, group;
    unsigned size, total; /* threads of a whole threadgroup, of the grid */
} layout;

static layout layout_of(int g)
{
    layout l = {.group = groups[g], .size = groups[g].x * groups[g].y * groups[g].z};
    bool flat = l.group.y == 1;
    l.grid = (tombac_size3){l.group.x * 2 + (flat ? 5 : 0), l.group.y, l.group.z};
    l.total = l.size * 2 + (flat ? 5 : 0);
    return l;
}

static unsigned size_of_group(const layout *l, unsigned first)
{
    return l->total - first < l->size ? l->total - first : l->size;
}

static bool is_float(tombac_type type)
{
    return type == TOMBAC_TYPE_F32 || type == TOMBAC_TYPE_F16;
}

/* A value of any of the types: integers exactly (wrapping when stored), floats as double. */
typedef struct value {
    int64_t i;
    double f;
} value;

static value load(tombac_type type, const void *array, size_t index)
{
    switch (type) {
    case TOMBAC_TYPE_I8: return (value){.i = ((const int8_t *)array)[index]};
    case TOMBAC_TYPE_U8: return (value){.i = ((const uint8_t *)array)[index]};
    case TOMBAC_TYPE_I16: return (value){.i = ((const int16_t *)array)[index]};
    case TOMBAC_TYPE_U16: return (value){.i = ((const uint16_t *)array)[index]};
    case TOMBAC_TYPE_I32: return (value){.i = ((const int32_t *)array)[index]};
    case TOMBAC_TYPE_U32: return (value){.i = ((const uint32_t *)array)[index]};
    case TOMBAC_TYPE_F16: return (value){.f = cf_half_to_double(((const uint16_t *)array)[index])};
    default: return (value){.f = (double)((const float *)array)[index]};
    }
}

static void store(tombac_type type, void *array, size_t index, value v)
{
    switch (tombac_type_size(type)) {
    case 1: ((uint8_t *)array)[index] = (uint8_t)v.i; break;
    case 2:
        ((uint16_t *)array)[index] = type == TOMBAC_TYPE_F16 ? cf_half_from_double(v.f) : (uint16_t)v.i;
        break;
    default:
        if (type == TOMBAC_TYPE_F32)
            ((float *)array)[index] = (float)v.f;
        else
            ((uint32_t *)array)[index] = (uint32_t)v.i;
    }
}

typedef enum fold { SUM, PRODUCT, MIN, MAX, AND, OR, XOR } fold;

/* Products wrap at 64 bits; the low bits, which are all that is stored, are right. */
static value apply(fold f, value a, value b)
{
    switch (f) {
    case SUM: return (value){.i = (int64_t)((uint64_t)a.i + (uint64_t)b.i), .f = a.f + b.f};
    case PRODUCT: return (value){.i = (int64_t)((uint64_t)a.i * (uint64_t)b.i), .f = a.f * b.f};
    case MIN: return (value){.i = b.i < a.i ? b.i : a.i, .f = b.f < a.f ? b.f : a.f};
    case MAX: return (value){.i = b.i > a.i ? b.i : a.i, .f = b.f > a.f ? b.f : a.f};
    case AND: return (value){.i = a.i & b.i};
    case OR: return (value){.i = a.i | b.i};
    default: return (value){.i = a.i ^ b.i};
    }
}

/* Folds the lanes of `mask`, of which there is at least one unless the fold has a neutral element (sum,
 * product). */
static value fold_lanes(fold f, tombac_type type, const void *x, unsigned first, uint32_t mask)
{
    value result = f == PRODUCT ? (value){1, 1} : (value){0, 0};
    bool started = f == SUM || f == PRODUCT;
    for (unsigned lane = 0; lane < 32; lane++) {
        if (!(mask >> lane & 1)) continue;
        value v = load(type, x, first + lane);
        result = started ? apply(f, result, v) : v;
        started = true;
    }
    return result;
}

/* The values of all operations for one thread; `first` is the SIMD-group's first thread in the arrays. */
static void expect_thread(
    value *out, tombac_type type, const void *x, const void *y, unsigned first, unsigned lane, uint32_t mask)
{
    uint32_t quad = mask & 0xfu << (lane & ~3u);
    uint32_t below = (1u << lane) - 1u, upto = below | 1u << lane;
    const uint32_t scopes[2] = {mask, quad};
    for (int s = 0; s < 2; s++) {
        value *o = out + (s ? 9 : 0);
        uint32_t m = scopes[s];
        o[0] = fold_lanes(SUM, type, x, first, m);
        o[1] = fold_lanes(PRODUCT, type, y, first, m);
        o[2] = fold_lanes(MIN, type, x, first, m);
        o[3] = fold_lanes(MAX, type, x, first, m);
        o[4] = fold_lanes(SUM, type, x, first, m & upto);
        o[5] = fold_lanes(SUM, type, x, first, m & below);
        o[6] = fold_lanes(PRODUCT, type, y, first, m & upto);
        o[7] = fold_lanes(PRODUCT, type, y, first, m & below);
        for (int k = 0; k < 3; k++)
            out[INTEGER_FIRST + 3 * s + k] = fold_lanes(AND + (fold)k, type, x, first, m);
    }
    out[8] = load(type, x, first + (unsigned)__builtin_ctz(mask));
}

/* Integers: any bits. Floats: sums of small integers and products of powers of two are exact in every order.
 */
static void make_inputs(tombac_type type, void *x, void *y, uint8_t *control, unsigned total)
{
    static const double factors[8] = {1, -1, 1, -1, 2, 0.5, 1, -1};
    uint64_t seed = 42 + (uint64_t)type;
    for (unsigned i = 0; i < total; i++) {
        uint64_t r = cf_random(&seed);
        control[i] = (uint8_t)(r >> 56);
        store(type, x, i, (value){.i = (int64_t)r, .f = (double)(int64_t)(r % 31) - 15});
        store(type, y, i, (value){.i = (int64_t)(r >> 17 | 1), .f = factors[r >> 33 & 7]});
    }
}

/* p: type, shape, group */
static void run_reductions(cf_test *t, const int *p)
{
    tombac_type type = types[p[0]].type;
    int shape = p[1], sites = cf_site_count(shape);
    layout l = layout_of(p[2]);
    size_t element = tombac_type_size(type), count = (size_t)CF_MAX_SITES * l.total * OPERATIONS;
    void *x = cf_alloc(t, l.total * element), *y = cf_alloc(t, l.total * element);
    void *expected = cf_alloc(t, count * element), *got = cf_alloc(t, count * element);
    uint8_t *control = cf_alloc(t, l.total);
    make_inputs(type, x, y, control, l.total);
    for (int site = 0; site < sites; site++)
        for (unsigned g = 0; g < l.total; g += l.size)
            for (unsigned i = 0; i < size_of_group(&l, g); i++) {
                unsigned first = i & ~31u, lane = i & 31u;
                uint32_t mask =
                    cf_active_mask(shape, (unsigned)site, control + g, first, size_of_group(&l, g));
                if (!(mask >> lane & 1)) continue;
                value values[OPERATIONS];
                expect_thread(values, type, x, y, g + first, lane, mask);
                for (size_t o = 0; o < (is_float(type) ? INTEGER_FIRST : OPERATIONS); o++)
                    store(type, expected, ((size_t)site * l.total + g + i) * OPERATIONS + o, values[o]);
            }
    char kernel[32];
    snprintf(kernel, sizeof kernel, "reduce_%s", types[p[0]].name);
    cf_call call = {.file = "simd.metal", .kernel = kernel, .grid = l.grid, .group = l.group};
    cf_constant(&call, "SHAPE", &shape, sizeof shape);
    cf_buffer(&call, 0, got, count * element);
    cf_buffer(&call, 1, x, l.total * element);
    cf_buffer(&call, 2, y, l.total * element);
    cf_buffer(&call, 3, control, l.total);
    cf_bytes(&call, 4, &l.total, sizeof l.total);
    if (!cf_run(t, &call)) return;
    for (size_t row = 0; row < (size_t)CF_MAX_SITES * l.total; row++)
        for (size_t o = 0; o < OPERATIONS; o++) {
            size_t at = (row * OPERATIONS + o) * element;
            if (!cf_equal(t, type, (char *)expected + at, (char *)got + at, 1,
                    "%s at site %zu, thread %zu: ", operation_names[o], row / l.total, row % l.total))
                return;
        }
}

/* p: shape, group */
static void run_votes(cf_test *t, const int *p)
{
    int shape = p[0];
    layout l = layout_of(p[1]);
    size_t count = (size_t)CF_MAX_SITES * l.total * VOTES;
    uint64_t *expected = cf_alloc(t, count * 8), *got = cf_alloc(t, count * 8), seed = 7;
    uint8_t *control = cf_alloc(t, l.total), *condition = cf_alloc(t, l.total);
    for (unsigned i = 0; i < l.total; i++) {
        control[i] = (uint8_t)cf_random(&seed);
        condition[i] = i % 64 < 32 ? (uint8_t)(cf_random(&seed) & 1) : i / 64 % 2;
    }
    for (int site = 0; site < cf_site_count(shape); site++)
        for (unsigned g = 0; g < l.total; g += l.size)
            for (unsigned i = 0; i < size_of_group(&l, g); i++) {
                unsigned first = i & ~31u, lane = i & 31u, base = lane & ~3u;
                uint32_t mask =
                    cf_active_mask(shape, (unsigned)site, control + g, first, size_of_group(&l, g));
                if (!(mask >> lane & 1)) continue;
                uint32_t ballot = 0;
                for (unsigned k = 0; k < 32; k++)
                    if (mask >> k & 1 && condition[g + first + k]) ballot |= 1u << k;
                uint32_t qm = mask >> base & 15, qb = ballot >> base & 15;
                const uint64_t v[VOTES] = {ballot, mask, ballot == mask, ballot != 0,
                    lane == (unsigned)__builtin_ctz(mask), qb, qm, qb == qm, qb != 0,
                    lane - base == (unsigned)__builtin_ctz(qm)};
                memcpy(expected + ((size_t)site * l.total + g + i) * VOTES, v, sizeof v);
            }
    cf_call call = {.file = "simd.metal", .kernel = "vote", .grid = l.grid, .group = l.group};
    cf_constant(&call, "SHAPE", &shape, sizeof shape);
    cf_buffer(&call, 0, got, count * 8);
    cf_buffer(&call, 1, condition, l.total);
    cf_buffer(&call, 3, control, l.total);
    cf_bytes(&call, 4, &l.total, sizeof l.total);
    if (cf_run(t, &call))
        cf_equal(
            t, TOMBAC_TYPE_U64, expected, got, count, "votes (10 per thread, %u threads per site)", l.total);
}

/* p: limit. A vote's methods ask for all 32 lanes, and whether there is any. */
static void run_vote_methods(cf_test *t, const int *p)
{
    uint32_t limit = (uint32_t)p[0], expected[64], got[64] = {0};
    for (uint32_t i = 0; i < 32; i++) {
        expected[2 * i] = limit >= 32;
        expected[2 * i + 1] = limit > 0;
    }
    cf_call call = {.file = "simd.metal", .kernel = "vote_methods", .grid = {32, 1, 1}, .group = {32, 1, 1}};
    cf_buffer(&call, 0, got, sizeof got);
    cf_bytes(&call, 1, &limit, sizeof limit);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_U32, expected, got, 64, "all and any");
}

/* p: threads, as floats? Vectors are reduced component by component. */
static void run_vectors(cf_test *t, const int *p)
{
    unsigned n = (unsigned)p[0];
    bool floats = p[1];
    tombac_type type = floats ? TOMBAC_TYPE_F32 : TOMBAC_TYPE_U16;
    unsigned length = floats ? 4 : 3;
    size_t bytes = n * 4 * tombac_type_size(type);
    void *in = cf_alloc(t, bytes), *expected = cf_alloc(t, 4 * bytes), *got = cf_alloc(t, 4 * bytes),
         *one = cf_alloc(t, n * 4);
    uint64_t seed = 5;
    for (unsigned i = 0; i < 4 * n; i++) {
        int64_t r = (int64_t)(cf_random(&seed) % 60000);
        store(type, in, i, (value){.i = r, .f = (double)r});
    }
    static const fold folds[2][4] = {{XOR, MIN, SUM, OR}, {SUM, MAX, SUM, MIN}};
    for (unsigned c = 0; c < length; c++) {
        for (unsigned i = 0; i < n; i++) store(type, one, i, load(type, in, 4 * i + c));
        for (unsigned i = 0; i < n; i++) {
            unsigned first = i & ~31u, lane = i & 31u, there = n - first < 32 ? n - first : 32;
            uint32_t mask = there == 32 ? ~0u : (1u << there) - 1u, below = (1u << lane) - 1u;
            const uint32_t masks[4] = {
                mask, mask, floats ? mask & (below | 1u << lane) : mask & below, mask & 15u << (lane & ~3u)};
            for (unsigned k = 0; k < 4; k++)
                store(type, expected, (4 * i + k) * 4 + c,
                    fold_lanes(folds[floats][k], type, one, first, masks[k]));
        }
    }
    cf_call call = {.file = "simd.metal",
        .kernel = floats ? "reduce_float4" : "reduce_ushort3",
        .grid = {n, 1, 1},
        .group = {n, 1, 1}};
    cf_buffer(&call, 0, got, 4 * bytes);
    cf_buffer(&call, 1, in, bytes);
    if (!cf_run(t, &call)) return;
    if (!floats) /* the fourth lane of a ushort3 is padding */
        for (unsigned i = 3; i < 16 * n; i += 4) store(type, got, i, (value){0, 0});
    cf_equal(t, type, expected, got, 16 * n, "vectors (4 results of 4 components per thread)");
}

static float tree_sum(const float *x, uint32_t mask)
{
    float v[32];
    for (unsigned i = 0; i < 32; i++) v[i] = mask >> i & 1 ? x[i] : 0.0f;
    for (unsigned d = 16; d; d /= 2)
        for (unsigned i = 0; i < d; i++) v[i] = v[i] + v[i + d];
    return v[0];
}

static void run_sum_order(cf_test *t, const int *p)
{
    unsigned n = (unsigned)p[0];
    float in[128] = {0}, expected[256] = {0}, got[256] = {0};
    uint64_t seed = 99;
    for (unsigned i = 0; i < n; i++) in[i] = (float)(int32_t)cf_random(&seed) * (i % 5 ? 1.0f : 1e-5f);
    for (unsigned i = 0; i < n; i++) {
        unsigned first = i & ~31u;
        uint32_t all = 0, some = 0;
        for (unsigned k = 0; k < 32 && first + k < n; k++) {
            all |= 1u << k;
            if ((first + k) % 3 != 1) some |= 1u << k;
        }
        expected[2 * i] = tree_sum(in + first, all);
        if (i % 3 != 1) expected[2 * i + 1] = tree_sum(in + first, some);
    }
    cf_call call = {.file = "simd.metal", .kernel = "sum_order", .grid = {n, 1, 1}, .group = {n, 1, 1}};
    cf_buffer(&call, 0, got, sizeof got);
    cf_buffer(&call, 1, in, sizeof in);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_F32, expected, got, 2 * n, "sums in tree order");
}

void cf_family_simd(cf_suite *suite)
{
    for (int shape = 0; shape < CF_SHAPES; shape++)
        for (int type = 0; type < 8; type++)
            for (int g = 0; g < GROUPS; g++) {
                const tombac_size3 *s = &groups[g];
                cf_add(suite, run_reductions, CF_P(type, shape, g), "simd.reduce.%s.%s.%ux%ux%u",
                    types[type].name, cf_shape_name(shape), s->x, s->y, s->z);
            }
    for (int shape = 0; shape < CF_SHAPES; shape++)
        for (int g = 0; g < GROUPS; g++)
            cf_add(suite, run_votes, CF_P(shape, g), "simd.vote.%s.%ux%ux%u", cf_shape_name(shape),
                groups[g].x, groups[g].y, groups[g].z);
    static const int limits[] = {0, 1, 8, 16, 31, 32};
    for (int i = 0; i < 6; i++)
        cf_add(suite, run_vote_methods, CF_P(limits[i]), "simd.vote-methods.%d", limits[i]);
    static const int sizes[] = {32, 17, 33, 100};
    for (int i = 0; i < 4; i++) {
        cf_add(suite, run_vectors, CF_P(sizes[i], 1), "simd.vectors.float4.%d", sizes[i]);
        cf_add(suite, run_vectors, CF_P(sizes[i], 0), "simd.vectors.ushort3.%d", sizes[i]);
        cf_add(suite, run_sum_order, CF_P(sizes[i]), "simd.sum-order.%d", sizes[i]);
    }
}
