/* Intrinsics that engines should not see.
 *
 *   llvm.fmuladd   -> llvm.fma: whether a target fuses must not change a result
 *   llvm.fma.f16   -> float arithmetic with one effective rounding (x86 would call a library)
 *   min, max of halves -> the same in float
 *   llvm.round     -> trunc and a correction (x86 has no rounding half away from zero); exact: x - trunc(x) is
 *   llvm.memcpy, memmove, memset of a constant size up to 256 bytes -> loads and stores of the alignment's width
 *   lifetime and assume markers, prefetches -> nothing
 *   llvm.expect    -> the value */
#include "compiler/ir/steps.h"

#include <llvm-c/DebugInfo.h>
#include <string.h>

enum { MAX_EXPANDED = 256, MAX_PIECES = 64 };

typedef struct lowering {
    LLVMModuleRef module;
    LLVMContextRef context;
    LLVMBuilderRef builder;
} lowering;

static void replace(LLVMValueRef old, LLVMValueRef value)
{
    LLVMReplaceAllUsesWith(old, value);
    LLVMInstructionEraseFromParent(old);
}

static LLVMTypeRef like(LLVMTypeRef model, LLVMTypeRef scalar)
{
    return LLVMGetTypeKind(model) == LLVMVectorTypeKind ? LLVMVectorType(scalar, LLVMGetVectorSize(model))
                                                        : scalar;
}

static bool is_float_type(LLVMTypeRef type)
{
    if (LLVMGetTypeKind(type) == LLVMVectorTypeKind) type = LLVMGetElementType(type);
    return LLVMGetTypeKind(type) == LLVMFloatTypeKind || LLVMGetTypeKind(type) == LLVMHalfTypeKind;
}

static void lower_fmuladd(const lowering *l, LLVMValueRef call)
{
    LLVMValueRef operands[3];
    for (unsigned i = 0; i < 3; i++) operands[i] = LLVMGetOperand(call, i);
    LLVMTypeRef type = LLVMTypeOf(call);
    LLVMValueRef value = ir_build_intrinsic(l->builder, l->module, "llvm.fma", &type, 1, operands, 3);
    LLVMSetFastMathFlags(value, LLVMGetFastMathFlags(call));
    replace(call, value);
}

/* t = trunc(x); |x - t| >= 0.5 ? t + copysign(1, x) : t, with the sign of x for results of zero. */
static void lower_round(const lowering *l, LLVMValueRef call)
{
    LLVMTypeRef result = LLVMTypeOf(call), type = like(result, LLVMFloatTypeInContext(l->context));
    LLVMValueRef x = LLVMGetOperand(call, 0);
    if (result != type) x = LLVMBuildFPExt(l->builder, x, type, "");
    LLVMValueRef t = ir_build_intrinsic(l->builder, l->module, "llvm.trunc", &type, 1, &x, 1);
    LLVMValueRef rest = LLVMBuildFSub(l->builder, x, t, "");
    LLVMValueRef distance = ir_build_intrinsic(l->builder, l->module, "llvm.fabs", &type, 1, &rest, 1);
    LLVMValueRef far = LLVMBuildFCmp(l->builder, LLVMRealOGE, distance, LLVMConstReal(type, 0.5), "");
    LLVMValueRef step =
        LLVMBuildSelect(l->builder, far, LLVMConstReal(type, 1.0), LLVMConstReal(type, 0.0), "");
    LLVMValueRef signed_step[2] = {step, x};
    signed_step[0] = ir_build_intrinsic(l->builder, l->module, "llvm.copysign", &type, 1, signed_step, 2);
    LLVMValueRef value = LLVMBuildFAdd(l->builder, t, signed_step[0], "");
    if (result != type) value = LLVMBuildFPTrunc(l->builder, value, result, "");
    replace(call, value);
}

/* fma on half: the product is exact in float; the sum is rounded to odd there (Boldo and Melquiond, 2008), so
 * that rounding it to half is the only rounding that counts. The error of the sum is Knuth's TwoSum. */
