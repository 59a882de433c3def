/* Threadgroup barriers: the step function returns at each and is entered again behind it.
 *
 * Takes the kernel; cpu_barrier_split makes every barrier the first instruction of its block, so that
 * whatever lives across it lives in slots. Each barrier becomes "return its number" and a block to resume at;
 * cpu_barrier_save finds the slots that are live there (bit vectors over the blocks, backward, to a fixpoint)
 * and copies them to the SIMD-group's context and back. A slot that was not written since it came from the context is
 * not stored again (the same, forward). Masks of blocks are slots too: threads that returned before, or wait elsewhere,
 * stay as they are. */
#include "compiler/cpu/kernel.h"

#include <string.h>

/* ---- Before vectorisation ---- */

static void redirect_predecessors(cpu_kernel *k, LLVMBasicBlockRef from, LLVMBasicBlockRef to)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(k->function); b; b = LLVMGetNextBasicBlock(b)) {
        LLVMValueRef end = LLVMGetBasicBlockTerminator(b);
        if (!end) continue; /* the new block itself */
        unsigned count = LLVMGetNumSuccessors(end);
        for (unsigned i = 0; i < count; i++)
            if (LLVMGetSuccessor(end, i) == from) LLVMSetSuccessor(end, i, to);
    }
}

LLVMValueRef cpu_split_before(cpu_kernel *k, LLVMValueRef place)
{
    LLVMBasicBlockRef block = LLVMGetInstructionParent(place);
    LLVMBasicBlockRef head = LLVMInsertBasicBlockInContext(k->context, block, "before");
    redirect_predecessors(k, block, head);
    LLVMPositionBuilderAtEnd(k->builder, head);
    for (LLVMValueRef i = LLVMGetFirstInstruction(block), next; i != place; i = next) {
        next = LLVMGetNextInstruction(i);
        LLVMInstructionRemoveFromParent(i);
        LLVMInsertIntoBuilder(k->builder, i);
    }
    return LLVMBuildBr(k->builder, block);
}

void cpu_barrier_split(cpu_kernel *k)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(k->function); b; b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
            if (LLVMGetInstructionOpcode(i) == LLVMCall && cpu_operation_of(i).kind == OP_BARRIER &&
                i != LLVMGetFirstInstruction(b))
                cpu_split_before(k, i);
}

/* ---- Emission ---- */

void cpu_emit_barrier(cpu_kernel *k)
{
    if (!k->barriers) k->barriers = cpu_alloc(&k->job, (size_t)k->value_count + 1, sizeof *k->barriers);
    cpu_barrier *barrier = &k->barriers[k->barrier_count++];
    barrier->block = LLVMGetInsertBlock(k->builder);
    LLVMBuildRet(k->builder, cpu_int(k->i32, (uint64_t)k->barrier_count));
    barrier->resume = cpu_new_block(k, "resume");
    LLVMPositionBuilderAtEnd(k->builder, barrier->resume);
}

/* ---- What is live ---- */

typedef struct liveness {
    cpu_map slot_map, block_map;
    LLVMValueRef *slots;
    LLVMBasicBlockRef *blocks;
    int slot_count, block_count;
    size_t words;
    uint64_t **used, **defined, **live_in; /* by block */
    uint64_t *escaped;
    uint64_t **clean;    /* by block: slots that hold what the context holds when the block begins */
    int *resume_of; /* block that follows a barrier's return, -1 */
    bool *is_resume;
} liveness;

static void scan_instruction(liveness *l, int block, LLVMValueRef ir)
{
    LLVMOpcode opcode = LLVMGetInstructionOpcode(ir);
    int count = LLVMGetNumOperands(ir);
    for (int i = 0; i < count; i++) {
        int slot = cpu_map_get(&l->slot_map, LLVMGetOperand(ir, (unsigned)i));
        if (slot < 0) continue;
        if (opcode == LLVMLoad) {
            if (!cpu_set_has(l->defined[block], slot)) cpu_set_add(l->used[block], slot);
        } else if (opcode == LLVMStore && i == 1) {
            cpu_set_add(l->defined[block], slot);
        } else
            cpu_set_add(l->escaped, slot);
    }
}

static void number_slots(cpu_kernel *k, liveness *l)
{
    int room = 0;
    for (LLVMValueRef i = LLVMGetFirstInstruction(k->entry); i; i = LLVMGetNextInstruction(i)) room++;
    l->slots = cpu_alloc(&k->job, (size_t)room + 1, sizeof *l->slots);
    for (LLVMValueRef i = LLVMGetFirstInstruction(k->entry); i; i = LLVMGetNextInstruction(i)) {
        if (!LLVMIsAAllocaInst(i)) continue;
        cpu_map_put(&k->job, &l->slot_map, i, l->slot_count);
        l->slots[l->slot_count++] = i;
    }
}

static void number_blocks(cpu_kernel *k, liveness *l)
{
    size_t room = LLVMCountBasicBlocks(k->step);
    l->blocks = cpu_alloc(&k->job, room, sizeof *l->blocks);
    l->used = cpu_alloc(&k->job, room, sizeof *l->used);
    l->defined = cpu_alloc(&k->job, room, sizeof *l->defined);
    l->live_in = cpu_alloc(&k->job, room, sizeof *l->live_in);
    l->clean = cpu_alloc(&k->job, room, sizeof *l->clean);
    l->resume_of = cpu_alloc(&k->job, room, sizeof *l->resume_of);
    l->is_resume = cpu_alloc(&k->job, room, sizeof *l->is_resume);
    l->escaped = cpu_set_new(&k->job, l->slot_count);
    l->words = cpu_set_words(l->slot_count);
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(k->step); b; b = LLVMGetNextBasicBlock(b)) {
        int number = l->block_count++;
        l->blocks[number] = b;
        l->resume_of[number] = -1;
        cpu_map_put(&k->job, &l->block_map, b, number);
        l->used[number] = cpu_set_new(&k->job, l->slot_count);
        l->defined[number] = cpu_set_new(&k->job, l->slot_count);
        l->live_in[number] = cpu_set_new(&k->job, l->slot_count);
        l->clean[number] = cpu_set_new(&k->job, l->slot_count);
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
            scan_instruction(l, number, i);
    }
    for (int i = 0; i < k->barrier_count; i++) {
        int resume = cpu_map_get(&l->block_map, k->barriers[i].resume);
        l->resume_of[cpu_map_get(&l->block_map, k->barriers[i].block)] = resume;
        l->is_resume[resume] = true;
    }
}

