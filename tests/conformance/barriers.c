/* Shapes of control flow around barriers; the models run the kernel's steps for all threads of the threadgroup. */
#include "conformance.h"

#include <string.h>

enum { MOST = 256 };
static const int sizes[] = {1, 31, 32, 50, 64, 96, 200};

typedef struct shape {
    const char *kernel;
    void (*model)(uint32_t *out, const uint32_t *in, const uint32_t *p, uint32_t n);
    int words; /* of output per thread */
} shape;

/* ---- Models ---- */

static void turn(uint32_t *v, uint32_t n, uint32_t by)
{
    uint32_t tile[MOST];
    memcpy(tile, v, n * sizeof *v);
    for (uint32_t l = 0; l < n; l++) v[l] = tile[(l + by) % n];
}

static void inner_step(uint32_t *v, uint32_t n, uint32_t mode)
{
    if (mode) turn(v, n, mode);
    for (uint32_t l = 0; l < n; l++) v[l] = mode == 0 ? v[l] + 1 : mode == 2 ? v[l] * 3 : v[l] ^ 5;
}

static void in_callees(uint32_t *out, const uint32_t *in, const uint32_t *p, uint32_t n)
{
    memcpy(out, in, n * sizeof *out);
    for (uint32_t round = 0; round < 4; round++) {
        uint32_t mode = (p[0] + round) & 3;
        bool left = false;
        for (uint32_t i = 0; i <= mode && !left; i++) {
            inner_step(out, n, i);
            left = mode == 3 && i == 1;
        }
        if (!left) turn(out, n, 1);
        for (uint32_t l = 0; l < n && left; l++) out[l] += 100;
    }
}

static void endless(uint32_t *out, const uint32_t *in, const uint32_t *p, uint32_t n)
{
    uint32_t tile[MOST];
    memcpy(out, in, n * sizeof *out);
    for (uint32_t i = 0; i != p[0]; i++) {
        memcpy(tile, out, n * sizeof *out);
        if (tile[0] % 7 == p[1]) break;
        for (uint32_t l = 0; l < n; l++) out[l] += tile[(l + 1) % n];
        if (i == p[2]) break;
    }
}

static void levels(uint32_t *out, const uint32_t *in, const uint32_t *p, uint32_t n)
{
    memcpy(out, in, n * sizeof *out);
    for (uint32_t i = 0; i < p[0]; i++) {
        turn(out, n, 1);
        for (uint32_t j = 0; j < p[1]; j++) {
            for (uint32_t k = j; k < p[2]; k++) {
                for (uint32_t l = 0; l < n; l++) out[l] += k;
                turn(out, n, k + 1);
                if (k == 4) break;
            }
            for (uint32_t l = 0; l < n; l++) out[l] ^= j;
            turn(out, n, 2);
            for (uint32_t l = 0; l < n && j != 1; l++) out[l] *= 3;
        }
    }
}

static void between_loops(uint32_t *out, const uint32_t *in, const uint32_t *p, uint32_t n)
{
    for (uint32_t l = 0; l < n; l++) {
        uint32_t v = in[l];
        for (uint32_t i = 0; i < (v & 3); i++) v += i * 5;
        out[l] = v;
    }
    turn(out, n, 3);
    for (uint32_t l = 0; l < n; l++)
        while (out[l] & 8) out[l] = out[l] * 3 + 1;
    turn(out, n, 1);
    for (uint32_t l = 0; l < n; l++)
        for (uint32_t i = l % 3; i < 5; i += 2)
            if (out[l] % 5 != 2) out[l] ^= i << i;
}

/* One round of the threads that are `there`: each adds (or is joined with) what another one last wrote. */
static void round_of(uint32_t *v, uint32_t *tile, const bool *there, uint32_t n, uint32_t by, bool join)
{
    for (uint32_t l = 0; l < n; l++)
        if (there[l]) tile[l] = v[l];
    for (uint32_t l = 0; l < n; l++)
        if (there[l]) v[l] = join ? v[l] ^ tile[(l + by) % n] : v[l] + tile[(l + by) % n];
}

static void returns(uint32_t *out, const uint32_t *in, const uint32_t *p, uint32_t n)
{
    uint32_t tile[MOST] = {0}, v[MOST] = {0};
    bool there[MOST] = {false};
    for (uint32_t l = 0; l < n; l++) {
        tile[l] = 7;
        v[l] = in[l];
        out[l] = 1;
        there[l] = l < p[0];
    }
    round_of(v, tile, there, n, 1, false);
    for (uint32_t l = 0; l < n; l++) {
        if (there[l]) out[l] = v[l];
        there[l] = there[l] && l < p[1] && v[l] % 11 != 0;
    }
    round_of(v, tile, there, n, 2, false);
    for (uint32_t l = 0; l < n; l++) {
        if (there[l]) out[l] = v[l];
        there[l] = there[l] && l >= p[2];
    }
    round_of(v, tile, there, n, 1, true);
    for (uint32_t l = 0; l < n; l++)
        if (there[l]) out[l] = v[l];
}

