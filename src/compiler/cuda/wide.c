/* Wide code: one thread of the GPU runs several neighbours of the threadgroup, so that it moves 16 bytes where
 * each of them moves 4, and has as much on its way.
 *
 * Threads that neither wait for each other nor write atomically may run in any order, in any interleaving too:
 * what one writes and another reads without order is a race in Metal as well. So for straight code every
 * instruction is repeated for threads F t ... F t + F - 1 before the next one comes, as a vector processor does
 * it; loads and stores of neighbours stand together then, and are merged like other accesses. A kernel may begin
 * with a condition under which it ends at once ("if (i >= n) return"): where all F threads go on they do so
 * together, else one after the other.
 *
 * Comes after the code is final but for the merging of accesses. Whether it was worth it is asked behind that
 * (compile.c): by the number of accesses that are left. */
#include "compiler/cuda/steps.h"

#include <llvm-c/Target.h>
#include <stdlib.h>

enum { ACCESS = 16, MAX_FACTOR = 8, MAX_INSTRUCTIONS = 256 };

#define TID "llvm.nvvm.read.ptx.sreg.tid.x"

typedef struct widener {
    ir_kernel *kernel;
    LLVMBuilderRef builder;
    LLVMBasicBlockRef first, body; /* body: NULL where there is no condition */
    LLVMValueRef condition;
    bool when_false; /* the body runs where the condition does not hold */
    unsigned factor, count;
    LLVMValueRef originals[MAX_INSTRUCTIONS];
    LLVMValueRef clones[MAX_INSTRUCTIONS][MAX_FACTOR];
} widener;

/* ---- What can be widened ---- */

static bool is_access(LLVMValueRef i, LLVMValueRef *pointer)
{
    if (!LLVMIsALoadInst(i) && !LLVMIsAStoreInst(i)) return false;
    *pointer = LLVMGetOperand(i, LLVMIsALoadInst(i) ? 0 : 1);
    return true;
}

static bool is_pure_call(LLVMValueRef call)
{
    LLVMValueRef callee = ir_callee(call);
    if (!callee || !LLVMGetIntrinsicID(callee)) return false;
    if (ir_name_starts(callee, "llvm.nvvm.read.ptx.sreg"))
        return ir_name_starts(callee, TID) || ir_name_starts(callee, "llvm.nvvm.read.ptx.sreg.ctaid");
    static const char *const known[] = {"llvm.fma.", "llvm.sqrt.", "llvm.fabs.", "llvm.floor.", "llvm.ceil.", "llvm.trunc.",
        "llvm.rint.", "llvm.copysign.", "llvm.minnum.", "llvm.maxnum.", "llvm.smin.", "llvm.smax.", "llvm.umin.",
        "llvm.umax.", "llvm.abs.", "llvm.fshl.", "llvm.fshr.", "llvm.ctpop.", "llvm.ctlz.", "llvm.cttz.",
        "llvm.bswap.", "llvm.bitreverse.", "llvm.fptosi.sat.", "llvm.fptoui.sat.", "llvm.nvvm.rsqrt.approx",
        "llvm.nvvm.fmin.", "llvm.nvvm.fmax."};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (ir_name_starts(callee, known[k])) return true;
    return false;
}

/* Nothing that threads do together, or that other threads could see the order of. */
static bool is_independent(LLVMValueRef i)
{
    LLVMValueRef pointer;
    if (is_access(i, &pointer)) {
        unsigned space = LLVMGetPointerAddressSpace(LLVMTypeOf(pointer));
        return !LLVMGetVolatile(i) && LLVMGetOrdering(i) == LLVMAtomicOrderingNotAtomic &&
               (space == 1 || (space != 3 && LLVMIsALoadInst(i))); /* parameters are generic */
    }
    switch (LLVMGetInstructionOpcode(i)) {
    case LLVMCall: return is_pure_call(i);
    case LLVMPHI:
    case LLVMAlloca:
    case LLVMFence:
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg: return false;
    default: return true;
    }
}

static bool add_block(widener *w, LLVMBasicBlockRef block)
{
    LLVMValueRef end = LLVMGetBasicBlockTerminator(block);
    for (LLVMValueRef i = LLVMGetFirstInstruction(block); i != end; i = LLVMGetNextInstruction(i)) {
        if (w->count == MAX_INSTRUCTIONS || !is_independent(i)) return false;
        w->originals[w->count++] = i;
    }
    return true;
}

