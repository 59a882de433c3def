/* Thread positions and sizes: the model walks over threadgroups and threads as Metal numbers them (x runs
 * fastest). */
#include "conformance.h"

#include <string.h>

enum { RECORD = 44, USED = 34 };

typedef struct shape {
    tombac_size3 grid, group; /* grid in threads */
} shape;

/* 1-D shapes first, then 2-D, then 3-D; all with remainders somewhere. */
static const shape shapes[] = {
    {{1, 1, 1}, {1, 1, 1}},
    {{100, 1, 1}, {32, 1, 1}},
    {{99, 1, 1}, {33, 1, 1}},
    {{250, 1, 1}, {100, 1, 1}},
    {{17, 1, 1}, {64, 1, 1}},
    {{2048, 1, 1}, {1024, 1, 1}},
    {{1000, 1, 1}, {17, 1, 1}},
    {{16, 16, 1}, {8, 8, 1}},
    {{19, 7, 1}, {8, 4, 1}},
    {{33, 5, 1}, {11, 3, 1}},
    {{5, 100, 1}, {4, 32, 1}},
    {{3, 2, 1}, {33, 17, 1}},
    {{8, 8, 8}, {4, 4, 4}},
    {{7, 5, 3}, {4, 2, 2}},
    {{10, 9, 5}, {5, 4, 3}},
    {{2, 3, 40}, {2, 2, 16}},
};
enum { SHAPES = sizeof shapes / sizeof *shapes, FIRST_2D = 7, FIRST_3D = 12 };

static const struct {
    const char *name;
    int dimensions, vector_size, scalar_size;
} kernels[] = {
    {"positions_uint", 1, 4, 4},
    {"positions_ushort", 1, 2, 2},
    {"positions_uint2", 2, 8, 2},
    {"positions_ushort2", 2, 4, 4},
    {"positions_uint3", 3, 16, 4},
    {"positions_ushort3", 3, 8, 2},
};

static uint32_t ceil_div(uint32_t a, uint32_t b)
{
    return (a + b - 1) / b;
}
static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static void put(uint32_t *record, int slot, tombac_size3 v, int dimensions)
{
    record[3 * slot] = v.x;
    record[3 * slot + 1] = dimensions > 1 ? v.y : 0;
    record[3 * slot + 2] = dimensions > 2 ? v.z : 0;
}

/* The record of one thread of the threadgroup `g` whose size is `size`. */
static void expect_thread(
    uint32_t *record, const shape *s, tombac_size3 g, tombac_size3 size, tombac_size3 local, size_t k)
{
    int d = kernels[k].dimensions;
    tombac_size3 groups = {
        ceil_div(s->grid.x, s->group.x), ceil_div(s->grid.y, s->group.y), ceil_div(s->grid.z, s->group.z)};
    tombac_size3 position = {
        g.x * s->group.x + local.x, g.y * s->group.y + local.y, g.z * s->group.z + local.z};
    uint32_t count = size.x * size.y * size.z;
    uint32_t index = local.x + size.x * (local.y + size.y * local.z);
    put(record, 0, position, d);
    put(record, 1, s->grid, d);
    put(record, 2, local, d);
    put(record, 3, size, d);
    put(record, 4, s->group, d);
    put(record, 5, g, d);
    put(record, 6, groups, d);
    const uint32_t rest[] = {index, index % 32, index / 32, ceil_div(count, 32), 32, 32,
        ceil_div(s->group.x * s->group.y * s->group.z, 32), index % 4, index / 4, ceil_div(count, 4), 703,
        position.x * 3 + local.x, (uint32_t)(kernels[k].vector_size * 100 + kernels[k].scalar_size)};
    memcpy(record + 21, rest, sizeof rest);
}

static void expect(uint32_t *out, const shape *s, size_t k)
{
    tombac_size3 g, l;
    for (g.z = 0; g.z * s->group.z < s->grid.z; g.z++)
        for (g.y = 0; g.y * s->group.y < s->grid.y; g.y++)
            for (g.x = 0; g.x * s->group.x < s->grid.x; g.x++) {
                tombac_size3 size = {least(s->group.x, s->grid.x - g.x * s->group.x),
                    least(s->group.y, s->grid.y - g.y * s->group.y),
                    least(s->group.z, s->grid.z - g.z * s->group.z)};
                for (l.z = 0; l.z < size.z; l.z++)
                    for (l.y = 0; l.y < size.y; l.y++)
                        for (l.x = 0; l.x < size.x; l.x++) {
                            size_t x = g.x * s->group.x + l.x, y = g.y * s->group.y + l.y,
                                   z = g.z * s->group.z + l.z;
                            expect_thread(
                                out + RECORD * (x + s->grid.x * (y + s->grid.y * z)), s, g, size, l, k);
                        }
            }
}