static void loop_returns(uint32_t *out, const uint32_t *in, const uint32_t *p, uint32_t n)
{
    uint32_t tile[MOST], v[MOST];
    bool there[MOST];
    for (uint32_t l = 0; l < n; l++) {
        tile[l] = 7;
        out[l] = v[l] = in[l];
        there[l] = true;
    }
    for (uint32_t i = 0; i < p[0]; i++) {
        for (uint32_t l = 0; l < n; l++) {
            if (!there[l] || p[1] > 1 || v[l] % 5 != i) continue;
            there[l] = false;
            if (p[1] == 1) out[l] = v[l] * 3;
        }
        for (uint32_t l = 0; l < n; l++)
            if (there[l]) tile[l] = v[l];
        for (uint32_t l = 0; l < n; l++) there[l] = there[l] && (p[1] != 2 || l % 7 != i);
        for (uint32_t l = 0; l < n; l++)
            if (there[l]) v[l] += tile[(l + 1) % n];
        for (uint32_t j = 0; j <= i; j++) {
            for (uint32_t l = 0; l < n; l++) {
                if (!there[l] || p[1] != 3 || (l + j) % 9 != i) continue;
                there[l] = false;
                out[l] = v[l] + j;
            }
            for (uint32_t l = 0; l < n; l++)
                if (there[l]) tile[l] = v[l] + j;
            for (uint32_t l = 0; l < n; l++)
                if (there[l]) v[l] ^= tile[(l + 3) % n];
        }
        for (uint32_t l = 0; l < n; l++)
            if (there[l]) out[l] = v[l];
    }
    for (uint32_t l = 0; l < n; l++)
        if (there[l]) tile[l] = v[l];
    for (uint32_t l = 0; l < n; l++)
        if (there[l]) out[l] = v[l] + (p[2] ? tile[(l + 2) % n] : 0) + 1000;
}

static void uniform_returns(uint32_t *out, const uint32_t *in, const uint32_t *p, uint32_t n)
{
    memcpy(out, in, n * sizeof *out);
    if (p[0] == 1) return;
    for (uint32_t i = 0; i < 3; i++) {
        for (uint32_t l = 0; l < n; l++) out[l] += i;
        turn(out, n, 1);
        if (p[0] == 2 + i) return;
    }
    turn(out, n, p[0] == 5 ? 9 : 4);
}

static void hidden_uniform(uint32_t *out, const uint32_t *in, const uint32_t *p, uint32_t n)
{
    memcpy(out, in, n * sizeof *out);
    if (p[0] & 1) turn(out, n, 1);
    turn(out, n, p[0] & 2 ? 2 : 3);
    for (uint32_t l = 0; l < n; l++) out[l] += p[0] & 2 ? 1 : 2;
    uint32_t chosen = p[0];
    for (uint32_t i = 0; i < (p[0] & 3); i++) {
        if (i < n) chosen = out[i];
        for (uint32_t l = 0; l < n; l++) out[l] += chosen;
    }
}

static void with_collectives(uint32_t *out, const uint32_t *in, const uint32_t *p, uint32_t n)
{
    uint32_t total = 0, v[MOST], kept[MOST];
    for (uint32_t l = 0; l < n; l++) total += in[l];
    for (uint32_t first = 0; first < n; first += 32) {
        uint32_t most = 0, prefix = 0, end = first + 32 < n ? first + 32 : n;
        for (uint32_t l = first; l < end; l++)
            if ((in[l] & 1) && in[l] > most) most = in[l];
        for (uint32_t l = first; l < end; l++) {
            v[l] = in[l] & 1 ? most : in[l];
            kept[l] = in[l] * 3 + ((in[l] & 1) && (most & 2) ? most : 0);
        }
        for (uint32_t l = first; l < end; l++) {
            /* lane g of every SIMD-group writes sums[g]; a group without that lane leaves it to the others */
            out[l] = v[l] + kept[l] + total + first / 32 + prefix;
            prefix += v[l] & 7;
        }
    }
}

static void live_values(uint32_t *out, const uint32_t *in, const uint32_t *p, uint32_t n)
{
    uint32_t v[MOST], tile[MOST];
    uint64_t wide[MOST];
    uint16_t narrow[MOST];
    bool odd[MOST];
    for (uint32_t l = 0; l < n; l++) {
        v[l] = in[l];
        wide[l] = (uint64_t)v[l] << 32 | l;
        narrow[l] = (uint16_t)v[l];
        odd[l] = v[l] & 1;
    }
    for (uint32_t i = 0; i < p[0]; i++) {
        memcpy(tile, v, n * sizeof *v);
        for (uint32_t l = 0; l < n; l++) {
            v[l] = tile[n - 1 - l] + in[(l + 1) % n];
            if (i & 1) wide[l] += v[l];
            narrow[l] = (uint16_t)(narrow[l] * 3 + i);
            odd[l] = odd[l] != (v[l] & 1);
        }
    }
    for (uint32_t l = 0; l < n; l++) {
        const uint32_t four[4] = {in[l], l, in[l] + l, in[l] ^ l};
        out[4 * l] = v[l] + odd[l];
        out[4 * l + 1] = (uint32_t)wide[l] ^ (uint32_t)(wide[l] >> 32);
        out[4 * l + 2] = (uint32_t)narrow[l] << 16 | (uint8_t)(l * 3);
        out[4 * l + 3] = four[p[0] % 4] + four[(p[0] + 1) % 4] * 3 + (l & 31) + (in[l] & 255);
    }
}

