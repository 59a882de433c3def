/* Atomic operations. Where the order of threads is open, what is checked does not depend on it: final values
 * of commuting operations, and that the returned values form the chain that some order would give. */
#include "conformance.h"

#include <stdlib.h>
#include <string.h>

typedef enum operation { ADD, SUB, MIN, MAX, AND, OR, XOR, EXCHANGE, OPERATIONS } operation;
static const char *const operation_names[OPERATIONS] = {
    "add", "sub", "min", "max", "and", "or", "xor", "exchange"};

static cf_call call_of(const char *kernel, uint32_t grid, uint32_t group)
{
    return (cf_call){.file = "atomics.metal", .kernel = kernel, .grid = {grid, 1, 1}, .group = {group, 1, 1}};
}

static uint32_t apply(operation o, bool is_signed, uint32_t a, uint32_t b)
{
    bool less = is_signed ? (int32_t)b < (int32_t)a : b < a;
    switch (o) {
    case ADD: return a + b;
    case SUB: return a - b;
    case MIN: return less ? b : a;
    case MAX: return less ? a : b;
    case AND: return a & b;
    case OR: return a | b;
    case XOR: return a ^ b;
    default: return b;
    }
}

/* Is there an order of the threads of cell `c` in which the operation returns old[] and ends with `final`?
 * Every thread is an edge from its old value to the new one: taking edges greedily from the start must use
 * all of them (for these operations with distinct values, or where edges that loop in place are
 * interchangeable). */
static bool is_chain(operation o, bool is_signed, const uint32_t *in, const uint32_t *old, uint32_t n,
    uint32_t cells, uint32_t c, uint32_t start, uint32_t final)
{
    uint8_t used[512] = {0};
    uint32_t now = start, left = 0;
    for (uint32_t i = c; i < n; i += cells) left++;
    for (bool moved = true; left && moved;) {
        moved = false;
        for (int pass = 0; pass < 2 && !moved; pass++) /* edges that stay in place come first */
            for (uint32_t i = c; i < n; i += cells) {
                uint32_t next = apply(o, is_signed, old[i], in[i]);
                if (used[i] || old[i] != now || (pass == 0) != (next == now)) continue;
                used[i] = 1;
                now = next;
                left--;
                moved = true;
                break;
            }
    }
    return left == 0 && now == final;
}

/* p: operation, signed, threadgroup memory, cells, threads */
static void run_fetch(cf_test *t, const int *p)
{
    operation o = (operation)p[0];
    bool is_signed = p[1], local = p[2];
    uint32_t cells = (uint32_t)p[3], n = (uint32_t)p[4];
    uint32_t in[512], old[512] = {0}, start[8], cell[8], expected[8];
    uint64_t seed = 23;
    for (uint32_t i = 0; i < n; i++) {
        in[i] = (uint32_t)cf_random(&seed);
        if (o == AND) in[i] |= ~(1u << i % 32);
        if (o == OR) in[i] &= 1u << i % 32;
    }
    for (uint32_t c = 0; c < cells; c++) expected[c] = cell[c] = start[c] = 0x89abcdef * (c + 1);
    for (uint32_t i = 0; i < n; i++) expected[i % cells] = apply(o, is_signed, expected[i % cells], in[i]);
    char kernel[64];
    snprintf(kernel, sizeof kernel, "%s_%s_%s", local ? "threadgroup" : "device", operation_names[o],
        is_signed ? "int" : "uint");
    cf_call call = call_of(kernel, n, local ? n : 64);
    cf_buffer(&call, 0, cell, cells * 4);
    cf_buffer(&call, 1, old, n * 4);
    cf_buffer(&call, 2, in, n * 4);
    cf_bytes(&call, 3, &cells, 4);
    if (!cf_run(t, &call)) return;
    if (o != EXCHANGE &&
        !cf_equal(t, is_signed ? TOMBAC_TYPE_I32 : TOMBAC_TYPE_U32, expected, cell, cells, "final value"))
        return;
    for (uint32_t c = 0; c < cells; c++)
        if (!is_chain(o, is_signed, in, old, n, cells, c, start[c], cell[c]))
            cf_fail(t, "%s: the values returned for cell %u belong to no order of its threads", kernel, c);
}

/* How the threads are spread over the cells: all on one; most on one, some on none; two crowds; one each; at random. */
enum { ONE, MOST, CROWDS, EACH, RANDOM, SPREADS };
static const char *const spread_names[SPREADS] = {"one", "most", "crowds", "each", "random"};

