/* Values that are cheaper to compute again than to carry across a barrier.
 *
 * Takes shapes and copies; marks values that are one scalar, made from constants, arguments and positions by at most
 * MAX_COST simple instructions: addresses and indices, mostly. Such a value is the same wherever it is computed, so it
 * needs no slot, and each block that uses it makes it anew; common subexpressions are the optimiser's work. Only for
 * kernels with threadgroup barriers: elsewhere a slot becomes a register. */
#include "compiler/cpu/kernel.h"

enum { MAX_COST = 6 };

static bool is_simple(LLVMOpcode opcode)
{
    switch (opcode) {
    case LLVMAdd:
    case LLVMSub:
    case LLVMMul:
    case LLVMShl:
    case LLVMLShr:
    case LLVMAShr:
    case LLVMAnd:
    case LLVMOr:
    case LLVMXor:
    case LLVMTrunc:
    case LLVMZExt:
    case LLVMSExt:
    case LLVMICmp:
    case LLVMGetElementPtr: return true;
    default: return false;
    }
}

/* Takes what `ir` costs off *budget; false: it costs too much, or may differ from place to place. */
static bool afford(const cpu_kernel *k, LLVMValueRef ir, int *budget)
{
    const cpu_value *value = cpu_value_of(k, ir);
    if (!value) return LLVMIsAArgument(ir) || LLVMIsAConstantInt(ir);
    if (value->copies != 1 || value->cell || --*budget < 0) return false;
    cpu_operation_kind kind = value->operation.kind;
    if (LLVMIsACallInst(ir)) return kind >= OP_LANE && kind <= OP_THREADGROUP_MEMORY;
    if (!is_simple(LLVMGetInstructionOpcode(ir))) return false;
    int count = LLVMGetNumOperands(ir);
    for (int i = 0; i < count; i++)
        if (!afford(k, LLVMGetOperand(ir, (unsigned)i), budget)) return false;
    return true;
}

void cpu_again_find(cpu_kernel *k)
{
    for (int v = 0; k->has_barrier && v < k->value_count; v++) {
        int budget = MAX_COST;
        k->values[v].again = k->values[v].type && afford(k, k->values[v].ir, &budget);
    }
}

LLVMValueRef cpu_again(cpu_kernel *k, cpu_value *value)
{
    LLVMValueRef definition = value->now[0];
    cpu_emit_instruction(k, value);
    LLVMValueRef copy = value->now[0];
    value->now[0] = definition;
    return copy;
}
