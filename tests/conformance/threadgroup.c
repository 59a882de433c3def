/* Threadgroup memory and barriers: the models run all threads of a threadgroup from barrier to barrier. */
#include "conformance.h"

#include <stdlib.h>
#include <string.h>

static const int sizes[] = {1, 17, 32, 33, 64, 100, 128};
enum { SIZES = sizeof sizes / sizeof *sizes };

static cf_call call_of(const char *kernel, unsigned grid, unsigned group)
{
    return (cf_call){
        .file = "threadgroup.metal", .kernel = kernel, .grid = {grid, 1, 1}, .group = {group, 1, 1}};
}

/* p: threads per threadgroup */
static void run_reverse(cf_test *t, const int *p)
{
    unsigned n = (unsigned)p[0], total = 3 * n + n / 2;
    uint32_t *in = cf_alloc(t, total * 4u), *expected = cf_alloc(t, total * 4u),
             *got = cf_alloc(t, total * 4u);
    for (unsigned i = 0; i < total; i++) in[i] = i * 2654435761u;
    for (unsigned first = 0; first < total; first += n) {
        unsigned size = total - first < n ? total - first : n;
        for (unsigned l = 0; l < size; l++) expected[first + l] = in[first + size - 1 - l];
    }
    cf_call call = call_of("reverse", total, n);
    cf_buffer(&call, 0, got, total * 4u);
    cf_buffer(&call, 1, in, total * 4u);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_U32, expected, got, total, "out");
}

static void run_several(cf_test *t, const int *p)
{
    unsigned n = (unsigned)p[0];
    uint32_t expected[8 * 128], got[8 * 128] = {0};
    for (unsigned l = 0; l < n; l++) {
        unsigned m = (l + 1) % n;
        const uint32_t row[8] = {m + 1, 2 * m + 3, m, 3000 + 3 * m, 512 + 2 * m, 7 * m, 2 * m, 12};
        memcpy(expected + 8 * l, row, sizeof row);
    }
    cf_call call = call_of("several", n, n);
    cf_buffer(&call, 0, got, 8 * 4 * n);
    cf_threadgroup(&call, 0, n * 4u);
    cf_threadgroup(&call, 1, n * 8u);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_U32, expected, got, 8 * n, "out");
}

static void run_tree(cf_test *t, const int *p)
{
    unsigned n = (unsigned)p[0], groups = 3;
    uint32_t *in = cf_alloc(t, n * groups * 4u), expected[3] = {0}, got[3] = {0};
    for (unsigned i = 0; i < n * groups; i++) {
        in[i] = i * 40503u + 1;
        expected[i / n] += in[i];
    }
    cf_call call = call_of("tree", n * groups, n);
    cf_buffer(&call, 0, got, sizeof got);
    cf_buffer(&call, 1, in, n * groups * 4u);
    cf_threadgroup(&call, 0, (n * 4u + 15) & ~15u);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_U32, expected, got, groups, "sum of threadgroup");
}

/* Threadgroups of whole SIMD-groups only: the second level's lanes must be there to be summed. */
static void run_two_levels(cf_test *t, const int *p)
{
    unsigned n = (unsigned)p[0], length = 301, rows = 4;
    float *in = cf_alloc(t, length * rows * 4u), *expected = cf_alloc(t, length * rows * 4u),
          *got = cf_alloc(t, length * rows * 4u);
    for (unsigned r = 0; r < rows; r++) {
        float sum = 0; /* small integers: exact in any order */
        for (unsigned i = 0; i < length; i++) sum += in[r * length + i] = (float)((int)(i * 31 + r) % 17 - 8);
        for (unsigned i = 0; i < length; i++) expected[r * length + i] = in[r * length + i] - sum;
    }
    cf_call call = call_of("two_levels", rows, n);
    call.whole_groups = true;
    cf_buffer(&call, 0, got, length * rows * 4u);
    cf_buffer(&call, 1, in, length * rows * 4u);
    cf_bytes(&call, 2, &length, sizeof length);
    cf_threadgroup(&call, 0, 32 * 4);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_F32, expected, got, length * rows, "out");
}

