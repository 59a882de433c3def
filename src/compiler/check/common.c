/* Building blocks of the check engine's instrumentation. */
#include "compiler/check/steps.h"

#include <string.h>

void check_fail(check_unit *unit, tombac_status status)
{
    if (unit->status == TOMBAC_OK) unit->status = status;
}

LLVMValueRef check_call(check_unit *unit, const char *name, LLVMTypeRef result, LLVMValueRef *operands,
    unsigned count, bool never_returns)
{
    LLVMTypeRef types[8];
    for (unsigned i = 0; i < count && i < 8; i++) types[i] = LLVMTypeOf(operands[i]);
    LLVMTypeRef type = LLVMFunctionType(result, types, count, false);
    LLVMValueRef function = ir_declare(unit->module, name, type);
    ir_add_function_attribute(function, "nounwind", 0);
    if (never_returns) {
        ir_add_function_attribute(function, "noreturn", 0);
        ir_add_function_attribute(function, "cold", 0);
    }
    return LLVMBuildCall2(unit->builder, type, function, operands, count, "");
}

void check_call_helper(
    check_unit *unit, const char *name, check_filler *fill, LLVMValueRef *operands, unsigned count)
{
    LLVMTypeRef types[8];
    for (unsigned i = 0; i < count && i < 8; i++) types[i] = LLVMTypeOf(operands[i]);
    LLVMTypeRef type = LLVMFunctionType(unit->nothing, types, count, false);
    LLVMValueRef helper = LLVMGetNamedFunction(unit->module, name);
    if (!helper) {
        helper = LLVMAddFunction(unit->module, name, type);
        LLVMSetLinkage(helper, LLVMInternalLinkage);
        ir_add_function_attribute(helper, "alwaysinline", 0);
        ir_add_function_attribute(helper, "nounwind", 0);
        LLVMBasicBlockRef here = LLVMGetInsertBlock(unit->builder);
        LLVMBuilderRef outer = unit->builder;
        unit->builder = LLVMCreateBuilderInContext(unit->context);
        LLVMPositionBuilderAtEnd(unit->builder, LLVMAppendBasicBlockInContext(unit->context, helper, ""));
        fill(unit, helper);
        LLVMDisposeBuilder(unit->builder);
        unit->builder = outer;
        (void)here;
    }
    LLVMBuildCall2(unit->builder, type, helper, operands, count, "");
}

LLVMValueRef check_constant_global(check_unit *unit, LLVMValueRef initial)
{
    LLVMValueRef global = LLVMAddGlobal(unit->module, LLVMTypeOf(initial), "");
    LLVMSetInitializer(global, initial);
    LLVMSetGlobalConstant(global, true);
    LLVMSetLinkage(global, LLVMPrivateLinkage);
    LLVMSetUnnamedAddress(global, LLVMGlobalUnnamedAddr);
    return global;
}

/* {file, line} as a constant; equal file names share one string. */
LLVMValueRef check_place_fields(check_unit *unit, LLVMValueRef instruction, LLVMTypeRef *type)
{
    ir_position position = ir_instruction_position(instruction);
    LLVMValueRef file = LLVMConstNull(unit->ptr);
    if (position.file && position.file_length) {
        tb_text name = {0};
        tb_text_printf(&name, "file:%.*s", (int)position.file_length, position.file);
        file = LLVMGetNamedGlobal(unit->module, tb_text_string(&name));
        if (!file) {
            file = check_constant_global(
                unit, LLVMConstStringInContext2(unit->context, position.file, position.file_length, false));
            LLVMSetValueName2(file, tb_text_string(&name), name.size);
        }
        tb_text_free(&name);
    }
    LLVMValueRef fields[2] = {file, LLVMConstInt(unit->i32, position.line, false)};
    LLVMValueRef place = LLVMConstStructInContext(unit->context, fields, 2, false);
    if (type) *type = LLVMTypeOf(place);
    return place;
}

LLVMValueRef check_place(check_unit *unit, LLVMValueRef instruction)
{
    ir_position position = ir_instruction_position(instruction);
    tb_text name = {0};
    tb_text_printf(
        &name, "place:%u:%.*s", position.line, (int)position.file_length, position.file ? position.file : "");
    LLVMValueRef global = LLVMGetNamedGlobal(unit->module, tb_text_string(&name));
    if (!global) {
        global = check_constant_global(unit, check_place_fields(unit, instruction, NULL));
        LLVMSetValueName2(global, tb_text_string(&name), name.size);
    }
    tb_text_free(&name);
    return global;
}

LLVMValueRef check_load_field(
    check_unit *unit, LLVMTypeRef type, LLVMValueRef record, uint64_t offset, bool invariant)
{
    LLVMValueRef index = LLVMConstInt(unit->i64, offset, false);
    LLVMValueRef address = LLVMBuildInBoundsGEP2(unit->builder, unit->i8, record, &index, 1, "");
    LLVMValueRef load = LLVMBuildLoad2(unit->builder, type, address, "");
    LLVMSetAlignment(load, LLVMABIAlignmentOfType(LLVMGetModuleDataLayout(unit->module), type));
    if (invariant) {
        LLVMMetadataRef empty = LLVMMDNodeInContext2(unit->context, NULL, 0);
        LLVMSetMetadata(load, LLVMGetMDKindIDInContext(unit->context, "invariant.load", 14),
            LLVMMetadataAsValue(unit->context, empty));
    }
    return load;
}

/* fault(thread, bad, kind, place): if (bad) tombac_check_fault(thread, kind, place) */
static void fill_fault(check_unit *unit, LLVMValueRef helper)
{
    LLVMBasicBlockRef report = LLVMAppendBasicBlockInContext(unit->context, helper, "");
    LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(unit->context, helper, "");
    LLVMBuildCondBr(unit->builder, LLVMGetParam(helper, 1), report, done);
    LLVMPositionBuilderAtEnd(unit->builder, report);
    LLVMValueRef operands[3] = {LLVMGetParam(helper, 0), LLVMGetParam(helper, 2), LLVMGetParam(helper, 3)};
    check_call(unit, "tombac_check_fault", unit->nothing, operands, 3, false);
    LLVMBuildBr(unit->builder, done);
    LLVMPositionBuilderAtEnd(unit->builder, done);
    LLVMBuildRetVoid(unit->builder);
}

void check_report(check_unit *unit, LLVMValueRef operands[4])
{
    check_call_helper(unit, "check.fault", fill_fault, operands, 4);
}

LLVMValueRef check_base_of(LLVMValueRef pointer)
{
    for (;;) {
        bool gep = LLVMIsAGetElementPtrInst(pointer) != NULL;
        bool cast = LLVMIsAAddrSpaceCastInst(pointer) || LLVMIsABitCastInst(pointer);
        if (!gep && !cast && !LLVMIsAConstantExpr(pointer)) return pointer;
        pointer = LLVMGetOperand(pointer, 0);
    }
}

unsigned check_space_of(LLVMValueRef pointer)
{
    unsigned space = LLVMGetPointerAddressSpace(LLVMTypeOf(pointer));
    while (!space && (LLVMIsAGetElementPtrInst(pointer) || LLVMIsAAddrSpaceCastInst(pointer))) {
        pointer = LLVMGetOperand(pointer, 0);
        space = LLVMGetPointerAddressSpace(LLVMTypeOf(pointer));
    }
    return space;
}
