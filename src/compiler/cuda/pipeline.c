/* Loads one iteration ahead, in loops that copy tiles to threadgroup memory.
 *
 * Such a loop loads from device memory, stores to threadgroup memory, waits at a barrier and computes;
 * nobody computes while the loads are on their way. So the loads of the next iteration go behind the
 * barrier, to where the computation begins, and their results round the loop in phis; those of the first go
 * before the loop. In the last iteration there is no next one: there its counters keep their values, and
 * what was loaded is loaded once more.
 *
 * Done for loops of one block with a barrier, if nothing in them writes device memory or orders it, so that
 * a load sees the same earlier. An address must be computed from the loop's phis by pure instructions. Comes
 * after accesses are merged, and needs preheaders (loop-simplify). */
#include "compiler/cuda/steps.h"

#include <llvm-c/Target.h>
#include <string.h>

enum { MAX_BYTES = 128, MAX_DEPTH = 24 }; /* bytes: kept in registers */

typedef enum when { CURRENT, NEXT, FIRST } when; /* iteration */

typedef struct pipeliner {
    ir_kernel *kernel;
    LLVMTargetDataRef layout;
    LLVMBuilderRef builder;
    LLVMBasicBlockRef loop, preheader;
    LLVMValueRef barrier,
        continues; /* continues: in front of the builder; whether there is a next iteration */
    LLVMValueRef loads[CUDA_MAX_LOADS];
    unsigned count;
} pipeliner;

/* ---- The loop ---- */

static bool is_barrier(LLVMValueRef instruction)
{
    LLVMValueRef callee = ir_callee(instruction);
    return callee && ir_name_starts(callee, "llvm.nvvm.barrier");
}

static unsigned space_of(LLVMValueRef address)
{
    return LLVMGetPointerAddressSpace(LLVMTypeOf(address));
}

/* Nothing that writes device memory, or says when. */
static bool is_harmless(LLVMValueRef i)
{
    switch (LLVMGetInstructionOpcode(i)) {
    case LLVMStore:
        return space_of(LLVMGetOperand(i, 1)) == 3 && LLVMGetOrdering(i) == LLVMAtomicOrderingNotAtomic;
    case LLVMLoad: return LLVMGetOrdering(i) == LLVMAtomicOrderingNotAtomic && !LLVMGetVolatile(i);
    case LLVMFence:
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg: return false;
    case LLVMCall: {
        LLVMValueRef callee = LLVMGetCalledValue(i);
        if (LLVMIsAInlineAsm(callee)) return true; /* the library's: tensor cores, conversions */
        if (!LLVMIsAFunction(callee) || !LLVMGetIntrinsicID(callee)) return false;
        return !ir_name_starts(callee, "llvm.mem") && !ir_name_starts(callee, "llvm.nvvm.membar") &&
               !ir_name_starts(callee, "llvm.nvvm.exit") && !ir_name_starts(callee, "llvm.nvvm.atomic");
    }
    default: return true;
    }
}

static LLVMBasicBlockRef preheader_of(LLVMBasicBlockRef loop, LLVMValueRef phi)
{
    if (LLVMCountIncoming(phi) != 2) return NULL;
    LLVMBasicBlockRef a = LLVMGetIncomingBlock(phi, 0), b = LLVMGetIncomingBlock(phi, 1);
    LLVMBasicBlockRef outside = a == loop ? b : a;
    bool own = a == loop || b == loop;
    return own && outside != loop && LLVMGetNumSuccessors(LLVMGetBasicBlockTerminator(outside)) == 1 ? outside
                                                                                                     : NULL;
}

