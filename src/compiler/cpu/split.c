/* Loops that lanes leave at different times get a first part in which all lanes are still there.
 *
 * Takes the canonical kernel and the analysis of its rows variant; changes
 *
 *     if (a < b) do { body } while (next < b);        a, next strided, b uniform; the loop is left at its
 * latch only to if (all_lanes(a < b)) { do { body } while (all_lanes(next < b));    a uniform condition: no
 * lane leaves, the mask stays as it was if (next < b) go on in the old loop, else behind it } else the old
 * loop with its test
 *
 * ("index set splitting" of Banerjee, "Loop Transformations for Restructuring Compilers", 1993, cut where the
 * first lane leaves). all_lanes(c) is a call of CPU_ALL_LANES: true only if c holds in all 32 lanes, active
 * or not, as two scalars can tell (call.c); where the variant's shapes do not tell, it is false, and the
 * first part is dead code. Since the condition is uniform, the threads that are together in an iteration are
 * the same as before, so collectives and atomics in the body mean what they meant. A loop with a threadgroup
 * barrier is left alone: its exits are uniform anyway. */
#include "compiler/cpu/memory.h"

#include <string.h>

enum { MAX_BODY = 160 }; /* instructions that are copied */

/* `left` < `right`, as LLVMIntULT or LLVMIntSLT. */
typedef struct comparison {
    LLVMIntPredicate predicate;
    LLVMValueRef left, right;
} comparison;

typedef struct candidate {
    int loop, preheader, guard; /* guard: the block whose comparison decides whether the loop is entered at all; or -1 */
    comparison first, again;
} candidate;

/* ---- Which loops ---- */

static LLVMIntPredicate inverse(LLVMIntPredicate p)
{
    switch (p) {
    case LLVMIntUGE: return LLVMIntULT;
    case LLVMIntULE: return LLVMIntUGT;
    case LLVMIntSGE: return LLVMIntSLT;
    case LLVMIntSLE: return LLVMIntSGT;
    default: return LLVMIntEQ; /* none of ours */
    }
}

/* The comparison by which `block` goes to successor number `way`; false: it is of another kind. */
static bool find_comparison(const cpu_kernel *k, int block, int way, comparison *c)
{
    LLVMValueRef condition = LLVMGetCondition(LLVMGetBasicBlockTerminator(k->blocks[block].ir));
    if (!LLVMIsAICmpInst(condition)) return false;
    LLVMIntPredicate p = LLVMGetICmpPredicate(condition);
    if (way == 1) p = inverse(p);
    bool swapped = p == LLVMIntUGT || p == LLVMIntSGT;
    if (!swapped && p != LLVMIntULT && p != LLVMIntSLT) return false;
    c->left = LLVMGetOperand(condition, swapped);
    c->right = LLVMGetOperand(condition, !swapped);
    c->predicate = p == LLVMIntULT || p == LLVMIntUGT ? LLVMIntULT : LLVMIntSLT;
    cpu_shape s = cpu_shape_of(k, c->left);
    return LLVMGetTypeKind(LLVMTypeOf(c->left)) == LLVMIntegerTypeKind && cpu_shape_rises(&s) &&
           cpu_shape_has_stride(&s) && cpu_is_uniform(k, c->right);
}

static int way_to(const cpu_kernel *k, int from, int to)
{
    return k->blocks[from].successors[0] == to ? 0 : 1;
}

static bool leaves_at_latch_only(const cpu_kernel *k, int l)
{
    for (int b = 0; b < k->block_count; b++) {
        if (!cpu_in_loop(k, l, b) || b == k->loops[l].latch) continue;
        for (int i = 0; i < k->blocks[b].successor_count; i++)
            if (!cpu_in_loop(k, l, k->blocks[b].successors[i])) return false;
    }
    return k->blocks[k->loops[l].latch].successor_count == 2;
}

