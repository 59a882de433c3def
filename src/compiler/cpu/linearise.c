/* Partial linearisation with guarded dispatch: the kernel's blocks as straight vector code under masks.
 *
 * Takes shapes, divergence, masks; makes the step function, which runs one SIMD-group (from one barrier to
 * the next). Invariant: a block with memory accesses, calls, divisions or a uniform branch is entered only if
 * at least one of its lanes is active. Hence uniform values can be scalar code, uniform loads never happen
 * for nobody, and uniform loops end.
 *
 * Method (Moll and Hack, PLDI 2018, with tests added at run time): blocks are emitted in k->order. A uniform
 * branch stays a branch. A divergent one only adds its lanes to the waiting masks of both successors; then
 * control goes to the first block in the order that may have waiting lanes: the block's `pending` set, filled
 * by all blocks that may run before. Unless the next one is certain to have lanes (or cheap), its mask is
 * tested. The latch of a divergent loop has the loop's header first in that chain: "again while any lane is
 * left".
 *
 * Phis: edges store into `incoming` slots, under the edge's mask where lanes may come by several edges; the
 * block reads them on entry. All values of an edge are read before the first is stored, since phis are
 * parallel copies. */
#include "compiler/cpu/matrix.h"

#include <stdlib.h>

static bool is_phi(LLVMValueRef ir)
{
    return ir && LLVMGetInstructionOpcode(ir) == LLVMPHI;
}

static bool leaves_divergent_loop(const cpu_kernel *k, int from, int to)
{
    for (int l = k->blocks[from].loop; l >= 0 && !cpu_in_loop(k, l, to); l = k->loops[l].parent)
        if (k->loops[l].divergent) return true;
    return false;
}

/* ---- Edges ---- */

/* A header's inactive lanes are dead (lcssa); alone or with the whole mask nothing is to be kept, except exits that
 * collect lanes over several iterations. */
bool cpu_edge_blends(const cpu_kernel *k, int from, int to)
{
    const cpu_block *p = &k->blocks[from], *s = &k->blocks[to];
    bool same_mask = !p->divergent_branch && s->leader == p->leader;
    return !cpu_is_header(k, to) &&
           (leaves_divergent_loop(k, from, to) || !(s->predecessor_count == 1 || same_mask));
}

static LLVMValueRef incoming_value(cpu_kernel *k, LLVMValueRef phi, int from)
{
    unsigned count = LLVMCountIncoming(phi);
    for (unsigned i = 0; i < count; i++)
        if (LLVMGetIncomingBlock(phi, i) == k->blocks[from].ir) return LLVMGetIncomingValue(phi, i);
    cpu_fail(&k->job, TOMBAC_ERROR_COMPILER, "cpu engine: a phi lacks an edge");
}

typedef struct copy {
    LLVMValueRef value, slot;
} copy;

static int read_phi(cpu_kernel *k, cpu_value *phi, int from, LLVMValueRef mask, bool blend, copy *out)
{
    LLVMValueRef in = incoming_value(k, phi->ir, from);
    int count = phi->copies ? phi->copies : 1;
    if (LLVMIsUndef(in) && !phi->bundle) return 0;
    for (int i = 0; i < phi->copies; i++)
        out[i] = (copy){cpu_scalar(k, in, i, phi->copies), phi->incoming[i]};
    if (phi->copies) return count;
    if (phi->bundle) {
        out[0] = (copy){cpu_bundle_incoming(k, phi, incoming_value, from), phi->incoming[0]};
        return 1;
    }
    LLVMValueRef value = cpu_vector(k, in);
    if (blend && mask != k->all) {
        LLVMValueRef old = LLVMBuildLoad2(k->builder, phi->type, phi->incoming[0], "");
        value = LLVMBuildSelect(k->builder, mask, value, old, "");
    }
    out[0] = (copy){value, phi->incoming[0]};
    return 1;
}

/* Control passes the edge for the lanes in `mask`. */
static void take_edge(cpu_kernel *k, int from, int to, LLVMValueRef mask)
{
    const cpu_block *s = &k->blocks[to];
    bool blend = cpu_edge_blends(k, from, to);
    copy *copies = cpu_alloc(&k->job, (size_t)(s->value_count + 1) * MAX_COPIES, sizeof *copies);
    int count = 0;
    for (int v = s->first_value; v < s->first_value + s->value_count && is_phi(k->values[v].ir); v++)
        count += read_phi(k, &k->values[v], from, mask, blend, copies + count);
    for (int i = 0; i < count; i++) LLVMBuildStore(k->builder, copies[i].value, copies[i].slot);
    if (s->leader != to || !s->pending_mask) return;
    /* Lanes that come by the only edge, all at once, are the only ones: those of the time before have been served. */
    bool alone = s->predecessor_count == 1 && !leaves_divergent_loop(k, from, to);
    LLVMValueRef waiting = mask;
    if (mask != k->all && !alone)
        waiting =
            LLVMBuildOr(k->builder, LLVMBuildLoad2(k->builder, k->mask_type, s->pending_mask, ""), mask, "");
    LLVMBuildStore(k->builder, waiting, s->pending_mask);
}

