/* The block order and the control flow graph behind it, against their definitions, on random reducible
 * graphs.
 *
 * The reference is computed the slow way from the definitions alone: a dominates b if b cannot be reached
 * without a; back edges lead to a dominator; a loop is what reaches a back edge's source without passing the
 * header. */
#include "compiler/check/steps.h"
#include "compiler/ir/steps.h"

#include <llvm-c/Core.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { MAX = 24 };

typedef struct graph {
    unsigned count;
    bool edge[MAX][MAX];
    bool reach[MAX];          /* from the entry */
    bool dominates[MAX][MAX]; /* [a][b] */
    bool in_loop[MAX][MAX];   /* [header][block]; all false: not a header */
} graph;

static uint32_t random_state;
static uint32_t random_below(uint32_t n)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % n;
}

/* Blocks reached from `start` without entering `without`. */
static void flood(const graph *g, unsigned start, unsigned without, bool *seen)
{
    unsigned stack[MAX], depth = 0;
    memset(seen, 0, MAX);
    if (start == without) return;
    seen[start] = true;
    stack[depth++] = start;
    while (depth) {
        unsigned b = stack[--depth];
        for (unsigned t = 0; t < g->count; t++) {
            if (!g->edge[b][t] || seen[t] || t == without) continue;
            seen[t] = true;
            stack[depth++] = t;
        }
    }
}

static void analyse(graph *g)
{
    bool seen[MAX];
    flood(g, 0, MAX, g->reach);
    for (unsigned a = 0; a < g->count; a++) {
        flood(g, 0, a, seen);
        for (unsigned b = 0; b < g->count; b++) g->dominates[a][b] = g->reach[b] && !seen[b];
    }
    memset(g->in_loop, 0, sizeof g->in_loop);
    for (unsigned h = 0; h < g->count; h++) {
        for (unsigned b = 0; b < g->count; b++) {
            if (!g->reach[b] || !g->reach[h] || !g->dominates[h][b]) continue;
            /* b is in h's loop if a back edge's source can be reached from it without passing h */
            flood(g, b, b == h ? MAX : h, seen);
            for (unsigned s = 0; s < g->count; s++) {
                if (g->reach[s] && g->edge[s][h] && g->dominates[h][s] && seen[s]) g->in_loop[h][b] = true;
            }
        }
        if (!g->in_loop[h][h]) memset(g->in_loop[h], 0, MAX);
    }
}

/* No cycle is left when back edges are removed. */
static bool is_reducible(const graph *g)
{
    graph forward = *g;
    for (unsigned a = 0; a < g->count; a++) {
        for (unsigned b = 0; b < g->count; b++) {
            if (g->dominates[b][a]) forward.edge[a][b] = false;
        }
    }
    for (unsigned a = 0; a < g->count; a++) {
        for (unsigned t = 0; t < g->count; t++) {
            bool seen[MAX];
            if (!g->reach[a] || !forward.edge[a][t]) continue;
            flood(&forward, t, MAX, seen);
            if (seen[a]) return false;
        }
    }
    return true;
}

static void make_random(graph *g, unsigned count)
{
    memset(g, 0, sizeof *g);
    g->count = count;
    for (unsigned b = 0; b + 1 < count; b++) {
        g->edge[b][b + 1 + random_below(2 < count - b - 1 ? 2 : 1)] = true;
        if (random_below(3)) g->edge[b][random_below(count - 1) + 1] = true; /* never back to the entry */
    }
    analyse(g);
}

static LLVMValueRef build(LLVMModuleRef module, const graph *g, LLVMBasicBlockRef *blocks)
{
    LLVMContextRef c = LLVMGetModuleContext(module);
    LLVMTypeRef flag = LLVMInt1TypeInContext(c);
    LLVMValueRef f =
        LLVMAddFunction(module, "f", LLVMFunctionType(LLVMVoidTypeInContext(c), &flag, 1, false));
    LLVMBuilderRef b = LLVMCreateBuilderInContext(c);
    for (unsigned i = 0; i < g->count; i++) blocks[i] = LLVMAppendBasicBlockInContext(c, f, "");
    for (unsigned i = 0; i < g->count; i++) {
        unsigned targets[2], n = 0;
        for (unsigned t = 0; t < g->count; t++) {
            if (g->edge[i][t] && n < 2) targets[n++] = t;
        }
        LLVMPositionBuilderAtEnd(b, blocks[i]);
        if (n == 0) LLVMBuildRetVoid(b);
        if (n == 1) LLVMBuildBr(b, blocks[targets[0]]);
        if (n == 2) LLVMBuildCondBr(b, LLVMGetParam(f, 0), blocks[targets[0]], blocks[targets[1]]);
    }
    LLVMDisposeBuilder(b);
    return f;
}

static unsigned number_of(const LLVMBasicBlockRef *blocks, unsigned count, LLVMBasicBlockRef block)
{
    for (unsigned i = 0; i < count; i++) {
        if (blocks[i] == block) return i;
    }
    return count;
}

