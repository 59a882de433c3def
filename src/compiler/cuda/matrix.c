/* Products of 8x8 matrices, after the scalar passes have shown where their operands come from.
 *
 * Until then a product is a call of an opaque function. Operands that are halves converted to float go to the
 * tensor cores, unless math is safe: their products are exact, but the order of the sum is the hardware's.
 * All others are computed as docs/operations.md says, by shuffles and fma. */
#include "compiler/cuda/steps.h"

#include <string.h>

#define OPAQUE "tombac_cuda.matrix_multiply_accumulate.f32" /* as linearise.c names it */

typedef struct products {
    ir_kernel *kernel;
    LLVMBuilderRef builder;
    LLVMTypeRef half;
} products;

bool cuda_matrix_used(const ir_kernel *kernel)
{
    LLVMValueRef function = LLVMGetNamedFunction(kernel->module, OPAQUE);
    return function && LLVMGetFirstUse(function);
}

/* The half that a float was converted from; NULL for others. */
static LLVMValueRef half_of(const products *p, LLVMValueRef value)
{
    if (LLVMGetInstructionOpcode(value) == LLVMFPExt && LLVMTypeOf(LLVMGetOperand(value, 0)) == p->half)
        return LLVMGetOperand(value, 0);
    return NULL;
}

static void lower(LLVMValueRef call, void *context)
{
    products *p = context;
    LLVMValueRef callee = ir_callee(call), operands[7];
    size_t length;
    if (!callee || strcmp(LLVMGetValueName2(callee, &length), OPAQUE)) return;
    bool halves = p->kernel->math != TOMBAC_MATH_SAFE;
    for (unsigned i = 0; i < 7; i++) operands[i] = LLVMGetOperand(call, i);
    for (unsigned i = 0; i < 4; i++)
        halves = halves && LLVMIsAInstruction(operands[i]) && half_of(p, operands[i]);
    for (unsigned i = 0; i < 4 && halves; i++) operands[i] = half_of(p, operands[i]);
    LLVMPositionBuilderBefore(p->builder, call);
    LLVMValueRef made = cuda_call(p->kernel->module, p->builder, halves ? "multiply.f16" : "multiply.f32",
        LLVMTypeOf(call), operands, 7, true);
    LLVMReplaceAllUsesWith(call, made);
    LLVMInstructionEraseFromParent(call);
}

void cuda_matrix_lower(ir_kernel *kernel)
{
    products p = {
        kernel, LLVMCreateBuilderInContext(kernel->context), LLVMHalfTypeInContext(kernel->context)};
    ir_visit(kernel->function, lower, &p);
    LLVMDisposeBuilder(p.builder);
}