/* A load at a constant place of an argument that is known to have so many bytes: a reference's. */
static bool loads_reference(const cpu_kernel *k, LLVMValueRef ir)
{
    if (!LLVMIsALoadInst(ir) || LLVMGetVolatile(ir) || LLVMGetOrdering(ir) != LLVMAtomicOrderingNotAtomic)
        return false;
    cpu_canonical at = cpu_canonical_address(k, LLVMGetOperand(ir, 0));
    if (!LLVMIsAArgument(at.root) || at.term_count || at.constant < 0) return false;
    unsigned number = 1, kind = LLVMGetEnumAttributeKindForName("dereferenceable", strlen("dereferenceable"));
    while (LLVMGetParam(k->function, number - 1) != at.root) number++;
    LLVMAttributeRef bytes = LLVMGetEnumAttributeAtIndex(k->function, number, kind);
    uint64_t size = LLVMABISizeOfType(k->layout, LLVMTypeOf(ir));
    return bytes && (uint64_t)at.constant + size <= LLVMGetEnumAttributeValue(bytes);
}

/* May the instructions of this block run although nobody needs them? */
static bool is_harmless(const cpu_kernel *k, int b)
{
    const cpu_block *block = &k->blocks[b];
    for (int v = block->first_value; v < block->first_value + block->value_count; v++) {
        LLVMValueRef ir = k->values[v].ir;
        if (LLVMIsABinaryOperator(ir)) {
            LLVMOpcode o = LLVMGetInstructionOpcode(ir);
            if (o == LLVMUDiv || o == LLVMSDiv || o == LLVMURem || o == LLVMSRem) return false;
        } else if (!LLVMIsACastInst(ir) && !LLVMIsAGetElementPtrInst(ir) && !LLVMIsAICmpInst(ir) &&
                   !LLVMIsAFCmpInst(ir) && !LLVMIsASelectInst(ir) && !loads_reference(k, ir))
            return false;
    }
    return true;
}

static int body_size(const cpu_kernel *k, int l)
{
    int size = 0;
    for (int b = 0; b < k->block_count; b++)
        if (cpu_in_loop(k, l, b)) size += k->blocks[b].value_count;
    return size;
}

static bool find_guard(const cpu_kernel *k, candidate *c)
{
    const cpu_block *preheader = &k->blocks[c->preheader];
    if (preheader->predecessor_count != 1 || !is_harmless(k, c->preheader)) return false;
    c->guard = preheader->predecessors[0];
    return k->blocks[c->guard].successor_count == 2 &&
           find_comparison(k, c->guard, way_to(k, c->guard, c->preheader), &c->first);
}

static bool find_candidate(const cpu_kernel *k, int l, candidate *c)
{
    const cpu_loop *loop = &k->loops[l];
    const cpu_block *header = &k->blocks[loop->header];
    if (!loop->divergent || loop->has_barrier || header->predecessor_count != 2) return false;
    if (body_size(k, l) > MAX_BODY || !leaves_at_latch_only(k, l)) return false;
    *c = (candidate){.loop = l, .preheader = header->predecessors[header->predecessors[0] == loop->latch]};
    if (k->blocks[c->preheader].successor_count != 1) return false;
    if (!find_guard(k, c)) c->guard = -1;
    return find_comparison(k, loop->latch, way_to(k, loop->latch, loop->header), &c->again);
}

/* ---- The copy ---- */

typedef struct copying {
    cpu_kernel *k;
    const candidate *c;
    LLVMBasicBlockRef preheader, *blocks; /* of the copy; by block */
    LLVMValueRef *values;                 /* by value */
} copying;

static bool in_loop(const copying *w, LLVMBasicBlockRef block)
{
    int b = cpu_map_get(&w->k->block_map, block); /* -1: made meanwhile */
    return b >= 0 && cpu_in_loop(w->k, w->c->loop, b);
}

/* What the copy has in the place of `ir`. */
static LLVMValueRef copy_of(const copying *w, LLVMValueRef ir)
{
    int v = cpu_map_get(&w->k->value_map, ir);
    return v >= 0 && w->values[v] ? w->values[v] : ir;
}

