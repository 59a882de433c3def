/* Values that nothing set: variables and members of the thread that the kernel reads without having written
 * them.
 *
 * Takes the entry before strict.c gives such values a meaning, and leaves, beside what it did, the
 * computation of a shadow for each value: a bit for each of its bits that nothing set, carried through
 * operations, phis and memory. A use that decides something calls tombac_check_fault: a branch, an address, a
 * vote or reduction of a SIMD-group. What is stored in device memory is told to the driver with its shadow
 * (tombac_check_shadow). Copies are no use.
 *
 * The shadows are those of LLVM's MemorySanitizer (Stepanov and Serebryany, CGO 2015) in its form for the
 * Linux kernel, in which calls say where the shadow of an address lies; here its calls become the driver's.
 * What other threads bring in a collective operation counts as set, and so does what is read from device and
 * constant memory. A kernel that has no such variable is left as it is. */
#include "compiler/check/steps.h"

#include <llvm-c/DebugInfo.h>
#include <llvm-c/Support.h>
#include <string.h>

#define NO_SHADOW "nosanitize" /* MemorySanitizer's own: the value counts as set */
#define USE "tombac.use"       /* stores that stand for a use */

enum { CONTEXT_SIZE = 4352 }; /* of the record in which MemorySanitizer passes the shadows of parameters */

static unsigned kind_of(check_unit *unit, const char *name)
{
    return LLVMGetMDKindIDInContext(unit->context, name, (unsigned)strlen(name));
}

static void mark(check_unit *unit, LLVMValueRef instruction, const char *name)
{
    LLVMMetadataRef empty = LLVMMDNodeInContext2(unit->context, NULL, 0);
    LLVMSetMetadata(instruction, kind_of(unit, name), LLVMMetadataAsValue(unit->context, empty));
}

/* ---- What ir_prepare kept ---- */

static void make_undefined(LLVMValueRef value)
{
    LLVMReplaceAllUsesWith(value, LLVMGetUndef(LLVMTypeOf(value)));
    LLVMInstructionEraseFromParent(value);
}

/* Scalar replacement makes numbers of bytes that are all alike by a product; MemorySanitizer knows of its
 * lowest byte only. */
static void dissolve_products(LLVMValueRef byte)
{
    for (LLVMUseRef use = LLVMGetFirstUse(byte), next; use; use = next) {
        LLVMValueRef wide = LLVMGetUser(use);
        next = LLVMGetNextUse(use);
        if (!LLVMIsAZExtInst(wide)) continue;
        for (LLVMUseRef u = LLVMGetFirstUse(wide), following; u; u = following) {
            following = LLVMGetNextUse(u);
            if (LLVMGetInstructionOpcode(LLVMGetUser(u)) == LLVMMul) make_undefined(LLVMGetUser(u));
        }
    }
}

/* Loads from the address become undefined values. */
static void dissolve(LLVMValueRef address)
{
    for (LLVMUseRef use = LLVMGetFirstUse(address), next; use; use = next) {
        LLVMValueRef user = LLVMGetUser(use);
        next = LLVMGetNextUse(use);
        if (LLVMIsALoadInst(user)) {
            dissolve_products(user);
            make_undefined(user);
        } else { /* the address of a component */
            dissolve(user);
        }
    }
}

static bool is_undefined(LLVMValueRef value)
{
    return LLVMIsConstant(value) && LLVMIsUndef(value);
}

static void drop_start(LLVMValueRef call, void *context)
{
    (void)context;
    if (ir_is_intrinsic(call, "llvm.memset") && is_undefined(LLVMGetOperand(call, 1)))
        LLVMInstructionEraseFromParent(call);
}

/* ---- Is there anything that could be unset? ---- */

typedef struct survey {
    check_unit *unit;
    bool unset, too_large;
} survey;

/* What vectors and structures are built up from is undefined in a way that does not matter. */
static bool is_base(LLVMValueRef instruction, int operand)
{
    LLVMOpcode opcode = LLVMGetInstructionOpcode(instruction);
    return (operand == 0 && (opcode == LLVMInsertElement || opcode == LLVMInsertValue)) ||
           opcode == LLVMShuffleVector;
}

static void look_at(LLVMValueRef instruction, void *context)
{
    survey *s = context;
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(s->unit->module);
    if (LLVMIsAAllocaInst(instruction)) s->unset = true;
    for (int i = 0; i < LLVMGetNumOperands(instruction) && !s->unset; i++) {
        LLVMValueRef operand = LLVMGetOperand(instruction, (unsigned)i);
        s->unset |= operand && is_undefined(operand) && !is_base(instruction, i);
    }
    LLVMTypeRef moved = NULL;
    if (LLVMIsALoadInst(instruction)) moved = LLVMTypeOf(instruction);
    if (LLVMIsAStoreInst(instruction)) moved = LLVMTypeOf(LLVMGetOperand(instruction, 0));
    s->too_large |= moved && LLVMStoreSizeOfType(layout, moved) > TB_CHECK_MAX_SHADOW;
}