/* The same for a divergent branch; blends at the exits of divergent loops are skipped while no lane leaves.
 */
static void take_divergent_edge(cpu_kernel *k, int from, int to, LLVMValueRef mask)
{
    if (!leaves_divergent_loop(k, from, to) || !is_phi(LLVMGetFirstInstruction(k->blocks[to].ir))) {
        take_edge(k, from, to, mask);
        return;
    }
    LLVMBasicBlockRef leave = cpu_new_block(k, "leave"), stay = cpu_new_block(k, "stay");
    LLVMBuildCondBr(k->builder, cpu_mask_any(k, mask), leave, stay);
    LLVMPositionBuilderAtEnd(k->builder, leave);
    take_edge(k, from, to, mask);
    LLVMBuildBr(k->builder, stay);
    LLVMPositionBuilderAtEnd(k->builder, stay);
}

/* ---- Dispatch ---- */

/* Goes to the first block with waiting lanes among the pending ones of `from` and `targets`. `certain`: a
 * target that surely has lanes, -1: none. */
static void dispatch(cpu_kernel *k, int from, const int *targets, int target_count, int certain)
{
    int n = k->block_count, count = 0;
    int *chain = cpu_alloc(&k->job, (size_t)n + 2, sizeof *chain);
    uint64_t *set = cpu_set_new(&k->job, n);
    for (size_t w = 0; w < cpu_set_words(n); w++) set[w] = k->blocks[from].pending[w];
    for (int i = 0; i < target_count; i++) cpu_set_add(set, targets[i]);
    for (int b = 0; b < n; b++) { /* insertion by position; chains are short */
        if (!cpu_set_has(set, b)) continue;
        int i = count++;
        for (; i > 0 && k->blocks[chain[i - 1]].position > k->blocks[b].position; i--)
            chain[i] = chain[i - 1];
        chain[i] = b;
    }
    for (int i = 0; i < count; i++)
        for (int j = i + 1; j < count; j++) cpu_set_add(k->blocks[chain[i]].pending, chain[j]);
    for (int i = 0; i < count; i++) {
        const cpu_block *block = &k->blocks[chain[i]];
        bool sure = chain[i] == certain || block->leader != chain[i] || block->cheap;
        if (i == count - 1 || sure) {
            LLVMBuildBr(k->builder, block->out);
            return;
        }
        LLVMBasicBlockRef next = cpu_new_block(k, "dispatch");
        LLVMValueRef waiting = LLVMBuildLoad2(k->builder, k->mask_type, block->pending_mask, "");
        LLVMBuildCondBr(k->builder, cpu_mask_any(k, waiting), block->out, next);
        LLVMPositionBuilderAtEnd(k->builder, next);
    }
}

static void emit_return(cpu_kernel *k)
{
    if (k->has_barrier)
        LLVMBuildRet(k->builder, cpu_int(k->i32, 0));
    else
        LLVMBuildRetVoid(k->builder);
}

/* The condition of a branch that is uniform by the language's rule: that of any active lane. If lanes differ,
 * the barrier behind it cannot be met by all, and the runtime is told. */
static LLVMValueRef forced_condition(cpu_kernel *k, LLVMValueRef condition)
{
    if (cpu_is_uniform(k, condition)) return cpu_scalar(k, condition, 0, 1);
    LLVMValueRef wide = cpu_vector(k, condition);
    LLVMValueRef yes = cpu_mask_any(k, cpu_mask_and(k, k->mask, wide));
    LLVMValueRef no = cpu_mask_any(k, cpu_mask_and(k, k->mask, LLVMBuildNot(k->builder, wide, "")));
    LLVMBasicBlockRef differ = cpu_new_block(k, "differ"), agree = cpu_new_block(k, "agree");
    LLVMBuildCondBr(k->builder, LLVMBuildAnd(k->builder, yes, no, ""), differ, agree);
    LLVMPositionBuilderAtEnd(k->builder, differ);
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(k->context), NULL, 0, 0);
    LLVMValueRef fail = LLVMGetNamedFunction(k->module, TB_CPU_DIVERGENT_BARRIER);
    if (!fail) fail = LLVMAddFunction(k->module, TB_CPU_DIVERGENT_BARRIER, type);
    LLVMBuildCall2(k->builder, type, fail, NULL, 0, "");
    emit_return(k);
    LLVMPositionBuilderAtEnd(k->builder, agree);
    return yes;
}

