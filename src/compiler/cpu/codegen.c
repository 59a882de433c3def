/* From vector IR to machine code.
 *
 * The pass list is the study's "medium" one: the code that default<O2> makes is not faster, and it takes
 * three times as long. Both machine schedulers are off: on the huge straight-line blocks of this engine they
 * take most of the time and add spills. For their sake too token factors of stores are not merged without end: the code is
 * the same, the time to find it grew with the square of the stores. Nor are instructions sunk, see keep_order. */
#include "compiler/cpu/cpu.h"
#include "compiler/ir/support.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/Support.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <string.h>

static const char passes[] =
    "function(mem2reg,instsimplify,simplifycfg),always-inline,"
    "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(licm),gvn,sccp,"
    "instcombine<no-verify-fixpoint>,simplifycfg,loop(loop-idiom,loop-deletion,loop-unroll-full),"
    "instcombine<no-verify-fixpoint>,simplifycfg,adce),globaldce";

/* For a debugger: what the vectoriser put into slots becomes values, nothing else. */
static const char debug_passes[] = "function(mem2reg,instsimplify),always-inline,globaldce";

void cpu_set_llvm_options(void)
{
    const char *const arguments[] = {
        "tombac", "-disable-post-ra", "-enable-misched=false", "-disable-machine-sink", "-unroll-threshold=1500",
        "-combiner-tokenfactor-inline-limit=64"};
    LLVMParseCommandLineOptions(sizeof arguments / sizeof *arguments, arguments, "");
}

tombac_status cpu_target_machine(const char *target, LLVMTargetMachineRef *machine, tombac_error **error)
{
    if (strcmp(target, "x86-64-v3") && strcmp(target, "x86-64-v4"))
        return tb_fail(error, TOMBAC_ERROR_UNSUPPORTED, "cpu engine: target '%s'", target);
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
    LLVMTargetRef llvm_target;
    char *message = NULL;
    if (LLVMGetTargetFromTriple("x86_64-unknown-linux-gnu", &llvm_target, &message)) {
        tombac_status status = tb_fail(error, TOMBAC_ERROR_COMPILER, "cpu engine: %s", message);
        LLVMDisposeMessage(message);
        return status;
    }
    *machine = LLVMCreateTargetMachine(llvm_target, "x86_64-unknown-linux-gnu", target, CPU_TARGET_FEATURES,
        LLVMCodeGenLevelDefault, LLVMRelocPIC, LLVMCodeModelDefault);
    if (!*machine) return tb_fail(error, TOMBAC_ERROR_COMPILER, "cpu engine: LLVM made no target machine");
    return TOMBAC_OK;
}

/* Instcombine, like the pass for machine code, sinks instructions into the only block that uses them, as behind a loop's safe point, in the order in which
 * it meets them; code generation keeps the order of a block, and what the vectoriser emitted so that few registers are in
 * use at a time would need all of them. Scalar passes, which come before, sink. */
static void keep_order(void)
{
    const char *const arguments[] = {"tombac", "-instcombine-code-sinking=false"};
    LLVMParseCommandLineOptions(sizeof arguments / sizeof *arguments, arguments, "");
}

enum { SMALL_FUNCTION = 150 }; /* instructions, few enough for the registers */

static bool is_small(LLVMValueRef function)
{
    int count = 0;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
            if (++count > SMALL_FUNCTION) return false;
    return true;
}

/* Registers that are spilled should not lie across two cache lines. LLVM aligns the stack only where it knows of something
 * large on it before it allocates registers. */
static void align_stacks(LLVMModuleRef module)
{
    static const char name[] = "alignstack";
    unsigned kind = LLVMGetEnumAttributeKindForName(name, sizeof name - 1);
    LLVMAttributeRef attribute = LLVMCreateEnumAttribute(LLVMGetModuleContext(module), kind, 64);
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
        if (!LLVMIsDeclaration(f) && !is_small(f)) LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex, attribute);
}

tombac_status cpu_run_passes(
    LLVMModuleRef module, const char *names, LLVMTargetMachineRef machine, tombac_error **error)
{
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef failure = LLVMRunPasses(module, names, machine, options);
    LLVMDisposePassBuilderOptions(options);
    if (!failure) return TOMBAC_OK;
    char *message = LLVMGetErrorMessage(failure);
    tombac_status status = tb_fail(error, TOMBAC_ERROR_COMPILER, "cpu engine: LLVM: %s", message);
    LLVMDisposeErrorMessage(message);
    return status;
}

tombac_status cpu_optimise(LLVMModuleRef module, LLVMTargetMachineRef machine, bool debug, tombac_error **error)
{
    keep_order();
    tombac_status status = cpu_run_passes(module, debug ? debug_passes : passes, machine, error);
    if (status != TOMBAC_OK) return status;
    align_stacks(module);
    return cpu_context_place(module, error);
}

tombac_status cpu_emit(
    LLVMModuleRef module, LLVMTargetMachineRef machine, bool assembly, tb_text *out, tombac_error **error)
{
    LLVMMemoryBufferRef buffer;
    char *message = NULL;
    LLVMCodeGenFileType kind = assembly ? LLVMAssemblyFile : LLVMObjectFile;
    if (LLVMTargetMachineEmitToMemoryBuffer(machine, module, kind, &message, &buffer)) {
        tombac_status status = tb_fail(error, TOMBAC_ERROR_COMPILER, "cpu engine: LLVM: %s", message);
        LLVMDisposeMessage(message);
        return status;
    }
    tb_text_append(out, LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer));
    LLVMDisposeMemoryBuffer(buffer);
    return out->bad ? tb_fail_memory(error) : TOMBAC_OK;
}

tombac_status cpu_compile(LLVMModuleRef module, const cpu_options *options, tb_text *object,
    size_t *context_size, tombac_error **error)
{
    LLVMTargetMachineRef machine;
    tombac_status status = cpu_target_machine(options->target, &machine, error);
    if (status) return status;
    status = cpu_vectorise(module, options, context_size, error);
    tb_times_begin(options->times, "vector passes");
    if (!status) status = cpu_optimise(module, machine, options->debug, error);
    ir_note_size(options->times, module);
    tb_times_begin(options->times, "machine code");
    if (!status) status = cpu_emit(module, machine, false, object, error);
    tb_times_size(options->times, object->size);
    LLVMDisposeTargetMachine(machine);
    return status;
}
