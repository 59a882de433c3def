/* Square roots: correctly rounded in every mode, and fast where their inverse is wanted.
 *
 * Calls of llvm.sqrt still have their fast-math flags, and would become an approximation, so they are made anew
 * without. 1 / sqrt(x), as the math library's fast rsqrt computes it, becomes one function of the device library
 * with the same bits (device/root.c), on the architecture for which that was shown. */
#include "compiler/cuda/steps.h"

#include <string.h>

typedef struct roots {
    LLVMModuleRef module;
    LLVMBuilderRef builder;
} roots;

static bool is_f32(LLVMValueRef value)
{
    return LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMFloatTypeKind;
}

static bool is_one(LLVMValueRef value)
{
    LLVMBool inexact;
    return LLVMIsAConstantFP(value) && LLVMConstRealGetDouble(value, &inexact) == 1.0;
}

static void select_root(LLVMValueRef division, void *context)
{
    roots *r = context;
    if (LLVMGetInstructionOpcode(division) != LLVMFDiv || !is_f32(division)) return;
    LLVMValueRef root = LLVMGetOperand(division, 1);
    if (!is_one(LLVMGetOperand(division, 0)) || !LLVMIsAInstruction(root) || !ir_is_intrinsic(root, "llvm.sqrt"))
        return;
    LLVMValueRef x = LLVMGetOperand(root, 0);
    LLVMPositionBuilderBefore(r->builder, division);
    LLVMValueRef inverse = cuda_call(r->module, r->builder, "inverse_root.f32", LLVMTypeOf(x), &x, 1, false);
    LLVMReplaceAllUsesWith(division, inverse);
    LLVMInstructionEraseFromParent(division);
    if (!LLVMGetFirstUse(root)) LLVMInstructionEraseFromParent(root);
}

static void make_exact(LLVMValueRef root, void *context)
{
    roots *r = context;
    if (!ir_is_intrinsic(root, "llvm.sqrt")) return;
    LLVMTypeRef type = LLVMTypeOf(root);
    LLVMValueRef x = LLVMGetOperand(root, 0);
    LLVMPositionBuilderBefore(r->builder, root);
    LLVMReplaceAllUsesWith(root, ir_build_intrinsic(r->builder, r->module, "llvm.sqrt", &type, 1, &x, 1));
    LLVMInstructionEraseFromParent(root);
}

void cuda_roots_lower(ir_kernel *kernel)
{
    roots r = {kernel->module, LLVMCreateBuilderInContext(kernel->context)};
    if (!strcmp(kernel->target, "sm_90")) ir_visit(kernel->function, select_root, &r);
    ir_visit(kernel->function, make_exact, &r);
    LLVMDisposeBuilder(r.builder);
}
