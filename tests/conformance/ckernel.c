/* Kernels in C: the language, compared with what the host's compiler makes of the same file; messages. */
#include "ckernel.h"

#include <string.h>

const ck_type ck_types[CK_TYPES] = {
    {"char", TOMBAC_TYPE_I8},
    {"uchar", TOMBAC_TYPE_U8},
    {"short", TOMBAC_TYPE_I16},
    {"ushort", TOMBAC_TYPE_U16},
    {"int", TOMBAC_TYPE_I32},
    {"uint", TOMBAC_TYPE_U32},
    {"long", TOMBAC_TYPE_I64},
    {"ulong", TOMBAC_TYPE_U64},
    {"half", TOMBAC_TYPE_F16},
    {"float", TOMBAC_TYPE_F32},
};

void ck_store(tombac_type type, void *array, size_t i, double value)
{
    size_t size = tombac_type_size(type);
    char *to = (char *)array + i * size;
    if (type == TOMBAC_TYPE_F32) {
        float x = (float)value;
        memcpy(to, &x, size);
    } else if (type == TOMBAC_TYPE_F16) {
        uint16_t x = cf_half_from_double(value);
        memcpy(to, &x, size);
    } else {
        int64_t x = (int64_t)value;
        memcpy(to, &x, size); /* little endian */
    }
}

cf_call ck_call(cf_test *test, ck_form form, const char *file, const char *kernel, uint32_t n, uint32_t group)
{
    static const struct {
        const char *name, *paths[CK_OLDER + 1], *older; /* the suite keeps the names of open files */
    } files[] = {
#define FILE_OF(NAME, OLDER)                                                                                 \
    {NAME,                                                                                                   \
        {"ckernel/" NAME ".c", CF_CKERNEL_MSL "/ckernel_" NAME ".metal", CF_CKERNEL_MSL "/ckernel_" NAME "_older.metal"}, \
        OLDER}
        FILE_OF("language", "metal2.4"), FILE_OF("together", "metal3.2"), FILE_OF("numbers", "metal2.4"),
        FILE_OF("vectors", "metal2.4"), FILE_OF("messages", "metal3.2"), FILE_OF("random", "metal2.4"),
        FILE_OF("pointers", "metal3.0"), FILE_OF("constants", "metal2.4"), FILE_OF("extra", NULL)};
    size_t i = 0;
    while (strcmp(files[i].name, file) != 0) i++;
    return (cf_call){.file = files[i].paths[form == CK_HOST ? CK_C : form],
        .kernel = kernel,
        .math = TOMBAC_MATH_SAFE,
        .standard = form == CK_MSL ? "metal4.1" : form == CK_OLDER ? files[i].older : NULL,
        .grid = {n, 1, 1},
        .group = {group, 1, 1}};
}

void ck_add(cf_suite *suite, cf_function *function, int a, int b, const char *name)
{
    ck_add_newer(suite, function, a, b, name);
    cf_add(suite, function, CF_P(CK_OLDER, a, b), "ckernel.%s.older", name);
}

void ck_add_newer(cf_suite *suite, cf_function *function, int a, int b, const char *name)
{
    cf_add(suite, function, CF_P(CK_C, a, b), "ckernel.%s.c", name);
    cf_add(suite, function, CF_P(CK_MSL, a, b), "ckernel.%s.msl", name);
}

void ck_add_everywhere(cf_suite *suite, cf_function *function, int a, int b, const char *name)
{
    ck_add(suite, function, a, b, name);
    cf_add(suite, function, CF_P(CK_HOST, a, b), "ckernel.%s.host", name);
}

bool ck_run(cf_test *test, ck_form form, cf_call *call)
{
    if (form != CK_HOST) return cf_run(test, call);
    if (!ck_host_run(call)) cf_fail(test, "%s is not among the host's kernels", call->kernel);
    return !cf_failed(test);
}

/* ---- Language ---- */

