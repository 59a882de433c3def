/* Every access to device, constant and threadgroup memory passes through one place, hook(), which puts a test
 * before it.
 *
 * The test is inline where it succeeds: a device access lies in the block where the last one was found, a
 * threadgroup access in the threadgroup's memory. Anything else calls tombac_check_touch, which finds the
 * block or ends the launch. Private variables and program-scope tables at a visible base are not tested; a pointer of the
 * default address space without a visible base is generic, or was computed in thread memory: it may refer to any memory.
 * Plain accesses lose their alignment promise: a misaligned vector access must not trap. */
#include "compiler/check/steps.h"

#include <stddef.h>

typedef struct access {
    LLVMValueRef instruction, pointer;
    LLVMValueRef size; /* bytes, i64 */
    tb_check_access kind;
    unsigned flags; /* for tombac_check_race */
} access;

/* The object that an address is computed from, through GEPs and casts. */
static LLVMValueRef base_of(LLVMValueRef pointer)
{
    for (;;) {
        bool gep = LLVMIsAGetElementPtrInst(pointer) != NULL;
        bool cast = LLVMIsAAddrSpaceCastInst(pointer) || LLVMIsABitCastInst(pointer);
        if (!gep && !cast && !LLVMIsAConstantExpr(pointer)) return pointer;
        pointer = LLVMGetOperand(pointer, 0);
    }
}

static unsigned space_of(LLVMValueRef pointer)
{
    unsigned space = LLVMGetPointerAddressSpace(LLVMTypeOf(pointer));
    while (!space && (LLVMIsAGetElementPtrInst(pointer) || LLVMIsAAddrSpaceCastInst(pointer))) {
        pointer = LLVMGetOperand(pointer, 0);
        space = LLVMGetPointerAddressSpace(LLVMTypeOf(pointer));
    }
    return space;
}

static void call_touch(check_unit *unit, LLVMValueRef helper)
{
    LLVMValueRef operands[5];
    for (unsigned i = 0; i < 5; i++) operands[i] = LLVMGetParam(helper, i);
    check_call(unit, "tombac_check_touch", unit->nothing, operands, 5, false);
}

/* helper(thread, address, size, kind, place): call touch unless [address, address + size) lies in the range
 * that two fields of the thread record give. */
static void fill_range_test(check_unit *unit, LLVMValueRef helper, uint64_t begin_field, uint64_t size_field)
{
    LLVMBuilderRef b = unit->builder;
    LLVMValueRef thread = LLVMGetParam(helper, 0), address = LLVMGetParam(helper, 1),
                 size = LLVMGetParam(helper, 2);
    LLVMValueRef begin = check_load_field(unit, unit->i64, thread, begin_field, false);
    LLVMValueRef length = check_load_field(unit, unit->i64, thread, size_field, false);
    LLVMValueRef offset = LLVMBuildSub(b, address, begin, "");
    LLVMValueRef inside = LLVMBuildICmp(b, LLVMIntULE, offset, length, "");
    LLVMValueRef fits = LLVMBuildICmp(b, LLVMIntULE, size, LLVMBuildSub(b, length, offset, ""), "");
    LLVMBasicBlockRef slow = LLVMAppendBasicBlockInContext(unit->context, helper, "");
    LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(unit->context, helper, "");
    LLVMBuildCondBr(b, LLVMBuildAnd(b, inside, fits, ""), done, slow);
    LLVMPositionBuilderAtEnd(b, slow);
    call_touch(unit, helper);
    LLVMBuildBr(b, done);
    LLVMPositionBuilderAtEnd(b, done);
    LLVMBuildRetVoid(b);
}

static void fill_device_test(check_unit *unit, LLVMValueRef helper)
{
    fill_range_test(
        unit, helper, offsetof(tb_check_thread, range_begin), offsetof(tb_check_thread, range_size));
}

static void fill_threadgroup_test(check_unit *unit, LLVMValueRef helper)
{
    fill_range_test(
        unit, helper, offsetof(tb_check_thread, memory_begin), offsetof(tb_check_thread, memory_size));
}

