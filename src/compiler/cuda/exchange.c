/* Pairs of loads by which a SIMD-group reads segments of 32 bytes, one of each lane: rows of tiles on their way to threadgroup memory.
 *
 * Each of the two loads takes 16 bytes of each lane's segment, so it touches every line of 128 bytes that any of the segments is in, and
 * a GPU looks at one line at a time. Here two lanes, whose numbers differ in one bit, share their segments: by the first load both read that
 * of the lower lane, by the second that of the upper one, and then they exchange the halves that belong to the other,
 *
 *     lower lane: s0.0 and s1.0     sends s1.0     has s0.0 and s0.1
 *     upper lane: s0.1 and s1.1     sends s0.1     has s1.0 and s1.1
 *
 * which needs no more than that both execute the loads. If the lower bits of the lane run along a row, and the bit is the first that does
 * not, then each load touches half of the rows, whole. The bit is chosen by counting lines (bank.c knows where lanes access).
 * How far the other lane's address is away is found by shuffles in front of the loop; from one iteration to the next the addresses of all
 * lanes grow by the same. */
#include "compiler/cuda/steps.h"

#include <llvm-c/Target.h>
#include <string.h>

enum { PIECE = 16, WORDS = 4, LINE = 128, MAX_DEPTH = 24, SHUFFLES = 4 /* of a pair, each about as long as a line */ };

typedef struct exchanger {
    ir_kernel *kernel;
    LLVMTargetDataRef layout;
    LLVMBuilderRef builder;
    LLVMBasicBlockRef loop, preheader;
    LLVMTypeRef i8, i32, i64, words;
} exchanger;

static LLVMValueRef number(const exchanger *x, uint32_t n)
{
    return LLVMConstInt(x->i32, n, false);
}

static LLVMValueRef strip(const exchanger *x, LLVMValueRef address, uint64_t *offset)
{
    *offset = 0;
    while (LLVMIsAGetElementPtrInst(address) && LLVMGetNumIndices(address) == 1 &&
           LLVMIsAConstantInt(LLVMGetOperand(address, 1))) {
        *offset += (uint64_t)LLVMConstIntGetSExtValue(LLVMGetOperand(address, 1)) *
                   LLVMABISizeOfType(x->layout, LLVMGetGEPSourceElementType(address));
        address = LLVMGetOperand(address, 0);
    }
    return address;
}

static LLVMValueRef incoming(const exchanger *x, LLVMValueRef phi, bool latch)
{
    return LLVMGetIncomingValue(phi, (LLVMGetIncomingBlock(phi, 0) == x->loop) == latch ? 0 : 1);
}

/* ---- How addresses grow ---- */

static bool is_inside(const exchanger *x, LLVMValueRef value)
{
    return LLVMIsAInstruction(value) && LLVMGetInstructionParent(value) == x->loop;
}

static bool is_arithmetic(LLVMValueRef value)
{
    switch (LLVMGetInstructionOpcode(value)) {
    case LLVMAdd:
    case LLVMSub:
    case LLVMMul:
    case LLVMShl:
    case LLVMOr:
    case LLVMAnd:
    case LLVMZExt:
    case LLVMSExt:
    case LLVMTrunc:
    case LLVMGetElementPtr: return true;
    default: return false;
    }
}

/* The same for all lanes, as far as it is computed from constants and the loop's counters. `counter` is being looked at. */
static bool is_uniform(const exchanger *x, LLVMValueRef value, LLVMValueRef counter, int depth)
{
    if (LLVMIsAConstantInt(value) || value == counter) return true;
    if (!is_inside(x, value) || depth >= MAX_DEPTH) return false;
    if (LLVMIsAPHINode(value))
        return !counter && is_uniform(x, incoming(x, value, false), value, depth + 1) &&
               is_uniform(x, incoming(x, value, true), value, depth + 1);
    bool uniform = is_arithmetic(value);
    for (int i = 0; i < LLVMGetNumOperands(value) && uniform; i++)
        uniform = is_uniform(x, LLVMGetOperand(value, (unsigned)i), counter, depth + 1);
    return uniform;
}