/* ---- Before MemorySanitizer ---- */

static void build_use(check_unit *unit, LLVMValueRef before, LLVMValueRef value)
{
    if (LLVMIsConstant(value) && !LLVMIsUndef(value)) return;
    LLVMTypeRef device = LLVMPointerTypeInContext(unit->context, TB_CHECK_DEVICE);
    LLVMPositionBuilderBefore(unit->builder, before);
    LLVMSetCurrentDebugLocation2(unit->builder, LLVMInstructionGetDebugLoc(before));
    mark(unit, LLVMBuildStore(unit->builder, value, LLVMConstNull(device)), USE);
    LLVMSetCurrentDebugLocation2(unit->builder, NULL);
}

/* An operation in which every active lane's value decides the result. */
static bool uses_operand(LLVMValueRef call)
{
    static const char *const names[] = {
        "sum", "product", "min", "max", "and.", "or.", "xor.", "ballot", "all", "any", "prefix_"};
    char whole[40];
    LLVMValueRef callee = ir_callee(call);
    for (size_t i = 0; callee && i < 2 * sizeof names / sizeof *names; i++) {
        const char *width = i % 2 ? "quad" : "simd", *name = names[i / 2];
        whole[0] = 0;
        strcat(strcat(strcat(strcat(whole, "__tombac_"), width), "_"), name);
        if (ir_name_starts(callee, whole)) return true;
    }
    return false;
}

static LLVMValueRef as_integer(check_unit *unit, LLVMValueRef pointer)
{
    return LLVMBuildPtrToInt(unit->builder, pointer, unit->i64, "");
}

static void fill_shadow(check_unit *unit, LLVMValueRef address, LLVMValueRef size, unsigned byte)
{
    LLVMValueRef operands[4] = {
        unit->thread, as_integer(unit, address), size, LLVMConstInt(unit->i32, byte, false)};
    check_call(unit, "tombac_check_shadow_fill", unit->nothing, operands, 4, false);
}

/* What an earlier round of a loop left in a variable must not look like something computed. */
static void start_again(check_unit *unit, LLVMValueRef variable, LLVMValueRef size)
{
    LLVMBuildMemSet(unit->builder, variable, LLVMConstNull(unit->i8), size, 1);
    fill_shadow(unit, variable, size, 0xff);
}

/* MemorySanitizer's functions take pointers of address space 0. */
static void make_generic(check_unit *unit, LLVMValueRef call)
{
    bool set = ir_is_intrinsic(call, "llvm.memset"), move = ir_is_intrinsic(call, "llvm.memmove");
    if (!set && !move && !ir_is_intrinsic(call, "llvm.memcpy")) return;
    LLVMPositionBuilderBefore(unit->builder, call);
    LLVMSetCurrentDebugLocation2(unit->builder, LLVMInstructionGetDebugLoc(call));
    LLVMValueRef x[3] = {LLVMGetOperand(call, 0), LLVMGetOperand(call, 1), LLVMGetOperand(call, 2)};
    x[0] = LLVMBuildAddrSpaceCast(unit->builder, x[0], unit->ptr, "");
    if (!set) x[1] = LLVMBuildAddrSpaceCast(unit->builder, x[1], unit->ptr, "");
    if (set && is_undefined(x[1]))
        start_again(unit, x[0], x[2]);
    else if (set)
        LLVMBuildMemSet(unit->builder, x[0], x[1], x[2], 1);
    else
        (move ? LLVMBuildMemMove : LLVMBuildMemCpy)(unit->builder, x[0], 1, x[1], 1, x[2]);
    LLVMInstructionEraseFromParent(call);
}

static void prepare(LLVMValueRef instruction, void *context)
{
    check_unit *unit = context;
    if (LLVMIsALoadInst(instruction)) {
        bool own = LLVMGetMetadata(instruction, kind_of(unit, "invariant.load")) != NULL;
        if (own || check_space_of(LLVMGetOperand(instruction, 0)) == TB_CHECK_DEVICE)
            mark(unit, instruction, NO_SHADOW);
    }
    if (LLVMIsAAtomicRMWInst(instruction)) build_use(unit, instruction, LLVMGetOperand(instruction, 1));
    if (!LLVMIsACallInst(instruction)) return;
    if (uses_operand(instruction)) build_use(unit, instruction, LLVMGetOperand(instruction, 0));
    make_generic(unit, instruction);
}