static void emit_branch(cpu_kernel *k, int b)
{
    const cpu_block *block = &k->blocks[b];
    LLVMValueRef end = LLVMGetBasicBlockTerminator(block->ir);
    if (!block->successor_count) {
        emit_return(k);
        return;
    }
    if (block->successor_count == 1) {
        take_edge(k, b, block->successors[0], k->mask);
        dispatch(k, b, block->successors, 1, block->cheap ? -1 : block->successors[0]);
        return;
    }
    LLVMValueRef condition = LLVMGetCondition(end);
    if (block->divergent_branch) {
        LLVMValueRef wide = cpu_vector(k, condition);
        LLVMValueRef masks[2] = {
            cpu_mask_and(k, k->mask, wide), cpu_mask_and(k, k->mask, LLVMBuildNot(k->builder, wide, ""))};
        for (int i = 0; i < 2; i++) take_divergent_edge(k, b, block->successors[i], masks[i]);
        dispatch(k, b, block->successors, 2, -1);
        return;
    }
    LLVMValueRef scalar = block->forced ? forced_condition(k, condition) : cpu_scalar(k, condition, 0, 1);
    LLVMBasicBlockRef way[2] = {cpu_new_block(k, "yes"), cpu_new_block(k, "no")};
    LLVMBuildCondBr(k->builder, scalar, way[0], way[1]);
    for (int i = 0; i < 2; i++) {
        LLVMPositionBuilderAtEnd(k->builder, way[i]);
        take_edge(k, b, block->successors[i], k->mask);
        dispatch(k, b, &block->successors[i], 1, block->cheap ? -1 : block->successors[i]);
    }
}

/* ---- Blocks ---- */

static LLVMValueRef leader_mask(cpu_kernel *k, int b)
{
    int leader = k->blocks[b].leader;
    if (leader == k->order[0]) return k->entry_mask;
    return LLVMBuildLoad2(k->builder, k->mask_type, k->blocks[leader].mask_slot, "mask");
}

static void enter_block(cpu_kernel *k, int b)
{
    cpu_block *block = &k->blocks[b];
    k->current = b;
    LLVMPositionBuilderAtEnd(k->builder, block->out);
    if (block->leader == b && b != k->order[0]) {
        k->mask = LLVMBuildLoad2(k->builder, k->mask_type, block->pending_mask, "mask");
        LLVMBuildStore(k->builder, LLVMConstNull(k->mask_type), block->pending_mask);
        LLVMBuildStore(k->builder, k->mask, block->mask_slot);
    } else {
        k->mask = leader_mask(k, b);
    }
    for (int v = block->first_value; v < block->first_value + block->value_count && is_phi(k->values[v].ir);
        v++) {
        cpu_value *phi = &k->values[v];
        for (int i = 0; i < (phi->copies ? phi->copies : 1); i++)
            cpu_define(k, phi, i, LLVMBuildLoad2(k->builder, phi->type, phi->incoming[i], ""));
    }
}

/* Phis of a join are made undefined where their join is decided, lest a value seems to flow round a loop. */
static void kill_phis(cpu_kernel *k, const int *first, const int *next, int b)
{
    for (int j = first[b]; j >= 0; j = next[j]) {
        const cpu_block *join = &k->blocks[j];
        for (int v = join->first_value; v < join->first_value + join->value_count && is_phi(k->values[v].ir);
            v++)
            if (!k->values[v].copies)
                LLVMBuildStore(k->builder, LLVMGetUndef(k->values[v].type), k->values[v].incoming[0]);
    }
}

/* For each block the joins of which it is the dominator (lifted out of loops that do not hold the join), as
 * lists. */
static void collect_joins(cpu_kernel *k, int *first, int *next)
{
    for (int b = 0; b < k->block_count; b++) first[b] = next[b] = -1;
    for (int j = 0; j < k->block_count; j++) {
        const cpu_block *join = &k->blocks[j];
        int d = join->idom;
        if (!is_phi(LLVMGetFirstInstruction(join->ir)) || cpu_is_header(k, j) || d < 0 || d == j) continue;
        while (!cpu_in_loop(k, k->blocks[d].loop, j) && d != k->blocks[d].idom) d = k->blocks[d].idom;
        next[j] = first[d];
        first[d] = j;
    }
}