static void lower_half_fma(const lowering *l, LLVMValueRef call)
{
    LLVMBuilderRef b = l->builder;
    LLVMTypeRef result = LLVMTypeOf(call), type = like(result, LLVMFloatTypeInContext(l->context));
    LLVMTypeRef integer = like(result, LLVMInt32TypeInContext(l->context));
    LLVMValueRef x[3];
    for (unsigned i = 0; i < 3; i++) x[i] = LLVMBuildFPExt(b, LLVMGetOperand(call, i), type, "");
    LLVMValueRef p = LLVMBuildFMul(b, x[0], x[1], ""), s = LLVMBuildFAdd(b, p, x[2], "");
    LLVMValueRef c = LLVMBuildFSub(b, s, p, ""), d = LLVMBuildFSub(b, s, c, "");
    LLVMValueRef e = LLVMBuildFAdd(b, LLVMBuildFSub(b, p, d, ""), LLVMBuildFSub(b, x[2], c, ""), "");
    LLVMValueRef zero = LLVMConstNull(type), one = LLVMConstNull(integer);
    LLVMValueRef minus_one = LLVMConstAllOnes(integer);
    one = LLVMBuildSub(b, one, minus_one, "");
    LLVMValueRef bits = LLVMBuildBitCast(b, s, integer, "");
    LLVMValueRef inexact = LLVMBuildFCmp(b, LLVMRealONE, e, zero, "");
    LLVMValueRef even =
        LLVMBuildICmp(b, LLVMIntEQ, LLVMBuildAnd(b, bits, one, ""), LLVMConstNull(integer), "");
    LLVMValueRef away = LLVMBuildICmp(b, LLVMIntEQ, LLVMBuildFCmp(b, LLVMRealOGT, e, zero, ""),
        LLVMBuildFCmp(b, LLVMRealOGT, s, zero, ""), "");
    LLVMValueRef moved = LLVMBuildAdd(b, bits, LLVMBuildSelect(b, away, one, minus_one, ""), "");
    LLVMValueRef odd = LLVMBuildSelect(b, LLVMBuildAnd(b, inexact, even, ""), moved, bits, "");
    replace(call, LLVMBuildFPTrunc(b, LLVMBuildBitCast(b, odd, type, ""), result, ""));
}

static bool is_half(LLVMTypeRef type)
{
    if (LLVMGetTypeKind(type) == LLVMVectorTypeKind) type = LLVMGetElementType(type);
    return LLVMGetTypeKind(type) == LLVMHalfTypeKind;
}

/* min and max of halves: in float, where they are exact and the target has them. */
static bool lower_half_minmax(const lowering *l, LLVMValueRef call)
{
    static const char *const names[] = {
        "llvm.minnum", "llvm.maxnum", "llvm.minimum", "llvm.maximum", "llvm.minimumnum", "llvm.maximumnum"};
    LLVMTypeRef result = LLVMTypeOf(call), type = like(result, LLVMFloatTypeInContext(l->context));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (!ir_is_intrinsic(call, names[i])) continue;
        LLVMValueRef x[2];
        for (unsigned k = 0; k < 2; k++) x[k] = LLVMBuildFPExt(l->builder, LLVMGetOperand(call, k), type, "");
        LLVMValueRef value = ir_build_intrinsic(l->builder, l->module, names[i], &type, 1, x, 2);
        replace(call, LLVMBuildFPTrunc(l->builder, value, result, ""));
        return true;
    }
    return false;
}

/* ---- Memory intrinsics ---- */

static LLVMValueRef address_at(const lowering *l, LLVMValueRef pointer, uint64_t offset)
{
    if (!offset) return pointer;
    LLVMValueRef index = LLVMConstInt(LLVMInt64TypeInContext(l->context), offset, false);
    return LLVMBuildInBoundsGEP2(l->builder, LLVMInt8TypeInContext(l->context), pointer, &index, 1, "");
}

/* Bytes of the piece at `offset`: the largest power of two that the alignment and what is left allow, 8 at
 * most. */
static uint64_t piece_size(uint64_t size, uint64_t offset, uint64_t alignment)
{
    uint64_t piece = 8;
    while (piece > 1 && (piece > alignment || offset % piece || offset + piece > size)) piece /= 2;
    return piece;
}

/* What is known of the address at `offset`: it may be more than the piece's size, so that engines can merge pieces. */
static unsigned alignment_at(uint64_t offset, unsigned alignment)
{
    uint64_t bits = offset | alignment;
    return (unsigned)(bits & (~bits + 1));
}

static uint64_t count_pieces(uint64_t size, uint64_t alignment)
{
    uint64_t count = 0;
    for (uint64_t offset = 0; offset < size; count++) offset += piece_size(size, offset, alignment);
    return count;
}

/* A constant size small enough to expand; 0 is one too. */
static bool expandable(LLVMValueRef call, uint64_t alignment, uint64_t *size)
{
    LLVMValueRef length = LLVMIsAConstantInt(LLVMGetOperand(call, 2));
    LLVMValueRef is_volatile = LLVMIsAConstantInt(LLVMGetOperand(call, 3));
    if (!length || !is_volatile || LLVMConstIntGetZExtValue(is_volatile)) return false;
    *size = LLVMConstIntGetZExtValue(length);
    return *size <= MAX_EXPANDED && count_pieces(*size, alignment) <= MAX_PIECES;
}

