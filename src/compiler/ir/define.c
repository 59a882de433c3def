/* Defined results for undefined operations; see steps.h. Runs before scalar replacement, so that constants
 * fold it away.
 *
 * Metal leaves these undefined; the choices follow Apple's hardware where that is known (shift counts are
 * taken modulo the width, conversions saturate). Exactness and wrap flags that depend on them are cleared.
 * Divisions that are done carry the metadata IR_DEFINED, so that the step may run again for what was inlined
 * later; their divisor is select(bad, 1, divisor). */
#include "compiler/ir/steps.h"

#include <string.h>

typedef struct defining {
    LLVMModuleRef module;
    LLVMBuilderRef builder;
} defining;

static LLVMTypeRef scalar_type(LLVMTypeRef type)
{
    return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type) : type;
}

/* The integer `value` in every component of `type`. */
static LLVMValueRef splat(LLVMTypeRef type, uint64_t value)
{
    if (LLVMGetTypeKind(type) != LLVMVectorTypeKind) return LLVMConstInt(type, value, false);
    LLVMValueRef parts[64];
    unsigned n = LLVMGetVectorSize(type) < 64 ? LLVMGetVectorSize(type) : 64;
    for (unsigned i = 0; i < n; i++) parts[i] = LLVMConstInt(LLVMGetElementType(type), value, false);
    return LLVMConstVector(parts, n);
}

static void define_division(const defining *d, LLVMValueRef division, bool is_signed, bool remainder)
{
    LLVMValueRef n = LLVMGetOperand(division, 0), divisor = LLVMGetOperand(division, 1);
    LLVMValueRef known = LLVMIsAConstantInt(divisor);
    if (known && !LLVMIsNull(known) && LLVMConstIntGetSExtValue(known) != -1) return;
    unsigned kind = LLVMGetMDKindIDInContext(LLVMGetModuleContext(d->module), IR_DEFINED, strlen(IR_DEFINED));
    if (LLVMGetMetadata(division, kind)) return;
    LLVMContextRef context = LLVMGetModuleContext(d->module);
    LLVMSetMetadata(division, kind, LLVMMetadataAsValue(context, LLVMMDNodeInContext2(context, NULL, 0)));
    LLVMTypeRef type = LLVMTypeOf(n);
    unsigned width = LLVMGetIntTypeWidth(scalar_type(type));
    LLVMValueRef zero = LLVMBuildICmp(d->builder, LLVMIntEQ, divisor, LLVMConstNull(type), "");
    LLVMValueRef bad = zero;
    if (is_signed) {
        LLVMValueRef minimum = splat(type, UINT64_C(1) << (width - 1));
        LLVMValueRef minus = LLVMBuildICmp(d->builder, LLVMIntEQ, divisor, LLVMConstAllOnes(type), "");
        LLVMValueRef lowest = LLVMBuildICmp(d->builder, LLVMIntEQ, n, minimum, "");
        bad = LLVMBuildOr(d->builder, zero, LLVMBuildAnd(d->builder, minus, lowest, ""), "");
    }
    LLVMSetOperand(division, 1, LLVMBuildSelect(d->builder, bad, splat(type, 1), divisor, ""));
    LLVMPositionBuilderBefore(d->builder, LLVMGetNextInstruction(division));
    LLVMValueRef otherwise = remainder ? n : LLVMConstNull(type);
    LLVMValueRef result = LLVMBuildSelect(d->builder, zero, otherwise, division, "");
    if (result == division) return; /* folded: the divisor is known not to be zero */
    LLVMReplaceAllUsesWith(division, result);
    if (LLVMIsASelectInst(result)) LLVMSetOperand(result, 2, division); /* that use was replaced too */
}

static void define_shift(const defining *d, LLVMValueRef shift)
{
    LLVMValueRef amount = LLVMGetOperand(shift, 1);
    LLVMTypeRef type = LLVMTypeOf(amount);
    unsigned width = LLVMGetIntTypeWidth(scalar_type(type));
    if (LLVMIsAConstantInt(amount) && LLVMConstIntGetZExtValue(amount) < width) return;
    if (width & (width - 1)) return; /* clang's bit-fields only */
    LLVMSetOperand(shift, 1, LLVMBuildAnd(d->builder, amount, splat(type, width - 1), ""));
}

static void define_conversion(const defining *d, LLVMValueRef conversion, bool is_signed)
{
    LLVMValueRef x = LLVMGetOperand(conversion, 0);
    LLVMTypeRef types[2] = {LLVMTypeOf(conversion), LLVMTypeOf(x)};
    const char *name = is_signed ? "llvm.fptosi.sat" : "llvm.fptoui.sat";
    LLVMValueRef value = ir_build_intrinsic(d->builder, d->module, name, types, 2, &x, 1);
    LLVMReplaceAllUsesWith(conversion, value);
    LLVMInstructionEraseFromParent(conversion);
}

static void define_call(LLVMValueRef call)
{
    static const char *const flagged[] = {"llvm.ctlz", "llvm.cttz", "llvm.abs"};
    for (int i = 0; i < 3; i++) {
        if (!ir_is_intrinsic(call, flagged[i])) continue;
        LLVMSetOperand(call, 1, LLVMConstNull(LLVMTypeOf(LLVMGetOperand(call, 1))));
    }
}

static void define(LLVMValueRef instruction, void *context)
{
    const defining *d = context;
    LLVMPositionBuilderBefore(d->builder, instruction);
    LLVMSetCurrentDebugLocation2(d->builder, NULL);
    switch (LLVMGetInstructionOpcode(instruction)) {
    case LLVMUDiv:
        LLVMSetExact(instruction, false);
        define_division(d, instruction, false, false);
        break;
    case LLVMSDiv:
        LLVMSetExact(instruction, false);
        define_division(d, instruction, true, false);
        break;
    case LLVMURem: define_division(d, instruction, false, true); break;
    case LLVMSRem: define_division(d, instruction, true, true); break;
    case LLVMShl:
        LLVMSetNSW(instruction, false);
        LLVMSetNUW(instruction, false);
        define_shift(d, instruction);
        break;
    case LLVMLShr:
    case LLVMAShr:
        LLVMSetExact(instruction, false);
        define_shift(d, instruction);
        break;
    case LLVMFPToSI: define_conversion(d, instruction, true); break;
    case LLVMFPToUI: define_conversion(d, instruction, false); break;
    case LLVMCall: define_call(instruction); break;
    default: break;
    }
}

void ir_define_results(LLVMModuleRef module, LLVMValueRef function)
{
    defining d = {module, LLVMCreateBuilderInContext(LLVMGetModuleContext(module))};
    ir_visit(function, define, &d);
    LLVMDisposeBuilder(d.builder);
}
