/* ir_prepare: the steps in their order, and the life of an ir_kernel. See ir.h for what comes out. */
#include "compiler/ir/steps.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/Comdat.h>
#include <llvm-c/DebugInfo.h>
#include <llvm-c/Target.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdlib.h>
#include <string.h>

/* ---- Life ---- */

static void on_diagnostic(LLVMDiagnosticInfoRef info, void *context)
{
    ir_kernel *kernel = context;
    if (LLVMGetDiagInfoSeverity(info) != LLVMDSError) return;
    char *text = LLVMGetDiagInfoDescription(info);
    tb_text_printf(&kernel->messages, "%s%s", kernel->messages.size ? "; " : "", text);
    LLVMDisposeMessage(text);
}

void ir_kernel_free(ir_kernel *kernel)
{
    if (!kernel) return;
    ir_arguments_free(kernel->arguments, kernel->argument_count);
    free(kernel->constants);
    for (size_t i = 0; i < kernel->variable_count; i++) free(kernel->variables[i].name);
    free(kernel->variables);
    free(kernel->target);
    if (kernel->module) LLVMDisposeModule(kernel->module);
    if (kernel->machine) LLVMDisposeTargetMachine(kernel->machine);
    if (kernel->context) LLVMContextDispose(kernel->context);
    tb_text_free(&kernel->messages);
    free(kernel);
}

static tombac_status load(ir_kernel *kernel, const void *bitcode, size_t size, tombac_error **error)
{
    LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRange(bitcode, size, "kernel", false);
    LLVMBool failed = LLVMParseBitcodeInContext2(kernel->context, buffer, &kernel->module);
    LLVMDisposeMemoryBuffer(buffer);
    if (!failed) return TOMBAC_OK;
    return ir_internal_error(kernel->kernel, error, "bitcode: %s", tb_text_string(&kernel->messages));
}

static tombac_status make_machine(ir_kernel *kernel, tombac_error **error)
{
    static const char triple[] = "x86_64-unknown-linux-gnu";
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMTargetRef target;
    char *message = NULL;
    if (LLVMGetTargetFromTriple(triple, &target, &message)) {
        tombac_status status = ir_internal_error(kernel->kernel, error, "%s", message);
        LLVMDisposeMessage(message);
        return status;
    }
    kernel->machine = LLVMCreateTargetMachine(
        target, triple, kernel->target, "", kernel->debug ? LLVMCodeGenLevelNone : LLVMCodeGenLevelDefault, LLVMRelocPIC, LLVMCodeModelSmall);
    if (!kernel->machine)
        return ir_internal_error(kernel->kernel, error, "no code generator for %s", kernel->target);
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(kernel->machine);
    LLVMSetModuleDataLayout(kernel->module, layout);
    LLVMDisposeTargetData(layout);
    LLVMSetTarget(kernel->module, triple);
    return TOMBAC_OK;
}

/* ---- Passes and code ---- */

tombac_status ir_run_passes(ir_kernel *kernel, const char *passes, tombac_error **error)
{
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef failure = LLVMRunPasses(kernel->module, passes, kernel->machine, options);
    LLVMDisposePassBuilderOptions(options);
    if (!failure) return TOMBAC_OK;
    char *message = LLVMGetErrorMessage(failure);
    tombac_status status = ir_internal_error(kernel->kernel, error, "passes: %s", message);
    LLVMDisposeErrorMessage(message);
    return status;
}

tombac_status ir_emit_object(ir_kernel *kernel, bool assembly, tb_text *object, tombac_error **error)
{
    LLVMMemoryBufferRef buffer;
    char *message = NULL;
    LLVMCodeGenFileType kind = assembly ? LLVMAssemblyFile : LLVMObjectFile;
    if (LLVMTargetMachineEmitToMemoryBuffer(kernel->machine, kernel->module, kind, &message, &buffer)) {
        tombac_status status = ir_internal_error(kernel->kernel, error, "code generation: %s", message);
        LLVMDisposeMessage(message);
        return status;
    }
    tb_text_append(object, LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer));
    LLVMDisposeMemoryBuffer(buffer);
    if (kernel->messages.size) {
        return ir_internal_error(
            kernel->kernel, error, "code generation: %s", tb_text_string(&kernel->messages));
    }
    return object->bad ? tb_fail_memory(error) : TOMBAC_OK;
}

static tombac_status verify(ir_kernel *kernel, const char *when, tombac_error **error)
{
    char *message = NULL;
    tombac_status status = TOMBAC_OK;
    if (LLVMVerifyModule(kernel->module, LLVMReturnStatusAction, &message)) {
        status = ir_internal_error(kernel->kernel, error, "invalid IR %s: %s", when, message);
    }
    LLVMDisposeMessage(message);
    return status;
}

/* ---- Small steps ---- */