/* The block does nothing but return. */
static bool is_exit(LLVMBasicBlockRef block)
{
    return LLVMIsAReturnInst(LLVMGetFirstInstruction(block));
}

static bool is_end(LLVMBasicBlockRef block)
{
    LLVMValueRef end = LLVMGetBasicBlockTerminator(block);
    return LLVMIsAReturnInst(end) || (LLVMGetNumSuccessors(end) == 1 && is_exit(LLVMGetSuccessor(end, 0)));
}

/* One block, or a condition and one block. */
static bool find_shape(widener *w)
{
    w->first = LLVMGetEntryBasicBlock(w->kernel->function);
    LLVMValueRef end = LLVMGetBasicBlockTerminator(w->first);
    if (!add_block(w, w->first)) return false;
    if (is_end(w->first)) return true;
    if (!LLVMIsABranchInst(end) || LLVMGetNumSuccessors(end) != 2) return false;
    w->when_false = is_exit(LLVMGetSuccessor(end, 0));
    w->body = LLVMGetSuccessor(end, w->when_false);
    w->condition = LLVMGetCondition(end);
    LLVMBasicBlockRef other = LLVMGetSuccessor(end, !w->when_false);
    return w->body != other && is_exit(other) && is_end(w->body) && add_block(w, w->body);
}

/* So many neighbours fill an access of 16 bytes of what is widest among the kernel's accesses. */
static unsigned choose_factor(const widener *w, uint32_t threads)
{
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(w->kernel->module);
    uint64_t widest = 0;
    for (unsigned n = 0; n < w->count; n++) {
        LLVMValueRef i = w->originals[n], pointer;
        if (!is_access(i, &pointer) || LLVMGetPointerAddressSpace(LLVMTypeOf(pointer)) != 1) continue;
        uint64_t size = LLVMStoreSizeOfType(layout, LLVMTypeOf(LLVMIsALoadInst(i) ? i : LLVMGetOperand(i, 0)));
        if (size > widest) widest = size;
    }
    unsigned factor = widest && widest < ACCESS ? (unsigned)(ACCESS / widest) : 1;
    if (factor > MAX_FACTOR) factor = MAX_FACTOR;
    while (factor > 1 && threads % (factor * TB_SIMD_WIDTH)) factor /= 2;
    return factor & (factor - 1) ? 1 : factor;
}

/* ---- Repeating ---- */

static LLVMValueRef value_for(const widener *w, LLVMValueRef value, unsigned lane)
{
    if (LLVMIsAInstruction(value))
        for (unsigned n = 0; n < w->count; n++)
            if (w->originals[n] == value) return w->clones[n][lane];
    return value;
}

/* The number of the thread that the hardware's thread runs as its `lane`-th. */
static LLVMValueRef thread_number(widener *w, LLVMValueRef tid, unsigned lane)
{
    LLVMValueRef own = LLVMInstructionClone(tid);
    LLVMInsertIntoBuilder(w->builder, own);
    LLVMTypeRef type = LLVMTypeOf(tid);
    LLVMValueRef first = LLVMBuildNUWMul(w->builder, own, LLVMConstInt(type, w->factor, false), "");
    LLVMSetNSW(first, true);
    LLVMValueRef number = LLVMBuildNUWAdd(w->builder, first, LLVMConstInt(type, lane, false), "");
    if (LLVMIsAInstruction(number)) LLVMSetNSW(number, true);
    return number;
}

static LLVMValueRef repeat(widener *w, LLVMValueRef original, unsigned lane)
{
    if (ir_is_intrinsic(original, TID)) return thread_number(w, original, lane);
    LLVMValueRef made = LLVMInstructionClone(original);
    int count = LLVMGetNumOperands(original) - (LLVMIsACallInst(original) ? 1 : 0);
    for (int i = 0; i < count; i++)
        LLVMSetOperand(made, (unsigned)i, value_for(w, LLVMGetOperand(original, (unsigned)i), lane));
    LLVMInsertIntoBuilder(w->builder, made);
    return made;
}

static LLVMBasicBlockRef append(const widener *w)
{
    return LLVMAppendBasicBlockInContext(w->kernel->context, w->kernel->function, "");
}

