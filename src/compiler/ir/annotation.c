/* Reads llvm.global.annotations: an array of {value, text, file, line, arguments}. */
#include "compiler/ir/steps.h"

#include <stdlib.h>
#include <string.h>

static LLVMValueRef strip_casts(LLVMValueRef value)
{
    while (LLVMIsAConstantExpr(value) && LLVMGetNumOperands(value) >= 1) value = LLVMGetOperand(value, 0);
    return value;
}

tombac_status ir_annotations_read(
    LLVMModuleRef module, ir_annotation **list, size_t *count, tombac_error **error)
{
    *list = NULL;
    *count = 0;
    LLVMValueRef global = LLVMGetNamedGlobal(module, "llvm.global.annotations");
    LLVMValueRef array = global ? LLVMGetInitializer(global) : NULL;
    if (!array || !LLVMIsAConstantArray(array)) return TOMBAC_OK;
    int entries = LLVMGetNumOperands(array);
    ir_annotation *made = calloc((size_t)entries, sizeof *made);
    if (!made) return tb_fail_memory(error);
    size_t n = 0;
    for (int i = 0; i < entries; i++) {
        LLVMValueRef entry = LLVMGetOperand(array, (unsigned)i);
        if (LLVMGetNumOperands(entry) < 2) continue;
        LLVMValueRef text = strip_casts(LLVMGetOperand(entry, 1));
        LLVMValueRef string = LLVMIsAGlobalVariable(text) ? LLVMGetInitializer(text) : NULL;
        if (!string || !LLVMIsConstantString(string)) continue;
        size_t length;
        const char *bytes = LLVMGetAsString(string, &length);
        while (length && !bytes[length - 1]) length--;
        made[n++] = (ir_annotation){strip_casts(LLVMGetOperand(entry, 0)), bytes, length};
    }
    *list = made;
    *count = n;
    return TOMBAC_OK;
}

LLVMValueRef ir_annotations_find(
    const ir_annotation *list, size_t count, const char *prefix, const char *name)
{
    size_t head = strlen(prefix), tail = strlen(name);
    for (size_t i = 0; i < count; i++) {
        const ir_annotation *a = &list[i];
        if (a->length == head + tail && !memcmp(a->text, prefix, head) &&
            !memcmp(a->text + head, name, tail)) {
            return a->value;
        }
    }
    return NULL;
}

LLVMValueRef ir_annotations_kernel(const ir_annotation *list, size_t count, const front_kernel *kernel)
{
    LLVMValueRef found = ir_annotations_find(list, count, "tombac.host_name:", kernel->name);
    if (!found) found = ir_annotations_find(list, count, "tombac.kernel:", kernel->name);
    return found && LLVMIsAFunction(found) && LLVMGetFirstBasicBlock(found) ? found : NULL;
}

static void erase_marker(LLVMValueRef instruction, void *context)
{
    static const char *const values[] = {"llvm.ptr.annotation", "llvm.annotation"};
    for (int i = 0; i < 2; i++) {
        if (!ir_is_intrinsic(instruction, values[i])) continue;
        LLVMReplaceAllUsesWith(instruction, LLVMGetOperand(instruction, 0));
        LLVMInstructionEraseFromParent(instruction);
        return;
    }
    if (ir_is_intrinsic(instruction, "llvm.var.annotation")) LLVMInstructionEraseFromParent(instruction);
}

void ir_annotations_erase(LLVMModuleRef module)
{
    static const char *const lists[] = {"llvm.global.annotations", "llvm.used", "llvm.compiler.used"};
    for (int i = 0; i < 3; i++) {
        LLVMValueRef global = LLVMGetNamedGlobal(module, lists[i]);
        if (global) LLVMDeleteGlobal(global);
    }
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
        ir_visit(f, erase_marker, NULL);
}
