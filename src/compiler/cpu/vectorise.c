/* The passes in their order, once per variant of the code; see kernel.h and cpu.h. */
#include "compiler/cpu/debug.h"
#include "compiler/ir/support.h"

#include <llvm-c/Analysis.h>
#include <stdio.h>
#include <string.h>

void cpu_set_up(cpu_kernel *k, LLVMModuleRef module, const cpu_options *options)
{
    k->options = options;
    k->module = module;
    k->context = LLVMGetModuleContext(module);
    k->layout = LLVMGetModuleDataLayout(module);
    k->function = LLVMGetNamedFunction(module, CPU_KERNEL_FUNCTION);
    if (!k->function || LLVMIsDeclaration(k->function))
        cpu_fail(&k->job, TOMBAC_ERROR_COMPILER, "cpu engine: the module has no function '%s'",
            CPU_KERNEL_FUNCTION);
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

void cpu_tear_down(cpu_kernel *k)
{
    cpu_debug_free(k);
    if (k->builder) LLVMDisposeBuilder(k->builder);
    if (k->entry_builder) LLVMDisposeBuilder(k->entry_builder);
    cpu_job_free(&k->job);
}

/* Everything found is per variant: starts from the canonical kernel again. */
void cpu_analyse(cpu_kernel *k, cpu_layout layout, int width)
{
    k->variant = layout;
    k->width = width;
    k->block_count = k->value_count = k->loop_count = k->barrier_count = 0;
    k->block_map = k->value_map = k->arguments = (cpu_map){0};
    k->barriers = NULL;
    k->pending_store = NULL;
    k->dummy = NULL;
    k->scratch = NULL;
    k->scratch_count = 0;
    k->has_barrier = false;
    cpu_graph_build(k);
    cpu_dominance_build(k);
    cpu_loops_build(k);
    cpu_order_build(k);
    cpu_arrays_find(k);
    cpu_divergence_find(k);
    cpu_masks_find(k);
    cpu_limit_find(k);
}

/* ---- Variants ---- */

enum { LARGE_KERNEL = 400 }; /* instructions */

/* Does the kernel ask for the position in y or z? */
static bool is_flat(const cpu_kernel *k)
{
    for (int v = 0; v < k->value_count; v++)
        if (k->values[v].operation.kind == OP_POSITION && k->values[v].operation.axis) return false;
    return true;
}

static bool is_narrow(uint32_t width)
{
    return width && width < LANES && !(width & (width - 1));
}

/* Which code to make beside the general one. Narrow rows, as in threadgroups of 16 x 16, are foreseen where y
 * is used: strides depend on the width, and the general code, which gathers, is many times slower. */
static int choose_variants(const cpu_kernel *k, cpu_variant *variants)
{
    const uint32_t *threads = k->options->threads;
    bool known = threads[0] && threads[1] && threads[2], flat = is_flat(k);
    int count = 0;
    if (known && is_narrow(threads[0]) && threads[1] * threads[2] > 1) {
        variants[count++] = (cpu_variant){.layout = LAYOUT_BOX, .width = (int)threads[0]};
        return count;
    }
    variants[count++] = (cpu_variant){.layout = LAYOUT_ROWS};
    if (known || flat || k->value_count > LARGE_KERNEL) return count;
    variants[count++] = (cpu_variant){.layout = LAYOUT_BOX, .width = 16};
    variants[count++] = (cpu_variant){.layout = LAYOUT_BOX, .width = 8};
    return count;
}

static void verify(cpu_kernel *k)
{
    char *message = NULL, copy[400];
    bool broken = LLVMVerifyModule(k->module, LLVMReturnStatusAction, &message);
    strncpy(copy, message ? message : "", sizeof copy - 1);
    copy[sizeof copy - 1] = 0;
    LLVMDisposeMessage(message);
    if (broken) cpu_fail(&k->job, TOMBAC_ERROR_COMPILER, "cpu engine: made invalid code: %s", copy);
}

/* Tells the driver that buffers must not be larger than TB_CPU_MAX_SMALL_BUFFER. */
static void declare_assumption(cpu_kernel *k)
{
    LLVMValueRef flag = LLVMAddGlobal(k->module, k->i32, TB_CPU_SMALL_BUFFERS);
    LLVMSetInitializer(flag, cpu_int(k->i32, 1));
    LLVMSetGlobalConstant(flag, 1);
}

static void vectorise(cpu_kernel *k, LLVMModuleRef module, const cpu_options *options, size_t *context_size)
{
    tb_times_begin(options->times, "analyse");
    cpu_set_up(k, module, options);
    cpu_prepare(k);
    cpu_variant variants[MAX_VARIANTS];
    size_t used = 0;
    cpu_analyse(k, LAYOUT_ROWS, 0);
    int count = choose_variants(k, variants);
    k->defers = options->rest && !options->whole && !options->debug && !options->report &&
                (uint32_t)k->value_count >= options->defer_from;
    if (cpu_loops_split(k)) cpu_prepare_again(k);
    variants[count++] = (cpu_variant){.layout = LAYOUT_GENERAL};
    cpu_tallies_find(k);
    for (int i = 0; i < count; i++) {
        static const char *const phases[] = {"vectorise, rows", "vectorise, boxes", "vectorise, general"};
        char name[40];
        tb_times_begin(options->times, phases[variants[i].layout]);
        snprintf(name, sizeof name, "tombac.step.%s%d",
            (const char *[]){"rows", "box", "general"}[variants[i].layout], variants[i].width);
        bool apart = k->defers && variants[i].layout == LAYOUT_GENERAL;
        cpu_analyse(k, variants[i].layout, variants[i].width);
        k->context_used = 64;
        variants[i].step = cpu_step_emit(k, apart ? TB_CPU_GENERAL : name);
        if (options->times) tb_times_size(options->times, ir_instruction_count(variants[i].step));
        cpu_report_end_variant(k);
        if (k->context_used > used) used = k->context_used;
    }
    tb_times_begin(options->times, "entry, verify");
    k->context_used = k->has_barrier || used > 64 ? (used + 63) / 64 * 64 : 0;
    if (k->index_assumed) declare_assumption(k);
    cpu_tallies_declare(k);
    cpu_entry_emit(k, variants, count);
    LLVMDeleteFunction(k->function);
    cpu_debug_finish(k);
    verify(k);
    if (k->defers) cpu_defer_general(k, variants, count);
    *context_size = k->context_used;
}

static void vectorise_or_leave(
    cpu_kernel *k, LLVMModuleRef module, const cpu_options *options, size_t *context_size)
{
    if (!setjmp(k->job.leave)) vectorise(k, module, options, context_size);
}

tombac_status cpu_vectorise(
    LLVMModuleRef module, const cpu_options *options, size_t *context_size, tombac_error **error)
{
    cpu_kernel k = {.job = {.error = error}};
    size_t size = 0;
    vectorise_or_leave(&k, module, options, &size);
    if (!k.job.status) *context_size = size;
    cpu_tear_down(&k);
    return k.job.status;
}
