/* Addresses in plain form: base + bytes.
 *
 * LLVM's merger of accesses (22) compares the indices of two addresses with one base, but not the types that
 * they count in: it takes element x of a float array and element x of a float4 array for the same place. So
 * every index that is no constant is multiplied out first, modulo 2^64, which changes no address. */
#include "compiler/cuda/steps.h"

#include <llvm-c/Target.h>

typedef struct flattener {
    LLVMTargetDataRef layout;
    LLVMBuilderRef builder;
    LLVMTypeRef i8, i64;
} flattener;

static LLVMValueRef scaled(flattener *f, LLVMValueRef index, uint64_t scale)
{
    LLVMValueRef wide = LLVMBuildIntCast2(f->builder, index, f->i64, true, "");
    return LLVMBuildMul(f->builder, wide, LLVMConstInt(f->i64, scale, false), "");
}

/* The distance in bytes from the base. */
static LLVMValueRef distance(flattener *f, LLVMValueRef gep)
{
    LLVMTypeRef type = LLVMGetGEPSourceElementType(gep);
    LLVMValueRef sum = scaled(f, LLVMGetOperand(gep, 1), LLVMABISizeOfType(f->layout, type));
    for (unsigned i = 1; i < LLVMGetNumIndices(gep); i++) {
        LLVMValueRef index = LLVMGetOperand(gep, i + 1), more;
        if (LLVMGetTypeKind(type) == LLVMStructTypeKind) {
            unsigned member = (unsigned)LLVMConstIntGetZExtValue(index);
            more = LLVMConstInt(f->i64, LLVMOffsetOfElement(f->layout, type, member), false);
            type = LLVMStructGetTypeAtIndex(type, member);
        } else {
            type = LLVMGetElementType(type);
            more = scaled(f, index, LLVMABISizeOfType(f->layout, type));
        }
        sum = LLVMBuildAdd(f->builder, sum, more, "");
    }
    return sum;
}

static void flatten(LLVMValueRef instruction, void *context)
{
    flattener *f = context;
    if (!LLVMIsAGetElementPtrInst(instruction) ||
        LLVMGetTypeKind(LLVMTypeOf(instruction)) != LLVMPointerTypeKind)
        return;
    if (LLVMGetGEPSourceElementType(instruction) == f->i8) return;
    LLVMPositionBuilderBefore(f->builder, instruction);
    LLVMValueRef bytes = distance(f, instruction);
    LLVMValueRef made = LLVMBuildGEP2(f->builder, f->i8, LLVMGetOperand(instruction, 0), &bytes, 1, "");
    LLVMReplaceAllUsesWith(instruction, made);
    LLVMInstructionEraseFromParent(instruction);
}

void cuda_flatten_addresses(ir_kernel *kernel)
{
    LLVMContextRef c = kernel->context;
    flattener f = {LLVMGetModuleDataLayout(kernel->module), LLVMCreateBuilderInContext(c),
        LLVMInt8TypeInContext(c), LLVMInt64TypeInContext(c)};
    ir_visit(kernel->function, flatten, &f);
    LLVMDisposeBuilder(f.builder);
}
