/* cuda_compile: the steps in order, linking, passes, code generation. See cuda.h. */
#include "compiler/cuda/steps.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/DebugInfo.h>
#include <llvm-c/Linker.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMBINE "instcombine<no-verify-fixpoint>"

enum { MAX_THREADS = 1024 }; /* of a block */

/* What the steps hand on. */
typedef struct work {
    uint32_t threadgroup[3]; /* as launched, 0: not known */
    tb_text library;         /* path of the device library */
    tb_text kinds, passed;   /* of the arguments (artifact/cuda.h), and without those that are not passed */
    bool matrices, records;
    unsigned factor; /* of the wide entry, 0: there is none */
} work;

bool cuda_is_target(const char *target)
{
    static const char *const known[] = {"sm_80", "sm_86", "sm_89", "sm_90"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (!strcmp(target, known[i])) return true;
    }
    return false;
}

/* ---- Target ---- */

/* The kernel came with the host's triple and layout; those of NVPTX place everything the same way. */
static tombac_status retarget(ir_kernel *kernel, tombac_error **error)
{
    static const char triple[] = "nvptx64-nvidia-cuda";
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    LLVMTargetRef target;
    char *message = NULL;
    if (LLVMGetTargetFromTriple(triple, &target, &message)) {
        tombac_status status = ir_internal_error(kernel->kernel, error, "%s", message);
        LLVMDisposeMessage(message);
        return status;
    }
    LLVMTargetMachineRef machine = LLVMCreateTargetMachine(
        target, triple, kernel->target, "+ptx80", LLVMCodeGenLevelDefault, LLVMRelocPIC, LLVMCodeModelSmall);
    if (!machine) return ir_internal_error(kernel->kernel, error, "no code generator for %s", kernel->target);
    LLVMDisposeTargetMachine(kernel->machine);
    kernel->machine = machine;
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machine);
    LLVMSetModuleDataLayout(kernel->module, layout);
    LLVMDisposeTargetData(layout);
    LLVMSetTarget(kernel->module, triple);
    return TOMBAC_OK;
}

/* ---- The library ---- */

static tombac_status link_library(ir_kernel *kernel, const char *path, tombac_error **error)
{
    LLVMMemoryBufferRef buffer;
    char *message = NULL;
    if (LLVMCreateMemoryBufferWithContentsOfFile(path, &buffer, &message)) {
        tombac_status status =
            tb_fail(error, TOMBAC_ERROR_COMPILER, "the device library %s cannot be read: %s", path, message);
        LLVMDisposeMessage(message);
        return status;
    }
    LLVMModuleRef library;
    if (LLVMGetBitcodeModuleInContext2(kernel->context, buffer, &library)) { /* takes the buffer */
        return tb_fail(error, TOMBAC_ERROR_COMPILER, "the device library %s is damaged: %s", path,
            tb_text_string(&kernel->messages));
    }
    LLVMSetTarget(library, LLVMGetTarget(kernel->module));
    LLVMSetDataLayout(library, LLVMGetDataLayoutStr(kernel->module));
    for (LLVMValueRef f = LLVMGetFirstFunction(library); f; f = LLVMGetNextFunction(f)) {
        if (!LLVMIsDeclaration(f)) LLVMSetLinkage(f, LLVMLinkOnceODRLinkage);
    }
    if (LLVMLinkModules2(kernel->module, library)) {
        return ir_internal_error(kernel->kernel, error, "linking the device library failed: %s",
            tb_text_string(&kernel->messages));
    }
    return TOMBAC_OK;
}

/* Everything but the entry becomes internal; nothing may be left undefined, but matrix products (`matrices`).
 */
static tombac_status close_module(ir_kernel *kernel, bool matrices, tombac_error **error)
{
    static const char *const strings[] = {"target-cpu", "target-features", "tune-cpu", "no-builtins",
        "stack-protector-buffer-size", "min-legal-vector-width", "frame-pointer", "no-trapping-math"};
    for (LLVMValueRef f = LLVMGetFirstFunction(kernel->module); f; f = LLVMGetNextFunction(f)) {
        for (size_t i = 0; i < sizeof strings / sizeof strings[0]; i++) {
            LLVMRemoveStringAttributeAtIndex(
                f, LLVMAttributeFunctionIndex, strings[i], (unsigned)strlen(strings[i]));
        }
        if (f == kernel->function || LLVMGetIntrinsicID(f)) continue;
        if (!LLVMIsDeclaration(f)) {
            LLVMSetLinkage(f, LLVMInternalLinkage);
        } else if (LLVMGetFirstUse(f) && !(matrices && (ir_name_starts(f, "tombac_cuda.matrix_multiply") ||
                                                           ir_name_starts(f, "tombac_cuda.opaque_")))) {
            size_t length;
            return ir_internal_error(kernel->kernel, error,
                "the cuda engine does not know the operation '%s'", LLVMGetValueName2(f, &length));
        }
    }
    return TOMBAC_OK;
}

