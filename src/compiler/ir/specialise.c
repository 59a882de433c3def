/* Specialisation: what a launch fixes becomes constants in the code.
 *
 * Takes the kernel behind ir_optimise and ir_contract, the bytes that are bound to some of its arguments in constant memory,
 * and the size of the threadgroups if all are whole. Loads of scalars from those bytes, at offsets that are constants, become
 * constants, and so do the positions that say how large a threadgroup is.
 *
 * The results have the same bits as those of the code that is not specialised: no floating-point operation has flags
 * any more (contract.c), so that whatever LLVM does with a constant is exact. That is why this comes so late. */
#include "compiler/ir/steps.h"

#include "artifact/abi.h"

#include <stdio.h>
#include <string.h>

typedef struct specialising {
    ir_kernel *kernel;
    const ir_specialisation *values;
    LLVMTargetDataRef layout;
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

static void replace_load(
    const specialising *s, const ir_argument_value *argument, uint64_t offset, LLVMValueRef load)
{
    LLVMValueRef constant =
        LLVMGetVolatile(load) ? NULL : read_scalar(s, argument, offset, LLVMTypeOf(load));
    if (constant) LLVMReplaceAllUsesWith(load, constant);
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

tombac_status ir_specialise(ir_kernel *kernel, const ir_specialisation *values, tombac_error **error)
{
    specialising s = {
        .kernel = kernel, .values = values, .layout = LLVMGetModuleDataLayout(kernel->module)};
    tombac_status status = TOMBAC_OK;
    for (size_t i = 0; i < values->argument_count && status == TOMBAC_OK; i++)
        status = replace_argument(&s, &values->arguments[i], error);
    if (values->threadgroup[0]) replace_positions(&s);
    return status == TOMBAC_OK ? ir_optimise(kernel, error) : status;
}
