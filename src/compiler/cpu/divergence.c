/* Which branches may split the lanes, which phis may merge different lanes, and with it the shape of every
 * value.
 *
 * Takes the graph in order; promises the greatest solution of: a branch on a condition that is not uniform
 * diverges; where two ways from a divergent branch meet, phis diverge; a loop that lanes may leave in
 * different iterations diverges, and so do the phis behind its exits. Ways are followed as labels along the
 * block order ("sync dependence" of Rosemann, Moll, Hack, "An Abstract Interpretation for SPMD Divergence on
 * Reducible Control Flow Graphs", POPL 2021), not by post-dominators, because a `continue` can pass by the
 * post-dominator within an iteration.
 *
 * A branch by which a loop around a threadgroup barrier is left counts as uniform: the language demands it,
 * since all threads must meet at the barrier. The code still tests it (linearise.c). A return from within such a loop is
 * no such branch. */
#include "compiler/cpu/kernel.h"

/* ---- Branches that the language makes uniform ---- */

static bool leaves_loop_of(const cpu_kernel *k, int branch, int inside)
{
    int l = k->blocks[branch].loop;
    if (l < 0 || !cpu_in_loop(k, l, inside)) return false;
    for (int i = 0; i < k->blocks[branch].successor_count; i++)
        if (!cpu_in_loop(k, l, k->blocks[branch].successors[i])) return true;
    return false;
}

static bool depends_on(const cpu_kernel *k, int block, int branch)
{
    if (block != branch && cpu_post_dominates(k, block, branch)) return false;
    for (int i = 0; i < k->blocks[branch].successor_count; i++)
        if (cpu_post_dominates(k, block, k->blocks[branch].successors[i])) return true;
    return false;
}

/* A way through blocks that decide, by constants of their phis, where those that come this way go on. */
typedef struct way {
    int *blocks, length;
} way;

/* 0 or 1, what condition `ir` is at the end of the way; -1: it is not known. */
static int64_t on_way(const cpu_kernel *k, const way *w, LLVMValueRef ir)
{
    if (LLVMIsAConstantInt(ir)) return (int64_t)LLVMConstIntGetZExtValue(ir);
    if (LLVMIsAICmpInst(ir) && LLVMGetICmpPredicate(ir) == LLVMIntEQ) {
        int64_t a = on_way(k, w, LLVMGetOperand(ir, 0)), b = on_way(k, w, LLVMGetOperand(ir, 1));
        return a < 0 || b < 0 ? -1 : a == b;
    }
    if (!LLVMIsAPHINode(ir)) return -1;
    for (int i = w->length - 1; i > 0; i--) {
        if (LLVMGetInstructionParent(ir) != k->blocks[w->blocks[i]].ir) continue;
        for (unsigned j = 0; j < LLVMCountIncoming(ir); j++)
            if (LLVMGetIncomingBlock(ir, j) == k->blocks[w->blocks[i - 1]].ir)
                return on_way(k, &(way){w->blocks, i}, LLVMGetIncomingValue(ir, j));
    }
    return -1;
}

static bool only_decides(const cpu_kernel *k, const cpu_block *block)
{
    for (int v = block->first_value; v < block->first_value + block->value_count; v++)
        if (!LLVMIsAPHINode(k->values[v].ir) && !LLVMIsAICmpInst(k->values[v].ir)) return false;
    return block->successor_count > 0;
}

/* The block, from `to` on, where those that come by the edge do something or where it is not known how they go on. */
static int first_deed(const cpu_kernel *k, int from, int to, int *room)
{
    way w = {room, 0};
    w.blocks[w.length++] = from;
    while (w.length < k->block_count && only_decides(k, &k->blocks[to])) {
        const cpu_block *block = &k->blocks[to];
        w.blocks[w.length++] = to;
        int64_t yes = 1;
        if (block->successor_count == 2)
            yes = on_way(k, &w, LLVMGetCondition(LLVMGetBasicBlockTerminator(block->ir)));
        if (yes < 0) break;
        to = block->successors[!yes];
    }
    return to;
}