static void run_integers(cf_test *t, const int *p)
{
    enum { N = 1000 };
    uint32_t *in = cf_alloc(t, N * 4), n = N;
    int *expected = cf_alloc(t, N * 96), *got = cf_alloc(t, N * 96);
    uint64_t seed = 5;
    for (int i = 0; i < N; i++) in[i] = (uint32_t)cf_random(&seed);
    ck_host_integers(in, expected, N);
    cf_call call = ck_call(t, (ck_form)p[0], "language", "integers", N + 24, 64);
    cf_buffer(&call, 0, in, N * 4);
    cf_buffer(&call, 1, got, N * 96);
    cf_bytes(&call, 2, &n, 4);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_I32, expected, got, N * 24, "value");
}

static void run_structures(cf_test *t, const int *p)
{
    enum { N = 100, ITEM = 16, NODE = 32 };
    unsigned char *in = cf_alloc(t, N * ITEM), *expected = cf_alloc(t, N * NODE),
                  *got = cf_alloc(t, N * NODE);
    struct {
        int kind;
        float value;
        short history[3], padding;
    } scale = {1000, 2.5f, {1, 2, 3}, 0}, one;
    uint64_t seed = 9;
    uint32_t n = N;
    bool negate = p[1];
    for (int i = 0; i < N; i++) {
        one = scale;
        one.kind = (int)cf_random(&seed) % 1000;
        one.value = (float)(i - 50) * 0.125f;
        memcpy(in + i * ITEM, &one, ITEM);
    }
    ck_host_structures(&scale, in, expected, N, negate);
    cf_call call = ck_call(t, (ck_form)p[0], "language", "structures", N, 32);
    cf_bytes(&call, 0, &scale, ITEM);
    cf_buffer(&call, 1, in, N * ITEM);
    cf_buffer(&call, 2, got, N * NODE);
    cf_bytes(&call, 3, &n, 4);
    cf_bytes(&call, 4, &negate, 1);
    if (!cf_run(t, &call)) return;
    for (int i = 0; i < N; i++) { /* members; what lies between them has no value */
        const unsigned char *e = expected + i * NODE, *g = got + i * NODE;
        cf_equal(t, TOMBAC_TYPE_U8, e, g, 14, "item of node %d: byte", i);
        cf_equal(t, TOMBAC_TYPE_U8, e + 16, g + 16, 1, "flag of node %d", i);
        cf_equal(t, TOMBAC_TYPE_I64, e + 24, g + 24, 1, "weight of node %d", i);
    }
}

static void run_rows(cf_test *t, const int *p)
{
    enum { N = 37 };
    int *in = cf_alloc(t, N * 16), *expected = cf_alloc(t, N * 16), *got = cf_alloc(t, N * 16);
    uint32_t n = N;
    for (int i = 0; i < N * 4; i++) in[i] = i * i;
    ck_host_rows(in, expected, N);
    cf_call call = ck_call(t, (ck_form)p[0], "language", "rows", N, 8);
    cf_buffer(&call, 0, in, N * 16);
    cf_buffer(&call, 1, got, N * 16);
    cf_bytes(&call, 2, &n, 4);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_I32, expected, got, N * 4, "element");
}

static void run_floats(cf_test *t, const int *p)
{
    enum { N = 400 };
    float *in = cf_alloc(t, N * 4), *expected = cf_alloc(t, N * 32), *got = cf_alloc(t, N * 32);
    uint16_t *halves = cf_alloc(t, N * 2), *got_halves = cf_alloc(t, N * 2);
    uint32_t n = N;
    for (int i = 0; i < N; i++) in[i] = (float)(i - 200) * 0.37f;
    in[0] = -0.0f;
    in[1] = 2.5f;
    in[2] = -3.5f;
    ck_host_floats(in, expected, halves, N);
    cf_call call = ck_call(t, (ck_form)p[0], "language", "floats", N, 64);
    cf_buffer(&call, 0, in, N * 4);
    cf_buffer(&call, 1, got, N * 32);
    cf_buffer(&call, 2, got_halves, N * 2);
    cf_bytes(&call, 3, &n, 4);
    if (!cf_run(t, &call)) return;
    cf_equal(t, TOMBAC_TYPE_F32, expected, got, N * 8, "value");
    cf_equal(t, TOMBAC_TYPE_F16, halves, got_halves, N, "half");
}