static uint32_t cell_of(int spread, uint32_t thread, uint32_t cells, uint64_t *seed)
{
    uint32_t number = (uint32_t)(cf_random(seed) >> 33);
    switch (spread) {
    case ONE: return 5;
    case MOST: return number % 16 < 12 ? 9 : number % (2 * cells);
    case CROWDS: return number % 2 ? 3 : number % 32 ? 11 : 12 + number % 7;
    case EACH: return thread % cells;
    default: return number % (cells + 3);
    }
}

/* p: operation, signed, threadgroup memory, spread */
static void run_update(cf_test *t, const int *p)
{
    enum { CELLS = 40, N = 500 };
    operation o = (operation)p[0];
    bool is_signed = p[1];
    uint32_t in[N], at[N], cell[CELLS], expected[CELLS], cells = CELLS;
    uint64_t seed = 77 + (uint64_t)o;
    for (uint32_t c = 0; c < CELLS; c++) cell[c] = expected[c] = 0x89abcdef * (c + 1);
    for (uint32_t i = 0; i < N; i++) {
        in[i] = (uint32_t)cf_random(&seed);
        if (o == AND) in[i] |= ~(1u << i % 32);
        if (o == OR) in[i] &= 1u << i % 32;
        at[i] = cell_of(p[3], i, CELLS, &seed);
        if (at[i] < CELLS) expected[at[i]] = apply(o, is_signed, expected[at[i]], in[i]);
    }
    char kernel[64];
    snprintf(kernel, sizeof kernel, "%s_update_%s_%s", p[2] ? "threadgroup" : "device", operation_names[o],
        is_signed ? "int" : "uint");
    cf_call call = call_of(kernel, N, p[2] ? N : 100);
    cf_buffer(&call, 0, cell, sizeof cell);
    cf_buffer(&call, 1, at, sizeof at);
    cf_buffer(&call, 2, in, sizeof in);
    cf_bytes(&call, 3, &cells, 4);
    if (cf_run(t, &call))
        cf_equal(t, is_signed ? TOMBAC_TYPE_I32 : TOMBAC_TYPE_U32, expected, cell, CELLS, "final value");
}

/* p: operation (add, sub, exchange) */
static void run_float(cf_test *t, const int *p)
{
    enum { N = 300, CELLS = 3 };
    operation o = (operation)p[0];
    float in[N], old[N] = {0}, cell[CELLS] = {10, 20, 30}, expected[CELLS] = {10, 20, 30};
    double olds = 0, ins = 60, end = 0;
    uint32_t cells = CELLS;
    for (int i = 0; i < N; i++) {
        in[i] = (float)(i * 7 % 1001) + 1;
        expected[i % CELLS] += o == ADD ? in[i] : -in[i];
        ins += (double)in[i];
    }
    char kernel[64];
    snprintf(kernel, sizeof kernel, "device_%s_float", operation_names[o]);
    cf_call call = call_of(kernel, N, 100);
    cf_buffer(&call, 0, cell, sizeof cell);
    cf_buffer(&call, 1, old, sizeof old);
    cf_buffer(&call, 2, in, sizeof in);
    cf_bytes(&call, 3, &cells, 4);
    if (!cf_run(t, &call)) return;
    if (o != EXCHANGE) {
        cf_equal(t, TOMBAC_TYPE_F32, expected, cell, CELLS, "final value");
        return;
    }
    for (int i = 0; i < N; i++) olds += (double)old[i];
    for (int c = 0; c < CELLS; c++) end += (double)cell[c];
    if (olds + end != ins) cf_fail(t, "exchange lost a value: put in %g, came out %g", ins, olds + end);
}

/* p: maximum */
static void run_ulong(cf_test *t, const int *p)
{
    enum { N = 200 };
    uint64_t in[N], cell[4], expected[4], seed = 8;
    for (int c = 0; c < 4; c++) cell[c] = expected[c] = p[0] ? 0 : UINT64_MAX;
    for (int i = 0; i < N; i++) {
        in[i] = cf_random(&seed);
        uint64_t *e = &expected[i % 4];
        if (p[0] ? in[i] > *e : in[i] < *e) *e = in[i];
    }
    cf_call call = call_of(p[0] ? "max_ulong" : "min_ulong", N, 50);
    cf_buffer(&call, 0, cell, sizeof cell);
    cf_buffer(&call, 1, in, sizeof in);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_U64, expected, cell, 4, "cell");
}

static void run_compare_exchange(cf_test *t, const int *p)
{
    enum { N = 250 };
    float values[N], largest = -1e30f, expected = -1e30f;
    uint32_t words[2] = {1, 0}, want[2] = {1, 0}, bound = (uint32_t)p[0];
    for (int i = 0; i < N; i++) {
        values[i] = (float)(i * 73 % 251) - 125;
        if (values[i] > expected) expected = values[i];
        want[0] *= 3;
    }
    want[1] = bound < N ? bound : N;
    cf_call call = call_of("compare_exchange", N, 64);
    cf_buffer(&call, 0, &largest, 4);
    cf_buffer(&call, 1, words, sizeof words);
    cf_buffer(&call, 2, values, sizeof values);
    cf_bytes(&call, 3, &bound, 4);
    if (!cf_run(t, &call)) return;
    cf_equal(t, TOMBAC_TYPE_F32, &expected, &largest, 1, "maximum");
    cf_equal(t, TOMBAC_TYPE_U32, want, words, 2, "product, bounded counter");
}