static void hook(check_unit *unit, const access *a)
{
    unsigned space = space_of(a->pointer);
    if (space != TB_CHECK_DEVICE && space != TB_CHECK_THREADGROUP && space != TB_CHECK_GENERIC) return;
    LLVMValueRef base = base_of(a->pointer);
    if (LLVMIsAGlobalVariable(base) || LLVMIsAAllocaInst(base)) return;
    LLVMPositionBuilderBefore(unit->builder, a->instruction);
    LLVMSetCurrentDebugLocation2(unit->builder, NULL);
    LLVMValueRef address = LLVMBuildPtrToInt(unit->builder, a->pointer, unit->i64, "");
    LLVMValueRef kind = LLVMConstInt(unit->i32, (unsigned)a->kind | space << 8, false);
    LLVMValueRef operands[5] = {unit->thread, address, a->size, kind, check_place(unit, a->instruction)};
    if (space != TB_CHECK_THREADGROUP) /* generic: inline where it is in the buffer that was found last */
        check_call_helper(unit, "check.device", fill_device_test, operands, 5);
    else
        check_call_helper(unit, "check.threadgroup", fill_threadgroup_test, operands, 5);
}

/* ---- Races ---- */

/* race(thread, address, size, how, place): if (thread->races) tombac_check_race(...) */
static void fill_race(check_unit *unit, LLVMValueRef helper)
{
    LLVMBuilderRef b = unit->builder;
    LLVMValueRef wanted =
        check_load_field(unit, unit->i32, LLVMGetParam(helper, 0), offsetof(tb_check_thread, races), true);
    LLVMBasicBlockRef tell = LLVMAppendBasicBlockInContext(unit->context, helper, "");
    LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(unit->context, helper, "");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, wanted, LLVMConstNull(unit->i32), ""), tell, done);
    LLVMPositionBuilderAtEnd(b, tell);
    LLVMValueRef operands[5];
    for (unsigned i = 0; i < 5; i++) operands[i] = LLVMGetParam(helper, i);
    check_call(unit, "tombac_check_race", unit->nothing, operands, 5, false);
    LLVMBuildBr(b, done);
    LLVMPositionBuilderAtEnd(b, done);
    LLVMBuildRetVoid(b);
}

/* Behind the test of bounds, so that a race is looked for only where the access is allowed. */
static void tell_race(check_unit *unit, const access *a)
{
    unsigned space = space_of(a->pointer);
    if (space != TB_CHECK_DEVICE && space != TB_CHECK_THREADGROUP && space != TB_CHECK_GENERIC) return;
    LLVMValueRef base = base_of(a->pointer);
    unsigned spread = LLVMGetMDKindIDInContext(unit->context, CHECK_NO_RACE, sizeof CHECK_NO_RACE - 1);
    if (LLVMGetMetadata(a->instruction, spread)) return;
    if (LLVMIsAAllocaInst(base) || (LLVMIsAGlobalVariable(base) && LLVMIsGlobalConstant(base))) return;
    LLVMPositionBuilderBefore(unit->builder, a->instruction);
    LLVMSetCurrentDebugLocation2(unit->builder, NULL);
    LLVMValueRef how = LLVMConstInt(unit->i32, (unsigned)a->kind | space << 8 | a->flags, false);
    LLVMValueRef operands[5] = {unit->thread, LLVMBuildPtrToInt(unit->builder, a->pointer, unit->i64, ""), a->size, how,
        check_place(unit, a->instruction)};
    check_call_helper(unit, "check.race", fill_race, operands, 5);
}

static LLVMValueRef size_of(check_unit *unit, LLVMTypeRef type)
{
    return LLVMConstInt(unit->i64, LLVMStoreSizeOfType(LLVMGetModuleDataLayout(unit->module), type), false);
}