static void run_scale(cf_test *t, const int *p)
{
    enum { N = 65 };
    const ck_type *type = &ck_types[p[1]];
    size_t size = tombac_type_size(type->type);
    void *in = cf_alloc(t, N * size), *expected = cf_alloc(t, N * size), *got = cf_alloc(t, N * size);
    unsigned char factor[8];
    char kernel[32];
    uint32_t n = N;
    for (size_t i = 0; i < N; i++) ck_store(type->type, in, i, (double)i * 3);
    ck_store(type->type, factor, 0, 5);
    ck_host_scale(p[1], factor, in, expected, N);
    snprintf(kernel, sizeof kernel, "scale_%s", type->name);
    cf_call call = ck_call(t, (ck_form)p[0], "language", kernel, N, 32);
    cf_bytes(&call, 0, factor, size);
    cf_buffer(&call, 1, in, N * size);
    cf_buffer(&call, 2, got, N * size);
    cf_bytes(&call, 3, &n, 4);
    if (cf_run(t, &call)) cf_equal(t, type->type, expected, got, N, "element");
}

/* p[1]: which constants have a value, as bits. */
static void run_constants(cf_test *t, const int *p)
{
    enum { N = 40 };
    uint32_t rounds = 5;
    float scale[2] = {0.5f, 3.0f}, expected[N], got[N] = {0};
    int8_t shift = -3;
    bool twice = p[1] & 4;
    for (int i = 0; i < N; i++) {
        expected[i] = 0;
        for (uint32_t k = 0; k < rounds; k++) expected[i] += scale[0] * (float)k + scale[1];
        if (p[1] & 2) expected[i] = twice ? expected[i] * 2 : expected[i] + 1000;
        expected[i] += (float)(p[1] & 1 ? i + shift : i + 100);
    }
    cf_call call = ck_call(t, (ck_form)p[0], "constants", "specialised", N, 8);
    cf_buffer(&call, 0, got, sizeof got);
    cf_constant(&call, "rounds", &rounds, 4);
    cf_constant_at(&call, 4, scale, sizeof scale);
    if (p[1] & 2) cf_constant(&call, "twice", &twice, 1);
    if (p[1] & 1) cf_constant(&call, "shift", &shift, 1);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_F32, expected, got, N, "element");
}

static void run_pointers(cf_test *t, const int *p)
{
    enum { N = 96, GROUP = 32, RESULTS = 14 };
    int in[N], *expected = cf_alloc(t, N * RESULTS * 4), *got = cf_alloc(t, N * RESULTS * 4), shared[GROUP];
    int pair[2] = {p[1], -7};
    for (int i = 0; i < N; i++) in[i] = i * 37 % 101 - 20;
    ck_host_pointers(in, expected, N, GROUP, shared, pair[0], pair[1]);
    cf_call call = ck_call(t, (ck_form)p[0], "pointers", "pointers", N, GROUP);
    cf_buffer(&call, 0, in, sizeof in);
    cf_buffer(&call, 1, got, N * RESULTS * 4);
    cf_threadgroup(&call, 0, GROUP * 4);
    cf_bytes(&call, 2, pair, sizeof pair);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_I32, expected, got, N * RESULTS, "thread * 14 + result");
}

/* p[1]: threads; a slice is exactly as long as it says. */
static void run_squares(cf_test *t, const int *p)
{
    uint64_t count = 100;
    float *in = cf_alloc(t, count * 4), *expected = cf_alloc(t, count * 4), *got = cf_alloc(t, count * 4);
    for (uint64_t i = 0; i < count; i++) {
        in[i] = (float)i;
        if ((int)i < p[1]) expected[i] = (float)(i * i);
    }
    cf_call call = ck_call(t, (ck_form)p[0], "language", "squares", (uint32_t)p[1], 32);
    cf_buffer(&call, 0, in, count * 4);
    cf_bytes(&call, 1, &count, 8);
    cf_buffer(&call, 2, got, count * 4);
    cf_bytes(&call, 3, &count, 8);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_F32, expected, got, count, "square");
}

/* ---- Messages ---- */

static void run_prints(cf_test *t, const int *p)
{
    int a = -5;
    uint32_t b = 4000000000u;
    float c = 0.5f;
    uint64_t d = 1ull << 40;
    cf_call call = ck_call(t, (ck_form)p[0], "messages", "prints", 1, 1);
    cf_bytes(&call, 0, &a, 4);
    cf_bytes(&call, 1, &b, 4);
    cf_bytes(&call, 2, &c, 4);
    cf_bytes(&call, 3, &d, 8);
    if (!cf_run(t, &call)) return;
    static const char expected[] =
        "int -5 uint 4000000000 float 0.5 long 1099511627776 text word char x\nno arguments\n";
    if (strcmp(call.log, expected) != 0) cf_fail(t, "the log is '%s', not '%s'", call.log, expected);
}