static void run_other_types(cf_test *t, const int *p)
{
    uint32_t plain[4] = {0}, expected[4] = {~0u, ~0u, ~0u, 15};
    int32_t generic = 5, sum = 5;
    uint8_t flag[4] = {0}, true_flag = 1;
    for (int i = 0; i < 100; i++) sum -= i;
    cf_call call = call_of("other_types", 100, 33);
    cf_buffer(&call, 0, plain, sizeof plain);
    cf_buffer(&call, 1, &generic, 4);
    cf_buffer(&call, 2, flag, sizeof flag);
    if (!cf_run(t, &call)) return;
    cf_equal(t, TOMBAC_TYPE_U32, expected, plain, 4, "bit set");
    cf_equal(t, TOMBAC_TYPE_I32, &sum, &generic, 1, "atomic<int>");
    cf_equal(t, TOMBAC_TYPE_U8, &true_flag, flag, 1, "atomic_bool");
}

/* p: threads, threads per threadgroup */
static void run_histogram(cf_test *t, const int *p)
{
    uint32_t n = 5000, bins[256] = {0}, expected[256] = {0};
    uint8_t *data = cf_alloc(t, n);
    uint64_t seed = 4;
    for (uint32_t i = 0; i < n; i++) {
        data[i] = (uint8_t)(cf_random(&seed) & cf_random(&seed));
        expected[data[i]]++;
    }
    cf_call call = call_of("histogram", (uint32_t)p[0], (uint32_t)p[1]);
    cf_buffer(&call, 0, bins, sizeof bins);
    cf_buffer(&call, 1, data, n);
    cf_bytes(&call, 2, &n, 4);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_U32, expected, bins, 256, "bin");
}

/* p: threadgroups, threads per threadgroup */
static void run_last_arriver(cf_test *t, const int *p)
{
    uint32_t groups = (uint32_t)p[0], width = (uint32_t)p[1], n = groups * width, arrived = 0, result = 0,
             expected = 0;
    uint32_t *in = cf_alloc(t, n * 4), *parts = cf_alloc(t, groups * 4);
    for (uint32_t i = 0; i < n; i++) expected += in[i] = i * 2246822519u;
    cf_call call = call_of("last_arriver", n, width);
    cf_buffer(&call, 0, &arrived, 4);
    cf_buffer(&call, 1, parts, groups * 4);
    cf_buffer(&call, 2, &result, 4);
    cf_buffer(&call, 3, in, n * 4);
    if (!cf_run(t, &call)) return;
    cf_equal(t, TOMBAC_TYPE_U32, &groups, &arrived, 1, "arrived");
    cf_equal(t, TOMBAC_TYPE_U32, &expected, &result, 1, "sum by the last threadgroup");
}