/* ---- Strings ---- */

/* TB_CUDA_LITERALS: where the program's constants lie, so that the driver can read strings that records name.
 */
static void list_literals(ir_kernel *kernel)
{
    LLVMTypeRef i64 = LLVMInt64TypeInContext(kernel->context),
                ptr = LLVMPointerTypeInContext(kernel->context, 0);
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(kernel->module);
    size_t count = 0;
    for (LLVMValueRef g = LLVMGetFirstGlobal(kernel->module); g; g = LLVMGetNextGlobal(g)) count++;
    LLVMValueRef *entries = calloc(count + 1, sizeof(LLVMValueRef));
    if (!entries) return; /* strings of records print as unknown then */
    LLVMTypeRef pair[2] = {ptr, i64};
    LLVMTypeRef type = LLVMStructTypeInContext(kernel->context, pair, 2, false);
    count = 0;
    for (LLVMValueRef g = LLVMGetFirstGlobal(kernel->module); g; g = LLVMGetNextGlobal(g)) {
        if (LLVMGetPointerAddressSpace(LLVMTypeOf(g)) == 3 || !LLVMGetInitializer(g)) continue;
        uint64_t size = LLVMABISizeOfType(layout, LLVMGlobalGetValueType(g));
        LLVMValueRef fields[2] = {LLVMConstAddrSpaceCast(g, ptr), LLVMConstInt(i64, size, false)};
        entries[count++] = LLVMConstStructInContext(kernel->context, fields, 2, false);
    }
    if (count) {
        LLVMValueRef initial = LLVMConstArray2(type, entries, count);
        LLVMValueRef table =
            LLVMAddGlobalInAddressSpace(kernel->module, LLVMTypeOf(initial), TB_CUDA_LITERALS, 1);
        LLVMSetInitializer(table, initial);
        LLVMSetGlobalConstant(table, true);
    }
    free(entries);
}

/* ---- Atomic operations ---- */

/* Atomic operations reach as far as the device: nothing outside it looks at a buffer while a kernel runs.
 * LLVM's NVPTX back end forgets the order of read-modify-write operations, so fences take its place. */
static void order_atomic(LLVMValueRef instruction, void *context)
{
    LLVMBuilderRef builder = context;
    if (!LLVMIsAtomic(instruction)) return;
    LLVMContextRef c = LLVMGetTypeContext(LLVMTypeOf(instruction));
    unsigned system = LLVMGetSyncScopeID(c, "", 0), device = LLVMGetSyncScopeID(c, "device", 6);
    if (LLVMGetAtomicSyncScopeID(instruction) == system) LLVMSetAtomicSyncScopeID(instruction, device);
    if (!LLVMIsAAtomicRMWInst(instruction)) return;
    LLVMAtomicOrdering order = LLVMGetOrdering(instruction);
    bool total = order == LLVMAtomicOrderingSequentiallyConsistent;
    LLVMAtomicOrdering fence = total ? order : LLVMAtomicOrderingAcquireRelease;
    unsigned scope = LLVMGetAtomicSyncScopeID(instruction);
    LLVMPositionBuilderBefore(builder, instruction);
    if (total || order == LLVMAtomicOrderingRelease || order == LLVMAtomicOrderingAcquireRelease)
        LLVMBuildFenceSyncScope(builder, fence, scope, "");
    LLVMPositionBuilderBefore(builder, LLVMGetNextInstruction(instruction));
    if (total || order == LLVMAtomicOrderingAcquire || order == LLVMAtomicOrderingAcquireRelease)
        LLVMBuildFenceSyncScope(builder, fence, scope, "");
    LLVMSetOrdering(instruction, LLVMAtomicOrderingMonotonic);
}

static void order_atomics(ir_kernel *kernel)
{
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(kernel->context);
    ir_visit(kernel->function, order_atomic, builder);
    LLVMDisposeBuilder(builder);
}

/* ---- All ---- */