static void remove_attribute(LLVMValueRef function, const char *name)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMRemoveEnumAttributeAtIndex(function, LLVMAttributeFunctionIndex, kind);
}

/* Threadgroup variables stay external as long as globalopt runs: it would reason from their initial value. */
static bool is_threadgroup(LLVMValueRef global)
{
    return LLVMGetPointerAddressSpace(LLVMTypeOf(global)) == 3;
}

/* Everything becomes internal; everything with a body is to be inlined, whatever the source says. */
static void internalise(LLVMModuleRef module)
{
    static const char *const strings[] = {"target-cpu", "target-features", "tune-cpu", "frame-pointer",
        "no-trapping-math", "stack-protector-buffer-size", "min-legal-vector-width", "sycl-module-id",
        "no-builtins"};
    static const char *const enums[] = {
        "noinline", "optnone", "optsize", "minsize", "mustprogress", "uwtable", "ssp", "sspstrong", "sspreq"};
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
        for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++) {
            LLVMRemoveStringAttributeAtIndex(
                f, LLVMAttributeFunctionIndex, strings[i], (unsigned)strlen(strings[i]));
        }
        for (size_t i = 0; i < sizeof enums / sizeof enums[0]; i++) remove_attribute(f, enums[i]);
        if (LLVMIsDeclaration(f)) continue;
        LLVMSetFunctionCallConv(f, LLVMCCallConv);
        LLVMSetLinkage(f, LLVMInternalLinkage);
        LLVMSetComdat(f, NULL);
        ir_add_function_attribute(f, "alwaysinline", 0);
    }
    for (LLVMValueRef g = LLVMGetFirstGlobal(module); g; g = LLVMGetNextGlobal(g)) {
        LLVMLinkage linkage = LLVMGetLinkage(g);
        LLVMSetComdat(g, NULL);
        if (LLVMIsDeclaration(g) || linkage == LLVMAppendingLinkage || linkage == LLVMExternalLinkage)
            continue;
        LLVMSetLinkage(g, is_threadgroup(g) ? LLVMExternalLinkage : LLVMInternalLinkage);
    }
}

static void internalise_globals(LLVMModuleRef module, bool threadgroup)
{
    for (LLVMValueRef g = LLVMGetFirstGlobal(module); g; g = LLVMGetNextGlobal(g)) {
        if (LLVMIsDeclaration(g) || LLVMGetLinkage(g) != LLVMExternalLinkage ||
            is_threadgroup(g) != threadgroup)
            continue;
        LLVMSetLinkage(g, LLVMInternalLinkage);
    }
}

static void match_call_convention(LLVMValueRef instruction, void *context)
{
    if (LLVMIsACallInst(instruction)) LLVMSetInstructionCallConv(instruction, LLVMCCallConv);
}

static void clear_call_conventions(LLVMModuleRef module)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
        if (LLVMIsDeclaration(f)) LLVMSetFunctionCallConv(f, LLVMCCallConv);
        ir_visit(f, match_call_convention, NULL);
    }
}

/* __tombac_limit(n): the front end's note of a limit that only clang could evaluate. */
static void read_limit(LLVMValueRef instruction, void *context)
{
    ir_kernel *kernel = context;
    LLVMValueRef callee = ir_callee(instruction);
    if (!callee || !ir_name_starts(callee, "__tombac_limit")) return;
    LLVMValueRef value = LLVMGetOperand(instruction, 0);
    if (LLVMIsAConstantInt(value)) kernel->max_total_threads = (uint32_t)LLVMConstIntGetZExtValue(value);
    LLVMInstructionEraseFromParent(instruction);
}

/* Metal has no variable that outlives a launch: program-scope ones are constant or hold the launch's function
 * constants, function-scope ones are in threadgroup memory. What C++ adds would be shared by all threads and keep its
 * value. To be called before globalopt, which makes local variables of them. */
static tombac_status check_variables(ir_kernel *kernel, tombac_error **error)
{
    for (LLVMValueRef g = LLVMGetFirstGlobal(kernel->module); g; g = LLVMGetNextGlobal(g)) {
        bool variable = LLVMGetInitializer(g) && !LLVMIsGlobalConstant(g) && LLVMGetFirstUse(g);
        if (!variable || is_threadgroup(g)) continue;
        return tb_fail(error, TOMBAC_ERROR_UNSUPPORTED,
            "the kernel uses a static or program-scope variable that is not constant; Metal has none outside "
            "threadgroup memory");
    }
    return TOMBAC_OK;
}

static void note_operation(LLVMValueRef instruction, void *context)
{
    ir_kernel *kernel = context;
    LLVMValueRef callee = ir_callee(instruction);
    if (!callee) return;
    static const char *const group[] = {
        "__tombac_simd_", "__tombac_quad_", "__tombac_matrix_multiply", "__tombac_simdgroup_barrier"};
    for (size_t i = 0; i < sizeof group / sizeof group[0]; i++) {
        if (ir_name_starts(callee, group[i])) kernel->simdgroup_operations = true;
    }
    if (ir_name_starts(callee, "__tombac_threadgroup_barrier")) kernel->threadgroup_barriers = true;
}