/* All loads come before all stores, so the same code serves memmove. */
static void lower_copy(const lowering *l, LLVMValueRef call)
{
    unsigned other = ir_operand_alignment(call, 1), alignment = ir_operand_alignment(call, 0);
    if (other < alignment) alignment = other;
    uint64_t size;
    if (!expandable(call, alignment, &size)) return;
    LLVMValueRef values[MAX_PIECES];
    unsigned n = 0, kind = LLVMGetMDKindIDInContext(l->context, "alias.scope", 11);
    LLVMValueRef scopes = LLVMGetMetadata(call, kind);
    LLVMSetCurrentDebugLocation2(l->builder, LLVMInstructionGetDebugLoc(call));
    for (uint64_t offset = 0, piece; offset < size; offset += piece) {
        piece = piece_size(size, offset, alignment);
        LLVMTypeRef type = LLVMIntTypeInContext(l->context, (unsigned)piece * 8);
        values[n] = LLVMBuildLoad2(l->builder, type, address_at(l, LLVMGetOperand(call, 1), offset), "");
        LLVMSetAlignment(values[n++], alignment_at(offset, other));
    }
    n = 0;
    for (uint64_t offset = 0, piece; offset < size; offset += piece) {
        piece = piece_size(size, offset, alignment);
        LLVMValueRef store =
            LLVMBuildStore(l->builder, values[n++], address_at(l, LLVMGetOperand(call, 0), offset));
        LLVMSetAlignment(store, alignment_at(offset, ir_operand_alignment(call, 0)));
        if (scopes) LLVMSetMetadata(store, kind, scopes);
    }
    LLVMInstructionEraseFromParent(call);
}

static void lower_set(const lowering *l, LLVMValueRef call)
{
    unsigned alignment = ir_operand_alignment(call, 0);
    LLVMValueRef byte = LLVMIsAConstantInt(LLVMGetOperand(call, 1));
    uint64_t size;
    if (!byte || !expandable(call, alignment, &size)) return;
    uint64_t pattern = LLVMConstIntGetZExtValue(byte) * 0x0101010101010101u;
    for (uint64_t offset = 0, piece; offset < size; offset += piece) {
        piece = piece_size(size, offset, alignment);
        LLVMTypeRef type = LLVMIntTypeInContext(l->context, (unsigned)piece * 8);
        LLVMValueRef value =
            LLVMConstInt(type, piece == 8 ? pattern : pattern & ((UINT64_C(1) << piece * 8) - 1), false);
        LLVMValueRef store =
            LLVMBuildStore(l->builder, value, address_at(l, LLVMGetOperand(call, 0), offset));
        LLVMSetAlignment(store, (unsigned)piece);
    }
    LLVMInstructionEraseFromParent(call);
}

static bool is_marker(LLVMValueRef call)
{
    static const char *const names[] = {"llvm.lifetime.start", "llvm.lifetime.end", "llvm.assume",
        "llvm.experimental.noalias.scope.decl", "llvm.invariant.end", "llvm.prefetch"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (ir_is_intrinsic(call, names[i])) return true;
    }
    return false;
}

/* What only tells the optimiser something of a value is the value: [[likely]], __builtin_expect. */
static bool is_expectation(LLVMValueRef call)
{
    return ir_is_intrinsic(call, "llvm.expect") || ir_is_intrinsic(call, "llvm.expect.with.probability");
}

static bool is_fma(LLVMValueRef call)
{
    return ir_is_intrinsic(call, "llvm.fma") || ir_is_intrinsic(call, "llvm.fmuladd");
}

static void lower(LLVMValueRef instruction, void *context)
{
    const lowering *l = context;
    LLVMValueRef callee = ir_callee(instruction);
    if (!callee || !LLVMGetIntrinsicID(callee)) return;
    LLVMPositionBuilderBefore(l->builder, instruction);
    LLVMSetCurrentDebugLocation2(l->builder, NULL);
    if (is_marker(instruction)) {
        LLVMInstructionEraseFromParent(instruction);
    } else if (is_expectation(instruction)) {
        LLVMReplaceAllUsesWith(instruction, LLVMGetOperand(instruction, 0));
        LLVMInstructionEraseFromParent(instruction);
    } else if (is_fma(instruction) && is_half(LLVMTypeOf(instruction))) {
        lower_half_fma(l, instruction);
    } else if (is_half(LLVMTypeOf(instruction)) && lower_half_minmax(l, instruction)) {
        return;
    } else if (ir_is_intrinsic(instruction, "llvm.fmuladd")) {
        lower_fmuladd(l, instruction);
    } else if (ir_is_intrinsic(instruction, "llvm.round") && is_float_type(LLVMTypeOf(instruction))) {
        lower_round(l, instruction);
    } else if (ir_is_intrinsic(instruction, "llvm.memcpy") || ir_is_intrinsic(instruction, "llvm.memmove")) {
        lower_copy(l, instruction);
    } else if (ir_is_intrinsic(instruction, "llvm.memset")) {
        lower_set(l, instruction);
    }
}

void ir_lower_intrinsics(LLVMModuleRef module, LLVMValueRef function)
{
    LLVMContextRef context = LLVMGetModuleContext(module);
    lowering l = {module, context, LLVMCreateBuilderInContext(context)};
    ir_visit(function, lower, &l);
    LLVMDisposeBuilder(l.builder);
}
