/* Every access to memory passes through one place, hook(), which puts a test before it.
 *
 * Where the object is known that the pointer points into (bounds.c), the access is tested against that object, and in thread
 * and threadgroup memory each index of an array against that array, if no pointer arithmetic follows it. Where it is
 * not, because the pointer comes from memory: a device access must lie in a bound buffer, a threadgroup access in the
 * threadgroup's memory, a generic one in either or among the thread's own variables; this test is inline where a
 * device access lies in the block where the last one was found, or a threadgroup access in the threadgroup's memory.
 * Anything else calls tombac_check_touch, which finds the block or ends the launch. The driver sees every access to device and
 * threadgroup memory, so that it can tell races (tombac_check_race). Plain accesses lose their alignment promise:
 * a misaligned vector access must not trap. */
#include "compiler/check/steps.h"

#include <stddef.h>

typedef struct access {
    LLVMValueRef instruction, pointer;
    LLVMValueRef size; /* bytes, i64 */
    tb_check_access kind;
    unsigned flags; /* for tombac_check_race */
} access;

/* In memory that other threads may reach. */
static bool is_shared(const access *a)
{
    unsigned space = check_space_of(a->pointer);
    LLVMValueRef base = check_base_of(a->pointer);
    bool shared = space == TB_CHECK_DEVICE || space == TB_CHECK_THREADGROUP || space == TB_CHECK_GENERIC;
    return shared && !LLVMIsAAllocaInst(base) && !(LLVMIsAGlobalVariable(base) && LLVMIsGlobalConstant(base));
}

