/* The step function's frame, the loop over SIMD-groups, and the entry point that runs one threadgroup.
 *
 * A step runs one SIMD-group; there is one per variant (cpu_layout). The entry looks at the threadgroup's
 * shape and chooses a variant for its full SIMD-groups; what is left, or everything if no variant fits, runs
 * by the general one under a mask of the threads that exist. Without barriers that is two loops with the
 * steps inlined. With barriers a round runs every SIMD-group to its next barrier, until all have returned; a
 * SIMD-group's context begins with the number of the barrier at which it waits (0: it has returned).
 * SIMD-groups that wait at different barriers are the program's fault and reported; copies of one barrier, which
 * templates and inlining make of a line of the source, are the same barrier. */
#include "compiler/cpu/debug.h"
#include "compiler/ir/support.h"

#include <stddef.h>
#include <string.h>

/* ---- Attributes ---- */

LLVMAttributeRef cpu_attribute(cpu_kernel *k, const char *name, uint64_t value)
{
    return LLVMCreateEnumAttribute(k->context, LLVMGetEnumAttributeKindForName(name, strlen(name)), value);
}

static void add_string(cpu_kernel *k, LLVMValueRef function, const char *name, const char *value)
{
    LLVMAttributeRef attribute =
        LLVMCreateStringAttribute(k->context, name, (unsigned)strlen(name), value, (unsigned)strlen(value));
    LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex, attribute);
}

void cpu_function_attributes(cpu_kernel *k, LLVMValueRef function)
{
    add_string(k, function, "target-cpu", k->options->target);
    add_string(k, function, "target-features", CPU_TARGET_FEATURES);
    add_string(k, function, "prefer-vector-width", k->piece_bytes == 64 ? "512" : "256");
    add_string(k, function, "min-legal-vector-width", k->piece_bytes == 64 ? "512" : "256");
    if (k->options->debug) add_string(k, function, "frame-pointer", "all");
    LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex, cpu_attribute(k, "nounwind", 0));
}

static void add_parameter_attributes(
    cpu_kernel *k, LLVMValueRef function, unsigned index, const char *const *names)
{
    for (; *names; names++) LLVMAddAttributeAtIndex(function, index + 1, cpu_attribute(k, *names, 0));
}

static void dispatch_attributes(cpu_kernel *k, LLVMValueRef function, unsigned index)
{
    static const char *const names[] = {"noalias", "readonly", "nonnull", NULL};
    add_parameter_attributes(k, function, index, names);
    LLVMAddAttributeAtIndex(function, index + 1, cpu_attribute(k, "dereferenceable", sizeof(tb_dispatch)));
    LLVMAddAttributeAtIndex(function, index + 1, cpu_attribute(k, "align", _Alignof(tb_dispatch)));
}

static void copy_parameter_attributes(cpu_kernel *k, LLVMValueRef to)
{
    static const char *const names[] = {"noalias", "readonly", "nonnull", "dereferenceable", "align"};
    unsigned count = LLVMCountParams(k->function);
    for (unsigned i = 1; i <= count; i++)
        for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
            unsigned kind = LLVMGetEnumAttributeKindForName(names[n], strlen(names[n]));
            LLVMAttributeRef attribute = LLVMGetEnumAttributeAtIndex(k->function, i, kind);
            if (attribute) LLVMAddAttributeAtIndex(to, i, attribute);
        }
}

/* ---- Positions of a SIMD-group's first thread, or of all ---- */

static LLVMValueRef load_field(cpu_kernel *k, LLVMBuilderRef b, LLVMValueRef dispatch, size_t offset)
{
    LLVMValueRef index = cpu_int(k->i64, offset);
    LLVMValueRef load = LLVMBuildLoad2(b, k->i32, LLVMBuildGEP2(b, k->i8, dispatch, &index, 1, ""), "");
    LLVMValueRef empty = LLVMMetadataAsValue(k->context, LLVMMDNodeInContext2(k->context, NULL, 0));
    LLVMSetMetadata(load, LLVMGetMDKindIDInContext(k->context, "invariant.load", 14), empty);
    return load;
}

