/* Loops that compare their counter before its step compare it behind.
 *
 * LLVM prefers to compare what a phi held in this iteration: i < 255 for i + 1 < 256. Then both i and i + 1 live
 * to the end of the block, and every iteration copies one. Where the step cannot wrap around (its flags say so)
 * the next value is compared with as much more, and the phi ends at the step. Comes last: instcombine would
 * undo it, and the strength reduction of the code generator too, so the step is hidden from it by a freeze. */
#include "compiler/cuda/steps.h"

/* `step` = phi + constant in the comparison's block, in front of it, which nothing else in the block follows
 * with a use of the phi. */
static LLVMValueRef find_step(LLVMValueRef comparison, LLVMValueRef phi)
{
    LLVMBasicBlockRef block = LLVMGetInstructionParent(comparison);
    LLVMValueRef step = NULL;
    for (LLVMUseRef use = LLVMGetFirstUse(phi); use; use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);
        if (user == comparison) continue;
        if (step || !LLVMIsAInstruction(user) || LLVMGetInstructionParent(user) != block) return NULL;
        if (LLVMGetInstructionOpcode(user) != LLVMAdd || !LLVMIsAConstantInt(LLVMGetOperand(user, 1))) return NULL;
        step = user;
    }
    for (LLVMValueRef i = step; i; i = LLVMGetNextInstruction(i))
        if (i == comparison) return step;
    return NULL;
}

/* `bound` + `step` in their type, or NULL where that wraps around. */
static LLVMValueRef add_bounds(LLVMValueRef bound, LLVMValueRef step, bool is_signed)
{
    LLVMTypeRef type = LLVMTypeOf(bound);
    unsigned width = LLVMGetIntTypeWidth(type);
    if (width > 32) return NULL;
    int64_t low = is_signed ? -(INT64_C(1) << (width - 1)) : 0;
    int64_t high = is_signed ? (INT64_C(1) << (width - 1)) - 1 : (INT64_C(1) << width) - 1;
    int64_t sum = is_signed ? LLVMConstIntGetSExtValue(bound) + LLVMConstIntGetSExtValue(step)
                            : (int64_t)(LLVMConstIntGetZExtValue(bound) + LLVMConstIntGetZExtValue(step));
    return sum < low || sum > high ? NULL : LLVMConstInt(type, (uint64_t)sum, is_signed);
}

/* All uses of the step are of its frozen value then. */
static LLVMValueRef hide(LLVMBuilderRef builder, LLVMValueRef step)
{
    LLVMPositionBuilderBefore(builder, LLVMGetNextInstruction(step));
    LLVMValueRef hidden = LLVMBuildFreeze(builder, step, "");
    LLVMReplaceAllUsesWith(step, hidden);
    LLVMSetOperand(hidden, 0, step);
    return hidden;
}

static void visit(LLVMValueRef comparison, void *context)
{
    if (!LLVMIsAICmpInst(comparison)) return;
    LLVMValueRef phi = LLVMGetOperand(comparison, 0), bound = LLVMGetOperand(comparison, 1);
    if (!LLVMIsAPHINode(phi) || !LLVMIsAConstantInt(bound)) return;
    LLVMValueRef step = find_step(comparison, phi);
    if (!step) return;
    LLVMIntPredicate how = LLVMGetICmpPredicate(comparison);
    bool is_signed = how >= LLVMIntSGT;
    if (!(is_signed ? LLVMGetNSW(step) : LLVMGetNUW(step))) return;
    LLVMValueRef moved = add_bounds(bound, LLVMGetOperand(step, 1), is_signed);
    if (!moved) return;
    LLVMSetOperand(comparison, 0, hide(context, step));
    LLVMSetOperand(comparison, 1, moved);
}

void cuda_compare_next(ir_kernel *kernel)
{
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(kernel->context);
    ir_visit(kernel->function, visit, builder);
    LLVMDisposeBuilder(builder);
}