/* p: threads, limit, rounds */
static void run_early_return(cf_test *t, const int *p)
{
    uint32_t n = (uint32_t)p[0], limit = (uint32_t)p[1], rounds = (uint32_t)p[2];
    uint32_t v[256], tile[256], got[256], expected[256];
    memset(got, 0xee, sizeof got);
    memset(expected, 0xee, sizeof expected);
    for (uint32_t l = 0; l < limit; l++) v[l] = l;
    for (uint32_t r = 0; r < rounds; r++) {
        memcpy(tile, v, limit * sizeof *v);
        for (uint32_t l = 0; l < limit; l++) v[l] = tile[(l + 1) % limit] + r;
    }
    memcpy(expected, v, limit * sizeof *v);
    cf_call call = call_of("early_return", n, n);
    cf_buffer(&call, 0, got, sizeof got);
    cf_bytes(&call, 1, &limit, 4);
    cf_bytes(&call, 2, &rounds, 4);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_U32, expected, got, 256, "out");
}

static void model_rotate(uint32_t *v, uint32_t n, uint32_t by)
{
    uint32_t tile[256];
    memcpy(tile, v, n * sizeof *v);
    for (uint32_t l = 0; l < n; l++) v[l] = tile[(l + by) % n];
}

static void model_program(uint32_t *v, uint32_t n, const uint32_t *program, uint32_t steps)
{
    for (uint32_t i = 0; i < steps && program[i]; i++) {
        uint32_t op = program[i];
        if (op == 1) continue;
        if (op < 10) model_rotate(v, n, op);
        for (uint32_t j = 10; op >= 10 && op < 20 && j < op; j++) {
            model_rotate(v, n, 1);
            if (j == 14) break;
            for (uint32_t l = 0; l < n; l++) v[l] += j;
        }
        if (op == 20) {
            model_rotate(v, n, 5);
            for (uint32_t l = 0; l < n; l++) v[l] ^= 0x55;
        }
        if (op == 21)
            for (uint32_t l = 0; l < n; l++) v[l] += l;
        if (op == 21 || op == 22) model_rotate(v, n, 2);
        if (op > 22)
            for (uint32_t l = 0; l < n; l++) v[l] *= 3;
    }
}

/* p: threads, program */
static void run_uniform_flow(cf_test *t, const int *p)
{
    static const uint32_t programs[][8] = {
        {2, 3, 4, 5, 6, 7, 8, 9}, {1, 13, 1, 17, 20, 21, 22, 23}, {16, 2, 0, 3, 4, 5, 6, 7}};
    uint32_t n = (uint32_t)p[0], steps = 8, expected[256], got[256] = {0};
    for (uint32_t l = 0; l < n; l++) expected[l] = l * l + 3;
    model_program(expected, n, programs[p[1]], steps);
    cf_call call = call_of("uniform_flow", n, n);
    cf_buffer(&call, 0, got, n * 4u);
    cf_bytes(&call, 1, programs[p[1]], sizeof programs[0]);
    cf_bytes(&call, 2, &steps, 4);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_U32, expected, got, n, "out");
}

static void run_shifted_bounds(cf_test *t, const int *p)
{
    uint32_t n = (uint32_t)p[0], rounds = 5, expected[256] = {0}, got[256] = {0};
    for (uint32_t l = 0; l < n; l++)
        for (uint32_t r = 0; r < rounds; r++) expected[l] = expected[l] * 3 + (n - 1 - l) + r * n;
    cf_call call = call_of("shifted_bounds", n, n);
    cf_buffer(&call, 0, got, n * 4u);
    cf_bytes(&call, 1, &rounds, 4);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_U32, expected, got, n, "out");
}