/* Instruction by instruction, each for all lanes from `low` to below `high`. */
static void repeat_block(widener *w, LLVMBasicBlockRef block, unsigned low, unsigned high)
{
    for (unsigned n = 0; n < w->count; n++) {
        if (LLVMGetInstructionParent(w->originals[n]) != block) continue;
        for (unsigned lane = low; lane < high; lane++) w->clones[n][lane] = repeat(w, w->originals[n], lane);
    }
}

/* Whether lane's thread runs the body. */
static LLVMValueRef goes_on(widener *w, unsigned lane)
{
    LLVMValueRef condition = value_for(w, w->condition, lane);
    return w->when_false ? LLVMBuildNot(w->builder, condition, "") : condition;
}

/* At the builder's place: the body for all lanes that go on. */
static void branch(widener *w)
{
    LLVMValueRef go[MAX_FACTOR], all = NULL;
    for (unsigned lane = 0; lane < w->factor; lane++) {
        go[lane] = goes_on(w, lane);
        all = all ? LLVMBuildAnd(w->builder, all, go[lane], "") : go[lane];
    }
    LLVMBasicBlockRef together = append(w), next = append(w);
    LLVMBuildCondBr(w->builder, all, together, next);
    LLVMPositionBuilderAtEnd(w->builder, together);
    repeat_block(w, w->body, 0, w->factor);
    LLVMBuildRetVoid(w->builder);
    for (unsigned lane = 0; lane < w->factor; lane++) {
        LLVMBasicBlockRef alone = append(w), after = append(w);
        LLVMPositionBuilderAtEnd(w->builder, next);
        LLVMBuildCondBr(w->builder, go[lane], alone, after);
        LLVMPositionBuilderAtEnd(w->builder, alone);
        repeat_block(w, w->body, lane, lane + 1);
        LLVMBuildBr(w->builder, after);
        next = after;
    }
    LLVMPositionBuilderAtEnd(w->builder, next);
    LLVMBuildRetVoid(w->builder);
}

/* Blocks from `first` to before `end`, which the others do not use. */
static void delete_blocks(LLVMBasicBlockRef first, LLVMBasicBlockRef end)
{
    for (LLVMBasicBlockRef b = first; b != end; b = LLVMGetNextBasicBlock(b)) {
        for (LLVMValueRef i = LLVMGetLastInstruction(b); i; i = LLVMGetLastInstruction(b)) {
            if (LLVMGetTypeKind(LLVMTypeOf(i)) != LLVMVoidTypeKind)
                LLVMReplaceAllUsesWith(i, LLVMGetPoison(LLVMTypeOf(i)));
            LLVMInstructionEraseFromParent(i);
        }
    }
    for (LLVMBasicBlockRef b = first, next; b != end; b = next) {
        next = LLVMGetNextBasicBlock(b);
        LLVMDeleteBasicBlock(b);
    }
}

static void rewrite(widener *w)
{
    LLVMBasicBlockRef old = w->first, start = append(w);
    LLVMPositionBuilderAtEnd(w->builder, start);
    repeat_block(w, w->first, 0, w->factor);
    if (w->body)
        branch(w);
    else
        LLVMBuildRetVoid(w->builder);
    delete_blocks(old, start); /* the entry block is the first */
}

static void count_access(LLVMValueRef instruction, void *context)
{
    LLVMValueRef pointer;
    if (is_access(instruction, &pointer) && LLVMGetPointerAddressSpace(LLVMTypeOf(pointer)) == 1)
        ++*(unsigned *)context;
}

unsigned cuda_count_accesses(const ir_kernel *kernel)
{
    unsigned count = 0;
    ir_visit(kernel->function, count_access, &count);
    return count;
}

unsigned cuda_widen(ir_kernel *kernel, uint32_t threads)
{
    widener *w = calloc(1, sizeof *w);
    if (!w) return 1;
    w->kernel = kernel;
    w->factor = 1;
    if (find_shape(w)) w->factor = choose_factor(w, threads);
    unsigned factor = w->factor;
    if (factor > 1) {
        w->builder = LLVMCreateBuilderInContext(kernel->context);
        rewrite(w);
        LLVMDisposeBuilder(w->builder);
        uint32_t size[3] = {threads / factor, 1, 1};
        cuda_entry_limit(kernel, size, true);
    }
    free(w);
    return factor;
}