static void flags(uint32_t *out, const uint32_t *in, const uint32_t *p, uint32_t n)
{
    for (uint32_t l = 0; l < n; l++) {
        uint32_t m = (l + 5) % n;
        out[l] = in[(m + 1) % n] + in[(m + 2) % n] + 1;
    }
}

/* ---- Tests ---- */

static const shape shapes[] = {{"in_callees", in_callees, 1}, {"endless", endless, 1}, {"levels", levels, 1},
    {"between_loops", between_loops, 1}, {"returns", returns, 1},
    {"loop_returns", loop_returns, 1}, {"uniform_returns", uniform_returns, 1},
    {"hidden_uniform", hidden_uniform, 1}, {"with_collectives", with_collectives, 1}, {"flags", flags, 1},
    {"live_values", live_values, 4}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* p: shape, threads, three parameters of the kernel */
static void run_shape(cf_test *t, const int *p)
{
    const shape *s = &shapes[p[0]];
    uint32_t n = (uint32_t)p[1], parameters[3] = {(uint32_t)p[2], (uint32_t)p[3], (uint32_t)p[4]};
    size_t words = (size_t)n * (size_t)s->words;
    uint32_t *in = cf_alloc(t, n * 4u), *expected = cf_alloc(t, words * 4), *got = cf_alloc(t, words * 4), *work = cf_alloc(t, n * 4u);
    uint64_t seed = 5;
    for (uint32_t l = 0; l < n; l++) in[l] = (uint32_t)(cf_random(&seed) >> 48);
    s->model(expected, in, parameters, n);
    cf_call call = {.file = "barriers.metal", .kernel = s->kernel, .grid = {n, 1, 1}, .group = {n, 1, 1}};
    cf_buffer(&call, 0, got, words * 4);
    cf_buffer(&call, 1, in, n * 4u);
    cf_bytes(&call, 2, parameters, sizeof parameters);
    if (s->model == flags) cf_buffer(&call, 3, work, n * 4u);
    if (cf_run(t, &call)) cf_equal(t, TOMBAC_TYPE_U32, expected, got, words, "out");
}

void cf_family_barriers(cf_suite *suite)
{
    static const struct {
        const char *kernel;
        int p[3];
    } cases[] = {{"in_callees", {0, 0, 0}}, {"in_callees", {2, 0, 0}}, {"endless", {0, 9, 9}}, {"endless", {5, 9, 99}},
        {"endless", {99, 3, 50}}, {"endless", {99, 9, 3}}, {"levels", {0, 1, 1}}, {"levels", {2, 3, 4}}, {"levels", {1, 2, 7}},
        {"between_loops", {0, 0, 0}}, {"returns", {200, 200, 0}}, {"returns", {150, 90, 10}}, {"returns", {33, 32, 5}},
        {"returns", {1, 1, 0}}, {"returns", {0, 0, 0}}, {"loop_returns", {4, 0, 0}}, {"loop_returns", {4, 1, 0}},
        {"loop_returns", {6, 2, 0}}, {"loop_returns", {5, 3, 0}}, {"loop_returns", {4, 0, 1}}, {"loop_returns", {4, 1, 1}},
        {"loop_returns", {6, 2, 1}}, {"loop_returns", {5, 3, 1}}, {"loop_returns", {0, 0, 1}}, {"uniform_returns", {0, 0, 0}}, {"uniform_returns", {1, 0, 0}},
        {"uniform_returns", {2, 0, 0}}, {"uniform_returns", {4, 0, 0}}, {"uniform_returns", {5, 0, 0}}, {"hidden_uniform", {0, 0, 0}},
        {"hidden_uniform", {1, 1, 1}}, {"hidden_uniform", {2, 2, 2}}, {"hidden_uniform", {3, 3, 3}}, {"with_collectives", {0, 0, 0}},
        {"flags", {0, 0, 0}}, {"live_values", {0, 0, 0}}, {"live_values", {1, 0, 0}}, {"live_values", {6, 0, 0}}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int s = 0; s < SHAPES; s++) {
            if (strcmp(shapes[s].kernel, cases[c].kernel)) continue;
            const int *p = cases[c].p;
            for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
                cf_add(suite, run_shape, CF_P(s, sizes[i], p[0], p[1], p[2]), "barriers.%s.%d-%d-%d.%d", cases[c].kernel, p[0], p[1],
                    p[2], sizes[i]);
        }
}