static void emit_block(cpu_kernel *k, int b, const int *first_join, const int *next_join)
{
    const cpu_block *block = &k->blocks[b];
    enter_block(k, b);
    for (int v = block->first_value; v < block->first_value + block->value_count; v++) {
        cpu_value *value = &k->values[v];
        if (value->batch) cpu_emit_batch(k, value->batch);
        if (is_phi(value->ir) || value->done) continue;
        cpu_emit_instruction(k, value);
        if (value->operation.kind == OP_BARRIER) k->mask = leader_mask(k, b);
    }
    if (block->batch) cpu_emit_batch(k, block->batch);
    kill_phis(k, first_join, next_join, b);
    emit_branch(k, b);
}

/* ---- Slots ---- */

static bool crosses_as(cpu_kernel *k, const cpu_value *value, LLVMValueRef ir)
{
    for (LLVMUseRef use = LLVMGetFirstUse(ir); use; use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);
        if (!is_phi(user)) {
            if (cpu_block_of(k, LLVMGetInstructionParent(user)) != value->block) return true;
            /* Addresses look through extensions (cpu_index_assumed). */
            if (ir == value->ir && (LLVMIsAZExtInst(user) || LLVMIsASExtInst(user)) &&
                crosses_as(k, value, user))
                return true;
            continue;
        }
        unsigned count = LLVMCountIncoming(user); /* used at the end of the incoming block */
        for (unsigned i = 0; i < count; i++)
            if (LLVMGetIncomingValue(user, i) == ir &&
                LLVMGetIncomingBlock(user, i) != k->blocks[value->block].ir)
                return true;
    }
    return false;
}

/* Values of a bundle are read together. */
static bool crosses(cpu_kernel *k, const cpu_value *value)
{
    const cpu_bundle *bundle = value->bundle;
    if (!bundle) return !value->again && (value->part_elsewhere || crosses_as(k, value, value->ir));
    for (int i = 0; i < 2 * bundle->count; i++)
        if (crosses_as(k, bundle->member[i], bundle->member[i]->ir)) return true;
    return false;
}

static void make_slots(cpu_kernel *k)
{
    for (int v = 0; v < k->value_count; v++) {
        cpu_value *value = &k->values[v];
        LLVMTypeRef type = LLVMTypeOf(value->ir);
        if (LLVMGetTypeKind(type) == LLVMVoidTypeKind) continue;
        value->copies = cpu_shape_copies(&value->shape);
        value->type = value->copies ? type : cpu_vector_type(k, type);
    }
    cpu_families_find(k);
    cpu_places_find(k);
    cpu_again_find(k);
    for (int v = 0; v < k->value_count; v++) {
        cpu_value *value = &k->values[v];
        if (!value->type) continue;
        value->crosses = crosses(k, value);
        for (int i = 0; i < (value->copies ? value->copies : 1); i++) {
            if (is_phi(value->ir)) value->incoming[i] = cpu_alloca(k, value->type, "phi");
            if (value->crosses) value->slot[i] = cpu_alloca(k, value->type, "value");
        }
    }
    for (int b = 0; b < k->block_count; b++) {
        cpu_block *block = &k->blocks[b];
        block->out = cpu_new_block(k, "block");
        block->pending = cpu_set_new(&k->job, k->block_count);
        if (block->leader != b || b == k->order[0]) continue;
        block->pending_mask = cpu_alloca(k, k->mask_type, "waiting");
        block->mask_slot = cpu_alloca(k, k->mask_type, "mask");
        LLVMBuildStore(k->builder, LLVMConstNull(k->mask_type), block->pending_mask);
    }
}

/* While a divergent loop runs, lanes may wait at all of its exits. */
static void seed_exits(cpu_kernel *k)
{
    for (int l = 0; l < k->loop_count; l++) {
        if (!k->loops[l].divergent) continue;
        for (int b = 0; b < k->block_count; b++)
            for (int i = 0; cpu_in_loop(k, l, b) && i < k->blocks[b].successor_count; i++)
                if (!cpu_in_loop(k, l, k->blocks[b].successors[i]))
                    cpu_set_add(k->blocks[k->loops[l].header].pending, k->blocks[b].successors[i]);
    }
}

void cpu_linearise(cpu_kernel *k)
{
    int n = k->block_count;
    int *first = cpu_alloc(&k->job, (size_t)n, sizeof *first),
        *next = cpu_alloc(&k->job, (size_t)n, sizeof *next);
    cpu_matrix_plan(k);
    make_slots(k);
    seed_exits(k);
    collect_joins(k, first, next);
    LLVMBuildBr(k->builder, k->blocks[k->order[0]].out);
    for (int o = 0; o < n; o++) emit_block(k, k->order[o], first, next);
}
