/* One latch per loop.
 *
 * A while loop with `continue` has several back edges to one header. LLVM's loop-simplify may read them as
 * two nested loops, which would move the place where threads meet again; here they are joined in one new
 * latch block instead, so that every `continue` leads to the same latch. A back edge that starts inside an
 * inner loop gets a latch of its own, too: threads of the outer loop wait for each other outside the inner
 * one. Back edges are edges to a block that dominates their source; dominators by Cooper, Harvey and Kennedy,
 * "A Simple, Fast Dominance Algorithm" (2001). Irreducible cycles are left alone. */
#include "compiler/ir/steps.h"

#include "compiler/ir/cfg.h"

#include <stdlib.h>

/* Moves what the header's phis get from the back edges into phis of the latch. */
static void move_phis(LLVMBuilderRef builder, LLVMBasicBlockRef header, LLVMBasicBlockRef latch,
    const LLVMBasicBlockRef *sources, size_t source_count)
{
    for (LLVMValueRef old = LLVMGetFirstInstruction(header); old && LLVMIsAPHINode(old);) {
        LLVMPositionBuilderBefore(builder, old);
        LLVMValueRef merged = LLVMBuildPhi(builder, LLVMTypeOf(old), "");
        LLVMValueRef terminator = LLVMGetFirstInstruction(latch);
        LLVMPositionBuilderBefore(builder, terminator);
        LLVMValueRef inner = LLVMBuildPhi(builder, LLVMTypeOf(old), "");
        for (unsigned i = 0; i < LLVMCountIncoming(old); i++) {
            LLVMBasicBlockRef from = LLVMGetIncomingBlock(old, i);
            LLVMValueRef value = LLVMGetIncomingValue(old, i);
            bool back = false;
            for (size_t s = 0; s < source_count; s++) back |= sources[s] == from;
            LLVMAddIncoming(back ? inner : merged, &value, &from, 1);
        }
        LLVMAddIncoming(merged, &inner, &latch, 1);
        LLVMValueRef next = LLVMGetNextInstruction(old);
        LLVMReplaceAllUsesWith(old, merged);
        LLVMInstructionEraseFromParent(old);
        old = next;
    }
}

static void merge(
    LLVMValueRef function, LLVMBasicBlockRef header, const LLVMBasicBlockRef *sources, size_t count)
{
    LLVMContextRef context = LLVMGetModuleContext(LLVMGetGlobalParent(function));
    LLVMBasicBlockRef latch = LLVMAppendBasicBlockInContext(context, function, "");
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(context);
    LLVMPositionBuilderAtEnd(builder, latch);
    LLVMBuildBr(builder, header);
    move_phis(builder, header, latch, sources, count);
    for (size_t s = 0; s < count; s++) {
        LLVMValueRef terminator = LLVMGetBasicBlockTerminator(sources[s]);
        for (unsigned i = 0; i < LLVMGetNumSuccessors(terminator); i++) {
            if (LLVMGetSuccessor(terminator, i) == header) LLVMSetSuccessor(terminator, i, latch);
        }
    }
    LLVMDisposeBuilder(builder);
}

tombac_status ir_loops_merge_latches(LLVMValueRef function, tombac_error **error)
{
    ir_cfg cfg;
    tombac_status status = ir_cfg_build(function, &cfg, error);
    if (status != TOMBAC_OK) return status;
    LLVMBasicBlockRef *sources = calloc(cfg.block_count, sizeof(LLVMBasicBlockRef));
    if (!sources) status = tb_fail_memory(error);
    for (uint32_t h = 0; sources && h < cfg.block_count; h++) {
        size_t count = 0;
        uint32_t source_loop = IR_NONE;
        for (uint32_t i = 0; i < cfg.blocks[h].predecessor_count; i++) {
            uint32_t p = cfg.blocks[h].predecessors[i];
            if (!ir_cfg_dominates(&cfg, h, p)) continue;
            sources[count++] = cfg.blocks[p].block;
            source_loop = cfg.blocks[p].loop;
        }
        bool inside = count == 1 && source_loop != cfg.blocks[h].loop;
        if (count > 1 || inside) merge(function, cfg.blocks[h].block, sources, count);
    }
    free(sources);
    ir_cfg_free(&cfg);
    return status;
}