static void run_private_arrays(cf_test *t, const int *p)
{
    uint32_t n = (uint32_t)p[0], table[128][16], tile[128], expected[3 * 128], got[3 * 128] = {0};
    uint8_t at[4 * 128];
    uint64_t seed = 3;
    for (uint32_t i = 0; i < 4 * n; i++) at[i] = (uint8_t)cf_random(&seed);
    for (uint32_t l = 0; l < n; l++)
        for (uint32_t k = 0; k < 16; k++) table[l][k] = l * 16 + k;
    for (uint32_t r = 0; r < 4; r++) {
        for (uint32_t l = 0; l < n; l++) tile[l] = table[l][at[l * 4 + r] & 15];
        for (uint32_t l = 0; l < n; l++) table[l][at[l * 4 + r] >> 4] += tile[(l + r + 1) % n];
    }
    for (uint32_t l = 0; l < n; l++) {
        uint32_t sum = 0;
        for (uint32_t k = 0; k < 16; k++) sum = sum * 31 + table[l][k];
        expected[3 * l] = sum;
        expected[3 * l + 1] = 10 * l;
        expected[3 * l + 2] = 2 * l + (l & 1);
    }
    cf_call call = call_of("private_arrays", n, n);
    cf_buffer(&call, 0, got, 3 * n * 4u);
    cf_buffer(&call, 1, at, 4 * n);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_U32, expected, got, 3 * n, "out");
}

/* p: threads, way */
static void run_barrier_places(cf_test *t, const int *p)
{
    uint32_t n = (uint32_t)p[0], way = (uint32_t)p[1], tile[128], v[128], expected[128], got[128] = {0};
    static const uint32_t added[4] = {0, 0, 10, 30};
    for (uint32_t l = 0; l < n; l++) tile[l] = l + added[l % 4];
    for (uint32_t l = 0; l < n; l++) {
        v[l] = tile[l];
        for (uint32_t i = 0; i < (l + 1) % 3; i++) v[l] += tile[(l + i) % n];
    }
    for (uint32_t l = 0; l < n; l++) expected[l] = way == 1 ? tile[n - 1 - l] : v[(l + 3) % n];
    cf_call call = call_of("barrier_places", n, n);
    cf_buffer(&call, 0, got, n * 4u);
    cf_bytes(&call, 1, &way, 4);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_U32, expected, got, n, "out");
}

static void run_barrier_copies(cf_test *t, const int *p)
{
    static const uint32_t steps[3] = {1, 7, 100};
    uint32_t n = (uint32_t)p[0], count = 3, tile[128], expected[128], got[128] = {0};
    for (uint32_t l = 0; l < n; l++) expected[l] = l;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t l = 0; l < n; l++) tile[l] = expected[l] + steps[l / 32 % 3];
        for (uint32_t l = 0; l < n; l++) expected[l] += tile[(l + 33) % n];
    }
    cf_call call = call_of("barrier_copies", n, n);
    cf_buffer(&call, 0, got, n * 4u);
    cf_bytes(&call, 1, &count, 4);
    cf_threadgroup(&call, 0, n * 4);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_U32, expected, got, n, "out");
}

static void run_device_exchange(cf_test *t, const int *p)
{
    uint32_t n = (uint32_t)p[0], work[128] = {0}, expected[128], got[128] = {0};
    for (uint32_t l = 0; l < n; l++) expected[l] = 5 * ((l + 7) % n);
    cf_call call = call_of("device_exchange", n, n);
    cf_buffer(&call, 0, got, n * 4u);
    cf_buffer(&call, 1, work, n * 4u);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_U32, expected, got, n, "out");
}

static void run_simdgroup_exchange(cf_test *t, const int *p)
{
    uint32_t n = (uint32_t)p[0], expected[128], got[128] = {0};
    for (uint32_t l = 0; l < n; l++) {
        uint32_t first = l & ~31u, width = n - first < 32 ? n - first : 32;
        expected[l] = first + (l - first + 3) % width + 0 + 1 + 2;
    }
    cf_call call = call_of("simdgroup_exchange", n, n);
    cf_buffer(&call, 0, got, n * 4u);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_U32, expected, got, n, "out");
}