static bool is_own_load(check_unit *unit, LLVMValueRef instruction)
{
    return LLVMGetMetadata(instruction, LLVMGetMDKindIDInContext(unit->context, "invariant.load", 14)) !=
           NULL;
}

static void hook_block_operation(check_unit *unit, LLVMValueRef call)
{
    bool copy = ir_is_intrinsic(call, "llvm.memcpy") || ir_is_intrinsic(call, "llvm.memmove");
    if (!copy && !ir_is_intrinsic(call, "llvm.memset")) return;
    LLVMValueRef size = LLVMBuildIntCast2(unit->builder, LLVMGetOperand(call, 2), unit->i64, false, "");
    access target = {call, LLVMGetOperand(call, 0), size, TB_CHECK_STORE, 0};
    hook(unit, &target);
    tell_race(unit, &target);
    access source = {call, LLVMGetOperand(call, 1), size, TB_CHECK_LOAD, 0};
    if (!copy) return;
    hook(unit, &source);
    tell_race(unit, &source);
}

/* Volatile accesses are made to be raced with, as atomic ones are. */
static void add_race_flags(access *a)
{
    LLVMOpcode opcode = LLVMGetInstructionOpcode(a->instruction);
    bool moves = opcode == LLVMLoad || opcode == LLVMStore;
    if (moves && LLVMGetVolatile(a->instruction)) a->kind = TB_CHECK_ATOMIC;
    if (a->kind != TB_CHECK_ATOMIC) return;
    LLVMAtomicOrdering order =
        opcode == LLVMAtomicCmpXchg ? LLVMGetCmpXchgSuccessOrdering(a->instruction) : LLVMGetOrdering(a->instruction);
    if (opcode == LLVMLoad) a->flags |= TB_CHECK_ONLY_READS;
    if (order > LLVMAtomicOrderingMonotonic) a->flags |= TB_CHECK_ORDERED;
}

static void visit(LLVMValueRef instruction, void *context)
{
    check_unit *unit = context;
    access a = {.instruction = instruction};
    LLVMPositionBuilderBefore(unit->builder, instruction);
    switch (LLVMGetInstructionOpcode(instruction)) {
    case LLVMLoad:
        if (is_own_load(unit, instruction)) return;
        a.pointer = LLVMGetOperand(instruction, 0);
        a.size = size_of(unit, LLVMTypeOf(instruction));
        if (LLVMGetOrdering(instruction) == LLVMAtomicOrderingNotAtomic)
            LLVMSetAlignment(instruction, 1);
        else
            a.kind = TB_CHECK_ATOMIC;
        break;
    case LLVMStore:
        a.pointer = LLVMGetOperand(instruction, 1);
        a.size = size_of(unit, LLVMTypeOf(LLVMGetOperand(instruction, 0)));
        a.kind =
            LLVMGetOrdering(instruction) == LLVMAtomicOrderingNotAtomic ? TB_CHECK_STORE : TB_CHECK_ATOMIC;
        if (a.kind == TB_CHECK_STORE) LLVMSetAlignment(instruction, 1);
        break;
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
        a.pointer = LLVMGetOperand(instruction, 0);
        a.size = size_of(unit, LLVMTypeOf(LLVMGetOperand(instruction, 1)));
        a.kind = TB_CHECK_ATOMIC;
        break;
    case LLVMCall: hook_block_operation(unit, instruction); return;
    default: return;
    }
    hook(unit, &a);
    add_race_flags(&a);
    tell_race(unit, &a);
}

void check_memory_hook(check_unit *unit)
{
    ir_visit(unit->function, visit, unit);
}

uint64_t check_memory_private(check_unit *unit)
{
    uint64_t size = 0;
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(unit->module);
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(unit->function); b; b = LLVMGetNextBasicBlock(b)) {
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
            if (LLVMIsAAllocaInst(i))
                size += LLVMABISizeOfType(layout, LLVMGetAllocatedType(i)) + 64;
            else
                size += 8; /* a spilled value */
        }
    }
    return size;
}