static void expect_failure(cf_test *t, cf_call *call, const char *words)
{
    char message[1024];
    tombac_status status = cf_try(t, call, message, sizeof message);
    if (status != TOMBAC_ERROR_KERNEL) cf_fail(t, "status %d, not a kernel error: %s", (int)status, message);
    if (!strstr(message, words)) cf_fail(t, "the message is '%s', without '%s'", message, words);
}

/* p[1]: a value is too large */
static void run_asserts(cf_test *t, const int *p)
{
    int x[40] = {0};
    if (p[1]) x[33] = 100;
    cf_call call = ck_call(t, (ck_form)p[0], "messages", "asserts", 40, 40);
    cf_buffer(&call, 0, x, sizeof x);
    if (!p[1])
        cf_run(t, &call);
    else
        expect_failure(t, &call, "x[i] < 100 && \"too large\"");
}

/* p[1]: the index */
static void run_slices(cf_test *t, const int *p)
{
    int x[8] = {0}, expected[8] = {0};
    uint64_t count = 5;
    uint32_t index = (uint32_t)p[1];
    cf_call call = ck_call(t, (ck_form)p[0], "messages", "slices", 1, 1);
    cf_buffer(&call, 0, x, sizeof x);
    cf_bytes(&call, 1, &count, 8);
    cf_bytes(&call, 2, &index, 4);
    if (index >= count) {
        expect_failure(t, &call, p[0] == CK_C ? "index < x.count" : "index < count");
        return;
    }
    expected[index] = 1;
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_I32, expected, x, 8, "element");
}

static void run_particles(cf_test *t, const int *p)
{
    struct {
        float mass;
        int id;
    } x[9];
    uint64_t count = 8;
    for (int i = 0; i < 9; i++) {
        x[i].mass = 3.5f;
        x[i].id = i;
    }
    cf_call call = ck_call(t, (ck_form)p[0], "messages", "particles", 32, 32);
    cf_buffer(&call, 0, x, sizeof x);
    cf_bytes(&call, 1, &count, 8);
    if (!cf_run(t, &call)) return;
    for (int i = 0; i < 9; i++)
        if (x[i].id != i + (i < 8 ? 3 : 0)) cf_fail(t, "particle %d has id %d", i, x[i].id);
}

void cf_family_ckernel(cf_suite *suite)
{
    char name[64];
    ck_add(suite, run_integers, 0, 0, "integers");
    ck_add(suite, run_structures, 0, 0, "structures.plain");
    ck_add(suite, run_structures, 1, 0, "structures.negated");
    ck_add(suite, run_rows, 0, 0, "rows");
    ck_add(suite, run_floats, 0, 0, "floats");
    for (int set = 0; set < 8; set++) {
        snprintf(name, sizeof name, "constants.%d", set);
        ck_add(suite, run_constants, set, 0, name);
    }
    ck_add(suite, run_pointers, 12345, 0, "pointers");
    for (int i = 0; i < CK_TYPES; i++) {
        if (ck_types[i].type == TOMBAC_TYPE_F16) continue;
        snprintf(name, sizeof name, "instances.%s", ck_types[i].name);
        ck_add(suite, run_scale, i, 0, name);
    }
    ck_add(suite, run_squares, 60, 0, "squares.fewer");
    ck_add(suite, run_squares, 128, 0, "squares.more");
    ck_add(suite, run_prints, 0, 0, "prints");
    ck_add(suite, run_asserts, 0, 0, "asserts.true");
    ck_add(suite, run_asserts, 1, 0, "asserts.false");
    ck_add(suite, run_slices, 4, 0, "slices.last");
    ck_add(suite, run_slices, 5, 0, "slices.behind");
    ck_add(suite, run_slices, -1, 0, "slices.before");
    ck_add(suite, run_particles, 0, 0, "particles");
    ck_together(suite);
    ck_numbers(suite);
    ck_random(suite);
}
