/* Canonical form: what the passes behind rely on.
 *
 * Takes the kernel of ir_optimise (or any scalar function); promises one return, branches with two
 * successors, natural loops in loop-simplify and lcssa form, scalar loads and stores,
 * and barriers at the start of their blocks. */
#include "compiler/cpu/kernel.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdio.h>

/* A lane that must not come here may as well be gone. */
static void replace_unreachable(cpu_kernel *k)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(k->function); b; b = LLVMGetNextBasicBlock(b)) {
        LLVMValueRef end = LLVMGetBasicBlockTerminator(b);
        if (LLVMGetInstructionOpcode(end) != LLVMUnreachable) continue;
        LLVMInstructionEraseFromParent(end);
        LLVMPositionBuilderAtEnd(k->builder, b);
        LLVMBuildRetVoid(k->builder);
    }
}

static bool has_vectors(cpu_kernel *k)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(k->function); b; b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
            LLVMTypeRef type = LLVMTypeOf(LLVMIsAStoreInst(i) ? LLVMGetOperand(i, 0) : i);
            if (LLVMGetTypeKind(type) == LLVMVectorTypeKind) return true;
        }
    return false;
}

static void run_passes(cpu_kernel *k, const char *passes)
{
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef failure = LLVMRunPasses(k->module, passes, NULL, options);
    LLVMDisposePassBuilderOptions(options);
    if (!failure) return;
    char *message = LLVMGetErrorMessage(failure);
    char copy[200];
    snprintf(copy, sizeof copy, "%s", message);
    LLVMDisposeErrorMessage(message);
    cpu_fail(&k->job, TOMBAC_ERROR_COMPILER, "cpu engine: LLVM: %s", copy);
}

void cpu_prepare(cpu_kernel *k)
{
    replace_unreachable(k);
    if (has_vectors(k)) run_passes(k, "function(scalarizer<load-store>,instcombine<no-verify-fixpoint>,dce)");
    run_passes(k, "function(lower-switch,unreachableblockelim,mergereturn,fix-irreducible,unify-loop-exits,loop-simplify,lcssa)");
    cpu_barrier_split(k); /* last: phis before a barrier go to the block in front */
}

void cpu_prepare_again(cpu_kernel *k)
{
    run_passes(k, "function(loop-simplify,lcssa)");
    cpu_barrier_split(k);
}