static LLVMValueRef threads(cpu_kernel *k, LLVMBuilderRef b, LLVMValueRef dispatch, unsigned axis)
{
    if (k->options->whole) return cpu_int(k->i32, k->options->threads[axis]);
    return load_field(k, b, dispatch, offsetof(tb_dispatch, threads_per_threadgroup) + 4 * axis);
}

static LLVMValueRef thread_count(cpu_kernel *k, LLVMBuilderRef b, LLVMValueRef dispatch)
{
    const uint32_t *size = k->options->threads;
    if (k->options->whole) return cpu_int(k->i32, (uint64_t)size[0] * size[1] * size[2]);
    return load_field(k, b, dispatch, offsetof(tb_dispatch, thread_count));
}

/* n / d as (n * ceil(2^20 / d)) >> 20: exact for n, d up to 1024, since n times the error of the factor is
 * below 2^20 / d. */
static LLVMValueRef reciprocal(cpu_kernel *k, LLVMBuilderRef b, LLVMValueRef d)
{
    LLVMValueRef top = LLVMBuildAdd(b, d, cpu_int(k->i32, (1 << 20) - 1), "");
    return LLVMBuildUDiv(b, top, d, "");
}

static LLVMValueRef divide(cpu_kernel *k, LLVMValueRef n, LLVMValueRef factor)
{
    LLVMValueRef shift = cpu_int(k->i32, 20);
    if (LLVMGetTypeKind(LLVMTypeOf(n)) == LLVMVectorTypeKind) {
        factor = cpu_splat(k, factor);
        shift = cpu_splat(k, shift);
    }
    return LLVMBuildLShr(k->builder, LLVMBuildMul(k->builder, n, factor, ""), shift, "");
}

static LLVMValueRef times(cpu_kernel *k, LLVMValueRef a, LLVMValueRef scalar)
{
    if (LLVMGetTypeKind(LLVMTypeOf(a)) == LLVMVectorTypeKind) scalar = cpu_splat(k, scalar);
    return LLVMBuildMul(k->builder, a, scalar, "");
}

/* `line` counts rows of threads from the first; splits it into y and z. */
static void split_line(cpu_kernel *k, LLVMValueRef line)
{
    LLVMValueRef height = threads(k, k->builder, k->parameter[PARAM_DISPATCH], 1);
    k->position[2] = divide(k, line, k->parameter[PARAM_HEIGHT_FACTOR]);
    k->position[1] = LLVMBuildSub(k->builder, line, times(k, k->position[2], height), "");
}

static void find_positions(cpu_kernel *k)
{
    LLVMBuilderRef b = k->builder;
    LLVMValueRef simdgroup = k->parameter[PARAM_SIMDGROUP], dispatch = k->parameter[PARAM_DISPATCH];
    LLVMValueRef width = threads(k, b, dispatch, 0), factor = k->parameter[PARAM_WIDTH_FACTOR];
    k->thread_base = LLVMBuildNUWMul(b, simdgroup, cpu_int(k->i32, LANES), "");
    k->entry_mask = k->all;
    if (k->variant == LAYOUT_GENERAL) {
        LLVMValueRef index = LLVMBuildAdd(b, cpu_splat(k, k->thread_base), cpu_lane_numbers(k, k->i32), "");
        LLVMValueRef count = thread_count(k, b, dispatch);
        k->entry_mask = LLVMBuildICmp(b, LLVMIntULT, index, cpu_splat(k, count), "");
        LLVMValueRef line = divide(k, index, factor);
        k->position[0] = LLVMBuildSub(b, index, times(k, line, width), "");
        split_line(k, line);
    } else if (k->variant == LAYOUT_ROWS) {
        /* SIMD-groups per row; all of them where there is one row only. */
        LLVMValueRef line = divide(k, simdgroup, factor), per_row = k->parameter[PARAM_GROUPS_PER_ROW];
        LLVMValueRef in_row = LLVMBuildSub(b, simdgroup, LLVMBuildMul(b, line, per_row, ""), "");
        k->position[0] = LLVMBuildNUWMul(b, in_row, cpu_int(k->i32, LANES), "");
        split_line(k, line);
    } else {
        k->position[0] = cpu_int(k->i32, 0);
        split_line(k, LLVMBuildNUWMul(b, simdgroup, cpu_int(k->i32, (uint64_t)(LANES / k->width)), ""));
    }
}

