/* Specialisation: what a launch fixes becomes constants in the code.
 *
 * Takes a prepared kernel, the bytes that are bound to some of its arguments in constant memory, and the size of the
 * threadgroups if all are whole. Loads of integers from those bytes, at offsets that are constants, become constants, and
 * so do the positions that say how large a threadgroup is. Integers fold exactly.
 *
 * Floating point must give the same bits as the code that is not specialised. Where instructions carry fast-math flags,
 * LLVM rewrites what has constant operands into something nearly equal (x / c into x * (1 / c), (x * a) * b into
 * x * (a * b)). So there floats stay loads, except in comparisons, and what is converted from an integer must not become a
 * constant either: while integers fold, every such operand is an addition of __tombac_grid_origin_x(), which is 0 but not
 * known to be, and this addition is left where the operand became a constant. */
#include "compiler/ir/steps.h"

#include "artifact/abi.h"

#include <stdio.h>
#include <string.h>

#define SHIELD "tombac.shield"

typedef struct specialising {
    ir_kernel *kernel;
    const ir_specialisation *values;
    LLVMTargetDataRef layout;
    LLVMBuilderRef builder;
    LLVMValueRef zero; /* __tombac_grid_origin_x() */
    unsigned shield;   /* the kind of SHIELD */
    bool inexact;      /* instructions with fast-math flags */
} specialising;

/* ---- Loads ---- */

/* The offset that an address has from its base, if all indices are constants. */
static bool constant_offset(const specialising *s, LLVMValueRef address, uint64_t *offset)
{
    LLVMTypeRef type = LLVMGetGEPSourceElementType(address);
    uint64_t sum = 0;
    for (int i = 1; i < LLVMGetNumOperands(address); i++) {
        LLVMValueRef index = LLVMIsAConstantInt(LLVMGetOperand(address, (unsigned)i));
        if (!index || LLVMGetIntTypeWidth(LLVMTypeOf(index)) > 64) return false;
        uint64_t number = (uint64_t)LLVMConstIntGetSExtValue(index);
        if (i == 1) {
            sum = number * LLVMABISizeOfType(s->layout, type);
        } else if (LLVMGetTypeKind(type) == LLVMStructTypeKind) {
            sum += LLVMOffsetOfElement(s->layout, type, (unsigned)number);
            type = LLVMStructGetTypeAtIndex(type, (unsigned)number);
        } else if (LLVMGetTypeKind(type) == LLVMArrayTypeKind) {
            type = LLVMGetElementType(type);
            sum += number * LLVMABISizeOfType(s->layout, type);
        } else {
            return false;
        }
    }
    *offset = sum;
    return true;
}

static bool is_float(LLVMTypeRef type)
{
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    return kind == LLVMHalfTypeKind || kind == LLVMBFloatTypeKind || kind == LLVMFloatTypeKind;
}

/* The scalar of `type` that lies at `offset` in the argument's bytes (little endian), or NULL. */
static LLVMValueRef read_scalar(
    const specialising *s, const ir_argument_value *argument, uint64_t offset, LLVMTypeRef type)
{
    bool integer = LLVMGetTypeKind(type) == LLVMIntegerTypeKind;
    if (!integer && !is_float(type)) return NULL;
    uint64_t size = LLVMStoreSizeOfType(s->layout, type), bits = 0;
    if (size > sizeof bits || offset > argument->size || size > argument->size - offset) return NULL;
    memcpy(&bits, (const char *)argument->bytes + offset, size);
    if (integer) return LLVMConstInt(type, bits, false);
    LLVMTypeRef same = LLVMIntTypeInContext(s->kernel->context, (unsigned)size * 8);
    return LLVMConstBitCast(LLVMConstInt(same, bits, false), type);
}

static void replace_in_comparisons(LLVMValueRef load, LLVMValueRef constant)
{
    LLVMUseRef use = LLVMGetFirstUse(load);
    while (use) {
        LLVMValueRef user = LLVMGetUser(use);
        if (!LLVMIsAFCmpInst(user)) {
            use = LLVMGetNextUse(use);
            continue;
        }
        for (unsigned i = 0; i < 2; i++)
            if (LLVMGetOperand(user, i) == load) LLVMSetOperand(user, i, constant);
        use = LLVMGetFirstUse(load); /* the list has changed */
    }
}

static void replace_load(
    const specialising *s, const ir_argument_value *argument, uint64_t offset, LLVMValueRef load)
{
    LLVMValueRef constant =
        LLVMGetVolatile(load) ? NULL : read_scalar(s, argument, offset, LLVMTypeOf(load));
    if (!constant) return;
    if (s->inexact && is_float(LLVMTypeOf(load)))
        replace_in_comparisons(load, constant);
    else
        LLVMReplaceAllUsesWith(load, constant);
}

/* `address` is `offset` bytes behind the argument's first. Recursion ends because addresses form no cycles without phis. */
static void replace_loads(
    const specialising *s, const ir_argument_value *argument, LLVMValueRef address, uint64_t offset)
{
    for (LLVMUseRef use = LLVMGetFirstUse(address); use; use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);
        uint64_t more;
        if (LLVMIsALoadInst(user))
            replace_load(s, argument, offset, user);
        else if (LLVMIsAGetElementPtrInst(user) && constant_offset(s, user, &more))
            replace_loads(s, argument, user, offset + more);
    }
}