/* Whether the value of an iteration less that of the first one is the same for all lanes. */
static bool grows_alike(const exchanger *x, LLVMValueRef value, int depth)
{
    if (!is_inside(x, value) || is_uniform(x, value, NULL, depth)) return true;
    if (depth >= MAX_DEPTH) return false;
    LLVMValueRef a = LLVMGetNumOperands(value) > 0 ? LLVMGetOperand(value, 0) : NULL,
                 b = LLVMGetNumOperands(value) > 1 ? LLVMGetOperand(value, 1) : NULL;
    switch (LLVMGetInstructionOpcode(value)) {
    case LLVMAdd:
    case LLVMSub: return grows_alike(x, a, depth + 1) && grows_alike(x, b, depth + 1);
    case LLVMMul:
    case LLVMShl: return LLVMIsAConstantInt(b) && grows_alike(x, a, depth + 1);
    case LLVMGetElementPtr:
        return LLVMGetNumIndices(value) == 1 && LLVMGetIntTypeWidth(LLVMTypeOf(b)) == 64 && grows_alike(x, a, depth + 1) &&
               grows_alike(x, b, depth + 1);
    case LLVMPHI: {
        LLVMValueRef next = incoming(x, value, true);
        bool sum = is_inside(x, next) && LLVMGetNumOperands(next) == 2 && LLVMGetOperand(next, 0) == value &&
                   (LLVMGetInstructionOpcode(next) == LLVMAdd || LLVMGetInstructionOpcode(next) == LLVMGetElementPtr);
        return sum && is_uniform(x, LLVMGetOperand(next, 1), NULL, depth + 1);
    }
    default: return false;
    }
}

/* The loop multiplies matrices, so that whole SIMD-groups execute it. */
static bool multiplies(LLVMBasicBlockRef loop)
{
    for (LLVMValueRef i = LLVMGetFirstInstruction(loop); i; i = LLVMGetNextInstruction(i)) {
        LLVMValueRef callee = LLVMIsACallInst(i) ? LLVMGetCalledValue(i) : NULL;
        size_t length;
        if (callee && LLVMIsAInlineAsm(callee) && !strncmp(LLVMGetInlineAsmAsmString(callee, &length), "mma.sync.", 9))
            return true;
    }
    return false;
}

/* ---- Which bit ---- */

/* Lines that one load of all lanes touches. */
static unsigned lines_of(const uint32_t places[TB_SIMD_WIDTH])
{
    unsigned count = 0;
    for (unsigned i = 0; i < TB_SIMD_WIDTH; i++) {
        bool seen = false;
        for (unsigned j = 0; j < i && !seen; j++) seen = places[j] / LINE == places[i] / LINE;
        count += !seen;
    }
    return count;
}

/* The bit of the lane's number by which pairs should share, or 0. */
static unsigned choose_bit(const exchanger *x, LLVMValueRef start)
{
    uint32_t places[TB_SIMD_WIDTH], other[TB_SIMD_WIDTH];
    cuda_bank_places(x->kernel, start, places);
    for (unsigned i = 0; i < TB_SIMD_WIDTH; i++) other[i] = places[i] + PIECE;
    unsigned least = lines_of(places) + lines_of(other), chosen = 0;
    least = least > SHUFFLES ? least - SHUFFLES : 0;
    for (unsigned bit = 1; bit < TB_SIMD_WIDTH; bit *= 2) {
        unsigned lines = 0;
        for (unsigned upper = 0; upper < 2; upper++) {
            for (unsigned i = 0; i < TB_SIMD_WIDTH; i++)
                other[i] = places[upper ? i | bit : i & ~bit] + (i & bit ? PIECE : 0);
            lines += lines_of(other);
        }
        if (lines >= least) continue;
        least = lines;
        chosen = bit;
    }
    return chosen;
}