static bool update_block(const liveness *l, int b)
{
    LLVMValueRef end = LLVMGetBasicBlockTerminator(l->blocks[b]);
    int count = (int)LLVMGetNumSuccessors(end), next[3], edges = 0;
    for (int i = 0; i < count && i < 2; i++)
        next[edges++] = cpu_map_get(&l->block_map, LLVMGetSuccessor(end, (unsigned)i));
    if (l->resume_of[b] >= 0) next[edges++] = l->resume_of[b];
    bool changed = false;
    for (size_t w = 0; w < l->words; w++) {
        uint64_t out = 0;
        for (int i = 0; i < edges; i++) out |= l->live_in[next[i]][w];
        uint64_t in = l->used[b][w] | (out & ~l->defined[b][w]);
        changed |= in != l->live_in[b][w];
        l->live_in[b][w] = in;
    }
    return changed;
}

/* ---- What is unchanged ---- */

/* What the context holds where the function is entered: everything that is restored there, nothing at the start. The
 * rest begins with all slots and loses those that are written on some way. */
static void begin_clean(liveness *l)
{
    for (int b = 0; b < l->block_count; b++)
        for (size_t w = 0; w < l->words; w++) {
            uint64_t restored = l->live_in[b][w] & ~l->escaped[w];
            l->clean[b][w] = l->is_resume[b] ? restored : b == 0 ? 0 : ~(uint64_t)0;
        }
}

static bool spread_clean(liveness *l, int b)
{
    LLVMValueRef end = LLVMGetBasicBlockTerminator(l->blocks[b]);
    unsigned count = LLVMGetNumSuccessors(end);
    bool changed = false;
    for (unsigned i = 0; i < count; i++) {
        int next = cpu_map_get(&l->block_map, LLVMGetSuccessor(end, i));
        if (l->is_resume[next]) continue;
        for (size_t w = 0; w < l->words; w++) {
            uint64_t left = l->clean[next][w] & l->clean[b][w] & ~l->defined[b][w];
            changed |= left != l->clean[next][w];
            l->clean[next][w] = left;
        }
    }
    return changed;
}

static void find_clean(liveness *l)
{
    begin_clean(l);
    for (bool changed = true; changed;) {
        changed = false;
        for (int b = 0; b < l->block_count; b++) changed |= spread_clean(l, b);
    }
}

/* ---- Saving ---- */

static void save_slot(
    cpu_kernel *k, const cpu_barrier *barrier, LLVMValueRef slot, size_t offset, bool unchanged)
{
    LLVMTypeRef type = LLVMGetAllocatedType(slot);
    unsigned align = LLVMABISizeOfType(k->layout, type) >= 64 ? 64 : 1;
    LLVMValueRef at;
    if (!unchanged) {
        LLVMPositionBuilderBefore(k->builder, LLVMGetBasicBlockTerminator(barrier->block));
        at = cpu_at(k, k->parameter[PARAM_CONTEXT], (int64_t)offset);
        LLVMSetAlignment(LLVMBuildStore(k->builder, LLVMBuildLoad2(k->builder, type, slot, ""), at), align);
    }
    LLVMPositionBuilderBefore(k->builder, LLVMGetFirstInstruction(barrier->resume));
    at = cpu_at(k, k->parameter[PARAM_CONTEXT], (int64_t)offset);
    LLVMValueRef load = LLVMBuildLoad2(k->builder, type, at, "");
    LLVMSetAlignment(load, align);
    LLVMBuildStore(k->builder, load, slot);
}

void cpu_barrier_save(cpu_kernel *k)
{
    liveness l = {0};
    number_slots(k, &l);
    number_blocks(k, &l);
    for (bool changed = true; changed;) {
        changed = false;
        for (int b = l.block_count - 1; b >= 0; b--) changed |= update_block(&l, b);
    }
    find_clean(&l);
    size_t *offset = cpu_alloc(&k->job, (size_t)l.slot_count + 1, sizeof *offset);
    for (int i = 0; i < k->barrier_count; i++) {
        const uint64_t *live = l.live_in[cpu_map_get(&l.block_map, k->barriers[i].resume)];
        int block = cpu_map_get(&l.block_map, k->barriers[i].block);
        for (int s = 0; s < l.slot_count; s++) {
            if (!cpu_set_has(live, s) || cpu_set_has(l.escaped, s)) continue;
            if (!offset[s]) {
                size_t size = (size_t)LLVMABISizeOfType(k->layout, LLVMGetAllocatedType(l.slots[s]));
                if (size >= 64) k->context_used = (k->context_used + 63) / 64 * 64;
                offset[s] = k->context_used;
                k->context_used += (size + 7) / 8 * 8;
            }
            bool unchanged = cpu_set_has(l.clean[block], s) && !cpu_set_has(l.defined[block], s);
            save_slot(k, &k->barriers[i], l.slots[s], offset[s], unchanged);
        }
    }
}