/* ---- The step function ---- */

static bool is_pointer(unsigned parameter)
{
    return parameter == PARAM_DISPATCH || parameter == PARAM_MEMORY || parameter == PARAM_CONTEXT ||
           parameter == PARAM_STOP;
}

/* Instructions of a kernel with barriers up to which steps are inlined: their calls would cost as much as they do. */
enum { SMALL_STEP = 80 };

static LLVMTypeRef step_type(cpu_kernel *k, LLVMTypeRef *types)
{
    unsigned count = LLVMCountParams(k->function);
    for (unsigned i = 0; i < count; i++) types[i] = LLVMTypeOf(LLVMGetParam(k->function, i));
    for (unsigned i = 0; i < PARAM_COUNT; i++)
        types[count + i] = is_pointer(i) ? k->ptr : k->i32;
    LLVMTypeRef result = k->has_barrier ? k->i32 : LLVMVoidTypeInContext(k->context);
    return LLVMFunctionType(result, types, count + PARAM_COUNT, 0);
}

static void declare_step(cpu_kernel *k, const char *name)
{
    static const char *const own[] = {"noalias", NULL};
    unsigned count = LLVMCountParams(k->function);
    LLVMTypeRef *types = cpu_alloc(&k->job, count + PARAM_COUNT, sizeof *types);
    k->step = LLVMAddFunction(k->module, name, step_type(k, types));
    bool apart = k->defers && k->variant == LAYOUT_GENERAL;
    LLVMSetLinkage(k->step, apart ? LLVMExternalLinkage : LLVMInternalLinkage);
    cpu_function_attributes(k, k->step);
    copy_parameter_attributes(k, k->step);
    dispatch_attributes(k, k->step, count + PARAM_DISPATCH);
    add_parameter_attributes(k, k->step, count + PARAM_MEMORY, own);
    add_parameter_attributes(k, k->step, count + PARAM_CONTEXT, own);
    LLVMAddAttributeAtIndex(k->step, count + PARAM_CONTEXT + 1,
        LLVMCreateStringAttribute(
            k->context, CPU_CONTEXT_ATTRIBUTE, sizeof CPU_CONTEXT_ATTRIBUTE - 1, "", 0));
    add_parameter_attributes(k, k->step, count + PARAM_STOP, own);
    if (!apart && (!k->has_barrier || k->value_count <= SMALL_STEP))
        LLVMAddAttributeAtIndex(k->step, LLVMAttributeFunctionIndex, cpu_attribute(k, "alwaysinline", 0));
    for (unsigned i = 0; i < count; i++)
        cpu_map_put(&k->job, &k->arguments, LLVMGetParam(k->function, i), (int)i);
    for (unsigned i = 0; i < PARAM_COUNT; i++) k->parameter[i] = LLVMGetParam(k->step, count + i);
}

LLVMValueRef cpu_step_emit(cpu_kernel *k, const char *name)
{
    declare_step(k, name);
    k->entry = cpu_new_block(k, "entry");
    LLVMBasicBlockRef values = cpu_new_block(k, "positions");
    k->init = cpu_new_block(k, "start");
    cpu_debug_begin(k, name);
    LLVMPositionBuilderAtEnd(k->entry_builder, k->entry);
    LLVMPositionBuilderAtEnd(k->builder, values);
    find_positions(k);
    LLVMPositionBuilderAtEnd(k->builder, k->init);
    cpu_linearise(k);
    LLVMBuildBr(k->entry_builder, values);
    LLVMPositionBuilderAtEnd(k->builder, values);
    if (!k->has_barrier) {
        LLVMBuildBr(k->builder, k->init);
        cpu_debug_end(k);
        return k->step;
    }
    LLVMValueRef states =
        LLVMBuildSwitch(k->builder, k->parameter[PARAM_STATE], k->init, (unsigned)k->barrier_count);
    for (int i = 0; i < k->barrier_count; i++)
        LLVMAddCase(states, cpu_int(k->i32, (uint64_t)i + 1), k->barriers[i].resume);
    cpu_barrier_save(k);
    cpu_debug_end(k);
    return k->step;
}

