/* Static threadgroup variables: one block of memory per threadgroup, each variable at a fixed offset in it.
 *
 * A variable is a global in address space 3. Its uses, constant expressions included, become offsets from one
 * call of
 * __tombac_threadgroup_memory() at the top of the kernel. Metal leaves the initial content undefined, so
 * initialisers (clang writes undef or zero) are dropped. */
#include "compiler/ir/steps.h"

#include "artifact/abi.h"

#include <stdlib.h>
#include <string.h>

typedef struct arena {
    ir_kernel *kernel;
    LLVMBuilderRef builder;
    LLVMValueRef base;
    LLVMValueRef *variables;
    uint64_t *offsets;
    size_t count;
    uint64_t size;
    bool failed;
} arena;

static bool is_threadgroup_variable(LLVMValueRef global)
{
    return LLVMGetPointerAddressSpace(LLVMTypeOf(global)) == 3;
}

static size_t index_of(const arena *a, LLVMValueRef value)
{
    size_t i = 0;
    while (i < a->count && a->variables[i] != value) i++;
    return i;
}

/* Does a constant depend on a threadgroup variable? */
static bool depends(const arena *a, LLVMValueRef value)
{
    if (index_of(a, value) < a->count) return true;
    if (!LLVMIsAConstantExpr(value) && !LLVMIsAConstantAggregateZero(value) &&
        !LLVMIsAConstantStruct(value) && !LLVMIsAConstantArray(value) && !LLVMIsAConstantVector(value)) {
        return false;
    }
    for (int i = 0; i < LLVMGetNumOperands(value); i++) {
        if (depends(a, LLVMGetOperand(value, (unsigned)i))) return true;
    }
    return false;
}

/* The same value as instructions at the builder's place; NULL for a form that is not known. */
static LLVMValueRef materialise(arena *a, LLVMValueRef value)
{
    if (!depends(a, value)) return value;
    size_t variable = index_of(a, value);
    LLVMContextRef context = a->kernel->context;
    if (variable < a->count) {
        LLVMValueRef offset = LLVMConstInt(LLVMInt64TypeInContext(context), a->offsets[variable], false);
        LLVMValueRef address =
            LLVMBuildInBoundsGEP2(a->builder, LLVMInt8TypeInContext(context), a->base, &offset, 1, "");
        ir_tag(address, IR_VARIABLE, (uint32_t)variable);
        return address;
    }
    if (!LLVMIsAConstantExpr(value)) return NULL;
    LLVMValueRef operands[8];
    int count = LLVMGetNumOperands(value);
    if (count > 8) return NULL;
    for (int i = 0; i < count; i++) {
        operands[i] = materialise(a, LLVMGetOperand(value, (unsigned)i));
        if (!operands[i]) return NULL;
    }
    LLVMOpcode opcode = LLVMGetConstOpcode(value);
    switch (opcode) {
    case LLVMGetElementPtr:
        return LLVMBuildGEPWithNoWrapFlags(a->builder, LLVMGetGEPSourceElementType(value), operands[0],
            operands + 1, (unsigned)count - 1, "", LLVMGEPGetNoWrapFlags(value));
    case LLVMAddrSpaceCast:
    case LLVMPtrToInt:
    case LLVMIntToPtr:
    case LLVMBitCast:
    case LLVMTrunc: return LLVMBuildCast(a->builder, opcode, operands[0], LLVMTypeOf(value), "");
    case LLVMAdd:
    case LLVMSub:
    case LLVMXor:
    case LLVMMul: return LLVMBuildBinOp(a->builder, opcode, operands[0], operands[1], "");
    default: return NULL;
    }
}

/* A phi that lists a block twice (a switch) must get one value for it. */
static void set_incoming(LLVMValueRef phi, unsigned index, LLVMValueRef value)
{
    LLVMBasicBlockRef from = LLVMGetIncomingBlock(phi, index);
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
        if (LLVMGetIncomingBlock(phi, i) == from) LLVMSetOperand(phi, i, value);
    }
}

static void rewrite(LLVMValueRef instruction, void *context)
{
    arena *a = context;
    for (int i = 0; i < LLVMGetNumOperands(instruction); i++) {
        LLVMValueRef operand = LLVMGetOperand(instruction, (unsigned)i);
        if (!operand || !LLVMIsConstant(operand) || !depends(a, operand)) continue;
        if (LLVMIsAPHINode(instruction)) { /* operands of a phi are its incoming values, in order */
            LLVMBasicBlockRef from = LLVMGetIncomingBlock(instruction, (unsigned)i);
            LLVMPositionBuilderBefore(a->builder, LLVMGetBasicBlockTerminator(from));
        } else {
            LLVMPositionBuilderBefore(a->builder, instruction);
        }
        LLVMValueRef value = materialise(a, operand);
        a->failed |= !value;
        if (value && LLVMIsAPHINode(instruction))
            set_incoming(instruction, (unsigned)i, value);
        else if (value)
            LLVMSetOperand(instruction, (unsigned)i, value);
    }
}

