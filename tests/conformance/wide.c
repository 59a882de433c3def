/* Streaming kernels of a million threads: what each thread does is a line of C. */
#include "conformance.h"

#include <math.h>
#include <string.h>

enum { THREADS = 1 << 20, EXTRA = 64, LEFT = 3 };

typedef union words {
    float *f;
    uint32_t *u;
    uint16_t *h;
    uint8_t *b;
    void *all;
} words;

typedef struct wide_case {
    const char *kernel;
    tombac_type type;
    unsigned size; /* of an element */
    bool plane, guard;
    unsigned rows; /* of THREADS elements that are written */
} wide_case;

static const wide_case cases[] = {
    {"wide_add", TOMBAC_TYPE_F32, 4, false, false, 1},
    {"wide_guard", TOMBAC_TYPE_F32, 4, false, true, 1},
    {"wide_some", TOMBAC_TYPE_F32, 4, false, false, 1},
    {"wide_neighbours", TOMBAC_TYPE_F32, 4, false, false, 1},
    {"wide_own", TOMBAC_TYPE_F32, 4, false, false, 2},
    {"wide_half", TOMBAC_TYPE_F16, 2, false, false, 1},
    {"wide_bytes", TOMBAC_TYPE_U8, 1, false, false, 1},
    {"wide_lanes", TOMBAC_TYPE_U32, 4, false, false, 1},
    {"wide_plane", TOMBAC_TYPE_F32, 4, true, false, 1},
};

/* What thread i makes of its element. */
static void model(const char *kernel, words in, words out, uint32_t i)
{
    if (!strcmp(kernel, "wide_add")) out.f[i] = in.f[i] + out.f[i];
    if (!strcmp(kernel, "wide_guard") && i < THREADS - LEFT) out.f[i] = in.f[i] * 2.0f;
    if (!strcmp(kernel, "wide_some") && in.f[i] >= 0.0f) out.f[i] = sqrtf(in.f[i]);
    if (!strcmp(kernel, "wide_neighbours")) out.f[i] = fmaf(-in.f[i], in.f[i + 1], in.f[i + 2]);
    if (!strcmp(kernel, "wide_own")) out.f[i] = in.f[i] + 1.0f, out.f[THREADS + i] = (in.f[i] + 1.0f) * 3.0f;
    if (!strcmp(kernel, "wide_half")) out.h[i] = in.h[i] >> 15 ? 0 : in.h[i];
    if (!strcmp(kernel, "wide_bytes")) out.b[i] = (uint8_t)(in.b[i] ^ (i & 255));
    if (!strcmp(kernel, "wide_lanes")) out.u[i] = in.u[i] * 64 + (i & 31) + ((i >> 5 & 7) << 8) + (i >> 8 << 12);
    if (!strcmp(kernel, "wide_plane")) out.f[i] = in.f[i] - in.f[i + 1];
}

/* Small whole numbers, of either sign where the type has one, so that every operation is exact. */
static void fill(const wide_case *c, words to, size_t count, uint64_t seed)
{
    for (size_t i = 0; i < count; i++) {
        int x = (int)(cf_random(&seed) % 2001) - 1000;
        if (c->type == TOMBAC_TYPE_F32) to.f[i] = (float)x;
        if (c->type == TOMBAC_TYPE_F16) to.h[i] = cf_half_from_double(x);
        if (c->type == TOMBAC_TYPE_U32) to.u[i] = (uint32_t)x;
        if (c->type == TOMBAC_TYPE_U8) to.b[i] = (uint8_t)x;
    }
}

static void run_wide(cf_test *t, const int *p)
{
    const wide_case *c = &cases[p[0]];
    size_t inputs = THREADS + EXTRA, outputs = (size_t)THREADS * c->rows;
    words in = {.all = cf_alloc(t, inputs * c->size)}, got = {.all = cf_alloc(t, outputs * c->size)},
          expected = {.all = cf_alloc(t, outputs * c->size)};
    fill(c, in, inputs, 1);
    fill(c, got, outputs, 2);
    memcpy(expected.all, got.all, outputs * c->size);
    for (uint32_t i = 0; i < THREADS; i++) model(c->kernel, in, expected, i);
    cf_call call = {.file = "wide.metal",
        .kernel = c->kernel,
        .standard = "metal4.0",
        .grid = c->plane ? (tombac_size3){1024, THREADS / 1024, 1} : (tombac_size3){THREADS, 1, 1},
        .group = c->plane ? (tombac_size3){32, 8, 1} : (tombac_size3){256, 1, 1}};
    uint32_t n = THREADS - LEFT;
    cf_buffer(&call, 0, got.all, outputs * c->size);
    cf_buffer(&call, 1, in.all, inputs * c->size);
    if (c->guard) cf_bytes(&call, 2, &n, sizeof n);
    if (cf_run(t, &call)) cf_equal(t, c->type, expected.all, got.all, outputs, "%s", c->kernel);
}

void cf_family_wide(cf_suite *suite)
{
    for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++)
        cf_add(suite, run_wide, CF_P(i), "wide.%s", cases[i].kernel + strlen("wide_"));
}
