/* check_compile: the steps in order, then passes and code. See check.h. */
#include "compiler/check/steps.h"

#include "compiler/ir/steps.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/DebugInfo.h>
#include <stdlib.h>

/* Enough to make the code small and the instrumentation cheap; no vectorisation, no unrolling. */
#define PASSES                                                                                               \
    "always-inline,function(sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,simplifycfg," \
    "loop-simplify,lcssa,loop-mssa(loop-rotate,licm),simplifycfg,instcombine<no-verify-fixpoint>,gvn,dse,"   \
    "adce,"                                                                                                  \
    "simplifycfg),globaldce"

/* For a debugger: variables stay where they are, lines in their order. */
#define DEBUG_PASSES "always-inline,globaldce"

static void open_unit(check_unit *unit, ir_kernel *kernel, tombac_error **error)
{
    LLVMContextRef c = kernel->context;
    *unit = (check_unit){.kernel = kernel,
        .module = kernel->module,
        .context = c,
        .error = error,
        .builder = LLVMCreateBuilderInContext(c),
        .i1 = LLVMInt1TypeInContext(c),
        .i8 = LLVMInt8TypeInContext(c),
        .i16 = LLVMInt16TypeInContext(c),
        .i32 = LLVMInt32TypeInContext(c),
        .i64 = LLVMInt64TypeInContext(c),
        .ptr = LLVMPointerTypeInContext(c, 0),
        .nothing = LLVMVoidTypeInContext(c)};
}

/* Cycles with several entries get one; clang makes them only from goto. */
static tombac_status make_reducible(ir_kernel *kernel, tombac_error **error)
{
    ir_cfg cfg;
    tombac_status status = ir_cfg_build(kernel->function, &cfg, error);
    if (status != TOMBAC_OK) return status;
    bool irreducible = cfg.irreducible;
    ir_cfg_free(&cfg);
    if (!irreducible) return TOMBAC_OK;
    status = ir_run_passes(kernel, "function(lower-switch,fix-irreducible)", error);
    return status == TOMBAC_OK ? ir_loops_merge_latches(kernel->function, error) : status;
}

/* {address, size} of every program-scope table that is left, as a constant array in `*array`. */
static unsigned collect_tables(check_unit *unit, LLVMValueRef *array)
{
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(unit->module);
    LLVMValueRef entries[256];
    unsigned count = 0;
    for (LLVMValueRef g = LLVMGetFirstGlobal(unit->module); g; g = LLVMGetNextGlobal(g)) {
        if (LLVMGetPointerAddressSpace(LLVMTypeOf(g)) != TB_CHECK_DEVICE || !LLVMGetInitializer(g)) continue;
        if (count == sizeof entries / sizeof entries[0])
            break; /* reads of the others must use their visible base */
        uint64_t size = LLVMABISizeOfType(layout, LLVMGlobalGetValueType(g));
        LLVMValueRef fields[2] = {LLVMConstAddrSpaceCast(g, unit->ptr), LLVMConstInt(unit->i64, size, false)};
        entries[count++] = LLVMConstStructInContext(unit->context, fields, 2, false);
    }
    LLVMTypeRef pair[2] = {unit->ptr, unit->i64};
    LLVMTypeRef type = LLVMStructTypeInContext(unit->context, pair, 2, false);
    *array =
        count ? check_constant_global(unit, LLVMConstArray2(type, entries, count)) : LLVMConstNull(unit->ptr);
    return count;
}

static void describe(check_unit *unit, uint64_t stack_size)
{
    LLVMValueRef tables;
    unsigned count = collect_tables(unit, &tables);
    if (stack_size > UINT32_MAX) {
        check_fail(unit, tb_fail(unit->error, TOMBAC_ERROR_UNSUPPORTED,
                             "the private variables take %llu bytes", (unsigned long long)stack_size));
        return;
    }
    uint64_t object_count;
    LLVMValueRef objects = check_bounds_objects(unit, &object_count);
    LLVMValueRef fields[8] = {LLVMConstInt(unit->i32, stack_size, false),
        LLVMConstInt(unit->i32, unit->site_count > 0, false), tables, LLVMConstInt(unit->i64, count, false),
        objects, LLVMConstInt(unit->i64, object_count, false), LLVMConstInt(unit->i32, unit->watches_unset, false),
        LLVMConstNull(unit->i32)};
    LLVMValueRef initial = LLVMConstStructInContext(unit->context, fields, 8, false);
    LLVMValueRef info = LLVMAddGlobal(unit->module, LLVMTypeOf(initial), TB_CHECK_INFO);
    LLVMSetInitializer(info, initial);
    LLVMSetGlobalConstant(info, true);
}

static void set_target(check_unit *unit)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(unit->module); f; f = LLVMGetNextFunction(f)) {
        if (LLVMIsDeclaration(f)) continue;
        LLVMAddTargetDependentFunctionAttr(f, "target-cpu", unit->kernel->target);
        LLVMAddTargetDependentFunctionAttr(f, "no-builtins", "true");
        if (unit->kernel->debug) LLVMAddTargetDependentFunctionAttr(f, "frame-pointer", "all");
    }
}

static tombac_status verify(check_unit *unit)
{
    char *message = NULL;
    tombac_status status = TOMBAC_OK;
    if (LLVMVerifyModule(unit->module, LLVMReturnStatusAction, &message)) {
        status = ir_internal_error(
            unit->kernel->kernel, unit->error, "invalid IR after instrumentation: %s", message);
    }
    LLVMDisposeMessage(message);
    return status;
}

tombac_status check_compile(ir_kernel *kernel, bool assembly, tb_text *object, tombac_error **error)
{
    tb_times_begin(kernel->times, "instrument");
    tombac_status status = make_reducible(kernel, error);
    if (status != TOMBAC_OK) return status;
    check_unit unit;
    open_unit(&unit, kernel, error);
    check_entry_build(&unit);
    check_unset_watch(&unit);
    if (kernel->debug) check_debug_keep(&unit, kernel->subprogram);
    check_strict_apply(&unit);
    check_sites_mark(&unit);
    check_memory_hook(&unit);
    uint64_t stack_size = check_memory_private(&unit);
    if (unit.status == TOMBAC_OK) check_fail(&unit, verify(&unit));
    if (unit.status == TOMBAC_OK) {
        set_target(&unit);
        ir_note_size(kernel->times, unit.module);
        tb_times_begin(kernel->times, "passes");
        check_fail(&unit, ir_run_passes(kernel, kernel->debug ? DEBUG_PASSES : PASSES, error));
    }
    if (unit.status == TOMBAC_OK) describe(&unit, stack_size);
    ir_note_size(kernel->times, unit.module);
    tb_times_begin(kernel->times, "machine code");
    if (!kernel->debug) LLVMStripModuleDebugInfo(unit.module); /* the code's places are constants of its own */
    if (unit.status == TOMBAC_OK) check_fail(&unit, ir_emit_object(kernel, assembly, object, error));
    tb_times_size(kernel->times, object->size);
    LLVMDisposeBuilder(unit.builder);
    check_bounds_free(&unit);
    return unit.status;
}