/* ---- After it ---- */

static LLVMValueRef number(check_unit *unit, uint64_t value)
{
    return LLVMConstInt(unit->i64, value, false);
}

/* The uses of a shadow's address are no accesses of the kernel's. */
static void take_address(check_unit *unit, LLVMValueRef pair, LLVMValueRef address)
{
    for (LLVMUseRef use = LLVMGetFirstUse(pair), next; use; use = next) {
        next = LLVMGetNextUse(use);
        LLVMValueRef part = LLVMGetUser(use);
        bool shadow = *LLVMGetIndices(part) == 0;
        for (LLVMUseRef u = LLVMGetFirstUse(part); u && shadow; u = LLVMGetNextUse(u))
            mark(unit, LLVMGetUser(u), CHECK_SHADOW);
        LLVMReplaceAllUsesWith(part, shadow ? address : LLVMConstNull(unit->ptr));
        LLVMInstructionEraseFromParent(part);
    }
}

static LLVMValueRef uncast(LLVMValueRef pointer)
{
    while (LLVMIsAAddrSpaceCastInst(pointer) ||
           (LLVMIsAConstantExpr(pointer) && LLVMGetConstOpcode(pointer) == LLVMAddrSpaceCast))
        pointer = LLVMGetOperand(pointer, 0);
    return LLVMIsConstant(pointer) && LLVMIsNull(pointer) ? NULL : pointer;
}

static LLVMValueRef next_store(LLVMValueRef instruction)
{
    do instruction = LLVMGetNextInstruction(instruction);
    while (instruction && !LLVMIsAStoreInst(instruction));
    return instruction;
}

/* The kernel's own store, for which a call asks where the shadow is to go, or NULL (an atomic operation). The
 * first store behind the call writes the shadow. */
static LLVMValueRef store_behind(LLVMValueRef call, LLVMValueRef *shadow)
{
    *shadow = next_store(call);
    LLVMValueRef own = *shadow ? next_store(*shadow) : NULL;
    return own && uncast(LLVMGetOperand(own, 1)) == uncast(LLVMGetOperand(call, 0)) ? own : NULL;
}

static bool is_clean(LLVMValueRef shadow)
{
    return shadow && LLVMIsConstant(LLVMGetOperand(shadow, 0)) && LLVMIsNull(LLVMGetOperand(shadow, 0));
}

static void replace_address(check_unit *unit, LLVMValueRef call, const char *name)
{
    const char *size = strrchr(name, '_') + 1;
    bool store = strstr(name, "_store_") != NULL;
    LLVMValueRef pointer = LLVMGetOperand(call, 0), shadow = NULL;
    LLVMValueRef own = store ? store_behind(call, &shadow) : NULL;
    bool use = own && LLVMGetMetadata(own, kind_of(unit, USE)), copy = own && ir_is_copy(own);
    bool device = check_space_of(pointer) == TB_CHECK_DEVICE;
    if (store && device && is_clean(shadow)) {
        take_address(unit, call, LLVMConstNull(unit->ptr));
        LLVMInstructionEraseFromParent(shadow);
    } else {
        uint32_t how = (store ? TB_CHECK_STORE : TB_CHECK_LOAD) | (copy ? TB_CHECK_COPY : 0);
        LLVMValueRef operands[5] = {unit->thread, as_integer(unit, pointer),
            *size == 'n' ? LLVMGetOperand(call, 1) : number(unit, (uint64_t)(*size - '0')),
            LLVMConstInt(unit->i32, how, false), check_place(unit, call)};
        take_address(unit, call, check_call(unit, "tombac_check_shadow", unit->ptr, operands, 5, false));
    }
    if (use) LLVMInstructionEraseFromParent(own);
}

/* A warning stands in a block of its own, which ends there, or where the shadow is a constant. */
static void replace_warning(check_unit *unit, LLVMValueRef call)
{
    LLVMBasicBlockRef block = LLVMGetInstructionParent(call);
    LLVMValueRef bad = LLVMConstInt(unit->i1, 1, false),
                 kind = LLVMConstInt(unit->i32, TB_CHECK_UNSET_USE, false);
    LLVMValueRef end = LLVMGetNextInstruction(call);
    bool alone = end && LLVMIsAUnreachableInst(end) && LLVMGetFirstInstruction(block) == call;
    LLVMValueRef branch = alone ? LLVMGetUser(LLVMGetFirstUse(LLVMBasicBlockAsValue(block))) : NULL;
    if (branch) {
        bad = LLVMGetCondition(branch);
        LLVMPositionBuilderBefore(unit->builder, branch);
    }
    LLVMValueRef operands[4] = {unit->thread, bad, kind, check_place(unit, call)};
    check_report(unit, operands);
    if (branch) {
        LLVMBuildBr(unit->builder, LLVMGetSuccessor(branch, 1));
        LLVMInstructionEraseFromParent(branch);
        LLVMDeleteBasicBlock(block);
    } else {
        LLVMInstructionEraseFromParent(call);
    }
}

