/* Bank conflicts in threadgroup memory, as far as they can be known before a launch.
 *
 * A GPU serves 32 words of 4 bytes at a time, if they lie in different banks: a word's bank is its number modulo 32. An access of 8 or 16
 * bytes by each lane takes two or four turns, of 16 or 8 lanes. Where the lanes of the first SIMD-group access is computed here by
 * evaluating the address's instructions for each of them; what comes from memory or from the launch counts as 0, loops are in their first
 * iteration. That is right wherever the rest is the same for all lanes and is added to, which is how tiles are addressed. */
#include "compiler/cuda/steps.h"

#include <llvm-c/Target.h>
#include <stdlib.h>

enum { BANKS = 32, WORD = 4, PIECE = 16, MAX_DEPTH = 32, BUDGET = 1000 };

typedef struct evaluator {
    LLVMTargetDataRef layout;
    uint32_t lane;
    unsigned budget;
} evaluator;

static uint64_t evaluate(evaluator *e, LLVMValueRef value, unsigned depth);

static unsigned width_of(LLVMTypeRef type)
{
    return LLVMGetTypeKind(type) == LLVMIntegerTypeKind ? LLVMGetIntTypeWidth(type) : 64;
}

static uint64_t cut(uint64_t x, unsigned width)
{
    return width >= 64 ? x : x & ((UINT64_C(1) << width) - 1);
}

static uint64_t extended(uint64_t x, unsigned width)
{
    return width >= 64 ? x : (uint64_t)((int64_t)(x << (64 - width)) >> (64 - width));
}

static bool compare(LLVMIntPredicate predicate, uint64_t x, uint64_t y, unsigned width)
{
    int64_t a = (int64_t)extended(x, width), b = (int64_t)extended(y, width);
    switch (predicate) {
    case LLVMIntEQ: return x == y;
    case LLVMIntNE: return x != y;
    case LLVMIntUGT: return x > y;
    case LLVMIntUGE: return x >= y;
    case LLVMIntULT: return x < y;
    case LLVMIntULE: return x <= y;
    case LLVMIntSGT: return a > b;
    case LLVMIntSGE: return a >= b;
    case LLVMIntSLT: return a < b;
    default: return a <= b;
    }
}

static uint64_t of_operation(LLVMOpcode opcode, uint64_t x, uint64_t y, unsigned width)
{
    switch (opcode) {
    case LLVMAdd: return x + y;
    case LLVMSub: return x - y;
    case LLVMMul: return x * y;
    case LLVMAnd: return x & y;
    case LLVMOr: return x | y;
    case LLVMXor: return x ^ y;
    case LLVMShl: return y < width ? x << y : 0;
    case LLVMLShr: return y < width ? x >> y : 0;
    case LLVMAShr: return y < width ? (uint64_t)((int64_t)extended(x, width) >> y) : 0;
    case LLVMUDiv: return y ? x / y : 0;
    case LLVMURem: return y ? x % y : 0;
    default: return 0;
    }
}

static uint64_t of_gep(evaluator *e, LLVMValueRef gep, unsigned depth)
{
    uint64_t base = evaluate(e, LLVMGetOperand(gep, 0), depth);
    if (LLVMGetNumIndices(gep) != 1) return base; /* address.c leaves none */
    LLVMValueRef index = LLVMGetOperand(gep, 1);
    uint64_t number = extended(evaluate(e, index, depth), width_of(LLVMTypeOf(index)));
    return base + number * LLVMABISizeOfType(e->layout, LLVMGetGEPSourceElementType(gep));
}

/* Of a phi the value in the first iteration, which comes from a block in front of its own. */
static LLVMValueRef first_of(LLVMValueRef phi)
{
    LLVMBasicBlockRef own = LLVMGetInstructionParent(phi);
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++)
        for (LLVMBasicBlockRef b = LLVMGetNextBasicBlock(LLVMGetIncomingBlock(phi, i)); b; b = LLVMGetNextBasicBlock(b))
            if (b == own) return LLVMGetIncomingValue(phi, i);
    return LLVMGetIncomingValue(phi, 0);
}

/* Lane numbers, minima and maxima; other calls count as 0. */
static uint64_t of_call(evaluator *e, LLVMValueRef call, unsigned depth)
{
    static const struct { const char *name; LLVMIntPredicate first; } choices[] = {{"llvm.smin", LLVMIntSLT},
        {"llvm.smax", LLVMIntSGT}, {"llvm.umin", LLVMIntULT}, {"llvm.umax", LLVMIntUGT}};
    if (ir_is_intrinsic(call, "llvm.nvvm.read.ptx.sreg.tid.x")) return e->lane;
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        if (!ir_is_intrinsic(call, choices[i].name)) continue;
        uint64_t x = evaluate(e, LLVMGetOperand(call, 0), depth), y = evaluate(e, LLVMGetOperand(call, 1), depth);
        return compare(choices[i].first, x, y, width_of(LLVMTypeOf(call))) ? x : y;
    }
    return 0;
}