static tombac_status verify(ir_kernel *kernel, tombac_error **error)
{
    char *message = NULL;
    tombac_status status = TOMBAC_OK;
    if (LLVMVerifyModule(kernel->module, LLVMReturnStatusAction, &message)) {
        status = ir_internal_error(kernel->kernel, error, "invalid IR for the GPU: %s", message);
    }
    LLVMDisposeMessage(message);
    return status;
}

/* Until the code is final but for the merging of accesses. */
static tombac_status optimise(ir_kernel *kernel, const work *w, tombac_error **error)
{
    static const char *const passes[] = {
        "always-inline,globaldce,function(nvvm-intr-range,sroa,infer-address-spaces,early-cse,"
        "simplifycfg," COMBINE ",simplifycfg,"
        "loop-simplify,lcssa,loop-mssa(loop-rotate,licm),simplifycfg,loop(indvars,loop-deletion,loop-unroll-"
        "full))",
        "function(sroa,early-cse,simplifycfg," COMBINE ",loop-simplify,lcssa,loop(loop-unroll-full),sroa,"
        "early-cse<memssa>," COMBINE ",gvn,simplifycfg,loop-simplify,lcssa,loop-mssa(licm),"
        "loop(indvars,loop-deletion)," COMBINE ",simplifycfg,dce,"
        "loop-unroll<O3;no-partial;no-peeling;no-runtime;upperbound>,sroa,early-cse<memssa>," COMBINE
        ",simplifycfg,dce)",
        "always-inline,function(sroa,infer-address-spaces,infer-alignment," COMBINE
        ",gvn,dse,simplifycfg,dce,"
        "separate-const-offset-from-gep,early-cse,infer-alignment),globaldce",
    };
    tombac_status status = ir_run_passes(kernel, passes[0], error);
    if (status == TOMBAC_OK) status = ir_run_passes(kernel, passes[1], error);
    if (status == TOMBAC_OK) status = cuda_select_arrays(kernel, error);
    if (status == TOMBAC_OK && w->matrices) {
        status = ir_run_passes(kernel, "function(separate-const-offset-from-gep,early-cse)", error);
        if (status == TOMBAC_OK) status = cuda_matrix_lower(kernel, tb_text_string(&w->passed), error);
        if (status == TOMBAC_OK) status = link_library(kernel, tb_text_string(&w->library), error);
        if (status == TOMBAC_OK) status = close_module(kernel, false, error);
    }
    return status == TOMBAC_OK ? ir_run_passes(kernel, passes[2], error) : status;
}

/* `assume` is for plain launches. */
static tombac_status merge_accesses(
    ir_kernel *kernel, const work *w, const cuda_assumptions *assume, tombac_error **error)
{
    bool plain = assume != NULL;
    cuda_align(kernel, tb_text_string(&w->passed), assume);
    cuda_flatten_addresses(kernel);
    tombac_status status =
        ir_run_passes(kernel, "function(early-cse,load-store-vectorizer," COMBINE ",dce),globaldce", error);
    if (status != TOMBAC_OK || !plain) return status;
    status = ir_run_passes(kernel, "function(loop-simplify)", error);
    if (status != TOMBAC_OK) return status;
    cuda_pipeline(kernel);
    if (!w->matrices) return ir_run_passes(kernel, "function(early-cse,dce)", error);
    cuda_flatten_addresses(kernel);
    uint32_t threads = w->threadgroup[0] * w->threadgroup[1] * w->threadgroup[2];
    bool changed;
    status = cuda_swizzle(kernel,
        threads ? (threads + TB_SIMD_WIDTH - 1) / TB_SIMD_WIDTH * TB_SIMD_WIDTH : MAX_THREADS, &changed,
        error);
    if (status != TOMBAC_OK || !changed) return status;
    return ir_run_passes(
        kernel, "function(instsimplify,early-cse,loop-simplify,lcssa,loop-mssa(licm),early-cse,dce)", error);
}

/* What is left to do for one of the two entries, from the module that is the same for both. `before`: NULL, or
 * gets a copy of the module as it is before accesses are merged. */
static tombac_status finish(ir_kernel *kernel, const work *w, bool plain, cuda_assumptions *assumptions,
    LLVMModuleRef *before, tombac_error **error)
{
    tb_times_begin(kernel->times, plain ? "passes, plain launches" : "passes, all launches");
    if (plain) cuda_entry_make_plain(kernel);
    cuda_entry_limit(kernel, w->threadgroup, plain);
    tombac_status status = optimise(kernel, w, error);
    *assumptions = (cuda_assumptions){0};
    if (status == TOMBAC_OK && plain) cuda_find_assumptions(kernel, tb_text_string(&w->passed), assumptions);
    if (status == TOMBAC_OK && before) *before = LLVMCloneModule(kernel->module);
    if (status == TOMBAC_OK) status = merge_accesses(kernel, w, plain ? assumptions : NULL, error);
    if (status == TOMBAC_OK) cuda_compare_next(kernel);
    ir_note_size(kernel->times, kernel->module);
    return status;
}

