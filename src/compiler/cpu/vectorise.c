/* The passes in their order, once per variant of the code; see kernel.h and cpu.h. */
#include "compiler/cpu/kernel.h"

#include <llvm-c/Analysis.h>
#include <string.h>

void cpu_set_up(cpu_kernel *k, LLVMModuleRef module, const cpu_options *options)
{
    k->options = options;
    k->module = module;
    k->context = LLVMGetModuleContext(module);
    k->layout = LLVMGetModuleDataLayout(module);
    k->function = LLVMGetNamedFunction(module, CPU_KERNEL_FUNCTION);
    if (!k->function || LLVMIsDeclaration(k->function))
        cpu_fail(&k->job, TOMBAC_ERROR_COMPILER, "cpu engine: the module has no function '%s'", CPU_KERNEL_FUNCTION);
    k->i1 = LLVMInt1TypeInContext(k->context);
    k->i8 = LLVMInt8TypeInContext(k->context);
    k->i16 = LLVMInt16TypeInContext(k->context);
    k->i32 = LLVMInt32TypeInContext(k->context);
    k->i64 = LLVMInt64TypeInContext(k->context);
    k->ptr = LLVMPointerTypeInContext(k->context, 0);
    k->f32 = LLVMFloatTypeInContext(k->context);
    k->mask_type = LLVMVectorType(k->i1, LANES);
    LLVMValueRef ones[LANES];
    for (int i = 0; i < LANES; i++) ones[i] = cpu_int(k->i1, 1);
    k->all = LLVMConstVector(ones, LANES);
    k->piece_bytes = strcmp(options->target, "x86-64-v4") ? 32 : 64;
    k->builder = LLVMCreateBuilderInContext(k->context);
    k->entry_builder = LLVMCreateBuilderInContext(k->context);
}

/* Rows of a power of two below 32 lanes, whole rows in each SIMD-group. */
static bool is_box(const uint32_t *threads)
{
    uint32_t w = threads[0], h = threads[1], d = threads[2];
    if (!w || w >= LANES || (w & (w - 1)) || h * d == 1) return false;
    return d == 1 || h % (LANES / w) == 0;
}

void cpu_tear_down(cpu_kernel *k)
{
    if (k->builder) LLVMDisposeBuilder(k->builder);
    if (k->entry_builder) LLVMDisposeBuilder(k->entry_builder);
    cpu_job_free(&k->job);
}

/* Everything found is per variant: starts from the canonical kernel again. */
void cpu_analyse(cpu_kernel *k, cpu_layout variant)
{
    k->variant = variant;
    k->block_count = k->value_count = k->loop_count = k->barrier_count = 0;
    k->block_map = k->value_map = k->arguments = (cpu_map){0};
    k->barriers = NULL;
    k->pending_store = NULL;
    k->dummy = NULL;
    k->has_barrier = false;
    cpu_graph_build(k);
    cpu_dominance_build(k);
    cpu_loops_build(k);
    cpu_order_build(k);
    cpu_arrays_find(k);
    cpu_divergence_find(k);
    cpu_masks_find(k);
}

static void vectorise(cpu_kernel *k, LLVMModuleRef module, const cpu_options *options, size_t *context_size)
{
    cpu_set_up(k, module, options);
    cpu_prepare(k);
    cpu_layout fast = is_box(options->threads) ? LAYOUT_BOX : LAYOUT_ROWS;
    LLVMValueRef steps[2];
    size_t used = 0;
    k->context_used = 64;
    cpu_analyse(k, fast);
    steps[0] = cpu_step_emit(k, "tombac.step");
    used = k->context_used;
    k->context_used = 64;
    cpu_analyse(k, LAYOUT_GENERAL);
    steps[1] = cpu_step_emit(k, "tombac.step.general");
    if (k->context_used > used) used = k->context_used;
    k->context_used = k->has_barrier ? (used + 63) / 64 * 64 : 0;
    k->variant = fast;
    cpu_entry_emit(k, steps[0], steps[1]);
    LLVMDeleteFunction(k->function);
    *context_size = k->context_used;
    char *message = NULL;
    bool broken = LLVMVerifyModule(module, LLVMReturnStatusAction, &message);
    char copy[400];
    strncpy(copy, message ? message : "", sizeof copy - 1);
    copy[sizeof copy - 1] = 0;
    LLVMDisposeMessage(message);
    if (broken) cpu_fail(&k->job, TOMBAC_ERROR_COMPILER, "cpu engine: made invalid code: %s", copy);
}

static void vectorise_or_leave(cpu_kernel *k, LLVMModuleRef module, const cpu_options *options, size_t *context_size)
{
    if (!setjmp(k->job.leave)) vectorise(k, module, options, context_size);
}

tombac_status cpu_vectorise(LLVMModuleRef module, const cpu_options *options, size_t *context_size, tombac_error **error)
{
    cpu_kernel k = {.job = {.error = error}};
    size_t size = 0;
    vectorise_or_leave(&k, module, options, &size);
    if (!k.job.status) *context_size = size;
    cpu_tear_down(&k);
    return k.job.status;
}
