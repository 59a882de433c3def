/* Private arrays: which are laid out cell by cell.
 *
 * An array whose every access has one size S, at multiples of S, and whose address goes nowhere else, is kept
 * as cells of 32 * S bytes, one element of each lane: an access at an equal index is then contiguous. Any
 * other array is kept whole for each lane, one lane after the other. Promises value->cell = S for the first
 * kind and for all addresses derived from it. */
#include "compiler/cpu/kernel.h"

enum { MAX_DEPTH = 24 };

/* Are all offsets of this getelementptr multiples of `size`? */
static bool steps_by(cpu_kernel *k, LLVMValueRef ir, uint64_t size)
{
    LLVMTypeRef type = LLVMGetGEPSourceElementType(ir);
    int count = LLVMGetNumOperands(ir);
    uint64_t constant = 0;
    for (int i = 1; i < count; i++) {
        LLVMValueRef index = LLVMGetOperand(ir, (unsigned)i);
        if (i > 1 && LLVMGetTypeKind(type) == LLVMStructTypeKind) {
            unsigned field = (unsigned)LLVMConstIntGetZExtValue(index);
            constant += LLVMOffsetOfElement(k->layout, type, field);
            type = LLVMStructGetTypeAtIndex(type, field);
            continue;
        }
        if (i > 1) type = LLVMGetElementType(type);
        uint64_t step = LLVMABISizeOfType(k->layout, type);
        if (LLVMIsAConstantInt(index))
            constant += (uint64_t)LLVMConstIntGetSExtValue(index) * step;
        else if (step % size)
            return false;
    }
    return constant % size == 0;
}

/* Do all uses of `pointer` access elements of one size (found, or 0 so far)? */
static bool uses_one_size(cpu_kernel *k, LLVMValueRef pointer, uint64_t *size, int depth)
{
    if (depth > MAX_DEPTH) return false;
    for (LLVMUseRef use = LLVMGetFirstUse(pointer); use; use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);
        LLVMTypeRef type;
        switch (LLVMGetInstructionOpcode(user)) {
        case LLVMGetElementPtr:
            if (LLVMGetOperand(user, 0) != pointer || !uses_one_size(k, user, size, depth + 1)) return false;
            continue;
        case LLVMLoad: type = LLVMTypeOf(user); break;
        case LLVMStore:
            type = LLVMTypeOf(LLVMGetOperand(user, 0));
            if (LLVMGetOperand(user, 0) == pointer) return false;
            break;
        default: return false;
        }
        uint64_t bytes = LLVMABISizeOfType(k->layout, type);
        if ((*size && *size != bytes) || LLVMGetTypeKind(type) == LLVMVectorTypeKind) return false;
        *size = bytes;
    }
    return true;
}

static bool all_steps_by(cpu_kernel *k, LLVMValueRef pointer, uint64_t size)
{
    for (LLVMUseRef use = LLVMGetFirstUse(pointer); use; use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);
        if (!LLVMIsAGetElementPtrInst(user)) continue;
        if (!steps_by(k, user, size) || !all_steps_by(k, user, size)) return false;
    }
    return true;
}

static void mark(cpu_kernel *k, LLVMValueRef pointer, int size)
{
    cpu_value_of(k, pointer)->cell = size;
    for (LLVMUseRef use = LLVMGetFirstUse(pointer); use; use = LLVMGetNextUse(use))
        if (LLVMIsAGetElementPtrInst(LLVMGetUser(use))) mark(k, LLVMGetUser(use), size);
}

void cpu_arrays_find(cpu_kernel *k)
{
    for (int v = 0; v < k->value_count; v++) {
        LLVMValueRef ir = k->values[v].ir;
        uint64_t size = 0;
        if (!LLVMIsAAllocaInst(ir) || !uses_one_size(k, ir, &size, 0) || !size || size > 16) continue;
        if (all_steps_by(k, ir, size) && LLVMABISizeOfType(k->layout, LLVMGetAllocatedType(ir)) % size == 0)
            mark(k, ir, (int)size);
    }
}