static tombac_status decide_arguments(ir_kernel *kernel, tombac_error **error)
{
    tombac_status status = TOMBAC_OK;
    for (size_t i = 0; i < kernel->argument_count && status == TOMBAC_OK; i++) {
        ir_argument *argument = &kernel->arguments[i];
        status = ir_constants_condition(kernel, argument->parameter, &argument->active, error);
    }
    ir_constants_drop(kernel);
    return status;
}

/* ---- The pipeline ---- */

/* From bitcode to a module that holds the thunk and all that it calls. */
static tombac_status specialise(ir_kernel *kernel, const ir_request *request, tombac_error **error)
{
    ir_annotation *annotations;
    size_t count;
    tombac_status status = ir_annotations_read(kernel->module, &annotations, &count, error);
    if (status != TOMBAC_OK) return status;
    LLVMValueRef body = ir_annotations_kernel(annotations, count, kernel->kernel);
    if (!body) {
        status = ir_internal_error(kernel->kernel, error, "the bitcode does not define the kernel");
    }
    if (status == TOMBAC_OK) {
        status = ir_arguments_reflect(
            kernel->context, body, kernel->kernel, &kernel->arguments, &kernel->argument_count, error);
    }
    if (status == TOMBAC_OK) {
        ir_annotations_erase(kernel->module);
        if (front_language_of(kernel->unit) == FRONT_C) {
            ir_c_variables(kernel->module, annotations, count);
            ir_c_ranges(kernel->module);
        }
        internalise(kernel->module);
        clear_call_conventions(kernel->module);
        if (request->watch) ir_mark_copies(kernel);
        ir_constants_keep(kernel);
        LLVMSetLinkage(body, LLVMExternalLinkage); /* until the thunk calls it */
        status = ir_run_passes(kernel, "globaldce", error);
    }
    if (status == TOMBAC_OK) status = ir_constants_set(kernel, request, annotations, count, error);
    free(annotations);
    if (status == TOMBAC_OK) status = ir_constants_evaluate(kernel, error);
    if (status == TOMBAC_OK) status = check_variables(kernel, error);
    if (status == TOMBAC_OK) status = decide_arguments(kernel, error);
    if (status == TOMBAC_OK) {
        internalise_globals(kernel->module, false);
        LLVMSetLinkage(body, LLVMInternalLinkage);
        kernel->subprogram = LLVMGetSubprogram(body);
        status = ir_thunk_build(kernel, body, error);
    }
    return status;
}

/* Functions that call themselves at their end become loops, so that they can be inlined; the kernel is left
 * as it is. */
static tombac_status unroll_recursion(ir_kernel *kernel, tombac_error **error)
{
    bool left = false;
    for (LLVMValueRef f = LLVMGetFirstFunction(kernel->module); f; f = LLVMGetNextFunction(f)) {
        left |= !LLVMIsDeclaration(f) && f != kernel->function;
    }
    if (!left) return TOMBAC_OK;
    ir_add_function_attribute(kernel->function, "noinline", 0);
    ir_add_function_attribute(kernel->function, "optnone", 0);
    tombac_status status =
        ir_run_passes(kernel, "function(sroa,instsimplify,simplifycfg,tailcallelim,simplifycfg)", error);
    remove_attribute(kernel->function, "optnone");
    remove_attribute(kernel->function, "noinline");
    return status == TOMBAC_OK ? ir_run_passes(kernel, "always-inline,globaldce", error) : status;
}

static tombac_status inline_functions(ir_kernel *kernel, tombac_error **error)
{
    ir_cycles cycles;
    ir_note_cycles(kernel, &cycles);
    tombac_status status = ir_run_passes(kernel, "always-inline,globaldce", error);
    if (status == TOMBAC_OK) status = unroll_recursion(kernel, error);
    if (status == TOMBAC_OK) status = ir_refuse_cycles(kernel, &cycles, error);
    ir_cycles_free(&cycles);
    return status;
}