/* The barrier behind the last of the loads from device memory. */
static bool find_loop(pipeliner *p, LLVMBasicBlockRef block)
{
    LLVMValueRef end = LLVMGetBasicBlockTerminator(block), first = LLVMGetFirstInstruction(block);
    if (!LLVMIsABranchInst(end) || LLVMGetNumSuccessors(end) != 2 || !LLVMIsAPHINode(first)) return false;
    if ((LLVMGetSuccessor(end, 0) == block) == (LLVMGetSuccessor(end, 1) == block)) return false;
    p->loop = block;
    p->preheader = preheader_of(block, first);
    p->barrier = NULL;
    p->count = 0;
    if (!p->preheader) return false;
    unsigned before = 0;
    for (LLVMValueRef i = first; i; i = LLVMGetNextInstruction(i)) {
        if (!is_harmless(i)) return false;
        if (LLVMIsALoadInst(i) && space_of(LLVMGetOperand(i, 0)) == 1) {
            if (p->count == CUDA_MAX_LOADS) return false;
            p->loads[p->count++] = i;
            p->barrier = NULL;
        } else if (is_barrier(i) && !p->barrier && p->count) {
            p->barrier = i;
            before = p->count;
        }
    }
    return p->barrier && before == p->count;
}

/* ---- Values of other iterations ---- */

static bool is_before(LLVMValueRef instruction, LLVMValueRef place)
{
    for (LLVMValueRef i = instruction; i; i = LLVMGetNextInstruction(i))
        if (i == place) return true;
    return false;
}

static bool is_inside(const pipeliner *p, LLVMValueRef value)
{
    return LLVMIsAInstruction(value) && LLVMGetInstructionParent(value) == p->loop;
}

static LLVMValueRef incoming(const pipeliner *p, LLVMValueRef phi, bool latch)
{
    return LLVMGetIncomingValue(phi, (LLVMGetIncomingBlock(phi, 0) == p->loop) == latch ? 0 : 1);
}

static bool is_pure(LLVMValueRef i)
{
    switch (LLVMGetInstructionOpcode(i)) {
    case LLVMGetElementPtr:
    case LLVMAdd:
    case LLVMSub:
    case LLVMMul:
    case LLVMShl:
    case LLVMLShr:
    case LLVMAShr:
    case LLVMAnd:
    case LLVMOr:
    case LLVMXor:
    case LLVMZExt:
    case LLVMSExt:
    case LLVMTrunc:
    case LLVMICmp:
    case LLVMSelect:
    case LLVMFreeze:
    case LLVMPHI: return true;
    case LLVMCall: return ir_is_intrinsic(i, "llvm.nvvm.read.ptx.sreg.tid.x");
    default: return false;
    }
}

/* Whether the value of this and of other iterations can be computed anywhere. */
static bool is_movable(const pipeliner *p, LLVMValueRef value, int depth)
{
    if (!is_inside(p, value)) return true;
    if (depth >= MAX_DEPTH || !is_pure(value)) return false;
    if (LLVMIsAPHINode(value)) {
        LLVMValueRef next = incoming(p, value, true);
        if (!is_inside(p, next) || LLVMIsAPHINode(next)) return !is_inside(p, next);
        /* What the phi becomes is computed from phis; these are what they are. */
        for (int i = 0; i < LLVMGetNumOperands(next); i++) {
            LLVMValueRef operand = LLVMGetOperand(next, (unsigned)i);
            if (!(is_inside(p, operand) && LLVMIsAPHINode(operand)) && !is_movable(p, operand, depth + 1))
                return false;
        }
        return is_pure(next);
    }
    for (int i = 0; i < LLVMGetNumOperands(value); i++)
        if (!is_movable(p, LLVMGetOperand(value, (unsigned)i), depth + 1)) return false;
    return true;
}

