/* What scalar replacement would hide from an engine that reports mistakes (ir_request.watch): accesses at a constant place outside
 * of a private variable, which stores belong to copies, and what variables hold that nothing set.
 *
 * Scalar replacement takes such an access for undefined and drops it. So before it, when indices that are
 * constants have become visible (mem2reg), a call that says what the access would do is put in front:
 * __tombac_outside(i64 offset, i64 size, i64 limit, i32 1 for a store). */
#include "compiler/ir/steps.h"

#include <llvm-c/DebugInfo.h>

typedef struct watcher {
    LLVMModuleRef module;
    LLVMTargetDataRef layout;
    LLVMBuilderRef builder;
} watcher;

/* Adds what the indices of a GEP add; false where one is not constant. */
static bool add_indices(const watcher *w, LLVMValueRef gep, int64_t *offset)
{
    LLVMTypeRef type = LLVMGetGEPSourceElementType(gep);
    for (int i = 1; i < LLVMGetNumOperands(gep); i++) {
        LLVMValueRef index = LLVMIsAConstantInt(LLVMGetOperand(gep, (unsigned)i));
        if (!index) return false;
        int64_t value = LLVMConstIntGetSExtValue(index);
        if (i > 1 && LLVMGetTypeKind(type) == LLVMStructTypeKind) {
            *offset += (int64_t)LLVMOffsetOfElement(w->layout, type, (unsigned)value);
            type = LLVMStructGetTypeAtIndex(type, (unsigned)value);
            continue;
        }
        if (i > 1) type = LLVMGetElementType(type);
        int64_t step = (int64_t)LLVMABISizeOfType(w->layout, type);
        if (__builtin_mul_overflow(value, step, &step) || __builtin_add_overflow(*offset, step, offset)) return false;
    }
    return true;
}

static void watch(const watcher *w, LLVMValueRef access, LLVMValueRef pointer, LLVMTypeRef accessed, bool store)
{
    int64_t offset = 0;
    while (LLVMIsAGetElementPtrInst(pointer) || LLVMIsAAddrSpaceCastInst(pointer)) {
        if (LLVMIsAGetElementPtrInst(pointer) && !add_indices(w, pointer, &offset)) return;
        pointer = LLVMGetOperand(pointer, 0);
    }
    LLVMValueRef count = LLVMIsAAllocaInst(pointer) ? LLVMIsAConstantInt(LLVMGetOperand(pointer, 0)) : NULL;
    if (!count) return;
    uint64_t size = LLVMStoreSizeOfType(w->layout, accessed);
    uint64_t limit = LLVMABISizeOfType(w->layout, LLVMGetAllocatedType(pointer)) * LLVMConstIntGetZExtValue(count);
    if (offset >= 0 && (uint64_t)offset <= limit && size <= limit - (uint64_t)offset) return;
    LLVMContextRef context = LLVMGetModuleContext(w->module);
    LLVMTypeRef i64 = LLVMInt64TypeInContext(context), i32 = LLVMInt32TypeInContext(context);
    LLVMTypeRef types[4] = {i64, i64, i64, i32};
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(context), types, 4, false);
    LLVMValueRef function = ir_declare(w->module, "__tombac_outside", type);
    ir_add_function_attribute(function, "nounwind", 0);
    LLVMValueRef operands[4] = {LLVMConstInt(i64, (uint64_t)offset, false), LLVMConstInt(i64, size, false),
        LLVMConstInt(i64, limit, false), LLVMConstInt(i32, store, false)};
    LLVMPositionBuilderBefore(w->builder, access);
    LLVMSetCurrentDebugLocation2(w->builder, LLVMInstructionGetDebugLoc(access));
    LLVMBuildCall2(w->builder, type, function, operands, 4, "");
}

static void visit(LLVMValueRef instruction, void *context)
{
    const watcher *w = context;
    if (LLVMIsALoadInst(instruction))
        watch(w, instruction, LLVMGetOperand(instruction, 0), LLVMTypeOf(instruction), false);
    if (LLVMIsAStoreInst(instruction))
        watch(w, instruction, LLVMGetOperand(instruction, 1), LLVMTypeOf(LLVMGetOperand(instruction, 0)), true);
}

/* Copies of whole objects, which may have parts that nothing set. They get an alias scope that nothing refers to: scalar
 * replacement keeps scopes on what it makes of a copy. */
