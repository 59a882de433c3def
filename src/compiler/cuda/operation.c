/* Operations that need no mask: barriers, fences, records of logging and assertions; see docs/operations.md.
 *
 * A log record is reserved by its first call with room for its arguments, which are counted up to the end of
 * the record in the same block, as the headers write them; its address is kept in a variable between the
 * calls. */
#include "compiler/cuda/steps.h"

#include <string.h>

enum { MAX_ARGUMENTS = 64 };

typedef struct lowering {
    ir_kernel *kernel;
    LLVMBuilderRef builder;
    LLVMValueRef thread, record; /* record: where the address of the open log record is kept */
    LLVMTypeRef i32, ptr, nothing;
    bool records, matrices;
} lowering;

LLVMValueRef cuda_call(LLVMModuleRef module, LLVMBuilderRef builder, const char *name, LLVMTypeRef result,
    LLVMValueRef *operands, unsigned count, bool convergent)
{
    LLVMTypeRef types[16];
    for (unsigned i = 0; i < count && i < 16; i++) types[i] = LLVMTypeOf(operands[i]);
    LLVMTypeRef type = LLVMFunctionType(result, types, count, false);
    tb_text symbol = {0};
    tb_text_printf(&symbol, "tombac_cuda.%s", name);
    LLVMValueRef function = ir_declare(module, tb_text_string(&symbol), type);
    tb_text_free(&symbol);
    if (LLVMIsDeclaration(function)) {
        ir_add_function_attribute(function, "nounwind", 0);
        if (convergent) ir_add_function_attribute(function, "convergent", 0);
    }
    return LLVMBuildCall2(builder, type, function, operands, count, "");
}

static unsigned count_arguments(LLVMValueRef begin)
{
    unsigned count = 0;
    for (LLVMValueRef i = LLVMGetNextInstruction(begin); i; i = LLVMGetNextInstruction(i)) {
        LLVMValueRef callee = ir_callee(i);
        if (!callee) continue;
        if (ir_name_starts(callee, "__tombac_log_argument")) count++;
        if (ir_name_starts(callee, "__tombac_log_end")) return count;
    }
    return MAX_ARGUMENTS;
}

static void lower_begin(lowering *l, LLVMValueRef call)
{
    LLVMValueRef operands[4] = {LLVMGetOperand(call, 0), LLVMGetOperand(call, 1),
        LLVMConstInt(l->i32, count_arguments(call), false), l->thread};
    LLVMBuildStore(l->builder,
        cuda_call(l->kernel->module, l->builder, "log_begin", l->ptr, operands, 4, false), l->record);
}

static void lower_argument(lowering *l, LLVMValueRef call)
{
    LLVMValueRef operands[3] = {
        LLVMGetOperand(call, 0), LLVMGetOperand(call, 1), LLVMBuildLoad2(l->builder, l->ptr, l->record, "")};
    cuda_call(l->kernel->module, l->builder, "log_argument", l->nothing, operands, 3, false);
}

/* A call with the same operands, and the thread's record where `thread` is set. */
static void forward(lowering *l, LLVMValueRef call, const char *name, bool thread, bool convergent)
{
    LLVMValueRef operands[8];
    unsigned count = LLVMGetNumArgOperands(call);
    for (unsigned i = 0; i < count && i < 7; i++) operands[i] = LLVMGetOperand(call, i);
    if (thread) operands[count++] = l->thread;
    LLVMValueRef made =
        cuda_call(l->kernel->module, l->builder, name, LLVMTypeOf(call), operands, count, convergent);
    LLVMReplaceAllUsesWith(call, made);
}

static void lower(LLVMValueRef instruction, void *context)
{
    lowering *l = context;
    LLVMValueRef callee = ir_callee(instruction);
    if (!callee || !ir_name_starts(callee, "__tombac_")) return;
    size_t length;
    const char *name = LLVMGetValueName2(callee, &length) + strlen("__tombac_");
    LLVMPositionBuilderBefore(l->builder, instruction);
    if (!strcmp(name, "log_begin"))
        lower_begin(l, instruction);
    else if (!strcmp(name, "log_argument.u64"))
        lower_argument(l, instruction);
    else if (!strcmp(name, "assert_fail") || !strcmp(name, "unsupported"))
        forward(l, instruction, name, true, false);
    else if (!strcmp(name, "threadgroup_barrier") || !strcmp(name, "fence"))
        forward(l, instruction, name, false, true);
    else if (!strcmp(name, "matrix_row") || !strcmp(name, "matrix_column"))
        forward(l, instruction,
            !l->matrices                  ? name
            : !strcmp(name, "matrix_row") ? CUDA_ROW
                                          : CUDA_COLUMN,
            false, false);
    else if (strcmp(name, "log_end"))
        return; /* unknown: reported when the library is linked */
    l->records |= !strncmp(name, "log_", 4) || !strcmp(name, "assert_fail") || !strcmp(name, "unsupported");
    LLVMInstructionEraseFromParent(instruction);
}

tombac_status cuda_operations_lower(
    ir_kernel *kernel, LLVMValueRef thread, bool *records, tombac_error **error)
{
    LLVMContextRef c = kernel->context;
    lowering l = {.kernel = kernel,
        .builder = LLVMCreateBuilderInContext(c),
        .thread = thread,
        .matrices = cuda_matrix_used(kernel),
        .i32 = LLVMInt32TypeInContext(c),
        .ptr = LLVMPointerTypeInContext(c, 0),
        .nothing = LLVMVoidTypeInContext(c)};
    LLVMPositionBuilderBefore(l.builder, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(kernel->function)));
    l.record = LLVMBuildAlloca(l.builder, l.ptr, "");
    LLVMBuildStore(l.builder, LLVMConstNull(l.ptr), l.record);
    ir_visit(kernel->function, lower, &l);
    static const char *const names[2] = {"tombac_cuda." CUDA_ROW, "tombac_cuda." CUDA_COLUMN};
    for (int i = 0; i < 2; i++) {
        LLVMValueRef function = LLVMGetNamedFunction(kernel->module, names[i]);
        if (function) ir_mark_pure(function);
    }
    LLVMDisposeBuilder(l.builder);
    *records = l.records;
    return TOMBAC_OK;
}