static void clone_block(copying *w, int b)
{
    cpu_kernel *k = w->k;
    const cpu_block *block = &k->blocks[b];
    LLVMPositionBuilderAtEnd(k->builder, w->blocks[b]);
    for (int v = block->first_value; v < block->first_value + block->value_count; v++) {
        LLVMValueRef ir = k->values[v].ir;
        if (LLVMIsAPHINode(ir)) {
            w->values[v] = LLVMBuildPhi(k->builder, LLVMTypeOf(ir), "");
        } else {
            w->values[v] = LLVMInstructionClone(ir);
            LLVMInsertIntoBuilder(k->builder, w->values[v]);
        }
    }
    if (b == k->loops[w->c->loop].latch) return; /* gets another end */
    LLVMValueRef end = LLVMInstructionClone(LLVMGetBasicBlockTerminator(block->ir));
    LLVMInsertIntoBuilder(k->builder, end);
    for (unsigned i = 0; i < LLVMGetNumSuccessors(end); i++)
        LLVMSetSuccessor(end, i, w->blocks[cpu_block_of(k, LLVMGetSuccessor(end, i))]);
}

static void set_operands(const copying *w, LLVMValueRef ir)
{
    for (int i = 0; i < LLVMGetNumOperands(ir); i++) {
        LLVMValueRef old = LLVMGetOperand(ir, (unsigned)i);
        if (!LLVMValueIsBasicBlock(old)) LLVMSetOperand(ir, (unsigned)i, copy_of(w, old));
    }
}

static void set_incoming(const copying *w, LLVMValueRef old, LLVMValueRef copy)
{
    for (unsigned i = 0; i < LLVMCountIncoming(old); i++) {
        LLVMBasicBlockRef from = LLVMGetIncomingBlock(old, i);
        LLVMValueRef value = copy_of(w, LLVMGetIncomingValue(old, i));
        LLVMBasicBlockRef block =
            in_loop(w, from) ? w->blocks[cpu_block_of(w->k, from)] : w->preheader; /* only the header's */
        LLVMAddIncoming(copy, &value, &block, 1);
    }
}

static void clone_loop(copying *w)
{
    cpu_kernel *k = w->k;
    for (int b = 0; b < k->block_count; b++)
        if (cpu_in_loop(k, w->c->loop, b))
            w->blocks[b] = LLVMAppendBasicBlockInContext(k->context, k->function, "all");
    for (int b = 0; b < k->block_count; b++)
        if (w->blocks[b]) clone_block(w, b);
    for (int b = 0; b < k->block_count; b++) {
        if (!w->blocks[b]) continue;
        const cpu_block *block = &k->blocks[b];
        for (int v = block->first_value; v < block->first_value + block->value_count; v++) {
            if (LLVMIsAPHINode(k->values[v].ir))
                set_incoming(w, k->values[v].ir, w->values[v]);
            else
                set_operands(w, w->values[v]);
        }
        LLVMValueRef end = LLVMGetBasicBlockTerminator(w->blocks[b]);
        if (end) set_operands(w, end);
    }
}

/* ---- The new edges ---- */

static LLVMValueRef all_lanes(const copying *w, const comparison *c)
{
    cpu_kernel *k = w->k;
    LLVMTypeRef type = LLVMFunctionType(k->i1, &k->i1, 1, 0);
    LLVMValueRef callee = LLVMGetNamedFunction(k->module, CPU_ALL_LANES);
    if (!callee) callee = LLVMAddFunction(k->module, CPU_ALL_LANES, type);
    LLVMValueRef below =
        LLVMBuildICmp(k->builder, c->predicate, copy_of(w, c->left), copy_of(w, c->right), "");
    return LLVMBuildCall2(k->builder, type, callee, &below, 1, "");
}

/* Control reaches `to` from `from` with what the copy has instead of what comes from the latch. */
static void add_edge(const copying *w, LLVMBasicBlockRef to, LLVMBasicBlockRef from, LLVMBasicBlockRef latch)
{
    for (LLVMValueRef phi = LLVMGetFirstInstruction(to); phi && LLVMIsAPHINode(phi);
        phi = LLVMGetNextInstruction(phi))
        for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
            if (LLVMGetIncomingBlock(phi, i) != latch) continue;
            LLVMValueRef value = copy_of(w, LLVMGetIncomingValue(phi, i));
            LLVMAddIncoming(phi, &value, &from, 1);
            break;
        }
}

