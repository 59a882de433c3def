/* Templates and their instantiations, lambdas, template arguments, lists of one value, pointers in structs,
 * copies of a SIMD-group. */
#include "conformance.h"

#include <string.h>

static cf_call call_of(const char *kernel, uint32_t n, uint32_t group)
{
    return (cf_call){.file = "functions.metal", .kernel = kernel, .grid = {n, 1, 1}, .group = {group, 1, 1}};
}

/* ---- Instantiations ---- */

static const struct {
    const char *kernel;
    tombac_type type;
    int size, add; /* add: what is added, 0: scaled by 3 */
} instances[] = {{"scale_full", TOMBAC_TYPE_F32, 4, 0}, {"scale_short", TOMBAC_TYPE_I32, 4, 0},
    {"scale_typedef", TOMBAC_TYPE_U32, 4, 0}, {"scale_decltype", TOMBAC_TYPE_U16, 2, 0},
    {"scale_bare", TOMBAC_TYPE_I16, 2, 0}, {"scale_special", TOMBAC_TYPE_U8, 1, 0},
    {"add_inside", TOMBAC_TYPE_I32, 4, 3}, {"add_default", TOMBAC_TYPE_I32, 4, -4},
    {"add_outside", TOMBAC_TYPE_I32, 4, 5}, {"add_renamed", TOMBAC_TYPE_I32, 4, 6}};
enum { INSTANCES = sizeof instances / sizeof *instances };

static void put(void *to, int which, int i, int value)
{
    float f = (float)value;
    if (instances[which].type == TOMBAC_TYPE_F32)
        memcpy((char *)to + 4 * i, &f, 4);
    else /* little-endian */
        memcpy((char *)to + instances[which].size * i, &value, (size_t)instances[which].size);
}

static void run_instance(cf_test *t, const int *p)
{
    enum { N = 40 };
    int which = p[0], add = instances[which].add;
    char expected[4 * N] = {0}, got[4 * N] = {0}, by[4] = {0};
    bool special = instances[which].size == 1;
    put(by, which, 0, 3);
    for (int i = 0; i < N; i++) {
        put(got, which, i, i + 1);
        put(expected, which, i, add ? i + 1 + add : special ? 4 : 3 * (i + 1));
    }
    cf_call call = call_of(instances[which].kernel, N, 32);
    cf_buffer(&call, 0, got, (size_t)(N * instances[which].size));
    if (!add) cf_bytes(&call, 1, by, (size_t)instances[which].size);
    if (cf_run(t, &call)) cf_equal(t, instances[which].type, expected, got, N, "out");
}

/* A limit that depends on template parameters: one thread more is refused. */
static void run_limit(cf_test *t, const int *p)
{
    uint32_t limit = (uint32_t)p[0];
    uint32_t out[65];
    char message[512];
    for (uint32_t extra = 0; extra < 2; extra++) {
        cf_call call = call_of(limit == 32 ? "limited_32" : "limited_64", limit + extra, limit + extra);
        cf_buffer(&call, 0, out, 4 * (limit + extra));
        tombac_status status = cf_try(t, &call, message, sizeof message);
        if (!extra && status != TOMBAC_OK) cf_fail(t, "%u threads: %s", limit, message);
        if (extra && status == TOMBAC_OK) cf_fail(t, "%u threads are accepted", limit + 1);
    }
}

/* ---- Expressions and lists ---- */

static void run_expressions(cf_test *t, const int *p)
{
    enum { N = 34 };
    float expected[16 * N] = {0}, got[16 * N] = {0};
    for (int i = 0; i < N; i++) {
        float *o = expected + 16 * i, x = (float)i;
        o[0] = (2 + x) * x;
        o[1] = 2 + x;
        o[2] = 1 + x * 2 + 1; /* k was 2 when the lambda was made */
        o[3] = x + 6;
        o[4] = i != 0 && i != 2;
        o[5] = -6 * x + 7;
        o[6] = 4 * x + (2 * x + 1) + (x * x + 1);
        o[7] = x;
        o[8] = 12 * x;
    }
    cf_call call = call_of("expressions", N, 16);
    call.standard = p[0] ? "metal4.0" : "metal3.2";
    cf_buffer(&call, 0, got, sizeof got);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_F32, expected, got, 16 * N, "out (16 per thread)");
}

static void run_lists(cf_test *t, const int *p)
{
    enum { N = 33 };
    float expected[32 * N] = {0}, got[32 * N] = {0};
    for (int i = 0; i < N; i++) {
        float *o = expected + 32 * i, x = (float)i;
        o[0] = x;
        o[4] = x + 1;
        for (int k = 0; k < 4; k++) o[8 + k] = k ? 2 * x : 3 * x;
        o[12] = x + 2;
        o[15] = x + 4;
        o[18] = x;
        o[20] = x + 3;
        o[22] = x;
        o[23] = 12; /* before the step: 1 and 2 */
        /* 1 2 3 4 -> xy++ 2 3 3 4 -> ++yz 2 4 4 4 -> --wx 1 4 4 3 -> xz += 10: 11 4 14 3 -> zy-- 11 3 13 3 */
        const float v[4] = {11, 3, 13, 3};
        memcpy(o + 24, v, sizeof v);
        o[28] = i % 2 ? 13 : 22;
    }
    cf_call call = call_of("lists", N, 32);
    cf_buffer(&call, 0, got, sizeof got);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_F32, expected, got, 32 * N, "out (32 per thread)");
}

