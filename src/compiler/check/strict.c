/* Leaves LLVM nothing undefined to exploit, so that the oracle gives one result whatever the optimiser knows.
 *
 * Removes wrap, exact, inbounds and fast-math flags and all metadata that promises something (range, tbaa,
 * noundef …) but invariant.load and what says where an address comes from; turns undef and poison operands into zeros; gives private variables zeros to
 * start with; reports divisions that ir/define.c gave a result, and signed sums, differences and products that C++ leaves
 * undefined because they overflow (here they wrap, elsewhere an optimiser may rely on there being none); ends the
 * launch where code is said to be unreachable. */
#include "compiler/check/steps.h"

#include <string.h>

static void clear_metadata(check_unit *unit, LLVMValueRef instruction)
{
    size_t count;
    LLVMValueMetadataEntry *entries = LLVMInstructionGetAllMetadataOtherThanDebugLoc(instruction, &count);
    unsigned invariant = LLVMGetMDKindIDInContext(unit->context, "invariant.load", 14);
    unsigned location =
        LLVMGetMDKindIDInContext(unit->context, "dbg", 3); /* LLVM 22 returns it, despite the name */
    unsigned spread = LLVMGetMDKindIDInContext(unit->context, CHECK_NO_RACE, strlen(CHECK_NO_RACE));
    unsigned variable = LLVMGetMDKindIDInContext(unit->context, IR_VARIABLE, strlen(IR_VARIABLE));
    unsigned argument = LLVMGetMDKindIDInContext(unit->context, CHECK_ARGUMENT, strlen(CHECK_ARGUMENT));
    unsigned shadow = LLVMGetMDKindIDInContext(unit->context, CHECK_SHADOW, strlen(CHECK_SHADOW));
    for (size_t i = 0; i < count; i++) {
        unsigned kind = LLVMValueMetadataEntriesGetKind(entries, (unsigned)i);
        bool kept = kind == invariant || kind == location || kind == variable || kind == argument || kind == spread ||
                    kind == shadow;
        if (!kept) LLVMSetMetadata(instruction, kind, NULL);
    }
    LLVMDisposeValueMetadataEntries(entries);
}

static void clear_flags(LLVMValueRef instruction)
{
    switch (LLVMGetInstructionOpcode(instruction)) {
    case LLVMAdd:
    case LLVMSub:
    case LLVMMul:
    case LLVMShl:
    case LLVMTrunc:
        LLVMSetNSW(instruction, false);
        LLVMSetNUW(instruction, false);
        break;
    case LLVMLShr:
    case LLVMAShr:
    case LLVMUDiv:
    case LLVMSDiv: LLVMSetExact(instruction, false); break;
    case LLVMZExt:
    case LLVMUIToFP: LLVMSetNNeg(instruction, false); break;
    case LLVMOr: LLVMSetIsDisjoint(instruction, false); break;
    case LLVMGetElementPtr: LLVMGEPSetNoWrapFlags(instruction, 0); break;
    case LLVMICmp: LLVMSetICmpSameSign(instruction, false); break;
    default: break;
    }
    if (LLVMCanValueUseFastMathFlags(instruction)) LLVMSetFastMathFlags(instruction, LLVMFastMathNone);
}

static void clear_undefined(LLVMValueRef instruction)
{
    for (int i = 0; i < LLVMGetNumOperands(instruction); i++) {
        LLVMValueRef operand = LLVMGetOperand(instruction, (unsigned)i);
        if (!operand || !LLVMIsConstant(operand) || !LLVMIsUndef(operand)) continue;
        LLVMSetOperand(instruction, (unsigned)i, LLVMConstNull(LLVMTypeOf(operand)));
    }
}

