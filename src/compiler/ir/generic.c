/* Kernels in C: generic pointers become pointers into the memory that they come from, threadgroup variables
 * move to threadgroup memory, vectors become scalars. See steps.h.
 *
 * A variable annotated "tombac.threadgroup" is an ordinary global for clang; it is replaced by one in address
 * space 3, seen through a cast, before any pass can reason from its initial value. The inference is LLVM's pass
 * of that name, which needs a target that has a generic address space: NVPTX has the numbering that Tombac
 * uses. The machine of this step makes no code. */
#include "compiler/ir/steps.h"

#include <llvm-c/Target.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <string.h>

static void move_variable(LLVMModuleRef module, LLVMValueRef old)
{
    LLVMTypeRef type = LLVMGlobalGetValueType(old);
    LLVMValueRef made = LLVMAddGlobalInAddressSpace(module, type, "", 3);
    LLVMSetInitializer(made, LLVMGetUndef(type));
    LLVMSetAlignment(made, LLVMGetAlignment(old));
    LLVMSetLinkage(made, LLVMInternalLinkage);
    LLVMReplaceAllUsesWith(old, LLVMConstAddrSpaceCast(made, LLVMTypeOf(old)));
    LLVMDeleteGlobal(old);
}

void ir_generic_variables(LLVMModuleRef module, const ir_annotation *annotations, size_t count)
{
    static const char mark[] = "tombac.threadgroup";
    for (size_t i = 0; i < count; i++) {
        const ir_annotation *a = &annotations[i];
        if (a->length != sizeof mark - 1 || memcmp(a->text, mark, a->length) != 0) continue;
        if (LLVMIsAGlobalVariable(a->value)) move_variable(module, a->value);
    }
}

static tombac_status infer_spaces(ir_kernel *kernel, tombac_error **error)
{
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMTargetRef target;
    char *message = NULL;
    if (LLVMGetTargetFromTriple("nvptx64-nvidia-cuda", &target, &message)) {
        tombac_status status = ir_internal_error(kernel->kernel, error, "%s", message);
        LLVMDisposeMessage(message);
        return status;
    }
    LLVMTargetMachineRef machine = LLVMCreateTargetMachine(target, "nvptx64-nvidia-cuda", "sm_70", "",
        LLVMCodeGenLevelDefault, LLVMRelocDefault, LLVMCodeModelDefault);
    if (!machine) return ir_internal_error(kernel->kernel, error, "no target with generic pointers");
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef failure = LLVMRunPasses(kernel->module, "function(infer-address-spaces)", machine, options);
    LLVMDisposePassBuilderOptions(options);
    LLVMDisposeTargetMachine(machine);
    if (!failure) return TOMBAC_OK;
    message = LLVMGetErrorMessage(failure);
    tombac_status status = ir_internal_error(kernel->kernel, error, "address spaces: %s", message);
    LLVMDisposeErrorMessage(message);
    return status;
}

tombac_status ir_generic_resolve(ir_kernel *kernel, tombac_error **error)
{
    tombac_status status = ir_run_passes(kernel, "function(scalarizer<load-store>,sroa,instsimplify,dce)", error);
    if (status == TOMBAC_OK) status = infer_spaces(kernel, error);
    return status == TOMBAC_OK ? ir_run_passes(kernel, "function(instsimplify,dce)", error) : status;
}