static bool reaches_barrier(cpu_kernel *k, int block, int *stack)
{
    uint64_t *seen = cpu_set_new(&k->job, k->block_count);
    int depth = 0;
    cpu_set_add(seen, block);
    stack[depth++] = block;
    while (depth) {
        const cpu_block *b = &k->blocks[stack[--depth]];
        for (int v = b->first_value; v < b->first_value + b->value_count; v++)
            if (k->values[v].operation.kind == OP_BARRIER) return true;
        for (int i = 0; i < b->successor_count; i++) {
            if (cpu_set_has(seen, b->successors[i])) continue;
            cpu_set_add(seen, b->successors[i]);
            stack[depth++] = b->successors[i];
        }
    }
    return false;
}

/* Does the branch let threads leave a loop, not at its end, on their way to no barrier any more? They may do so one by
 * one, since those that are gone stay away from barriers. */
static bool is_return(cpu_kernel *k, int branch, int *room)
{
    const cpu_block *block = &k->blocks[branch];
    int l = block->loop;
    const cpu_block *latch = &k->blocks[k->loops[l].latch];
    bool ends_by_latch = latch->successor_count == 2;
    if (branch == (ends_by_latch ? k->loops[l].latch : k->loops[l].header)) return false;
    for (int i = 0; i < block->successor_count; i++)
        if (!cpu_in_loop(k, l, block->successors[i]))
            return !reaches_barrier(k, first_deed(k, branch, block->successors[i], room), room);
    return false;
}

static void force_uniform_exits(cpu_kernel *k)
{
    if (!k->has_barrier) return;
    int n = k->block_count, depth = 0;
    int *work = cpu_alloc(&k->job, (size_t)n, sizeof *work), *room = cpu_alloc(&k->job, (size_t)n + 1, sizeof *room);
    uint64_t *reached = cpu_set_new(&k->job, n);
    for (int v = 0; v < k->value_count; v++)
        if (k->values[v].operation.kind == OP_BARRIER && !cpu_set_has(reached, k->values[v].block)) {
            cpu_set_add(reached, k->values[v].block);
            work[depth++] = k->values[v].block;
        }
    while (depth) {
        int block = work[--depth];
        for (int x = 0; x < n; x++) {
            if (k->blocks[x].successor_count < 2 || !depends_on(k, block, x) || !leaves_loop_of(k, x, block) ||
                is_return(k, x, room))
                continue;
            k->blocks[x].forced = true;
            if (cpu_set_has(reached, x)) continue;
            cpu_set_add(reached, x);
            work[depth++] = x;
        }
    }
}

/* ---- Labels ---- */

typedef struct walk {
    cpu_kernel *k;
    int *label; /* -1: no lane comes here this way */
    int scope, low;
    bool escaped, changed;
} walk;

static void make_divergent(walk *w, int from, int to)
{
    for (int l = from; l >= 0 && !cpu_in_loop(w->k, l, to); l = w->k->loops[l].parent) {
        w->changed |= !w->k->loops[l].divergent;
        w->k->loops[l].divergent = true;
    }
}

/* An edge brings `label` to block b. */
static void arrive(walk *w, int b, int label, int at)
{
    cpu_kernel *k = w->k;
    if (k->blocks[b].position <= at) { /* the next iteration; a loop inside has brought its only label before */
        w->escaped |= k->blocks[b].position <= w->low;
        return;
    }
    if (w->scope >= 0 && !cpu_in_loop(k, w->scope, b)) {
        w->escaped = true;
        make_divergent(w, w->scope, b);
        return;
    }
    if (w->label[b] < 0) {
        w->label[b] = label;
    } else if (w->label[b] != label) {
        w->label[b] = b;
        w->changed |= !k->blocks[b].divergent_phis;
        k->blocks[b].divergent_phis = true;
    }
}

/* Is there no label but that of block x among the blocks behind position `at`? */
static bool only_label(const walk *w, int x, int at)
{
    for (int o = at + 1; o < w->k->block_count; o++) {
        int label = w->label[w->k->order[o]];
        if (label >= 0 && label != w->label[x]) return false;
    }
    return true;
}

