/* The block order of docs/architecture.md "Convergence": topological but for back edges, every loop
 * contiguous, dominance-compact at each loop level, a loop's latch last.
 *
 * Method (Moll and Hack, "Partial Control-Flow Linearization", PLDI 2018): per loop level the child loops are
 * collapsed to one node, the dominator tree of the collapsed graph is walked in pre-order, siblings by
 * reverse post-order. Where the graph is reducible, a collapsed node's parent in that tree is the node, at
 * the same level, of its immediate dominator. */
#include "compiler/check/steps.h"

#include <stdlib.h>

/* The dominator tree at all levels at once: a node is a block, or a loop under the name of its header seen
 * from outside. The header as a block of its own loop is that loop's root, so one child list per block and
 * one per loop suffice. */
typedef struct tree {
    const ir_cfg *cfg;
    uint32_t *first, *next; /* children of block b, in reverse post-order; `next` links siblings */
    uint32_t *after;        /* children of loop l as a collapsed node: the blocks behind it */
    uint32_t *order;
    uint32_t placed;
} tree;

/* The loop in which `loop` is a direct child of `level`, or `loop` itself. */
static uint32_t child_at(const ir_cfg *cfg, uint32_t loop, uint32_t level)
{
    while (loop != IR_NONE && cfg->loops[loop].parent != level) loop = cfg->loops[loop].parent;
    return loop;
}

static bool is_header(const ir_cfg *cfg, uint32_t b)
{
    return cfg->blocks[b].loop != IR_NONE && cfg->loops[cfg->blocks[b].loop].header == b;
}

/* Links node `b` under its parent. For a header, `b` stands for the whole loop. Called in falling order of b,
 * so that each list comes out rising. */
static void link_node(tree *t, uint32_t b)
{
    const ir_cfg *cfg = t->cfg;
    uint32_t level = is_header(cfg, b) ? cfg->loops[cfg->blocks[b].loop].parent : cfg->blocks[b].loop;
    uint32_t d = cfg->blocks[b].dominator;
    if (d == IR_NONE) return;
    /* The dominator lies at this level, or inside a loop that is a child of it: then the loop is the parent.
     */
    uint32_t inner = cfg->blocks[d].loop;
    uint32_t *list = &t->first[d];
    if (inner != level) {
        uint32_t loop = child_at(cfg, inner, level);
        if (loop != IR_NONE) list = &t->after[loop];
    }
    t->next[b] = *list;
    *list = b;
}

/* Pushes a list of siblings so that the first comes off the stack first. */
static void place_list(tree *t, uint32_t *stack, uint32_t *depth, uint32_t list)
{
    uint32_t begin = *depth;
    for (uint32_t b = list; b != IR_NONE; b = t->next[b]) stack[(*depth)++] = b;
    for (uint32_t i = begin, k = *depth; i + 1 < k; i++, k--) { /* the first one on top */
        uint32_t swap = stack[i];
        stack[i] = stack[k - 1];
        stack[k - 1] = swap;
    }
}

/* Pre-order without recursion. */
static void walk(tree *t, uint32_t *stack)
{
    uint32_t depth = 0;
    stack[depth++] = 0;
    while (depth) {
        uint32_t b = stack[--depth];
        t->order[t->placed++] = b;
        /* A header's loop comes whole before the blocks behind the loop. */
        if (is_header(t->cfg, b)) place_list(t, stack, &depth, t->after[t->cfg->blocks[b].loop]);
        place_list(t, stack, &depth, t->first[b]);
    }
}

tombac_status check_order_compute(const ir_cfg *cfg, uint32_t *order, tombac_error **error)
{
    size_t n = cfg->block_count;
    uint32_t *memory = malloc((n * 3 + cfg->loop_count + 1) * sizeof *memory);
    if (!memory) return tb_fail_memory(error);
    tree t = {cfg, memory, memory + n, memory + 3 * n, order, 0};
    for (size_t i = 0; i < n * 3 + cfg->loop_count + 1; i++) memory[i] = IR_NONE;
    for (uint32_t b = cfg->block_count; b-- > 0;) link_node(&t, b);
    walk(&t, memory + 2 * n);
    free(memory);
    return t.placed == cfg->block_count
               ? TOMBAC_OK
               : tb_fail(error, TOMBAC_ERROR_COMPILER, "internal error: blocks out of order");
}