/* ---- Rewriting ---- */

static LLVMValueRef shuffled(const exchanger *x, const char *name, LLVMValueRef value, LLVMValueRef lane)
{
    LLVMValueRef operands[4] = {LLVMConstAllOnes(x->i32), value, lane, number(x, TB_SIMD_WIDTH - 1)};
    return ir_build_intrinsic(x->builder, x->kernel->module, name, NULL, 0, operands, 4);
}

/* From this lane's `address` to that of another lane. */
static LLVMValueRef distance_to(const exchanger *x, LLVMValueRef address, LLVMValueRef lane)
{
    LLVMBuilderRef b = x->builder;
    LLVMValueRef own = LLVMBuildPtrToInt(b, address, x->i64, ""), half = LLVMConstInt(x->i64, 32, false);
    LLVMValueRef low = LLVMBuildTrunc(b, own, x->i32, ""), high = LLVMBuildTrunc(b, LLVMBuildLShr(b, own, half, ""), x->i32, "");
    low = LLVMBuildZExt(b, shuffled(x, "llvm.nvvm.shfl.sync.idx.i32", low, lane), x->i64, "");
    high = LLVMBuildZExt(b, shuffled(x, "llvm.nvvm.shfl.sync.idx.i32", high, lane), x->i64, "");
    return LLVMBuildSub(b, LLVMBuildOr(b, LLVMBuildShl(b, high, half, ""), low, ""), own, "");
}

static bool is_before(LLVMValueRef one, LLVMValueRef other)
{
    for (LLVMValueRef i = one; i; i = LLVMGetNextInstruction(i))
        if (i == other) return true;
    return false;
}

/* Loads at the first load's address + distances[.], where the earlier one is (the loop writes nothing that it loads), and gives each lane
 * what it loaded before. */
static void exchange(
    const exchanger *x, LLVMValueRef *loads[2], LLVMValueRef distances[2], unsigned bit, LLVMValueRef is_upper)
{
    LLVMBuilderRef b = x->builder;
    LLVMTypeRef type = LLVMTypeOf(*loads[0]);
    bool in_order = is_before(*loads[0], *loads[1]);
    LLVMPositionBuilderBefore(b, *loads[in_order ? 0 : 1]);
    LLVMValueRef address = LLVMGetOperand(*loads[in_order ? 0 : 1], 0), made[2], words[2], results[2];
    LLVMValueRef back = LLVMConstInt(x->i64, (uint64_t)-PIECE, true);
    if (!in_order) address = LLVMBuildGEP2(b, x->i8, address, &back, 1, "");
    for (int i = 0; i < 2; i++) {
        made[i] = LLVMInstructionClone(*loads[i]);
        LLVMSetOperand(made[i], 0, LLVMBuildGEP2(b, x->i8, address, &distances[i], 1, ""));
        LLVMSetAlignment(made[i], PIECE);
    }
    for (int i = 0; i < 2; i++) LLVMInsertIntoBuilder(b, made[i]);
    for (int i = 0; i < 2; i++) {
        words[i] = LLVMBuildBitCast(b, made[i], x->words, "");
        results[i] = LLVMGetUndef(x->words);
    }
    for (unsigned w = 0; w < WORDS; w++) {
        LLVMValueRef lower = LLVMBuildExtractElement(b, words[0], number(x, w), ""),
                     upper = LLVMBuildExtractElement(b, words[1], number(x, w), "");
        LLVMValueRef sent = LLVMBuildSelect(b, is_upper, lower, upper, "");
        LLVMValueRef got = shuffled(x, "llvm.nvvm.shfl.sync.bfly.i32", sent, number(x, bit));
        results[0] = LLVMBuildInsertElement(b, results[0], LLVMBuildSelect(b, is_upper, got, lower, ""), number(x, w), "");
        results[1] = LLVMBuildInsertElement(b, results[1], LLVMBuildSelect(b, is_upper, upper, got, ""), number(x, w), "");
    }
    for (int i = 0; i < 2; i++) results[i] = LLVMBuildBitCast(b, results[i], type, "");
    for (int i = 0; i < 2; i++) {
        LLVMReplaceAllUsesWith(*loads[i], results[i]);
        LLVMInstructionEraseFromParent(*loads[i]);
        *loads[i] = made[i];
    }
}