/* Follows the ways from `starts` along the order within loop `scope`. */
static bool propagate(cpu_kernel *k, const int *starts, int count, int low, int scope, int *label)
{
    walk w = {.k = k, .label = label, .scope = scope, .low = low};
    int n = k->block_count;
    for (int b = 0; b < n; b++) label[b] = -1;
    for (int i = 0; i < count; i++) arrive(&w, starts[i], n + starts[i], low);
    for (int o = low + 1; o < n; o++) {
        int b = k->order[o];
        if (label[b] < 0) continue;
        if (!w.escaped && label[b] < n && only_label(&w, b, o)) break; /* all have met */
        for (int i = 0; i < k->blocks[b].successor_count; i++)
            arrive(&w, k->blocks[b].successors[i], label[b], o);
        label[b] = -1;
    }
    return w.changed;
}

/* ---- Fixpoint ---- */

static bool update_shapes(cpu_kernel *k)
{
    bool any = false;
    for (bool changed = true; changed;) {
        changed = false;
        for (int o = 0; o < k->block_count; o++) {
            const cpu_block *block = &k->blocks[k->order[o]];
            for (int v = block->first_value; v < block->first_value + block->value_count; v++) {
                cpu_value *value = &k->values[v];
                cpu_shape s = cpu_transfer(k, value);
                if (!value->shape.top && !s.top) s = cpu_shape_meet(s, value->shape);
                if (s.top || cpu_shape_equals(&s, &value->shape)) continue;
                value->shape = s;
                changed = any = true;
            }
        }
    }
    return any;
}

static bool visit_branches(cpu_kernel *k, int *label)
{
    bool changed = false;
    for (int b = 0; b < k->block_count; b++) {
        cpu_block *block = &k->blocks[b];
        if (block->successor_count < 2 || block->forced) continue;
        cpu_shape s = cpu_shape_of(k, LLVMGetCondition(LLVMGetBasicBlockTerminator(block->ir)));
        if (cpu_shape_is_uniform(&s)) continue;
        changed |= !block->divergent_branch;
        block->divergent_branch = true;
        changed |= propagate(k, block->successors, 2, block->position, block->loop, label);
    }
    return changed;
}

static bool visit_loops(cpu_kernel *k, int *label, int *exits)
{
    bool changed = false;
    for (int l = 0; l < k->loop_count; l++) {
        if (!k->loops[l].divergent) continue;
        uint64_t *seen = cpu_set_new(&k->job, k->block_count);
        int count = 0;
        for (int b = 0; b < k->block_count; b++) {
            if (!cpu_in_loop(k, l, b)) continue;
            for (int i = 0; i < k->blocks[b].successor_count; i++) {
                int s = k->blocks[b].successors[i];
                if (cpu_in_loop(k, l, s) || cpu_set_has(seen, s)) continue;
                cpu_set_add(seen, s);
                exits[count++] = s;
                changed |= !k->blocks[s].divergent_phis || !k->blocks[s].temporal_phis;
                k->blocks[s].divergent_phis = k->blocks[s].temporal_phis = true;
            }
        }
        int last = k->blocks[k->loops[l].latch].position;
        if (count > 1) changed |= propagate(k, exits, count, last, k->loops[l].parent, label);
    }
    return changed;
}

/* What has no shape yet is made of undefined values alone, as far as phis go: any lanes' values are as good, and equal ones
 * are best. What is computed from them and from others still gets its shape from both, so the search goes on. What is left
 * in the end has an undefined operand itself. False: everything has a shape. */
static bool settle_undefined(cpu_kernel *k)
{
    bool any = false, phis = false;
    for (int v = 0; v < k->value_count; v++) {
        cpu_value *value = &k->values[v];
        if (!value->shape.top) continue;
        any = true;
        if (LLVMGetInstructionOpcode(value->ir) != LLVMPHI) continue;
        phis = true;
        value->shape = cpu_shape_uniform(0);
    }
    for (int v = 0; any && !phis && v < k->value_count; v++)
        if (k->values[v].shape.top) k->values[v].shape = cpu_shape_varying();
    return any;
}

void cpu_divergence_find(cpu_kernel *k)
{
    int n = k->block_count;
    int *label = cpu_alloc(&k->job, (size_t)n, sizeof *label),
        *exits = cpu_alloc(&k->job, (size_t)n, sizeof *exits);
    force_uniform_exits(k);
    do {
        for (bool changed = true; changed;) {
            changed = update_shapes(k);
            changed |= visit_branches(k, label);
            changed |= visit_loops(k, label, exits);
        }
    } while (settle_undefined(k));
}