static tombac_status inline_and_clean(ir_kernel *kernel, const ir_request *request, tombac_error **error)
{
    tb_times_begin(kernel->times, "math library");
    tombac_status status = ir_run_passes(kernel, "globalopt,globaldce", error);
    if (status == TOMBAC_OK) status = ir_math_link(kernel, request->math_library, error);
    if (status != TOMBAC_OK) return status;
    for (LLVMValueRef f = LLVMGetFirstFunction(kernel->module); f; f = LLVMGetNextFunction(f)) {
        if (LLVMIsDeclaration(f) || f == kernel->function) continue;
        LLVMSetLinkage(f, LLVMInternalLinkage);
        ir_add_function_attribute(f, "alwaysinline", 0);
    }
    internalise_globals(kernel->module, true);
    ir_note_size(kernel->times, kernel->module);
    tb_times_begin(kernel->times, "inline");
    if (request->watch && !kernel->debug) ir_keep_unset(kernel);
    /* Variables become values before their functions are copied: a variable costs time in the number of its function's
     * blocks, and the kernel will have all of them. */
    status = ir_run_passes(kernel, "function(sroa)", error);
    if (status == TOMBAC_OK) status = inline_functions(kernel, error);
    kernel->max_total_threads = kernel->kernel->max_total_threads;
    if (status == TOMBAC_OK) ir_visit(kernel->function, read_limit, kernel);
    if (status == TOMBAC_OK) status = ir_loops_merge_latches(kernel->function, error);
    if (status == TOMBAC_OK && request->watch) status = ir_watch_private(kernel, error);
    /* First sroa: it splits copies of structs by their members, not by the alignment that the inliner gives
     * them. */
    if (status == TOMBAC_OK) status = ir_run_passes(kernel, "function(sroa)", error);
    if (status == TOMBAC_OK) ir_lower_intrinsics(kernel->module, kernel->function);
    if (status == TOMBAC_OK) ir_define_results(kernel->module, kernel->function);
    if (status == TOMBAC_OK)
        status = ir_run_passes(kernel, "function(sroa,instsimplify,sccp,sroa),globaldce", error);
    /* A call whose target became known by sroa (a function pointer as an argument) can be inlined now. */
    if (status == TOMBAC_OK)
        status = ir_run_passes(kernel, "always-inline,function(sroa,instsimplify,sccp,dce),globaldce", error);
    if (status == TOMBAC_OK) ir_lower_intrinsics(kernel->module, kernel->function);
    if (status == TOMBAC_OK) ir_define_results(kernel->module, kernel->function);
    if (status == TOMBAC_OK) status = ir_loops_merge_latches(kernel->function, error);
    if (status == TOMBAC_OK) status = ir_run_passes(kernel, "function(sroa,dce)", error);
    if (status == TOMBAC_OK) ir_align_packed(kernel->module, kernel->function);
    if (status == TOMBAC_OK && front_language_of(kernel->unit) == FRONT_C) status = ir_c_resolve(kernel, error);
    bool generic = false;
    if (status == TOMBAC_OK) status = ir_generic_resolve(kernel, &generic, error);
    if (status == TOMBAC_OK && generic)
        status = ir_run_passes(kernel, "function(sccp,instsimplify,sccp,dce)", error);
    return status;
}

tombac_status ir_prepare(const ir_request *request, ir_kernel **out, tombac_error **error)
{
    ir_kernel *kernel = calloc(1, sizeof *kernel);
    if (!kernel) return tb_fail_memory(error);
    kernel->unit = request->unit;
    kernel->kernel = request->kernel;
    kernel->math = request->math;
    kernel->debug = request->debug;
    kernel->times = request->times;
    kernel->target = strdup(request->target);
    tb_times_begin(kernel->times, "read bitcode");
    kernel->context = LLVMContextCreate();
    LLVMContextSetDiagnosticHandler(kernel->context, on_diagnostic, kernel);
    LLVMContextSetDiscardValueNames(kernel->context, true);
    tombac_status status = kernel->target ? TOMBAC_OK : tb_fail_memory(error);
    if (status == TOMBAC_OK) status = load(kernel, request->bitcode, request->bitcode_size, error);
    if (status == TOMBAC_OK) status = make_machine(kernel, error);
    ir_note_size(kernel->times, kernel->module);
    tb_times_begin(kernel->times, "choose the kernel");
    if (status == TOMBAC_OK) status = specialise(kernel, request, error);
    ir_note_size(kernel->times, kernel->module);
    if (status == TOMBAC_OK && !kernel->debug) status = ir_run_passes(kernel, "strip-nonlinetable-debuginfo", error);
    if (status == TOMBAC_OK) status = inline_and_clean(kernel, request, error);
    tb_times_begin(kernel->times, "lay out, verify");
    if (status == TOMBAC_OK) status = ir_arena_build(kernel, error);
    if (status == TOMBAC_OK) status = ir_check_functions(kernel, error);
    if (status == TOMBAC_OK) status = ir_constants_verify(kernel, error);
    if (status == TOMBAC_OK) status = verify(kernel, "after preparation", error);
    if (status != TOMBAC_OK) {
        tb_error_set_kernel(error, request->kernel->name);
        ir_kernel_free(kernel);
        return status;
    }
    ir_visit(kernel->function, note_operation, kernel);
    ir_note_size(kernel->times, kernel->module);
    *out = kernel;
    return TOMBAC_OK;
}
