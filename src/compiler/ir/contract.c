/* Contraction, x * y + z with one rounding where the source's mode allows it, and the end of all fast-math flags.
 *
 * Takes the kernel behind ir_optimise, which has used the flags (constants moved together, reciprocals out of loops). What comes
 * after it, LLVM's code generator included, would use them by what blocks and constants it sees: one source would round
 * differently once a branch is known or a loop unrolled. From here on every floating-point operation is exact, and so the
 * code for one launch's values (specialise.c) gives the bits of the code for all.
 *
 * A product is fused with the sum or difference in its block that is its only use, the first operand before the second;
 * products of float only, as other types have no fused operation on x86. Flags can only be added to an instruction, so
 * arithmetic is made anew without. */
#include "compiler/ir/steps.h"

typedef struct contraction {
    ir_kernel *kernel;
    LLVMBuilderRef builder;
} contraction;

static bool is_float(LLVMTypeRef type)
{
    if (LLVMGetTypeKind(type) == LLVMVectorTypeKind) type = LLVMGetElementType(type);
    return LLVMGetTypeKind(type) == LLVMFloatTypeKind;
}

static bool may_contract(LLVMValueRef instruction)
{
    return LLVMGetFastMathFlags(instruction) & LLVMFastMathAllowContract;
}

static bool used_once_by(LLVMValueRef value, LLVMValueRef user)
{
    LLVMUseRef use = LLVMGetFirstUse(value);
    return use && !LLVMGetNextUse(use) && LLVMGetInstructionParent(value) == LLVMGetInstructionParent(user);
}

/* The product that `value` is, or is the negative of (*negative), if it can be fused with `sum`. */
static LLVMValueRef product(LLVMValueRef value, LLVMValueRef sum, bool *negative)
{
    if (!LLVMIsAInstruction(value) || !used_once_by(value, sum)) return NULL;
    *negative = LLVMGetInstructionOpcode(value) == LLVMFNeg;
    LLVMValueRef user = sum;
    if (*negative) {
        user = value;
        value = LLVMGetOperand(value, 0);
        if (!LLVMIsAInstruction(value) || !used_once_by(value, user)) return NULL;
    }
    return LLVMGetInstructionOpcode(value) == LLVMFMul && may_contract(value) ? value : NULL;
}

/* Operand number `which` of the sum as a product, the other one added. */
static bool fuse(const contraction *c, LLVMValueRef sum, unsigned which)
{
    bool negative, difference = LLVMGetInstructionOpcode(sum) == LLVMFSub;
    LLVMValueRef term = LLVMGetOperand(sum, which), other = LLVMGetOperand(sum, 1 - which);
    LLVMValueRef multiplied = product(term, sum, &negative);
    if (!multiplied) return false;
    LLVMPositionBuilderBefore(c->builder, sum);
    LLVMValueRef a = LLVMGetOperand(multiplied, 0), b = LLVMGetOperand(multiplied, 1);
    if (negative != (difference && which == 1)) a = LLVMBuildFNeg(c->builder, a, "");
    if (difference && which == 0) other = LLVMBuildFNeg(c->builder, other, "");
    LLVMTypeRef type = LLVMTypeOf(sum);
    LLVMValueRef operands[3] = {a, b, other};
    LLVMValueRef fused = ir_build_intrinsic(c->builder, c->kernel->module, "llvm.fma", &type, 1, operands, 3);
    LLVMReplaceAllUsesWith(sum, fused);
    LLVMInstructionEraseFromParent(sum);
    if (term != multiplied) LLVMInstructionEraseFromParent(term);
    LLVMInstructionEraseFromParent(multiplied);
    return true;
}

static void visit_sum(LLVMValueRef instruction, void *context)
{
    LLVMOpcode opcode = LLVMGetInstructionOpcode(instruction);
    if (opcode != LLVMFAdd && opcode != LLVMFSub) return;
    if (!is_float(LLVMTypeOf(instruction)) || !may_contract(instruction)) return;
    if (!fuse(context, instruction, 0)) fuse(context, instruction, 1);
}

static void forget_flags(LLVMValueRef instruction, void *context)
{
    const contraction *c = context;
    LLVMOpcode opcode = LLVMGetInstructionOpcode(instruction);
    bool binary = opcode == LLVMFMul || opcode == LLVMFAdd || opcode == LLVMFSub || opcode == LLVMFDiv || opcode == LLVMFRem;
    if ((!binary && opcode != LLVMFNeg) || !LLVMGetFastMathFlags(instruction)) return;
    LLVMPositionBuilderBefore(c->builder, instruction);
    LLVMValueRef x = LLVMGetOperand(instruction, 0);
    LLVMValueRef made = binary ? LLVMBuildBinOp(c->builder, opcode, x, LLVMGetOperand(instruction, 1), "")
                               : LLVMBuildFNeg(c->builder, x, "");
    LLVMReplaceAllUsesWith(instruction, made);
    LLVMInstructionEraseFromParent(instruction);
}

void ir_contract(ir_kernel *kernel)
{
    contraction c = {kernel, LLVMCreateBuilderInContext(kernel->context)};
    ir_visit(kernel->function, visit_sum, &c);
    ir_visit(kernel->function, forget_flags, &c);
    LLVMDisposeBuilder(c.builder);
}