/* ---- The entry point ---- */

typedef struct entry {
    cpu_kernel *k;
    LLVMBuilderRef b;
    const cpu_variant *variants; /* the last is the general one */
    int variant_count;
    LLVMValueRef function, *arguments; /* of the steps */
    LLVMValueRef chosen, full, count;  /* variant for SIMD-groups 0 to full - 1; number of all */
    LLVMValueRef row_factor, width_factor, contexts;
    LLVMValueRef general; /* address of the general step, where it is not in this module */
    unsigned kernel_arguments;
} entry;

static LLVMBasicBlockRef new_block(entry *e, const char *name)
{
    return LLVMAppendBasicBlockInContext(e->k->context, e->function, name);
}

static void phi2(
    LLVMValueRef phi, LLVMValueRef a, LLVMBasicBlockRef from_a, LLVMValueRef b, LLVMBasicBlockRef from_b)
{
    LLVMValueRef values[2] = {a, b};
    LLVMBasicBlockRef blocks[2] = {from_a, from_b};
    LLVMAddIncoming(phi, values, blocks, 2);
}

static LLVMValueRef call_step(
    entry *e, int which, LLVMValueRef simdgroup, LLVMValueRef context, LLVMValueRef state)
{
    LLVMValueRef *own = e->arguments + e->kernel_arguments, step = e->variants[which].step;
    own[PARAM_SIMDGROUP] = simdgroup;
    own[PARAM_CONTEXT] = context;
    own[PARAM_WIDTH_FACTOR] = which == e->variant_count - 1 ? e->width_factor : e->row_factor;
    own[PARAM_STATE] = state;
    LLVMTypeRef type = LLVMGlobalGetValueType(step);
    if (e->general && which == e->variant_count - 1) step = e->general;
    return LLVMBuildCall2(e->b, type, step, e->arguments, e->kernel_arguments + PARAM_COUNT, "");
}

static LLVMValueRef is_number(entry *e, LLVMValueRef x, uint64_t number)
{
    return LLVMBuildICmp(e->b, LLVMIntEQ, x, cpu_int(e->k->i32, number), "");
}

static LLVMValueRef is_zero(entry *e, LLVMValueRef x)
{
    return is_number(e, x, 0);
}

/* May this variant run the full SIMD-groups of a threadgroup of this size? */
static LLVMValueRef variant_fits(
    entry *e, const cpu_variant *variant, const LLVMValueRef *size, LLVMValueRef one_row)
{
    LLVMBuilderRef b = e->b;
    if (variant->layout == LAYOUT_ROWS)
        return LLVMBuildOr(
            b, one_row, is_zero(e, LLVMBuildAnd(b, size[0], cpu_int(e->k->i32, LANES - 1), "")), "");
    uint64_t rows =
        (uint64_t)(LANES / variant->width); /* a SIMD-group must not begin or end within a layer */
    LLVMValueRef layers = LLVMBuildOr(b, is_number(e, size[2], 1),
        is_zero(e, LLVMBuildAnd(b, size[1], cpu_int(e->k->i32, rows - 1), "")), "");
    return LLVMBuildAnd(b, is_number(e, size[0], (uint64_t)variant->width), layers, "");
}

/* The factors that replace divisions, for `per_row` SIMD-groups per row. In one row only, all SIMD-groups are of line 0,
 * which constants say as well. */