static const char *const field_names[] = {"thread_position_in_grid", "threads_per_grid",
    "thread_position_in_threadgroup", "threads_per_threadgroup", "dispatch_threads_per_threadgroup",
    "threadgroup_position_in_grid", "threadgroups_per_grid", "thread_index_in_threadgroup",
    "thread_index_in_simdgroup", "simdgroup_index_in_threadgroup", "simdgroups_per_threadgroup",
    "threads_per_simdgroup", "thread_execution_width", "dispatch_simdgroups_per_threadgroup",
    "thread_index_in_quadgroup", "quadgroup_index_in_threadgroup", "quadgroups_per_threadgroup",
    "helper's parameters", "arithmetic", "sizeof"};

static void compare(
    cf_test *t, const char *kernel, const uint32_t *expected, const uint32_t *got, size_t threads)
{
    for (size_t i = 0; i < threads; i++)
        for (size_t w = 0; w < USED; w++) {
            if (expected[RECORD * i + w] == got[RECORD * i + w]) continue;
            cf_fail(t, "%s: thread %zu: %s (word %zu): expected %u, got %u", kernel, i,
                field_names[w < 21 ? w / 3 : w - 14], w, expected[RECORD * i + w], got[RECORD * i + w]);
            return;
        }
}

/* p: kernel, shape, whole threadgroups */
static void run_positions(cf_test *t, const int *p)
{
    size_t k = (size_t)p[0];
    shape s = shapes[p[1]];
    tombac_size3 groups = {
        ceil_div(s.grid.x, s.group.x), ceil_div(s.grid.y, s.group.y), ceil_div(s.grid.z, s.group.z)};
    if (p[2]) s.grid = (tombac_size3){groups.x * s.group.x, groups.y * s.group.y, groups.z * s.group.z};
    size_t threads = (size_t)s.grid.x * s.grid.y * s.grid.z, size = threads * RECORD * sizeof(uint32_t);
    uint32_t *expected = cf_alloc(t, size), *got = cf_alloc(t, size);
    expect(expected, &s, k);
    uint32_t grid[4] = {s.grid.x, s.grid.y, s.grid.z, 0};
    cf_call call = {.file = "positions.metal",
        .kernel = kernels[k].name,
        .grid = p[2] ? groups : s.grid,
        .group = s.group,
        .whole_groups = p[2]};
    cf_buffer(&call, 0, got, size);
    cf_bytes(&call, 1, grid, sizeof grid);
    if (cf_run(t, &call)) compare(t, kernels[k].name, expected, got, threads);
}

/* p: as float */
static void run_template(cf_test *t, const int *p)
{
    enum { X = 9, Y = 5, Z = 3, N = X * Y * Z };
    tombac_size3 group = {4, 3, 2};
    uint32_t integers[N], got[N], grid[4] = {X, Y, Z, 0};
    float floats[N];
    for (uint32_t z = 0; z < Z; z++)
        for (uint32_t y = 0; y < Y; y++)
            for (uint32_t x = 0; x < X; x++) {
                uint32_t lx = x % group.x, ly = y % group.y, lz = z % group.z;
                uint32_t sx = least(group.x, X - (x - lx)), sy = least(group.y, Y - (y - ly));
                uint32_t lane = lx + sx * (ly + sy * lz);
                uint32_t i = x + X * (y + Y * z);
                integers[i] = lx + 10 * ly + 100 * lz + 10000 * lane;
                floats[i] = (float)integers[i];
            }
    cf_call call = {.file = "positions.metal",
        .kernel = p[0] ? "positions_template_float" : "positions_template_uint",
        .grid = {X, Y, Z},
        .group = group};
    memset(got, 0xff, sizeof got);
    cf_buffer(&call, 0, got, sizeof got);
    cf_bytes(&call, 1, grid, sizeof grid);
    if (!cf_run(t, &call)) return;
    cf_equal(t, p[0] ? TOMBAC_TYPE_F32 : TOMBAC_TYPE_U32, p[0] ? (void *)floats : integers, got, N, "out");
}

void cf_family_positions(cf_suite *suite)
{
    for (int k = 0; k < 6; k++) {
        int d = kernels[k].dimensions;
        int last = d == 1 ? FIRST_2D : d == 2 ? FIRST_3D : SHAPES;
        for (int s = 0; s < last; s++)
            for (int whole = 0; whole < 2; whole++) {
                const shape *h = &shapes[s];
                cf_add(suite, run_positions, CF_P(k, s, whole), "positions.%s.%s.%ux%ux%u-in-%ux%ux%u",
                    kernels[k].name + strlen("positions_"), whole ? "threadgroups" : "threads", h->grid.x,
                    h->grid.y, h->grid.z, h->group.x, h->group.y, h->group.z);
            }
    }
    cf_add(suite, run_template, CF_P(0), "positions.template.uint");
    cf_add(suite, run_template, CF_P(1), "positions.template.float");
}