static void mark_copy(LLVMValueRef instruction, void *context)
{
    LLVMContextRef c = context;
    bool copy = ir_is_intrinsic(instruction, "llvm.memcpy") || ir_is_intrinsic(instruction, "llvm.memmove");
    if (!copy) return;
    LLVMMetadataRef domain = LLVMMDStringInContext2(c, IR_COPY, sizeof IR_COPY - 1), scope[2] = {domain, NULL};
    scope[1] = LLVMMDNodeInContext2(c, &domain, 1);
    LLVMMetadataRef node = LLVMMDNodeInContext2(c, scope, 2), list = LLVMMDNodeInContext2(c, &node, 1);
    LLVMSetMetadata(instruction, LLVMGetMDKindIDInContext(c, "alias.scope", 11), LLVMMetadataAsValue(c, list));
}

void ir_mark_copies(ir_kernel *kernel)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(kernel->module); f; f = LLVMGetNextFunction(f))
        ir_visit(f, mark_copy, kernel->context);
}

/* A variable that may be read as it is: no pointers, which would lose the memory that they are known to point into. */
static bool can_start_unset(LLVMTypeRef type)
{
    switch (LLVMGetTypeKind(type)) {
    case LLVMPointerTypeKind: return false;
    case LLVMArrayTypeKind: return can_start_unset(LLVMGetElementType(type));
    case LLVMVectorTypeKind: return can_start_unset(LLVMGetElementType(type));
    case LLVMStructTypeKind:
        for (unsigned i = 0; i < LLVMCountStructElementTypes(type); i++)
            if (!can_start_unset(LLVMStructGetTypeAtIndex(type, i))) return false;
        return true;
    default: return true;
    }
}

static void start_unset(LLVMValueRef variable, void *context)
{
    const watcher *w = context;
    if (!LLVMIsAAllocaInst(variable) || !can_start_unset(LLVMGetAllocatedType(variable))) return;
    LLVMTypeRef type = LLVMGetAllocatedType(variable);
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    LLVMValueRef count = LLVMIsAConstantInt(LLVMGetOperand(variable, 0));
    uint64_t size = count ? LLVMABISizeOfType(w->layout, type) * LLVMConstIntGetZExtValue(count) : 0;
    if (!size) return;
    LLVMContextRef c = LLVMGetModuleContext(w->module);
    LLVMTypeRef byte = LLVMInt8TypeInContext(c);
    LLVMValueRef unset = LLVMGetNamedGlobal(w->module, IR_UNSET);
    if (!unset) unset = LLVMAddGlobalInAddressSpace(w->module, byte, IR_UNSET, 1);
    LLVMPositionBuilderBefore(w->builder, LLVMGetNextInstruction(variable));
    LLVMSetCurrentDebugLocation2(w->builder, NULL);
    if (kind == LLVMArrayTypeKind || kind == LLVMStructTypeKind) {
        LLVMValueRef length = LLVMConstInt(LLVMInt64TypeInContext(c), size, false);
        LLVMValueRef value = LLVMBuildLoad2(w->builder, byte, unset, "");
        LLVMBuildMemSet(w->builder, variable, value, length, LLVMGetAlignment(variable));
    } else {
        LLVMValueRef store = LLVMBuildStore(w->builder, LLVMBuildLoad2(w->builder, type, unset, ""), variable);
        LLVMSetAlignment(store, LLVMGetAlignment(variable));
    }
}

/* Promotion to registers makes undefined values of what is not set, and simplification what it likes of those. */
void ir_keep_unset(ir_kernel *kernel)
{
    watcher w = {kernel->module, LLVMGetModuleDataLayout(kernel->module), LLVMCreateBuilderInContext(kernel->context)};
    for (LLVMValueRef f = LLVMGetFirstFunction(kernel->module); f; f = LLVMGetNextFunction(f)) ir_visit(f, start_unset, &w);
    LLVMDisposeBuilder(w.builder);
}

tombac_status ir_watch_private(ir_kernel *kernel, tombac_error **error)
{
    tombac_status status = ir_run_passes(kernel, "function(mem2reg,instsimplify)", error);
    if (status != TOMBAC_OK) return status;
    watcher w = {kernel->module, LLVMGetModuleDataLayout(kernel->module), LLVMCreateBuilderInContext(kernel->context)};
    ir_visit(kernel->function, visit, &w);
    LLVMDisposeBuilder(w.builder);
    return TOMBAC_OK;
}