static void replace_copy(check_unit *unit, LLVMValueRef call, bool move)
{
    LLVMValueRef to = LLVMGetOperand(call, 0), from = LLVMGetOperand(call, 1), size = LLVMGetOperand(call, 2);
    LLVMSetCurrentDebugLocation2(unit->builder, LLVMInstructionGetDebugLoc(call));
    (move ? LLVMBuildMemMove : LLVMBuildMemCpy)(unit->builder, to, 1, from, 1, size);
    LLVMSetCurrentDebugLocation2(unit->builder, NULL);
    LLVMValueRef operands[5] = {
        unit->thread, as_integer(unit, to), as_integer(unit, from), size, check_place(unit, call)};
    check_call(unit, "tombac_check_shadow_copy", unit->nothing, operands, 5, false);
}

static void replace_set(check_unit *unit, LLVMValueRef call)
{
    LLVMValueRef byte = LLVMBuildTrunc(unit->builder, LLVMGetOperand(call, 1), unit->i8, "");
    LLVMSetCurrentDebugLocation2(unit->builder, LLVMInstructionGetDebugLoc(call));
    LLVMBuildMemSet(unit->builder, LLVMGetOperand(call, 0), byte, LLVMGetOperand(call, 2), 1);
    LLVMSetCurrentDebugLocation2(unit->builder, NULL);
    fill_shadow(unit, LLVMGetOperand(call, 0), LLVMGetOperand(call, 2), 0);
}

static void replace_call(check_unit *unit, const char *name, LLVMValueRef call)
{
    bool copy = !strcmp(name, "__msan_memcpy"), move = !strcmp(name, "__msan_memmove");
    LLVMPositionBuilderBefore(unit->builder, call);
    LLVMSetCurrentDebugLocation2(unit->builder, NULL);
    if (!strcmp(name, "__msan_warning")) {
        replace_warning(unit, call);
        return;
    }
    if (strstr(name, "metadata_ptr_for"))
        replace_address(unit, call, name);
    else if (!strcmp(name, "__msan_get_context_state"))
        LLVMReplaceAllUsesWith(
            call, LLVMBuildAlloca(unit->builder, LLVMArrayType2(unit->i64, CONTEXT_SIZE / 8), ""));
    else if (!strcmp(name, "__msan_poison_alloca"))
        fill_shadow(unit, LLVMGetOperand(call, 0), LLVMGetOperand(call, 1), 0xff);
    else if (copy || move)
        replace_copy(unit, call, move);
    else if (!strcmp(name, "__msan_memset"))
        replace_set(unit, call);
    else
        check_fail(unit, ir_internal_error(unit->kernel->kernel, unit->error, "unexpected call of %s", name));
    LLVMInstructionEraseFromParent(call);
}

static void replace_calls(check_unit *unit)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(unit->module), next; f; f = next) {
        size_t length;
        next = LLVMGetNextFunction(f);
        if (!ir_name_starts(f, "__msan_")) continue;
        while (LLVMGetFirstUse(f))
            replace_call(unit, LLVMGetValueName2(f, &length), LLVMGetUser(LLVMGetFirstUse(f)));
        LLVMDeleteFunction(f);
    }
}

/* ---- The step ---- */

void check_unset_watch(check_unit *unit)
{
    static const char *const options[] = {"tombac", "-msan-track-origins=0"};
    survey s = {.unit = unit};
    LLVMValueRef unset = LLVMGetNamedGlobal(unit->module, IR_UNSET);
    if (unset) dissolve(unset);
    ir_visit(unit->function, look_at, &s);
    if (!s.unset || s.too_large || unit->kernel->debug || unit->status != TOMBAC_OK) {
        ir_visit(unit->function, drop_start, NULL);
        return;
    }
    LLVMParseCommandLineOptions(sizeof options / sizeof *options, options, "");
    ir_visit(unit->function, prepare, unit);
    ir_add_function_attribute(unit->function, "sanitize_memory", 0);
    check_fail(unit, ir_run_passes(unit->kernel, "msan<kernel>", unit->error));
    if (unit->status == TOMBAC_OK) replace_calls(unit);
    unit->watches_unset = true;
}