static tombac_status place_variables(arena *a, tombac_error **error)
{
    LLVMModuleRef module = a->kernel->module;
    size_t count = 0;
    for (LLVMValueRef g = LLVMGetFirstGlobal(module); g; g = LLVMGetNextGlobal(g))
        count += is_threadgroup_variable(g);
    if (!count) return TOMBAC_OK;
    a->variables = calloc(count, sizeof *a->variables);
    a->offsets = calloc(count, sizeof *a->offsets);
    if (!a->variables || !a->offsets) return tb_fail_memory(error);
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(module);
    for (LLVMValueRef g = LLVMGetFirstGlobal(module); g; g = LLVMGetNextGlobal(g)) {
        if (!is_threadgroup_variable(g)) continue;
        LLVMTypeRef type = LLVMGlobalGetValueType(g);
        uint64_t alignment = LLVMGetAlignment(g), natural = LLVMABIAlignmentOfType(layout, type);
        if (alignment < natural) alignment = natural;
        if (alignment < 16) alignment = 16; /* so that vector views of a scalar array are aligned */
        a->size = (a->size + alignment - 1) / alignment * alignment;
        a->variables[a->count] = g;
        a->offsets[a->count++] = a->size;
        a->size += LLVMABISizeOfType(layout, type);
        if (a->size > TB_MAX_THREADGROUP_MEMORY) {
            return tb_fail(error, TOMBAC_ERROR_UNSUPPORTED,
                "the kernel declares more than %d bytes of threadgroup memory", TB_MAX_THREADGROUP_MEMORY);
        }
    }
    return TOMBAC_OK;
}

/* A table in program scope cannot hold an address that differs between threadgroups. */
static bool is_stored_in_table(const arena *a)
{
    for (LLVMValueRef g = LLVMGetFirstGlobal(a->kernel->module); g; g = LLVMGetNextGlobal(g)) {
        LLVMValueRef initial = is_threadgroup_variable(g) ? NULL : LLVMGetInitializer(g);
        if (initial && depends(a, initial)) return true;
    }
    return false;
}

static void build_base(arena *a)
{
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(a->kernel->function);
    LLVMPositionBuilderBefore(a->builder, LLVMGetFirstInstruction(entry));
    LLVMTypeRef type = LLVMFunctionType(LLVMPointerTypeInContext(a->kernel->context, 3), NULL, 0, false);
    LLVMValueRef function = ir_declare(a->kernel->module, "__tombac_threadgroup_memory", type);
    ir_mark_pure(function);
    a->base = LLVMBuildCall2(a->builder, type, function, NULL, 0, "");
    LLVMContextRef context = a->kernel->context;
    LLVMAddCallSiteAttribute(a->base, LLVMAttributeReturnIndex, ir_enum_attribute(context, "align", 64));
}

/* "tile" for _ZZ6kernelPfE4tile, a variable "tile" of a function (Itanium C++ ABI). */
static char *variable_name(LLVMValueRef global)
{
    char name[IR_NAME_SIZE];
    ir_source_name(global, name);
    const char *inner = strncmp(name, "_ZZ", 3) == 0 ? strrchr(name, 'E') : NULL;
    for (; inner; inner = inner > name ? memrchr(name, 'E', (size_t)(inner - name)) : NULL) {
        char *end;
        unsigned long length = strtoul(inner + 1, &end, 10);
        if (end != inner + 1 && length <= strlen(end)) return strndup(end, length);
    }
    return strdup(name);
}

static tombac_status describe_variables(arena *a, tombac_error **error)
{
    ir_kernel *kernel = a->kernel;
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(kernel->module);
    kernel->variables = calloc(a->count, sizeof *kernel->variables);
    if (!kernel->variables) return tb_fail_memory(error);
    for (; kernel->variable_count < a->count; kernel->variable_count++) {
        LLVMValueRef global = a->variables[kernel->variable_count];
        kernel->variables[kernel->variable_count] = (ir_variable){variable_name(global),
            a->offsets[kernel->variable_count], LLVMABISizeOfType(layout, LLVMGlobalGetValueType(global))};
        if (!kernel->variables[kernel->variable_count].name) return tb_fail_memory(error);
    }
    return TOMBAC_OK;
}

tombac_status ir_arena_build(ir_kernel *kernel, tombac_error **error)
{
    arena a = {.kernel = kernel, .builder = LLVMCreateBuilderInContext(kernel->context)};
    tombac_status status = place_variables(&a, error);
    if (status == TOMBAC_OK && a.count && is_stored_in_table(&a)) {
        status = tb_fail(
            error, TOMBAC_ERROR_UNSUPPORTED, "a constant holds the address of a threadgroup variable");
    }
    if (status == TOMBAC_OK && a.count) status = describe_variables(&a, error);
    if (status == TOMBAC_OK && a.count) {
        build_base(&a);
        ir_visit(kernel->function, rewrite, &a);
        if (a.failed) {
            status = ir_internal_error(
                kernel->kernel, error, "an address of threadgroup memory in an unknown constant");
        }
        for (size_t i = 0; i < a.count && status == TOMBAC_OK; i++) {
            if (LLVMGetFirstUse(a.variables[i])) {
                LLVMReplaceAllUsesWith(a.variables[i], LLVMGetUndef(LLVMTypeOf(a.variables[i])));
            }
            LLVMDeleteGlobal(a.variables[i]);
        }
        kernel->static_threadgroup_memory = a.size;
    }
    LLVMDisposeBuilder(a.builder);
    free(a.variables);
    free(a.offsets);
    return status;
}