/* The divisor of a guarded division is select(bad, 1, divisor). */
static void report_division(check_unit *unit, LLVMValueRef division)
{
    unsigned kind = LLVMGetMDKindIDInContext(unit->context, IR_DEFINED, strlen(IR_DEFINED));
    LLVMValueRef guard = LLVMIsASelectInst(LLVMGetOperand(division, 1));
    if (!LLVMGetMetadata(division, kind) || !guard || LLVMTypeOf(LLVMGetOperand(guard, 0)) != unit->i1)
        return;
    LLVMPositionBuilderBefore(unit->builder, division);
    LLVMValueRef divisor = LLVMGetOperand(guard, 2);
    LLVMValueRef zero =
        LLVMBuildICmp(unit->builder, LLVMIntEQ, divisor, LLVMConstNull(LLVMTypeOf(divisor)), "");
    LLVMValueRef fault =
        LLVMBuildSelect(unit->builder, zero, LLVMConstInt(unit->i32, TB_CHECK_DIVISION_BY_ZERO, false),
            LLVMConstInt(unit->i32, TB_CHECK_DIVISION_OVERFLOW, false), "");
    LLVMValueRef operands[4] = {unit->thread, LLVMGetOperand(guard, 0), fault, check_place(unit, division)};
    check_report(unit, operands);
}

static void report_overflow(check_unit *unit, LLVMValueRef sum, const char *intrinsic)
{
    LLVMTypeRef type = LLVMTypeOf(sum);
    if (!LLVMGetNSW(sum) || LLVMGetTypeKind(type) != LLVMIntegerTypeKind) return;
    LLVMPositionBuilderBefore(unit->builder, sum);
    LLVMValueRef operands[2] = {LLVMGetOperand(sum, 0), LLVMGetOperand(sum, 1)};
    LLVMValueRef both = ir_build_intrinsic(unit->builder, unit->module, intrinsic, &type, 1, operands, 2);
    LLVMValueRef over = LLVMBuildExtractValue(unit->builder, both, 1, "");
    LLVMValueRef kind = LLVMConstInt(unit->i32, TB_CHECK_SIGNED_OVERFLOW, false);
    LLVMValueRef report[4] = {unit->thread, over, kind, check_place(unit, sum)};
    check_report(unit, report);
}

static void end_unreachable(check_unit *unit, LLVMValueRef unreachable)
{
    LLVMPositionBuilderBefore(unit->builder, unreachable);
    LLVMValueRef operands[2] = {unit->thread, check_place(unit, unreachable)};
    check_call(unit, "tombac_check_unreachable", unit->nothing, operands, 2, true);
}

static void clear_private(check_unit *unit, LLVMValueRef variable)
{
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(unit->module);
    uint64_t size = LLVMABISizeOfType(layout, LLVMGetAllocatedType(variable));
    LLVMValueRef count = LLVMIsAConstantInt(LLVMGetOperand(variable, 0));
    if (!count) {
        check_fail(unit, tb_fail(unit->error, TOMBAC_ERROR_UNSUPPORTED, "a private array of variable size"));
        return;
    }
    LLVMPositionBuilderBefore(unit->builder, LLVMGetNextInstruction(variable));
    LLVMValueRef bytes = LLVMConstInt(unit->i64, size * LLVMConstIntGetZExtValue(count), false);
    LLVMBuildMemSet(unit->builder, variable, LLVMConstNull(unit->i8), bytes, LLVMGetAlignment(variable));
}

static void make_strict(LLVMValueRef instruction, void *context)
{
    check_unit *unit = context;
    LLVMSetCurrentDebugLocation2(unit->builder, NULL);
    clear_undefined(instruction);
    switch (LLVMGetInstructionOpcode(instruction)) {
    case LLVMAdd: report_overflow(unit, instruction, "llvm.sadd.with.overflow"); break;
    case LLVMSub: report_overflow(unit, instruction, "llvm.ssub.with.overflow"); break;
    case LLVMMul: report_overflow(unit, instruction, "llvm.smul.with.overflow"); break;
    case LLVMUDiv:
    case LLVMSDiv:
    case LLVMURem:
    case LLVMSRem: report_division(unit, instruction); break;
    case LLVMUnreachable: end_unreachable(unit, instruction); break;
    case LLVMAlloca: clear_private(unit, instruction); break;
    default: break;
    }
    clear_flags(instruction);
    clear_metadata(unit, instruction);
    if (ir_is_intrinsic(instruction, "llvm.trap") || ir_is_intrinsic(instruction, "llvm.ubsantrap")) {
        end_unreachable(unit, instruction);
        LLVMInstructionEraseFromParent(instruction);
    }
}

void check_strict_apply(check_unit *unit)
{
    ir_visit(unit->function, make_strict, unit);
}