static tombac_status replace_argument(
    const specialising *s, const ir_argument_value *value, tombac_error **error)
{
    const ir_kernel *kernel = s->kernel;
    for (size_t i = 0; i < kernel->argument_count; i++) {
        const ir_argument *argument = &kernel->arguments[i];
        const front_parameter *parameter = argument->parameter;
        if (!argument->active || parameter->binding == FRONT_THREADGROUP || parameter->index != value->index)
            continue;
        if (parameter->space != FRONT_CONSTANT) break;
        replace_loads(s, value, LLVMGetParam(kernel->function, (unsigned)i), 0);
        return TOMBAC_OK;
    }
    return tb_fail(error, TOMBAC_ERROR_ARGUMENT,
        "kernel '%s' has no argument in constant memory with index %u", kernel->kernel->name, value->index);
}

/* ---- Positions ---- */

static void replace_call(const specialising *s, const char *name, uint32_t value)
{
    LLVMValueRef function = LLVMGetNamedFunction(s->kernel->module, name);
    if (!function) return;
    LLVMTypeRef type = LLVMInt32TypeInContext(s->kernel->context);
    for (LLVMUseRef use = LLVMGetFirstUse(function); use; use = LLVMGetNextUse(use))
        LLVMReplaceAllUsesWith(LLVMGetUser(use), LLVMConstInt(type, value, false));
}

static void replace_positions(const specialising *s)
{
    const uint32_t *size = s->values->threadgroup;
    uint32_t threads = size[0] * size[1] * size[2], simdgroups = (threads + TB_SIMD_WIDTH - 1) / TB_SIMD_WIDTH;
    for (int d = 0; d < 3; d++) {
        char name[64];
        snprintf(name, sizeof name, "__tombac_threads_per_threadgroup_%c", 'x' + d);
        replace_call(s, name, size[d]);
        snprintf(name, sizeof name, "__tombac_dispatch_threads_per_threadgroup_%c", 'x' + d);
        replace_call(s, name, size[d]);
    }
    replace_call(s, "__tombac_thread_count", threads);
    replace_call(s, "__tombac_simdgroups_per_threadgroup", simdgroups);
    replace_call(s, "__tombac_dispatch_simdgroups_per_threadgroup", simdgroups);
}

/* ---- Conversions ---- */

static void note_flags(LLVMValueRef instruction, void *context)
{
    specialising *s = context;
    if (LLVMCanValueUseFastMathFlags(instruction) && LLVMGetFastMathFlags(instruction)) s->inexact = true;
}

static bool makes_float(LLVMValueRef instruction)
{
    LLVMOpcode opcode = LLVMGetInstructionOpcode(instruction);
    if (opcode != LLVMSIToFP && opcode != LLVMUIToFP && opcode != LLVMBitCast) return false;
    return is_float(LLVMTypeOf(instruction)) &&
           LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(instruction, 0))) == LLVMIntegerTypeKind;
}

static void add_shield(LLVMValueRef instruction, void *context)
{
    specialising *s = context;
    if (!makes_float(instruction)) return;
    LLVMValueRef operand = LLVMGetOperand(instruction, 0);
    if (LLVMIsAConstant(operand)) return; /* it is in the code that is not specialised, too */
    LLVMPositionBuilderBefore(s->builder, instruction);
    LLVMValueRef zero = LLVMBuildIntCast2(s->builder, s->zero, LLVMTypeOf(operand), false, "");
    LLVMValueRef sum = LLVMBuildAdd(s->builder, operand, zero, "");
    LLVMContextRef llvm = s->kernel->context;
    LLVMSetMetadata(sum, s->shield, LLVMMetadataAsValue(llvm, LLVMMDNodeInContext2(llvm, NULL, 0)));
    LLVMSetOperand(instruction, 0, sum);
}

static void remove_shield(LLVMValueRef instruction, void *context)
{
    const specialising *s = context;
    if (!LLVMGetMetadata(instruction, s->shield)) return;
    LLVMSetMetadata(instruction, s->shield, NULL);
    if (LLVMIsAConstant(LLVMGetOperand(instruction, 0))) return;
    LLVMReplaceAllUsesWith(instruction, LLVMGetOperand(instruction, 0));
    LLVMInstructionEraseFromParent(instruction);
}

static void build_shields(specialising *s)
{
    LLVMValueRef function = s->kernel->function;
    LLVMPositionBuilderBefore(s->builder, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(function)));
    LLVMTypeRef type = LLVMFunctionType(LLVMInt32TypeInContext(s->kernel->context), NULL, 0, false);
    LLVMValueRef origin = ir_declare(s->kernel->module, "__tombac_grid_origin_x", type);
    ir_mark_pure(origin);
    s->zero = LLVMBuildCall2(s->builder, type, origin, NULL, 0, "");
    ir_visit(function, add_shield, s);
}

tombac_status ir_specialise(ir_kernel *kernel, const ir_specialisation *values, tombac_error **error)
{
    specialising s = {.kernel = kernel,
        .values = values,
        .layout = LLVMGetModuleDataLayout(kernel->module),
        .builder = LLVMCreateBuilderInContext(kernel->context),
        .shield = LLVMGetMDKindIDInContext(kernel->context, SHIELD, strlen(SHIELD))};
    tombac_status status = TOMBAC_OK;
    ir_visit(kernel->function, note_flags, &s);
    if (s.inexact) build_shields(&s);
    for (size_t i = 0; i < values->argument_count && status == TOMBAC_OK; i++)
        status = replace_argument(&s, &values->arguments[i], error);
    if (values->threadgroup[0]) replace_positions(&s);
    if (status == TOMBAC_OK) status = ir_run_passes(kernel, "function(sccp,instsimplify,sccp,dce)", error);
    if (status == TOMBAC_OK) ir_visit(kernel->function, remove_shield, &s);
    LLVMDisposeBuilder(s.builder);
    return status;
}
