/* Natural loops, and the one order of blocks from which everything about convergence follows.
 *
 * Takes the graph with dominators; loops are in loop-simplify form (one latch each). Promises k->loops, outer
 * before inner, and k->order: topological, every loop contiguous with its latch last, and dominance-compact
 * at every loop level ("block index" of Moll and Hack, "Partial Control-Flow Linearization", PLDI 2018). The
 * order is a pre-order walk of the dominator tree in which a loop is first one node among its siblings, then
 * its own tree; siblings go by reverse post-order. */
#include "compiler/cpu/kernel.h"

#include <stdlib.h>

static int find_latch(cpu_kernel *k, int header)
{
    const cpu_block *h = &k->blocks[header];
    int latch = -1;
    for (int i = 0; i < h->predecessor_count; i++) {
        int p = h->predecessors[i];
        if (cpu_dominates(k, header, p)) {
            if (latch >= 0) cpu_fail(&k->job, TOMBAC_ERROR_COMPILER, "cpu engine: a loop with two latches");
            latch = p;
        } else if (h->rpo <= k->blocks[p].rpo)
            cpu_fail(&k->job, TOMBAC_ERROR_COMPILER, "cpu engine: a loop with two entries");
    }
    return latch;
}

static void collect_members(cpu_kernel *k, cpu_loop *loop, int *stack)
{
    int depth = 0;
    cpu_set_add(loop->members, loop->header);
    if (loop->latch != loop->header) {
        cpu_set_add(loop->members, loop->latch);
        stack[depth++] = loop->latch;
    }
    while (depth) {
        const cpu_block *block = &k->blocks[stack[--depth]];
        for (int i = 0; i < block->predecessor_count; i++) {
            int p = block->predecessors[i];
            if (cpu_set_has(loop->members, p)) continue;
            cpu_set_add(loop->members, p);
            stack[depth++] = p;
        }
    }
}

static int *blocks_by_rpo(cpu_kernel *k)
{
    int *sequence = cpu_alloc(&k->job, (size_t)k->block_count, sizeof *sequence);
    for (int b = 0; b < k->block_count; b++) sequence[k->blocks[b].rpo] = b;
    return sequence;
}

void cpu_loops_build(cpu_kernel *k)
{
    int n = k->block_count, *sequence = blocks_by_rpo(k);
    int *stack = cpu_alloc(&k->job, (size_t)n, sizeof *stack);
    k->loops = cpu_alloc(&k->job, (size_t)n, sizeof *k->loops);
    for (int r = 0; r < n; r++) {
        int header = sequence[r], latch = find_latch(k, header);
        if (latch < 0) continue;
        int number = k->loop_count++;
        cpu_loop *loop = &k->loops[number];
        *loop = (cpu_loop){.header = header, .latch = latch, .parent = k->blocks[header].loop};
        loop->depth = loop->parent < 0 ? 1 : k->loops[loop->parent].depth + 1;
        loop->members = cpu_set_new(&k->job, n);
        collect_members(k, loop, stack);
        for (int b = 0; b < n; b++)
            if (cpu_set_has(loop->members, b)) k->blocks[b].loop = number;
    }
    for (int v = 0; v < k->value_count; v++)
        if (k->values[v].operation.kind == OP_BARRIER)
            for (int l = k->blocks[k->values[v].block].loop; l >= 0; l = k->loops[l].parent)
                k->loops[l].has_barrier = true;
}

bool cpu_in_loop(const cpu_kernel *k, int l, int b)
{
    return l < 0 || cpu_set_has(k->loops[l].members, b);
}

bool cpu_is_header(const cpu_kernel *k, int b)
{
    int l = k->blocks[b].loop;
    return l >= 0 && k->loops[l].header == b;
}

/* The node for block b among the children of loop l: b itself, or the header of the loop inside l that holds
 * b. */
static int node_at(const cpu_kernel *k, int b, int l)
{
    int inner = k->blocks[b].loop;
    if (inner == l) return b;
    while (inner >= 0 && k->loops[inner].parent != l) inner = k->loops[inner].parent;
    return inner < 0 ? -1 : k->loops[inner].header;
}

/* Children lists: first child and next sibling, ascending by rpo. A header has two lists, as block and as
 * loop. */
typedef struct tree {
    int *block_child, *loop_child, *sibling, *outer_sibling;
} tree;

static void walk_block(cpu_kernel *k, const tree *t, int b, int *at);

static void walk_loop(cpu_kernel *k, const tree *t, int header, int *at)
{
    int outer = k->loops[k->blocks[header].loop].parent;
    walk_block(k, t, header, at);
    for (int c = t->loop_child[header]; c >= 0;) {
        bool is_loop = k->blocks[c].loop != outer;
        int next = is_loop ? t->outer_sibling[c] : t->sibling[c];
        if (is_loop)
            walk_loop(k, t, c, at);
        else
            walk_block(k, t, c, at);
        c = next;
    }
}

/* Block b as a plain node of its own loop, then what it dominates there. */
static void walk_block(cpu_kernel *k, const tree *t, int b, int *at)
{
    k->blocks[b].position = *at;
    k->order[(*at)++] = b;
    int level = k->blocks[b].loop;
    for (int c = t->block_child[b]; c >= 0;) {
        bool is_loop = k->blocks[c].loop != level;
        int next = is_loop ? t->outer_sibling[c] : t->sibling[c];
        if (is_loop)
            walk_loop(k, t, c, at);
        else
            walk_block(k, t, c, at);
        c = next;
    }
}

/* Hangs node c (a block, or a loop by its header) under the node that dominates it at `level`. */
static void hang(const cpu_kernel *k, tree *t, int c, int level, int *siblings)
{
    int dominator = k->blocks[c].idom;
    int node = node_at(k, dominator, level);
    int *list = k->blocks[node].loop == level ? &t->block_child[node] : &t->loop_child[node];
    siblings[c] = *list;
    *list = c;
}

void cpu_order_build(cpu_kernel *k)
{
    int n = k->block_count, *sequence = blocks_by_rpo(k), at = 0;
    tree t;
    int **lists[] = {&t.block_child, &t.loop_child, &t.sibling, &t.outer_sibling};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        *lists[i] = cpu_alloc(&k->job, (size_t)n, sizeof(int));
        for (int b = 0; b < n; b++) (*lists[i])[b] = -1;
    }
    for (int r = n - 1; r > 0; r--) { /* from the back, so that lists come out ascending */
        int b = sequence[r];
        if (cpu_is_header(k, b))
            hang(k, &t, b, k->loops[k->blocks[b].loop].parent, t.outer_sibling);
        else
            hang(k, &t, b, k->blocks[b].loop, t.sibling);
    }
    k->order = cpu_alloc(&k->job, (size_t)n, sizeof *k->order);
    walk_block(k, &t, 0, &at);
    if (at != n) cpu_fail(&k->job, TOMBAC_ERROR_COMPILER, "cpu engine: blocks cannot be put in order");
}