/* place[b]: where block b stands in the order. */
static void check_order(const graph *g, const unsigned *place)
{
    for (unsigned a = 0; a < g->count; a++) {
        for (unsigned b = 0; b < g->count; b++) {
            if (!g->reach[a] || !g->reach[b]) continue;
            if (g->edge[a][b] && !g->dominates[b][a]) assert_true(place[a] < place[b]); /* topological */
        }
    }
    for (unsigned h = 0; h < g->count; h++) {
        if (!g->in_loop[h][h]) continue;
        unsigned low = MAX, high = 0, size = 0, latches = 0, latch = 0;
        for (unsigned b = 0; b < g->count; b++) {
            if (!g->in_loop[h][b]) continue;
            size++;
            if (place[b] < low) low = place[b];
            if (place[b] > high) high = place[b];
            if (g->edge[b][h]) latches++, latch = b;
        }
        assert_int_equal(high - low + 1, size); /* contiguous */
        assert_int_equal(low, place[h]);
        bool inner = false; /* the latch lies in a loop inside this one */
        for (unsigned b = 0; b < g->count; b++) inner |= b != h && g->in_loop[h][b] && g->in_loop[b][latch];
        if (latches == 1 && !inner) assert_int_equal(high, place[latch]);
    }
}

/* Dominance-compact outside loops: what a block dominates follows it without a gap. */
static void check_compact(const graph *g, const unsigned *place)
{
    bool loops = false;
    for (unsigned h = 0; h < g->count; h++) loops |= g->in_loop[h][h];
    for (unsigned a = 0; a < g->count && !loops; a++) {
        if (!g->reach[a]) continue;
        unsigned high = place[a], size = 0;
        for (unsigned b = 0; b < g->count; b++) {
            if (!g->dominates[a][b]) continue;
            size++;
            if (place[b] > high) high = place[b];
        }
        assert_int_equal(high - place[a] + 1, size);
    }
}

static void check_graph(const graph *g)
{
    LLVMContextRef context = LLVMContextCreate();
    LLVMModuleRef module = LLVMModuleCreateWithNameInContext("m", context);
    LLVMBasicBlockRef blocks[MAX];
    LLVMValueRef function = build(module, g, blocks);
    ir_cfg cfg;
    assert_int_equal(ir_cfg_build(function, &cfg, NULL), TOMBAC_OK);
    assert_int_equal(cfg.irreducible, !is_reducible(g));
    unsigned reached = 0, numbers[MAX];
    for (unsigned b = 0; b < g->count; b++) reached += g->reach[b];
    assert_int_equal(cfg.block_count, reached);
    for (unsigned i = 0; i < reached; i++) numbers[i] = number_of(blocks, g->count, cfg.blocks[i].block);
    for (unsigned i = 0; i < reached; i++) {
        for (unsigned k = 0; k < reached; k++) {
            assert_int_equal(ir_cfg_dominates(&cfg, i, k), g->dominates[numbers[i]][numbers[k]]);
        }
    }
    if (!cfg.irreducible) {
        uint32_t order[MAX];
        unsigned place[MAX] = {0};
        assert_int_equal(check_order_compute(&cfg, order, NULL), TOMBAC_OK);
        for (unsigned i = 0; i < reached; i++) place[numbers[order[i]]] = i;
        check_order(g, place);
        check_compact(g, place);
    }
    ir_cfg_free(&cfg);
    LLVMDisposeModule(module);
    LLVMContextDispose(context);
}

static void test_random_graphs(void **state)
{
    (void)state;
    unsigned reducible = 0;
    for (uint32_t seed = 1; seed <= 3000; seed++) {
        graph g;
        random_state = seed;
        make_random(&g, 2 + random_below(MAX - 2));
        reducible += is_reducible(&g);
        check_graph(&g);
    }
    assert_true(reducible > 300); /* the generator must not make irreducible graphs only */
}

static void test_merge_latches(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 500; seed++) {
        graph g;
        random_state = seed;
        make_random(&g, 2 + random_below(MAX - 2));
        LLVMContextRef context = LLVMContextCreate();
        LLVMModuleRef module = LLVMModuleCreateWithNameInContext("m", context);
        LLVMBasicBlockRef blocks[MAX];
        LLVMValueRef function = build(module, &g, blocks);
        assert_int_equal(ir_loops_merge_latches(function, NULL), TOMBAC_OK);
        ir_cfg cfg;
        assert_int_equal(ir_cfg_build(function, &cfg, NULL), TOMBAC_OK);
        for (uint32_t l = 0; l < cfg.loop_count; l++) {
            assert_true(cfg.loops[l].latch < cfg.block_count);
            assert_int_equal(cfg.blocks[cfg.loops[l].latch].loop, l);
        }
        ir_cfg_free(&cfg);
        LLVMDisposeModule(module);
        LLVMContextDispose(context);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_graphs), cmocka_unit_test(test_merge_latches)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