/* The entry of `second` goes into the kernel's module, under the name with `suffix`. */
static tombac_status join(ir_kernel *kernel, LLVMModuleRef second, const char *suffix, tombac_error **error)
{
    char name[64];
    int length = snprintf(name, sizeof name, "%s%s", TB_CUDA_ENTRY, suffix);
    LLVMSetValueName2(LLVMGetNamedFunction(second, TB_CUDA_ENTRY), name, (size_t)length);
    if (!LLVMLinkModules2(kernel->module, second)) return TOMBAC_OK;
    return ir_internal_error(kernel->kernel, error, "joining the forms of the kernel failed: %s",
        tb_text_string(&kernel->messages));
}

/* Makes another module the kernel's; what it had is in *kept. */
static void change_module(ir_kernel *kernel, LLVMModuleRef module, LLVMModuleRef *kept)
{
    *kept = kernel->module;
    kernel->module = module;
    kernel->function = LLVMGetNamedFunction(module, TB_CUDA_ENTRY);
}

/* The entry for all launches. */
static tombac_status add_general(
    ir_kernel *kernel, const work *w, LLVMModuleRef module, tombac_error **error)
{
    LLVMModuleRef first;
    cuda_assumptions none;
    change_module(kernel, module, &first);
    tombac_status status = finish(kernel, w, false, &none, NULL, error);
    change_module(kernel, first, &module);
    if (status == TOMBAC_OK) return join(kernel, module, TB_CUDA_GENERAL, error);
    LLVMDisposeModule(module);
    return status;
}

/* Makes the kernel's code wide; *factor is 1 where that cannot be, or leaves more than half of the accesses that
 * plain code (which has `plain` of them) makes for as many threads. */
static tombac_status widen(ir_kernel *kernel, const work *w, const cuda_assumptions *assume, unsigned plain,
    unsigned *factor, tombac_error **error)
{
    *factor = cuda_widen(kernel, w->threadgroup[0] * w->threadgroup[1] * w->threadgroup[2]);
    if (*factor == 1) return TOMBAC_OK;
    tombac_status status = ir_run_passes(kernel, "function(" COMBINE ",early-cse<memssa>)", error);
    if (status == TOMBAC_OK) status = merge_accesses(kernel, w, assume, error);
    if (2 * cuda_count_accesses(kernel) > plain * *factor) *factor = 1;
    return status;
}

/* The entry for plain launches of many threads. */
static tombac_status add_wide(ir_kernel *kernel, work *w, const cuda_assumptions *assumptions,
    LLVMModuleRef module, tombac_error **error)
{
    cuda_assumptions aligned = *assumptions;
    aligned.any = true;
    LLVMModuleRef first;
    unsigned factor, plain = cuda_count_accesses(kernel);
    change_module(kernel, module, &first);
    tombac_status status = widen(kernel, w, &aligned, plain, &factor, error);
    change_module(kernel, first, &module);
    if (status == TOMBAC_OK && factor > 1) {
        w->factor = factor;
        return join(kernel, module, TB_CUDA_WIDE, error);
    }
    LLVMDisposeModule(module);
    return status;
}

/* The entry for plain launches, the one for all, and one of wide code. */
static tombac_status finish_all(
    ir_kernel *kernel, work *w, cuda_assumptions *assumptions, tombac_error **error)
{
    bool may_widen = w->threadgroup[0] && !w->matrices && !w->records;
    LLVMModuleRef general = LLVMCloneModule(kernel->module), wide = NULL;
    tombac_status status = finish(kernel, w, true, assumptions, may_widen ? &wide : NULL, error);
    if (status == TOMBAC_OK)
        status = add_general(kernel, w, general, error);
    else
        LLVMDisposeModule(general);
    if (wide && status == TOMBAC_OK) return add_wide(kernel, w, assumptions, wide, error);
    if (wide) LLVMDisposeModule(wide);
    return status;
}