static uint64_t of_instruction(evaluator *e, LLVMValueRef value, unsigned depth)
{
    LLVMOpcode opcode = LLVMGetInstructionOpcode(value);
    LLVMValueRef a = LLVMGetNumOperands(value) > 0 ? LLVMGetOperand(value, 0) : NULL,
                 b = LLVMGetNumOperands(value) > 1 ? LLVMGetOperand(value, 1) : NULL;
    switch (opcode) {
    case LLVMGetElementPtr: return of_gep(e, value, depth);
    case LLVMCall: return of_call(e, value, depth);
    case LLVMPHI: return evaluate(e, first_of(value), depth);
    case LLVMSelect: return evaluate(e, evaluate(e, a, depth) ? b : LLVMGetOperand(value, 2), depth);
    case LLVMSExt: return extended(evaluate(e, a, depth), width_of(LLVMTypeOf(a)));
    case LLVMZExt:
    case LLVMTrunc:
    case LLVMFreeze:
    case LLVMPtrToInt:
    case LLVMIntToPtr:
    case LLVMAddrSpaceCast: return evaluate(e, a, depth);
    case LLVMICmp: {
        unsigned width = width_of(LLVMTypeOf(a));
        return compare(LLVMGetICmpPredicate(value), evaluate(e, a, depth), evaluate(e, b, depth), width);
    }
    case LLVMAdd:
    case LLVMSub:
    case LLVMMul:
    case LLVMAnd:
    case LLVMOr:
    case LLVMXor:
    case LLVMShl:
    case LLVMLShr:
    case LLVMAShr:
    case LLVMUDiv:
    case LLVMURem:
        return of_operation(opcode, evaluate(e, a, depth), evaluate(e, b, depth), width_of(LLVMTypeOf(value)));
    default: return 0;
    }
}

/* In the type's width, with zeros above; an address is a number of bytes from the beginning of the threadgroup's memory. */
static uint64_t evaluate(evaluator *e, LLVMValueRef value, unsigned depth)
{
    LLVMTypeKind kind = LLVMGetTypeKind(LLVMTypeOf(value));
    if (kind != LLVMIntegerTypeKind && kind != LLVMPointerTypeKind) return 0;
    if (LLVMIsAConstantInt(value))
        return width_of(LLVMTypeOf(value)) > 64 ? 0 : LLVMConstIntGetZExtValue(value);
    if (LLVMIsAConstantExpr(value) && LLVMGetConstOpcode(value) == LLVMGetElementPtr) return of_gep(e, value, depth + 1);
    if (!LLVMIsAInstruction(value) || depth >= MAX_DEPTH || !e->budget) return 0;
    e->budget--;
    return cut(of_instruction(e, value, depth + 1), width_of(LLVMTypeOf(value)));
}

/* ---- Turns ---- */

/* Turns that the words of lanes from `lane` to `end` take. */
static unsigned turns_of(const uint32_t *places, unsigned lane, unsigned end, unsigned size)
{
    unsigned counts[BANKS] = {0}, most = 0;
    for (unsigned first = lane; lane < end; lane++) {
        for (unsigned byte = 0; byte < size; byte += WORD) {
            uint32_t word = places[lane] / WORD + byte / WORD;
            bool seen = false;
            for (unsigned other = first; other < lane && !seen; other++) {
                uint32_t from = places[other] / WORD;
                seen = word >= from && word - from < (size + WORD - 1) / WORD;
            }
            unsigned count = seen ? 0 : ++counts[word % BANKS];
            if (count > most) most = count;
        }
    }
    return most;
}

void cuda_bank_places(
    ir_kernel *kernel, LLVMValueRef address, uint32_t places[TB_SIMD_WIDTH])
{
    for (uint32_t lane = 0; lane < TB_SIMD_WIDTH; lane++) {
        evaluator e = {.layout = LLVMGetModuleDataLayout(kernel->module), .lane = lane, .budget = BUDGET};
        places[lane] = (uint32_t)evaluate(&e, address, 0);
    }
}

unsigned cuda_bank_turns(const uint32_t places[TB_SIMD_WIDTH], unsigned size)
{
    unsigned width = size <= WORD ? 32 : size <= 8 ? 16 : 8, turns = 0;
    for (unsigned lane = 0; lane < TB_SIMD_WIDTH; lane += width) turns += turns_of(places, lane, lane + width, size);
    return turns;
}