static int compare_words(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void run_compact(cf_test *t, const int *p)
{
    uint32_t n = (uint32_t)p[0], count = 0, kept = 0;
    uint32_t *in = cf_alloc(t, n * 4), *expected = cf_alloc(t, n * 4), *got = cf_alloc(t, n * 4);
    for (uint32_t i = 0; i < n; i++) {
        in[i] = i * 31 % 1000 + i * 1000;
        if (in[i] % 3 == 0) expected[kept++] = in[i];
    }
    cf_call call = call_of("compact", n, 100);
    cf_buffer(&call, 0, &count, 4);
    cf_buffer(&call, 1, got, n * 4);
    cf_buffer(&call, 2, in, n * 4);
    if (!cf_run(t, &call) || !cf_equal(t, TOMBAC_TYPE_U32, &kept, &count, 1, "count")) return;
    qsort(expected, kept, 4, compare_words);
    qsort(got, kept, 4, compare_words);
    cf_equal(t, TOMBAC_TYPE_U32, expected, got, kept, "kept values, sorted");
}

static const char *const orders[] = {"relaxed", "acquire", "release", "acq_rel", "seq_cst"};

/* p: order. One threadgroup of 100 threads and one of 29. */
static void run_ordered(cf_test *t, const int *p)
{
    enum { N = 129, WIDTH = 100 };
    uint32_t cell[3] = {0}, expected[3] = {N, 0, 0}, old[N] = {0}, seen[N] = {0};
    for (uint32_t first = 0; first < N; first += WIDTH) {
        uint32_t bits = 1, product = 1;
        for (uint32_t l = 0; l < WIDTH && first + l < N; l++) {
            bits |= 2u << l % 16;
            product *= 5;
        }
        expected[1] ^= bits;
        if (product > expected[2]) expected[2] = product;
    }
    char kernel[32];
    snprintf(kernel, sizeof kernel, "ordered_%s", orders[p[0]]);
    cf_call call = call_of(kernel, N, WIDTH);
    call.standard = "metal4.1";
    cf_buffer(&call, 0, cell, sizeof cell);
    cf_buffer(&call, 1, old, sizeof old);
    if (!cf_run(t, &call)) return;
    cf_equal(t, TOMBAC_TYPE_U32, expected, cell, 3, "counter, bits, product");
    for (int i = 0; i < N; i++)
        if (old[i] >= N || seen[old[i]]++) cf_fail(t, "the counter returned %u twice or never", old[i]);
}

static void run_tree_sums(cf_test *t, const int *p)
{
    uint32_t leaves = (uint32_t)p[0], *arrived = cf_alloc(t, leaves * 4), *node = cf_alloc(t, leaves * 8),
             *expected = cf_alloc(t, leaves * 8);
    for (uint32_t i = 0; i < leaves; i++) expected[leaves - 1 + i] = node[leaves - 1 + i] = i * 2654435761u;
    for (uint32_t n = leaves - 1; n-- > 0;) expected[n] = expected[2 * n + 1] + expected[2 * n + 2];
    cf_call call = call_of("tree_sums", leaves, 64);
    call.standard = "metal4.1";
    cf_buffer(&call, 0, arrived, leaves * 4);
    cf_buffer(&call, 1, node, (2 * leaves - 1) * 4);
    cf_bytes(&call, 2, &leaves, 4);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_U32, expected, node, 2 * leaves - 1, "node");
}

void cf_family_atomics(cf_suite *suite)
{
    static const int shapes[][2] = {{1, 33}, {5, 128}, {8, 100}};
    for (int o = 0; o < OPERATIONS; o++)
        for (int is_signed = 0; is_signed < 2; is_signed++)
            for (int local = 0; local < 2; local++)
                for (int s = 0; s < 3; s++)
                    cf_add(suite, run_fetch, CF_P(o, is_signed, local, shapes[s][0], shapes[s][1]),
                        "atomics.%s.%s.%s.%d-threads-%d-cells", local ? "threadgroup" : "device",
                        operation_names[o], is_signed ? "int" : "uint", shapes[s][1], shapes[s][0]);
    for (int o = ADD; o < EXCHANGE; o++)
        for (int is_signed = 0; is_signed < 2; is_signed++)
            for (int local = 0; local < 2; local++)
                for (int s = 0; s < SPREADS; s++)
                    cf_add(suite, run_update, CF_P(o, is_signed, local, s), "atomics.%s.update.%s.%s.%s",
                        local ? "threadgroup" : "device", operation_names[o], is_signed ? "int" : "uint", spread_names[s]);
    cf_add(suite, run_float, CF_P(ADD), "atomics.device.add.float");
    cf_add(suite, run_float, CF_P(SUB), "atomics.device.sub.float");
    cf_add(suite, run_float, CF_P(EXCHANGE), "atomics.device.exchange.float");
    cf_add(suite, run_ulong, CF_P(0), "atomics.device.min.ulong");
    cf_add(suite, run_ulong, CF_P(1), "atomics.device.max.ulong");
    cf_add(suite, run_compare_exchange, CF_P(100), "atomics.compare-exchange.bound-100");
    cf_add(suite, run_compare_exchange, CF_P(1000), "atomics.compare-exchange.bound-1000");
    cf_add(suite, run_other_types, CF_P(0), "atomics.other-types");
    cf_add(suite, run_histogram, CF_P(256, 64), "atomics.histogram.256-in-64");
    cf_add(suite, run_histogram, CF_P(250, 100), "atomics.histogram.250-in-100");
    cf_add(suite, run_last_arriver, CF_P(16, 64), "atomics.last-arriver.16x64");
    cf_add(suite, run_last_arriver, CF_P(7, 100), "atomics.last-arriver.7x100");
    for (int o = 0; o < 5; o++) cf_add(suite, run_ordered, CF_P(o), "atomics.order.%s", orders[o]);
    cf_add(suite, run_tree_sums, CF_P(2048), "atomics.tree-sums.2048");
    cf_add(suite, run_tree_sums, CF_P(100), "atomics.tree-sums.100");
    cf_add(suite, run_compact, CF_P(1000), "atomics.compact.1000");
    cf_add(suite, run_compact, CF_P(257), "atomics.compact.257");
}