static void find_factors(entry *e, const LLVMValueRef *size, LLVMValueRef one_row, LLVMValueRef per_row)
{
    cpu_kernel *k = e->k;
    LLVMValueRef *own = e->arguments + e->kernel_arguments, constant = cpu_int(k->i32, (1 << 20) / LANES);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(e->b), lines = new_block(e, "lines"), end = new_block(e, "factors");
    LLVMBuildCondBr(e->b, one_row, end, lines);
    LLVMPositionBuilderAtEnd(e->b, lines);
    LLVMValueRef row = reciprocal(k, e->b, per_row), height = reciprocal(k, e->b, size[1]);
    LLVMBuildBr(e->b, end);
    LLVMPositionBuilderAtEnd(e->b, end);
    e->row_factor = LLVMBuildPhi(e->b, k->i32, "");
    own[PARAM_HEIGHT_FACTOR] = LLVMBuildPhi(e->b, k->i32, "");
    phi2(e->row_factor, constant, before, row, lines);
    phi2(own[PARAM_HEIGHT_FACTOR], constant, before, height, lines);
    own[PARAM_GROUPS_PER_ROW] = per_row;
}

/* The general variant's factor, needed only if it runs: that of the width. */
static void find_width_factor(entry *e, LLVMValueRef width)
{
    cpu_kernel *k = e->k;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(e->b), some = new_block(e, "partial"), end = new_block(e, "width");
    LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntULT, e->full, e->count, ""), some, end);
    LLVMPositionBuilderAtEnd(e->b, some);
    LLVMValueRef factor = reciprocal(k, e->b, width);
    LLVMBuildBr(e->b, end);
    LLVMPositionBuilderAtEnd(e->b, end);
    e->width_factor = LLVMBuildPhi(e->b, k->i32, "");
    phi2(e->width_factor, cpu_int(k->i32, 0), before, factor, some);
}

/* Counts, the variant and its share, and the factors. */
static void find_shape(entry *e, LLVMValueRef dispatch)
{
    cpu_kernel *k = e->k;
    LLVMBuilderRef b = e->b;
    LLVMValueRef size[3], five = cpu_int(k->i32, LANE_BITS), one = cpu_int(k->i32, 1);
    for (unsigned i = 0; i < 3; i++) size[i] = threads(k, b, dispatch, i);
    LLVMValueRef count = thread_count(k, b, dispatch);
    e->count = LLVMBuildLShr(b, LLVMBuildNUWAdd(b, count, cpu_int(k->i32, LANES - 1), ""), five, "");
    LLVMValueRef one_row = is_number(e, LLVMBuildMul(b, size[1], size[2], ""), 1);
    int general = e->variant_count - 1;
    e->chosen = cpu_int(k->i32, (uint64_t)general);
    for (int i = general - 1; i >= 0; i--) {
        LLVMValueRef fits = variant_fits(e, &e->variants[i], size, one_row);
        e->chosen = LLVMBuildSelect(b, fits, cpu_int(k->i32, (uint64_t)i), e->chosen, "");
    }
    LLVMValueRef none = is_number(e, e->chosen, (uint64_t)general);
    e->full = LLVMBuildSelect(b, none, cpu_int(k->i32, 0), LLVMBuildLShr(b, count, five, ""), "");
    LLVMValueRef per_row = LLVMBuildLShr(b, size[0], five, "");
    per_row = LLVMBuildSelect(b, one_row, cpu_int(k->i32, LANES), per_row, "");
    per_row = LLVMBuildSelect(b, is_zero(e, per_row), one, per_row, ""); /* not used then */
    find_factors(e, size, one_row, per_row);
    find_width_factor(e, size[0]);
}

