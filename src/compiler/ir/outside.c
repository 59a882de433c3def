/* Accesses at a constant place outside of a private variable, for engines that report them (ir_request.watch).
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

tombac_status ir_watch_private(ir_kernel *kernel, tombac_error **error)
{
    tombac_status status = ir_run_passes(kernel, "function(mem2reg,instsimplify)", error);
    if (status != TOMBAC_OK) return status;
    watcher w = {kernel->module, LLVMGetModuleDataLayout(kernel->module), LLVMCreateBuilderInContext(kernel->context)};
    ir_visit(kernel->function, visit, &w);
    LLVMDisposeBuilder(w.builder);
    return TOMBAC_OK;
}