/* `value` in an iteration, at the builder's place. */
static LLVMValueRef build(pipeliner *p, LLVMValueRef value, when iteration)
{
    if (!is_inside(p, value)) return value;
    if (LLVMIsAPHINode(value)) {
        if (iteration == FIRST) return incoming(p, value, false);
        if (iteration == CURRENT) return value;
        LLVMValueRef next = build(p, incoming(p, value, true), CURRENT);
        return LLVMBuildSelect(p->builder, p->continues, next, value, "");
    }
    if (iteration == CURRENT && is_before(value, p->barrier)) return value;
    LLVMValueRef operands[8];
    unsigned count = (unsigned)LLVMGetNumOperands(value);
    if (LLVMIsACallInst(value)) count = 0;
    for (unsigned i = 0; i < count && i < 8; i++) operands[i] = build(p, LLVMGetOperand(value, i), iteration);
    LLVMValueRef made = LLVMInstructionClone(value);
    for (unsigned i = 0; i < count && i < 8; i++) LLVMSetOperand(made, i, operands[i]);
    LLVMInsertIntoBuilder(p->builder, made);
    return made;
}

/* ---- Rewriting ---- */

static LLVMValueRef load_in(pipeliner *p, LLVMValueRef load, when iteration)
{
    LLVMValueRef address = build(p, LLVMGetOperand(load, 0), iteration), made = LLVMInstructionClone(load);
    LLVMSetOperand(made, 0, address);
    LLVMInsertIntoBuilder(p->builder, made);
    return made;
}

static void move_load(pipeliner *p, LLVMValueRef load)
{
    LLVMPositionBuilderBefore(p->builder, LLVMGetBasicBlockTerminator(p->preheader));
    LLVMValueRef values[2] = {load_in(p, load, FIRST), NULL};
    LLVMPositionBuilderBefore(p->builder, LLVMGetNextInstruction(p->barrier));
    LLVMValueRef end = LLVMGetBasicBlockTerminator(p->loop);
    p->continues = build(p, LLVMGetCondition(end), CURRENT);
    if (LLVMGetSuccessor(end, 0) != p->loop) p->continues = LLVMBuildNot(p->builder, p->continues, "");
    values[1] = load_in(p, load, NEXT);
    LLVMPositionBuilderBefore(p->builder, LLVMGetFirstInstruction(p->loop));
    LLVMValueRef phi = LLVMBuildPhi(p->builder, LLVMTypeOf(load), "");
    LLVMBasicBlockRef blocks[2] = {p->preheader, p->loop};
    LLVMAddIncoming(phi, values, blocks, 2);
    LLVMReplaceAllUsesWith(load, phi);
    LLVMInstructionEraseFromParent(load);
}

static void pipeline(pipeliner *p)
{
    LLVMValueRef condition = LLVMGetCondition(LLVMGetBasicBlockTerminator(p->loop));
    if (!is_movable(p, condition, 0)) return;
    uint64_t bytes = 0;
    for (unsigned i = 0; i < p->count; i++) {
        LLVMValueRef load = p->loads[i];
        bytes += LLVMStoreSizeOfType(p->layout, LLVMTypeOf(load));
        if (bytes > MAX_BYTES || !is_movable(p, LLVMGetOperand(load, 0), 0)) return;
    }
    LLVMValueRef starts[CUDA_MAX_LOADS];
    LLVMPositionBuilderBefore(p->builder, LLVMGetBasicBlockTerminator(p->preheader));
    for (unsigned i = 0; i < p->count; i++) starts[i] = build(p, LLVMGetOperand(p->loads[i], 0), FIRST);
    cuda_exchange(p->kernel, p->loop, p->preheader, p->loads, starts, p->count);
    for (unsigned i = 0; i < p->count; i++) move_load(p, p->loads[i]);
}

void cuda_pipeline(ir_kernel *kernel)
{
    pipeliner p = {.kernel = kernel,
        .layout = LLVMGetModuleDataLayout(kernel->module),
        .builder = LLVMCreateBuilderInContext(kernel->context)};
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(kernel->function); b; b = LLVMGetNextBasicBlock(b))
        if (find_loop(&p, b)) pipeline(&p);
    LLVMDisposeBuilder(p.builder);
}