/* p: width, height */
static void run_transpose(cf_test *t, const int *p)
{
    uint32_t w = (uint32_t)p[0], h = (uint32_t)p[1], size[2] = {w, h};
    float *in = cf_alloc(t, w * h * 4u), *expected = cf_alloc(t, w * h * 4u), *got = cf_alloc(t, w * h * 4u);
    for (uint32_t y = 0; y < h; y++)
        for (uint32_t x = 0; x < w; x++) expected[x * h + y] = in[y * w + x] = (float)(y * 1000 + x);
    cf_call call = {.file = "threadgroup.metal",
        .kernel = "transpose_tiles",
        .grid = {(w + 15) / 16, (h + 15) / 16, 1},
        .group = {16, 16, 1},
        .whole_groups = true};
    cf_buffer(&call, 0, got, w * h * 4u);
    cf_buffer(&call, 1, in, w * h * 4u);
    cf_bytes(&call, 2, size, sizeof size);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_F32, expected, got, w * h, "out");
}

static int compare_ints(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static void run_bitonic(cf_test *t, const int *p)
{
    unsigned n = (unsigned)p[0];
    int32_t *expected = cf_alloc(t, n * 4u), *data = cf_alloc(t, n * 4u);
    uint64_t seed = 17;
    for (unsigned i = 0; i < n; i++) expected[i] = data[i] = (int32_t)cf_random(&seed);
    qsort(expected, n, sizeof *expected, compare_ints);
    cf_call call = call_of("bitonic", n, n);
    cf_buffer(&call, 0, data, n * 4u);
    cf_threadgroup(&call, 0, n * 4u < 16 ? 16 : n * 4u);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_I32, expected, data, n, "sorted");
}

void cf_family_threadgroup(cf_suite *suite)
{
    for (int s = 0; s < SIZES; s++) {
        int n = sizes[s];
        cf_add(suite, run_reverse, CF_P(n), "threadgroup.reverse.%d", n);
        cf_add(suite, run_several, CF_P(n), "threadgroup.several-arrays.%d", n);
        cf_add(suite, run_tree, CF_P(n), "threadgroup.tree.%d", n);
        if (n <= 32 || n % 32 == 0) cf_add(suite, run_two_levels, CF_P(n), "threadgroup.two-levels.%d", n);
        for (int program = 0; program < 3; program++)
            cf_add(suite, run_uniform_flow, CF_P(n, program), "threadgroup.uniform-flow.%d.%d", n, program);
        cf_add(suite, run_shifted_bounds, CF_P(n), "threadgroup.shifted-bounds.%d", n);
        cf_add(suite, run_private_arrays, CF_P(n), "threadgroup.private-arrays.%d", n);
        cf_add(suite, run_barrier_places, CF_P(n, 0), "threadgroup.barrier-places.%d", n);
        cf_add(suite, run_barrier_places, CF_P(n, 1), "threadgroup.barrier-before-return.%d", n);
        cf_add(suite, run_barrier_copies, CF_P(n), "threadgroup.barrier-copies.%d", n);
        cf_add(suite, run_device_exchange, CF_P(n), "threadgroup.device-exchange.%d", n);
        cf_add(suite, run_simdgroup_exchange, CF_P(n), "threadgroup.simdgroup-exchange.%d", n);
    }
    static const int limits[][2] = {
        {64, 64}, {64, 33}, {64, 32}, {64, 1}, {100, 99}, {100, 17}, {256, 65}, {33, 32}};
    for (int i = 0; i < 8; i++)
        for (int rounds = 0; rounds < 4; rounds += 3)
            cf_add(suite, run_early_return, CF_P(limits[i][0], limits[i][1], rounds),
                "threadgroup.early-return.%d-of-%d.%d", limits[i][1], limits[i][0], rounds);
    cf_add(suite, run_transpose, CF_P(64, 32), "threadgroup.transpose.64x32");
    cf_add(suite, run_transpose, CF_P(37, 53), "threadgroup.transpose.37x53");
    for (int n = 2; n <= 1024; n *= 8) cf_add(suite, run_bitonic, CF_P(n), "threadgroup.bitonic.%d", n);
    cf_add(suite, run_reverse, CF_P(1024), "threadgroup.reverse.1024");
}