/* for (sg = from; sg < to; sg++) step(sg) */
static void emit_loop(entry *e, int which, LLVMValueRef from, LLVMValueRef to)
{
    cpu_kernel *k = e->k;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(e->b), loop = new_block(e, "simdgroup"),
                      end = new_block(e, "end");
    LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntULT, from, to, ""), loop, end);
    LLVMPositionBuilderAtEnd(e->b, loop);
    LLVMValueRef simdgroup = LLVMBuildPhi(e->b, k->i32, "");
    call_step(e, which, simdgroup, e->contexts, cpu_int(k->i32, 0)); /* one context after the other */
    LLVMValueRef next = LLVMBuildNUWAdd(e->b, simdgroup, cpu_int(k->i32, 1), "");
    LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntULT, next, to, ""), loop, end);
    LLVMValueRef values[2] = {from, next};
    LLVMBasicBlockRef blocks[2] = {before, loop};
    LLVMAddIncoming(simdgroup, values, blocks, 2);
    LLVMPositionBuilderAtEnd(e->b, end);
}

static void emit_loops(entry *e)
{
    cpu_kernel *k = e->k;
    int general = e->variant_count - 1;
    LLVMBasicBlockRef rest = new_block(e, "rest");
    LLVMValueRef choice = LLVMBuildSwitch(e->b, e->chosen, rest, (unsigned)general);
    for (int i = 0; i < general; i++) {
        LLVMBasicBlockRef block = new_block(e, "variant");
        LLVMAddCase(choice, cpu_int(k->i32, (uint64_t)i), block);
        LLVMPositionBuilderAtEnd(e->b, block);
        emit_loop(e, i, cpu_int(k->i32, 0), e->full);
        LLVMBuildBr(e->b, rest);
    }
    LLVMPositionBuilderAtEnd(e->b, rest);
    emit_loop(e, general, e->full, e->count);
}

static void report_divergence(entry *e, LLVMValueRef wrong, LLVMBasicBlockRef go_on)
{
    cpu_kernel *k = e->k;
    LLVMBasicBlockRef report = new_block(e, "diverged");
    LLVMBuildCondBr(e->b, wrong, report, go_on);
    LLVMPositionBuilderAtEnd(e->b, report);
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(k->context), NULL, 0, 0);
    LLVMValueRef fail = LLVMGetNamedFunction(k->module, TB_CPU_DIVERGENT_BARRIER);
    if (!fail) fail = LLVMAddFunction(k->module, TB_CPU_DIVERGENT_BARRIER, type);
    LLVMBuildCall2(e->b, type, fail, NULL, 0, "");
    LLVMBuildRetVoid(e->b);
}

/* Runs the step of the variant for this SIMD-group; goes on in `ran`, where the result is a phi. */
static LLVMValueRef run_chosen(
    entry *e, LLVMValueRef simdgroup, LLVMValueRef context, LLVMValueRef state, LLVMBasicBlockRef ran)
{
    cpu_kernel *k = e->k;
    int general = e->variant_count - 1;
    LLVMValueRef is_full = LLVMBuildICmp(e->b, LLVMIntULT, simdgroup, e->full, ""), results[MAX_VARIANTS];
    LLVMValueRef which = LLVMBuildSelect(e->b, is_full, e->chosen, cpu_int(k->i32, (uint64_t)general), "");
    LLVMBasicBlockRef blocks[MAX_VARIANTS];
    for (int i = 0; i <= general; i++) blocks[i] = new_block(e, "variant");
    LLVMValueRef choice = LLVMBuildSwitch(e->b, which, blocks[general], (unsigned)general);
    for (int i = 0; i <= general; i++) {
        if (i < general) LLVMAddCase(choice, cpu_int(k->i32, (uint64_t)i), blocks[i]);
        LLVMPositionBuilderAtEnd(e->b, blocks[i]);
        results[i] = call_step(e, i, simdgroup, context, state);
        LLVMBuildBr(e->b, ran);
    }
    LLVMPositionBuilderAtEnd(e->b, ran);
    LLVMValueRef result = LLVMBuildPhi(e->b, k->i32, "result");
    LLVMAddIncoming(result, results, blocks, (unsigned)e->variant_count);
    return result;
}