static void finish_copy(const copying *w)
{
    cpu_kernel *k = w->k;
    const cpu_loop *loop = &k->loops[w->c->loop];
    LLVMBasicBlockRef latch = k->blocks[loop->latch].ir;
    LLVMBasicBlockRef some = LLVMAppendBasicBlockInContext(k->context, k->function, "some");
    LLVMPositionBuilderAtEnd(k->builder, w->blocks[loop->latch]);
    LLVMBuildCondBr(k->builder, all_lanes(w, &w->c->again), w->blocks[loop->header], some);
    LLVMValueRef end = LLVMInstructionClone(LLVMGetBasicBlockTerminator(latch));
    LLVMPositionBuilderAtEnd(k->builder, some);
    LLVMInsertIntoBuilder(k->builder, end);
    set_operands(w, end);
    for (unsigned i = 0; i < 2; i++) add_edge(w, LLVMGetSuccessor(end, i), some, latch);
}

static void move_before(LLVMBuilderRef builder, LLVMBasicBlockRef from, LLVMValueRef place)
{
    LLVMPositionBuilderBefore(builder, place);
    for (LLVMValueRef i = LLVMGetFirstInstruction(from), next; !LLVMIsATerminatorInst(i); i = next) {
        next = LLVMGetNextInstruction(i);
        LLVMInstructionRemoveFromParent(i);
        LLVMInsertIntoBuilder(builder, i);
    }
}

/* All who come enter the first part. The way past it stays, never taken, because a phi cannot lose an edge here. */
static void enter(const copying *w)
{
    cpu_kernel *k = w->k;
    LLVMValueRef end = LLVMGetBasicBlockTerminator(k->blocks[w->c->preheader].ir);
    LLVMPositionBuilderBefore(k->builder, end);
    LLVMBuildCondBr(k->builder, cpu_int(k->i1, 1), w->preheader, k->blocks[k->loops[w->c->loop].header].ir);
    LLVMInstructionEraseFromParent(end);
}

static void enter_behind_guard(const copying *w)
{
    cpu_kernel *k = w->k;
    const candidate *c = w->c;
    LLVMBasicBlockRef guard = k->blocks[c->guard].ir;
    LLVMValueRef end =
        cpu_split_before(k, LLVMGetBasicBlockTerminator(guard)); /* the guard keeps its branch alone */
    move_before(k->builder, k->blocks[c->preheader].ir, end);
    LLVMPositionBuilderBefore(k->builder, end);
    copying none = {.k = k, .values = cpu_alloc(&k->job, (size_t)k->value_count, sizeof *none.values)};
    LLVMBuildCondBr(k->builder, all_lanes(&none, &c->first), w->preheader, guard);
    LLVMInstructionEraseFromParent(end);
}

static void split(cpu_kernel *k, const candidate *c)
{
    copying w = {.k = k, .c = c};
    w.blocks = cpu_alloc(&k->job, (size_t)k->block_count, sizeof *w.blocks);
    w.values = cpu_alloc(&k->job, (size_t)k->value_count, sizeof *w.values);
    w.preheader = LLVMAppendBasicBlockInContext(k->context, k->function, "all");
    clone_loop(&w);
    finish_copy(&w);
    if (c->guard < 0)
        enter(&w);
    else
        enter_behind_guard(&w);
    LLVMPositionBuilderAtEnd(k->builder, w.preheader);
    LLVMBuildBr(k->builder, w.blocks[k->loops[c->loop].header]);
}

bool cpu_loops_split(cpu_kernel *k)
{
    candidate *found = cpu_alloc(&k->job, (size_t)k->loop_count + 1, sizeof *found);
    int count = 0;
    for (int l = 0; l < k->loop_count;
        l++) { /* outer loops first; what is in a copied loop is copied with it */
        bool inside = false;
        for (int i = 0; i < count; i++) inside |= cpu_in_loop(k, found[i].loop, k->loops[l].header);
        if (!inside && find_candidate(k, l, &found[count])) count++;
    }
    for (int i = 0; i < count; i++) split(k, &found[i]);
    return count;
}