/* The operands {thread, address, size, kind | space, place} of the driver's functions, before the access. */
static void describe(check_unit *unit, const access *a, LLVMValueRef operands[5])
{
    LLVMPositionBuilderBefore(unit->builder, a->instruction);
    LLVMSetCurrentDebugLocation2(unit->builder, NULL);
    unsigned how = (unsigned)a->kind | check_space_of(a->pointer) << 8 | a->flags;
    operands[0] = unit->thread;
    operands[1] = LLVMBuildPtrToInt(unit->builder, a->pointer, unit->i64, "");
    operands[2] = a->size;
    operands[3] = LLVMConstInt(unit->i32, how, false);
    operands[4] = check_place(unit, a->instruction);
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

/* ---- Accesses to known objects ---- */

/* bound(thread, bad, offset, size, limit, how, object, place): if (bad) tombac_check_bound(thread, offset, ...) */
static void fill_bound(check_unit *unit, LLVMValueRef helper)
{
    LLVMValueRef operands[7] = {LLVMGetParam(helper, 0)};
    for (unsigned i = 1; i < 7; i++) operands[i] = LLVMGetParam(helper, i + 1);
    LLVMBasicBlockRef report = LLVMAppendBasicBlockInContext(unit->context, helper, "");
    LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(unit->context, helper, "");
    LLVMBuildCondBr(unit->builder, LLVMGetParam(helper, 1), report, done);
    LLVMPositionBuilderAtEnd(unit->builder, report);
    check_call(unit, "tombac_check_bound", unit->nothing, operands, 7, false);
    LLVMBuildBr(unit->builder, done);
    LLVMPositionBuilderAtEnd(unit->builder, done);
    LLVMBuildRetVoid(unit->builder);
}

/* Tests [offset, offset + size) against [0, limit), before the access; nothing where it is known to lie within. */
static void test_bound(check_unit *unit, const access *a, LLVMValueRef size, const check_span *span, bool inner)
{
    LLVMBuilderRef b = unit->builder;
    LLVMPositionBuilderBefore(b, a->instruction);
    LLVMValueRef before = LLVMBuildICmp(b, LLVMIntUGT, span->offset, span->size, "");
    LLVMValueRef behind =
        LLVMBuildICmp(b, LLVMIntUGT, size, LLVMBuildSub(b, span->size, span->offset, ""), "");
    LLVMValueRef bad = LLVMBuildOr(b, before, behind, "");
    if (LLVMIsConstant(bad) && LLVMIsNull(bad)) return;
    LLVMValueRef how = LLVMConstInt(unit->i32, (unsigned)a->kind, false);
    LLVMValueRef flag = LLVMConstInt(unit->i32, inner ? TB_CHECK_INNER : 0, false);
    LLVMValueRef object = LLVMBuildOr(b, span->object, flag, "");
    LLVMValueRef operands[8] = {
        unit->thread, bad, span->offset, size, span->size, how, object, check_place(unit, a->instruction)};
    check_call_helper(unit, "check.bound", fill_bound, operands, 8);
}

/* An index of an array that is part of something larger: does it name an element? */
static void test_index(
    check_unit *unit, const access *a, LLVMValueRef index, LLVMTypeRef array, const check_span *whole)
{
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(unit->module);
    uint64_t length = LLVMGetArrayLength2(array),
             element = LLVMABISizeOfType(layout, LLVMGetElementType(array));
    LLVMValueRef constant = LLVMIsAConstantInt(index), limit = LLVMIsAConstantInt(whole->size);
    if (constant && LLVMConstIntGetZExtValue(constant) < length) return;
    if (limit && LLVMConstIntGetZExtValue(limit) == length * element) return; /* it is all of the object */
    LLVMPositionBuilderBefore(unit->builder, a->instruction);
    LLVMValueRef wide = LLVMBuildIntCast2(unit->builder, index, unit->i64, true, "");
    LLVMValueRef size = LLVMConstInt(unit->i64, element, false);
    check_span part = {LLVMBuildMul(unit->builder, wide, size, ""),
        LLVMConstInt(unit->i64, length * element, false), whole->object};
    test_bound(unit, a, size, &part, true);
}

/* The indices of arrays in the last steps of an address, up to one that moves the pointer. */
static void test_indices(check_unit *unit, const access *a, const check_span *whole)
{
    for (LLVMValueRef gep = a->pointer; LLVMIsAGetElementPtrInst(gep); gep = LLVMGetOperand(gep, 0)) {
        LLVMTypeRef type = LLVMGetGEPSourceElementType(gep);
        for (int i = 2; i < LLVMGetNumOperands(gep); i++) {
            LLVMValueRef index = LLVMGetOperand(gep, (unsigned)i);
            bool array = LLVMGetTypeKind(type) == LLVMArrayTypeKind;
            if (array) test_index(unit, a, index, type, whole);
            type = LLVMGetTypeKind(type) == LLVMStructTypeKind
                       ? LLVMStructGetTypeAtIndex(type, (unsigned)LLVMConstIntGetZExtValue(index))
                       : LLVMGetElementType(type);
        }
        LLVMValueRef first = LLVMGetOperand(gep, 1);
        bool member = LLVMGetGEPSourceElementType(gep) == unit->i8 && LLVMIsAConstantInt(first) &&
                      LLVMConstIntGetSExtValue(first) >= 0;
        if (!member && !(LLVMIsConstant(first) && LLVMIsNull(first))) return;
    }
}

static bool test_object(check_unit *unit, const access *a)
{
    check_span span;
    if (!check_bounds_find(unit, a->pointer, &span)) return false;
    if (check_space_of(a->pointer) != TB_CHECK_DEVICE) test_indices(unit, a, &span);
    test_bound(unit, a, a->size, &span, false);
    return true;
}

/* ---- All accesses ---- */

static void hook(check_unit *unit, const access *a)
{
    LLVMValueRef operands[5];
    LLVMSetCurrentDebugLocation2(unit->builder, NULL);
    if (test_object(unit, a) || !is_shared(a) || LLVMIsAGlobalVariable(check_base_of(a->pointer))) return;
    describe(unit, a, operands);
    if (check_space_of(a->pointer) != TB_CHECK_THREADGROUP) /* generic: inline where it is in the buffer that was found last */
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
    LLVMValueRef operands[5];
    unsigned spread = LLVMGetMDKindIDInContext(unit->context, CHECK_NO_RACE, sizeof CHECK_NO_RACE - 1);
    if (!is_shared(a) || LLVMGetMetadata(a->instruction, spread)) return;
    describe(unit, a, operands);
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
    if (LLVMGetMetadata(instruction, LLVMGetMDKindIDInContext(unit->context, CHECK_SHADOW, sizeof CHECK_SHADOW - 1))) return;
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