static bool same_place(LLVMValueRef a, LLVMValueRef b)
{
    ir_position x = ir_instruction_position(a), y = ir_instruction_position(b);
    return x.file && y.file && x.line == y.line && x.file_length == y.file_length &&
           memcmp(x.file, y.file, x.file_length) == 0;
}

/* The barrier that stands for all copies of barrier `state`, a number from 1; 0 stays 0. */
static LLVMValueRef barrier_of(entry *e, LLVMValueRef state)
{
    cpu_kernel *k = e->k;
    unsigned count = (unsigned)k->barrier_count + 1;
    LLVMValueRef *numbers = cpu_alloc(&k->job, count, sizeof *numbers);
    bool copies = false;
    for (unsigned i = 0; i < count; i++) {
        unsigned first = i ? 1 : 0;
        while (first < i && !same_place(k->barriers[first - 1].ir, k->barriers[i - 1].ir)) first++;
        copies |= first != i;
        numbers[i] = cpu_int(k->i32, first);
    }
    if (!copies) return state;
    LLVMTypeRef type = LLVMArrayType2(k->i32, count);
    LLVMValueRef table = LLVMAddGlobal(k->module, type, "tombac.barriers");
    LLVMSetInitializer(table, LLVMConstArray2(k->i32, numbers, count));
    LLVMSetGlobalConstant(table, 1);
    LLVMSetLinkage(table, LLVMPrivateLinkage);
    LLVMValueRef index[2] = {cpu_int(k->i32, 0), state};
    return LLVMBuildLoad2(e->b, k->i32, LLVMBuildGEP2(e->b, type, table, index, 2, ""), "barrier");
}

/* Rounds from barrier to barrier. */
static void emit_rounds(entry *e)
{
    cpu_kernel *k = e->k;
    LLVMBuilderRef b = e->b;
    LLVMValueRef zero = cpu_int(k->i32, 0), start = cpu_int(k->i32, (uint64_t)k->barrier_count + 1);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b), round = new_block(e, "round"),
                      group = new_block(e, "simdgroup");
    LLVMBasicBlockRef look = new_block(e, "look"), run = new_block(e, "run"), ran = new_block(e, "ran");
    LLVMBasicBlockRef agree = new_block(e, "agree"), next = new_block(e, "next"), done = new_block(e, "done");
    LLVMBasicBlockRef end = new_block(e, "end");
    LLVMBuildBr(b, round);

    LLVMPositionBuilderAtEnd(b, round);
    LLVMValueRef first = LLVMBuildPhi(b, k->i1, "first");
    LLVMBuildBr(b, group);

    LLVMPositionBuilderAtEnd(b, group);
    LLVMValueRef simdgroup = LLVMBuildPhi(b, k->i32, "simdgroup"), waits = LLVMBuildPhi(b, k->i32, "waits");
    LLVMValueRef offset =
        LLVMBuildNUWMul(b, LLVMBuildZExt(b, simdgroup, k->i64, ""), cpu_int(k->i64, k->context_used), "");
    LLVMValueRef context = LLVMBuildGEP2(b, k->i8, e->contexts, &offset, 1, "context");
    LLVMBuildCondBr(b, first, run, look);

    LLVMPositionBuilderAtEnd(b, look); /* has it returned? */
    LLVMValueRef waits_at = LLVMBuildLoad2(b, k->i32, context, "");
    LLVMBuildCondBr(b, is_zero(e, waits_at), next, run);

    LLVMPositionBuilderAtEnd(b, run);
    LLVMValueRef state = LLVMBuildPhi(b, k->i32, "state");
    phi2(state, start, group, waits_at, look);
    LLVMValueRef result = run_chosen(e, simdgroup, context, state, ran);
    LLVMBuildStore(b, result, context);
    result = barrier_of(e, result);
    LLVMValueRef differs = LLVMBuildICmp(b, LLVMIntNE, result, waits, "");
    LLVMValueRef both =
        LLVMBuildAnd(b, LLVMBuildNot(b, is_zero(e, result), ""), LLVMBuildNot(b, is_zero(e, waits), ""), "");
    report_divergence(e, LLVMBuildAnd(b, differs, both, ""), agree);

    LLVMPositionBuilderAtEnd(b, agree);
    LLVMValueRef together = LLVMBuildOr(b, result, waits, "");
    LLVMBuildBr(b, next);

    LLVMPositionBuilderAtEnd(b, next);
    LLVMValueRef now_waits = LLVMBuildPhi(b, k->i32, "");
    phi2(now_waits, waits, look, together, agree);
    LLVMValueRef following = LLVMBuildNUWAdd(b, simdgroup, cpu_int(k->i32, 1), "");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, following, e->count, ""), group, done);
    phi2(simdgroup, zero, round, following, next);
    phi2(waits, zero, round, now_waits, next);

    LLVMPositionBuilderAtEnd(b, done);
    LLVMBuildCondBr(b, is_zero(e, now_waits), end, round);
    phi2(first, cpu_int(k->i1, 1), before, cpu_int(k->i1, 0), done);
    LLVMPositionBuilderAtEnd(b, end);
}