/* A list inside a list sets components from the first on; a scalar in a vector's place spreads. */
static void run_lists_in_structs(cf_test *t, const int *p)
{
    enum { N = 9 };
    float expected[40 * N] = {0}, got[40 * N] = {0};
    for (int i = 0; i < N; i++) {
        float *m = expected + 40 * i, *l = m + 20, x = (float)i;
        const float first[20] = {x, 0, 0, 0, 1, i > 3, 0, 0, x + 1, 2, 0, x + 5, x + 5, x + 5, x + 2, 0, x + 3, x + 4, 7, x};
        memcpy(m, first, sizeof first);
        for (int k = 11; k < 14; k++) l[k] = x + 5;
        l[19] = x;
        if (i % 2) {
            l[8] = l[9] = x + 7;
            l[10] = 8;
        } else {
            l[0] = x + 6;
            for (int k = 1; k < 4; k++) l[k] = (float)k;
        }
    }
    cf_call call = call_of("lists_in_structs", N, 4);
    cf_buffer(&call, 0, got, sizeof got);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_F32, expected, got, 40 * N, "out (40 per thread)");
}

/* ---- Pointers in structs ---- */

static void run_follow(cf_test *t, const int *p)
{
    float values[16], got[16], expected[10], out[10] = {0};
    char nodes[4 * 24] = {0};
    for (int i = 0; i < 16; i++) values[i] = got[i] = (float)i;
    for (int i = 0; i < 10; i++) {
        float *cell = &values[4 * (i % 4) + i % 4];
        expected[i] = *cell;
        *cell += 100;
    }
    cf_call call = call_of("follow", 1, 1);
    cf_buffer(&call, 0, nodes, sizeof nodes);
    cf_buffer(&call, 1, got, sizeof got);
    cf_buffer(&call, 2, out, sizeof out);
    if (!cf_run(t, &call)) return;
    cf_equal(t, TOMBAC_TYPE_F32, expected, out, 10, "out");
    cf_equal(t, TOMBAC_TYPE_F32, values, got, 16, "values");
}

/* ---- Copies ---- */

static void run_copies(cf_test *t, const int *p)
{
    uint16_t in[64], shared[96], expected[96 + 8], got[96 + 8];
    uint32_t clamp = (uint32_t)p[0];
    for (int i = 0; i < 64; i++) in[i] = cf_half_from_double(i + 1);
    for (int i = 0; i < 96; i++) shared[i] = cf_half_from_double(-1);
    for (int y = 0; y < 6; y++)
        for (int x = 0; x < 7; x++) {
            bool inside = x < 5 && y < 4;
            int column = x < 5 ? x : 4, row = y < 4 ? y : 3;
            shared[8 * y + x] = inside || clamp ? in[10 * row + column] : 0;
        }
    for (int i = 0; i < 45; i++) shared[50 + i] = in[i];
    for (int i = 0; i < 104; i++) expected[i] = got[i] = cf_half_from_double(7);
    memcpy(expected, shared, sizeof shared);
    for (int y = 0; y < 2; y++)
        for (int x = 0; x < 3; x++) expected[96 + 4 * y + x] = shared[8 * y + x];
    cf_call call = call_of("copies", 40, 40);
    cf_buffer(&call, 0, got, sizeof got);
    cf_buffer(&call, 1, in, sizeof in);
    cf_bytes(&call, 2, &clamp, sizeof clamp);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_F16, expected, got, 104, "out");
}

void cf_family_functions(cf_suite *suite)
{
    for (int i = 0; i < INSTANCES; i++)
        cf_add(suite, run_instance, CF_P(i), "functions.instances.%s", instances[i].kernel);
    cf_add(suite, run_limit, CF_P(32), "functions.limit.32");
    cf_add(suite, run_limit, CF_P(64), "functions.limit.64");
    cf_add(suite, run_expressions, CF_P(0), "functions.expressions.metal3_2");
    cf_add(suite, run_expressions, CF_P(1), "functions.expressions.metal4_0");
    cf_add(suite, run_lists, CF_P(0), "functions.lists");
    cf_add(suite, run_lists_in_structs, CF_P(0), "functions.lists.in-structs");
    cf_add(suite, run_follow, CF_P(0), "functions.pointers");
    cf_add(suite, run_copies, CF_P(0), "functions.copies.zero");
    cf_add(suite, run_copies, CF_P(1), "functions.copies.edge");
}