/* The object's first line (artifact/cuda.h). */
static void write_header(tb_text *header, const work *w, const cuda_assumptions *assumptions)
{
    const tb_text *kinds = &w->kinds;
    tb_text_printf(header, "%s %s %d", TB_CUDA_HEADER, TB_CUDA_ENTRY, w->records);
    for (size_t i = 0; i < kinds->size; i++) tb_text_printf(header, " %c", kinds->data[i]);
    tb_text_puts(header, ";");
    for (size_t n = 0; n < assumptions->count; n++) {
        const cuda_multiple *m = &assumptions->numbers[n];
        size_t argument = 0;
        for (uint32_t passed = 0; argument < kinds->size; argument++)
            if (kinds->data[argument] != '-' && passed++ == m->parameter) break;
        tb_text_printf(header, " %zu.%u.%u", argument, m->offset, m->size);
    }
    if (w->factor) tb_text_printf(header, "; %u", w->factor);
    tb_text_putc(header, '\n');
}

/* From the prepared kernel to the module that both entries are made of. */
static tombac_status lower(ir_kernel *kernel, work *w, tombac_error **error)
{
    tb_times_begin(kernel->times, "lower for the GPU");
    LLVMStripModuleDebugInfo(kernel->module);
    tombac_status status = cuda_linearise(kernel, error);
    w->matrices = cuda_matrix_used(kernel);
    tb_text_printf(&w->library, "/%s", w->matrices ? "cuda_matrix.bc" : "cuda.bc");
    const char *library = tb_text_string(&w->library);
    if (status == TOMBAC_OK) status = retarget(kernel, error);
    LLVMValueRef thread = NULL;
    if (status == TOMBAC_OK) status = cuda_entry_build(kernel, w->threadgroup, &w->kinds, &thread, error);
    if (status == TOMBAC_OK) status = cuda_operations_lower(kernel, thread, &w->records, error);
    if (status == TOMBAC_OK) cuda_roots_lower(kernel);
    if (status == TOMBAC_OK) status = link_library(kernel, library, error);
    if (status == TOMBAC_OK) status = close_module(kernel, w->matrices, error);
    if (status == TOMBAC_OK) status = verify(kernel, error);
    if (status == TOMBAC_OK) order_atomics(kernel);
    for (size_t i = 0; i < w->kinds.size; i++)
        if (w->kinds.data[i] != '-') tb_text_putc(&w->passed, w->kinds.data[i]);
    return status == TOMBAC_OK && (w->passed.bad || w->library.bad) ? tb_fail_memory(error) : status;
}

/* The module that code is generated from; `header` becomes the object's first line. */
static tombac_status build(
    ir_kernel *kernel, const cuda_options *options, tb_text *header, tombac_error **error)
{
    work w = {0};
    memcpy(w.threadgroup, options->threadgroup[0] ? options->threadgroup : kernel->kernel->required_threads,
        sizeof w.threadgroup);
    tb_text_printf(&w.library, "%s", options->folder);
    cuda_assumptions assumptions;
    tombac_status status = lower(kernel, &w, error);
    if (status == TOMBAC_OK) status = finish_all(kernel, &w, &assumptions, error);
    if (status == TOMBAC_OK) write_header(header, &w, &assumptions);
    if (status == TOMBAC_OK && w.records) list_literals(kernel);
    tb_text_free(&w.library);
    tb_text_free(&w.passed);
    tb_text_free(&w.kinds);
    return status == TOMBAC_OK ? verify(kernel, error) : status;
}

/* LLVM's own merging of accesses during code generation comes behind passes that give addresses other forms
 * (address.c). Loops around matrix products are unrolled as far as by the cpu engine. */
void cuda_set_llvm_options(void)
{
    static const char *const options[] = {
        "tombac-cc", "-disable-nvptx-load-store-vectorizer", "-unroll-threshold=1500"};
    LLVMParseCommandLineOptions(sizeof options / sizeof *options, options, NULL);
}

tombac_status cuda_compile(
    ir_kernel *kernel, const cuda_options *options, tb_text *object, tombac_error **error)
{
    tb_text header = {0}, code = {0};
    tombac_status status = build(kernel, options, &header, error);
    tb_times_begin(kernel->times, "PTX");
    if (status == TOMBAC_OK) status = ir_emit_object(kernel, true, &code, error);
    if (status == TOMBAC_OK) status = cuda_copy_narrow_stores(&code, error);
    tb_times_size(kernel->times, code.size);
    if (status == TOMBAC_OK) {
        tb_text_append(object, header.data, header.size);
        tb_text_append(object, code.data, code.size);
        if (object->bad) status = tb_fail_memory(error);
    }
    tb_text_free(&header);
    tb_text_free(&code);
    return status;
}