/* The loads, the second 16 bytes behind the first, of 16 bytes each; false if they are nothing of the kind or are left as they are.
 * `start`: the first one's address in the first iteration. */
static bool share(const exchanger *x, LLVMValueRef *first, LLVMValueRef *second, LLVMValueRef start)
{
    uint64_t offsets[2];
    LLVMValueRef base = strip(x, LLVMGetOperand(*first, 0), &offsets[0]);
    if (strip(x, LLVMGetOperand(*second, 0), &offsets[1]) != base || offsets[1] - offsets[0] != PIECE) return false;
    if (LLVMTypeOf(*first) != LLVMTypeOf(*second) || LLVMStoreSizeOfType(x->layout, LLVMTypeOf(*first)) != PIECE ||
        LLVMGetAlignment(*first) < PIECE || LLVMGetAlignment(*second) < PIECE)
        return false;
    if (!grows_alike(x, base, 0)) return false;
    unsigned bit = choose_bit(x, start);
    if (!bit) return false;

    LLVMBuilderRef b = x->builder;
    LLVMPositionBuilderBefore(b, LLVMGetBasicBlockTerminator(x->preheader));
    LLVMValueRef thread = ir_build_intrinsic(b, x->kernel->module, "llvm.nvvm.read.ptx.sreg.tid.x", NULL, 0, NULL, 0);
    LLVMValueRef lane = LLVMBuildAnd(b, thread, number(x, TB_SIMD_WIDTH - 1), ""), own = LLVMBuildAnd(b, lane, number(x, bit), "");
    LLVMValueRef lower = LLVMBuildAnd(b, lane, number(x, ~bit), ""), upper = LLVMBuildOr(b, lane, number(x, bit), "");
    LLVMValueRef is_upper = LLVMBuildICmp(b, LLVMIntNE, own, number(x, 0), "");
    LLVMValueRef piece = LLVMBuildSelect(b, is_upper, LLVMConstInt(x->i64, PIECE, false), LLVMConstNull(x->i64), "");
    LLVMValueRef distances[2] = {distance_to(x, start, lower), distance_to(x, start, upper)};
    for (int i = 0; i < 2; i++) distances[i] = LLVMBuildAdd(b, distances[i], piece, "");
    LLVMValueRef *loads[2] = {first, second};
    exchange(x, loads, distances, bit, is_upper);
    return true;
}

void cuda_exchange(ir_kernel *kernel, LLVMBasicBlockRef loop, LLVMBasicBlockRef preheader, LLVMValueRef *loads,
    const LLVMValueRef *starts, unsigned count)
{
    if (!multiplies(loop)) return;
    LLVMContextRef c = kernel->context;
    exchanger x = {.kernel = kernel,
        .layout = LLVMGetModuleDataLayout(kernel->module),
        .builder = LLVMCreateBuilderInContext(c),
        .loop = loop,
        .preheader = preheader,
        .i8 = LLVMInt8TypeInContext(c),
        .i32 = LLVMInt32TypeInContext(c),
        .i64 = LLVMInt64TypeInContext(c)};
    x.words = LLVMVectorType(x.i32, WORDS);
    bool shared[CUDA_MAX_LOADS] = {false};
    for (unsigned i = 0; i < count; i++)
        for (unsigned j = 0; j < count && !shared[i]; j++)
            if (i != j && !shared[j] && share(&x, &loads[i], &loads[j], starts[i])) shared[i] = shared[j] = true;
    LLVMDisposeBuilder(x.builder);
}