static LLVMValueRef load_pointer(
    cpu_kernel *k, LLVMBuilderRef b, LLVMTypeRef type, LLVMValueRef base, size_t offset)
{
    LLVMValueRef index = cpu_int(k->i64, offset);
    LLVMValueRef at = LLVMBuildGEP2(b, k->i8, base, &index, 1, "");
    if (LLVMGetTypeKind(type) != LLVMPointerTypeKind)
        cpu_fail(&k->job, TOMBAC_ERROR_COMPILER, "cpu engine: an argument that is no pointer");
    return LLVMBuildLoad2(b, type, at, "");
}

void cpu_entry_emit(cpu_kernel *k, const cpu_variant *variants, int count)
{
    entry e = {.k = k,
        .b = k->builder,
        .variants = variants,
        .variant_count = count,
        .kernel_arguments = LLVMCountParams(k->function)};
    LLVMTypeRef types[3] = {k->ptr, k->ptr, k->ptr};
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(k->context), types, 3, 0);
    e.function = LLVMAddFunction(k->module, TB_CPU_ENTRY, type);
    cpu_function_attributes(k, e.function);
    dispatch_attributes(k, e.function, 0);
    e.arguments = cpu_alloc(&k->job, e.kernel_arguments + PARAM_COUNT, sizeof *e.arguments);
    cpu_debug_entry(k, e.function);
    LLVMPositionBuilderAtEnd(e.b, new_block(&e, "entry"));

    LLVMValueRef dispatch = LLVMGetParam(e.function, 0), group = LLVMGetParam(e.function, 2);
    for (unsigned i = 0; i < e.kernel_arguments; i++)
        e.arguments[i] = load_pointer(k, e.b, LLVMTypeOf(LLVMGetParam(k->function, i)),
            LLVMGetParam(e.function, 1), i * sizeof(void *));
    e.arguments[e.kernel_arguments + PARAM_DISPATCH] = dispatch;
    e.arguments[e.kernel_arguments + PARAM_MEMORY] =
        load_pointer(k, e.b, k->ptr, group, offsetof(tb_cpu_group, threadgroup_memory));
    e.arguments[e.kernel_arguments + PARAM_STOP] =
        load_pointer(k, e.b, k->ptr, group, offsetof(tb_cpu_group, stop));
    if (k->defers) e.general = load_pointer(k, e.b, k->ptr, group, offsetof(tb_cpu_group, general));
    find_shape(&e, dispatch);
    e.contexts = load_pointer(k, e.b, k->ptr, group, offsetof(tb_cpu_group, context));
    e.arguments[e.kernel_arguments + PARAM_TALLIES] =
        k->has_tallies ? load_field(k, e.b, group, offsetof(tb_cpu_group, tallies)) : cpu_int(k->i32, 0);
    if (k->has_barrier)
        emit_rounds(&e);
    else
        emit_loops(&e);
    LLVMBuildRetVoid(e.b);
}
