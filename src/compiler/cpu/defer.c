/* The general step as a module of its own.
 *
 * Half of the code of many kernels serves threadgroups whose SIMD-groups are not whole or not made of whole rows, and is
 * never run. Where the caller takes it (cpu_options.rest), the general step is taken out of the module: it leaves as
 * bitcode, vectorised but not optimised, of which cpu_finish makes an object. The entry calls it by the address in
 * tb_cpu_group, and a constant says which shapes do without it (TB_CPU_SHAPES). Both modules were vectorised together, so they
 * agree about barriers and contexts. */
#include "compiler/cpu/kernel.h"

#include <llvm-c/BitReader.h>
#include <llvm-c/BitWriter.h>
#include <string.h>

/* Everything but the general step goes, and what only that used. */
static tombac_status keep_general(LLVMModuleRef module, tombac_error **error)
{
    LLVMDeleteFunction(LLVMGetNamedFunction(module, TB_CPU_ENTRY));
    return cpu_run_passes(module, "globaldce", NULL, error);
}

static uint64_t shapes_of(const cpu_variant *variants, int count)
{
    uint64_t shapes = 0;
    for (int i = 0; i < count; i++) {
        if (variants[i].layout == LAYOUT_ROWS) shapes |= LANES;
        if (variants[i].layout == LAYOUT_BOX) shapes |= (uint64_t)variants[i].width;
    }
    return shapes;
}

void cpu_defer_general(cpu_kernel *k, const cpu_variant *variants, int count)
{
    LLVMModuleRef rest = LLVMCloneModule(k->module);
    tombac_status status = keep_general(rest, k->job.error);
    if (status == TOMBAC_OK) {
        LLVMMemoryBufferRef buffer = LLVMWriteBitcodeToMemoryBuffer(rest);
        tb_text_append(k->options->rest, LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer));
        LLVMDisposeMemoryBuffer(buffer);
        if (k->options->rest->bad) status = tb_fail_memory(k->job.error);
    }
    LLVMDisposeModule(rest);
    if (status != TOMBAC_OK) {
        k->job.status = status;
        longjmp(k->job.leave, 1);
    }
    LLVMDeleteFunction(variants[count - 1].step);
    LLVMValueRef shapes = LLVMAddGlobal(k->module, k->i32, TB_CPU_SHAPES);
    LLVMSetInitializer(shapes, cpu_int(k->i32, shapes_of(variants, count)));
    LLVMSetGlobalConstant(shapes, 1);
}

static tombac_status make_object(
    LLVMModuleRef module, const char *target, tb_text *object, tombac_error **error)
{
    LLVMTargetMachineRef machine;
    tombac_status status = cpu_target_machine(target, &machine, error);
    if (status != TOMBAC_OK) return status;
    status = cpu_optimise(module, machine, false, error);
    if (status == TOMBAC_OK) status = cpu_emit(module, machine, false, object, error);
    LLVMDisposeTargetMachine(machine);
    return status;
}

tombac_status cpu_finish(
    const void *bitcode, size_t size, const char *target, tb_text *object, tombac_error **error)
{
    LLVMContextRef context = LLVMContextCreate();
    LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(bitcode, size, "rest");
    LLVMModuleRef module = NULL;
    tombac_status status;
    if (LLVMParseBitcodeInContext2(context, buffer, &module) || !LLVMGetNamedFunction(module, TB_CPU_GENERAL))
        status = tb_fail(error, TOMBAC_ERROR_ARTIFACT, "cpu engine: the rest of the kernel's code is damaged");
    else
        status = make_object(module, target, object, error);
    LLVMDisposeMemoryBuffer(buffer);
    if (module) LLVMDisposeModule(module);
    LLVMContextDispose(context);
    return status;
}
