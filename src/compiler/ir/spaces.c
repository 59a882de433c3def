/* Kernels in C: generic pointers become pointers into the memory that they come from, threadgroup variables
 * move to threadgroup memory, vectors become scalars. See steps.h.
 *
 * A variable annotated "tombac.threadgroup" is an ordinary global for clang; it is replaced by one in address
 * space 3, seen through a cast, before any pass can reason from its initial value. Constants, literals among
 * them, move to space 1 in the same way. The inference is LLVM's pass
 * of that name, which needs a target that has a generic address space: NVPTX has the numbering that Tombac
 * uses. The machine of this step makes no code. */
#include "compiler/ir/steps.h"

#include <llvm-c/Target.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <string.h>

static LLVMValueRef move(LLVMModuleRef module, LLVMValueRef old, unsigned space)
{
    size_t length;
    const char *name = LLVMGetValueName2(old, &length);
    LLVMTypeRef type = LLVMGlobalGetValueType(old);
    LLVMValueRef made = LLVMAddGlobalInAddressSpace(module, type, "", space);
    LLVMSetInitializer(made, space == 3 ? LLVMGetUndef(type) : LLVMGetInitializer(old));
    LLVMSetAlignment(made, LLVMGetAlignment(old));
    LLVMSetLinkage(made, LLVMInternalLinkage);
    LLVMSetValueName2(made, name, length);
    LLVMReplaceAllUsesWith(old, LLVMConstAddrSpaceCast(made, LLVMTypeOf(old)));
    LLVMDeleteGlobal(old);
    return made;
}

static bool is_marked(const ir_annotation *annotations, size_t count, LLVMValueRef global)
{
    static const char mark[] = "tombac.threadgroup";
    for (size_t i = 0; i < count; i++)
        if (annotations[i].value == global && annotations[i].length == sizeof mark - 1 &&
            !memcmp(annotations[i].text, mark, sizeof mark - 1))
            return true;
    return false;
}

void ir_c_variables(LLVMModuleRef module, const ir_annotation *annotations, size_t count)
{
    for (LLVMValueRef g = LLVMGetFirstGlobal(module), next; g; g = next) {
        next = LLVMGetNextGlobal(g);
        if (!LLVMGetInitializer(g) || LLVMGetPointerAddressSpace(LLVMTypeOf(g))) continue;
        if (is_marked(annotations, count, g)) {
            move(module, g, 3);
        } else if (LLVMIsGlobalConstant(g)) {
            bool unnamed = LLVMGetUnnamedAddress(g) == LLVMGlobalUnnamedAddr;
            LLVMValueRef made = move(module, g, 1);
            LLVMSetGlobalConstant(made, true);
            if (unnamed) LLVMSetUnnamedAddress(made, LLVMGlobalUnnamedAddr);
        }
    }
}

/* What is left in the program's own memory would be one variable for all threads, races included. */
static tombac_status refuse_variables(ir_kernel *kernel, tombac_error **error)
{
    for (LLVMValueRef g = LLVMGetFirstGlobal(kernel->module); g; g = LLVMGetNextGlobal(g)) {
        if (LLVMGetPointerAddressSpace(LLVMTypeOf(g)) || !LLVMGetFirstUse(g)) continue;
        if (ir_name_starts(g, IR_CONSTANT_NAME)) continue; /* without a value: ir_constants_verify says so */
        size_t length;
        const char *name = LLVMGetValueName2(g, &length);
        return tb_fail(error, TOMBAC_ERROR_UNSUPPORTED,
            "the kernel uses variable '%s', which is not supported: a variable that outlives a function is "
            "const or "
            "threadgroup",
            name);
    }
    return TOMBAC_OK;
}

/* LLVM's pass leaves volatile read-modify-writes alone, because not every target has them in every space; here all have. The word
 * is put aside as metadata while it runs. */
static void set_volatile_aside(LLVMModuleRef module, bool aside)
{
    LLVMContextRef context = LLVMGetModuleContext(module);
    unsigned kind = LLVMGetMDKindIDInContext(context, "tombac.volatile", 15);
    LLVMValueRef mark = LLVMMetadataAsValue(context, LLVMMDNodeInContext2(context, NULL, 0));
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) {
                if (!LLVMIsAAtomicRMWInst(i) && !LLVMIsAAtomicCmpXchgInst(i)) continue;
                if (aside ? !LLVMGetVolatile(i) : !LLVMGetMetadata(i, kind)) continue;
                LLVMSetVolatile(i, !aside);
                LLVMSetMetadata(i, kind, aside ? mark : NULL);
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
    set_volatile_aside(kernel->module, true);
    LLVMErrorRef failure = LLVMRunPasses(kernel->module, "function(infer-address-spaces)", machine, options);
    set_volatile_aside(kernel->module, false);
    LLVMDisposePassBuilderOptions(options);
    LLVMDisposeTargetMachine(machine);
    if (!failure) return TOMBAC_OK;
    message = LLVMGetErrorMessage(failure);
    tombac_status status = ir_internal_error(kernel->kernel, error, "address spaces: %s", message);
    LLVMDisposeErrorMessage(message);
    return status;
}

tombac_status ir_c_resolve(ir_kernel *kernel, tombac_error **error)
{
    tombac_status status =
        ir_run_passes(kernel, "function(scalarizer<load-store>,sroa,instsimplify,dce)", error);
    if (status == TOMBAC_OK) status = infer_spaces(kernel, error);
    if (status == TOMBAC_OK) status = ir_run_passes(kernel, "function(instsimplify,dce),globaldce", error);
    return status == TOMBAC_OK ? refuse_variables(kernel, error) : status;
}
