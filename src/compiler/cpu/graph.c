/* Blocks, edges and values of the canonical kernel, numbered.
 *
 * Takes the function after cpu_prepare: every block ends with ret, br or a two-way br; promises k->blocks
 * with distinct successors and predecessors, reverse post-order numbers (the entry is 0), and k->values in
 * program order, each with the operation it is. */
#include "compiler/cpu/kernel.h"

static void add_successors(cpu_kernel *k, int b)
{
    cpu_block *block = &k->blocks[b];
    LLVMValueRef end = LLVMGetBasicBlockTerminator(block->ir);
    LLVMOpcode opcode = LLVMGetInstructionOpcode(end);
    if (opcode != LLVMRet && opcode != LLVMBr)
        cpu_fail(
            &k->job, TOMBAC_ERROR_COMPILER, "cpu engine: a block ends with something else than a branch");
    int count = (int)LLVMGetNumSuccessors(end);
    for (int i = 0; i < count; i++) {
        int s = cpu_block_of(k, LLVMGetSuccessor(end, (unsigned)i));
        if (i == 1 && block->successors[0] == s) continue;
        block->successors[block->successor_count++] = s;
        k->blocks[s].predecessor_count++;
    }
}

static void add_predecessors(cpu_kernel *k)
{
    int *room = cpu_alloc(&k->job, (size_t)k->block_count * 2 + 1, sizeof *room);
    for (int b = 0; b < k->block_count; b++) {
        k->blocks[b].predecessors = room;
        room += k->blocks[b].predecessor_count;
        k->blocks[b].predecessor_count = 0;
    }
    for (int b = 0; b < k->block_count; b++)
        for (int i = 0; i < k->blocks[b].successor_count; i++) {
            cpu_block *s = &k->blocks[k->blocks[b].successors[i]];
            s->predecessors[s->predecessor_count++] = b;
        }
}

/* Depth first without recursion; `next` holds for each block on the stack the successor to look at. */
static void number_rpo(cpu_kernel *k)
{
    int n = k->block_count, depth = 0, number = n;
    int *stack = cpu_alloc(&k->job, (size_t)n, sizeof *stack),
        *next = cpu_alloc(&k->job, (size_t)n, sizeof *next);
    for (int b = 0; b < n; b++) k->blocks[b].rpo = -1;
    stack[depth++] = 0;
    k->blocks[0].rpo = -2;
    while (depth) {
        cpu_block *block = &k->blocks[stack[depth - 1]];
        if (next[stack[depth - 1]] < block->successor_count) {
            int s = block->successors[next[stack[depth - 1]]++];
            if (k->blocks[s].rpo != -1) continue;
            k->blocks[s].rpo = -2;
            stack[depth++] = s;
        } else {
            block->rpo = --number;
            depth--;
        }
    }
    if (number) cpu_fail(&k->job, TOMBAC_ERROR_COMPILER, "cpu engine: unreachable blocks are left");
}

static void number_values(cpu_kernel *k)
{
    int count = 0;
    for (int b = 0; b < k->block_count; b++)
        for (LLVMValueRef i = LLVMGetFirstInstruction(k->blocks[b].ir); i; i = LLVMGetNextInstruction(i))
            count++;
    k->values = cpu_alloc(&k->job, (size_t)count, sizeof *k->values);
    for (int b = 0; b < k->block_count; b++) {
        k->blocks[b].first_value = k->value_count;
        for (LLVMValueRef i = LLVMGetFirstInstruction(k->blocks[b].ir); i; i = LLVMGetNextInstruction(i)) {
            if (LLVMIsATerminatorInst(i)) continue;
            cpu_value *value = &k->values[k->value_count];
            *value = (cpu_value){.ir = i, .block = b, .shape = {.top = true}};
            if (LLVMGetInstructionOpcode(i) == LLVMCall) value->operation = cpu_operation_of(i);
            k->has_barrier |= value->operation.kind == OP_BARRIER;
            cpu_map_put(&k->job, &k->value_map, i, k->value_count++);
        }
        k->blocks[b].value_count = k->value_count - k->blocks[b].first_value;
    }
}

void cpu_graph_build(cpu_kernel *k)
{
    k->block_count = (int)LLVMCountBasicBlocks(k->function);
    k->blocks = cpu_alloc(&k->job, (size_t)k->block_count, sizeof *k->blocks);
    int b = 0;
    for (LLVMBasicBlockRef ir = LLVMGetFirstBasicBlock(k->function); ir;
        ir = LLVMGetNextBasicBlock(ir), b++) {
        k->blocks[b] = (cpu_block){.ir = ir, .idom = -1, .ipdom = -1, .loop = -1};
        cpu_map_put(&k->job, &k->block_map, ir, b);
    }
    for (b = 0; b < k->block_count; b++) add_successors(k, b);
    add_predecessors(k);
    number_rpo(k);
    number_values(k);
}

cpu_value *cpu_value_of(const cpu_kernel *k, LLVMValueRef ir)
{
    int number = cpu_map_get(&k->value_map, ir);
    return number < 0 ? NULL : &k->values[number];
}

int cpu_block_of(const cpu_kernel *k, LLVMBasicBlockRef ir)
{
    return cpu_map_get(&k->block_map, ir);
}
