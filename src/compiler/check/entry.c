/* TB_CHECK_ENTRY(dispatch, arguments, thread): the kernel's body with its surroundings resolved.
 *
 * The blocks of the prepared kernel move into the entry as they are; at their top each argument's address is
 * loaded from the array; position calls become loads from the two records, which do not change while a thread
 * runs. */
#include "compiler/check/steps.h"

#include <stddef.h>
#include <string.h>

typedef struct position_field {
    const char *name; /* after "__tombac_" */
    bool of_thread;
    uint32_t offset;
} position_field;

#define DISPATCH1(f) {#f, false, offsetof(tb_dispatch, f)}
#define DISPATCH3(f)                                                                                         \
    {#f "_x", false, offsetof(tb_dispatch, f)}, {#f "_y", false, offsetof(tb_dispatch, f) + 4},              \
        {#f "_z", false, offsetof(tb_dispatch, f) + 8}

static const position_field fields[] = {
    {"lane", true, offsetof(tb_check_thread, lane)},
    {"simdgroup", true, offsetof(tb_check_thread, simdgroup)},
    {"thread_index", true, offsetof(tb_check_thread, index)},
    {"thread_position_x", true, offsetof(tb_check_thread, position)},
    {"thread_position_y", true, offsetof(tb_check_thread, position) + 4},
    {"thread_position_z", true, offsetof(tb_check_thread, position) + 8},
    DISPATCH3(threads_per_grid),
    DISPATCH3(threadgroups_per_grid),
    DISPATCH3(dispatch_threads_per_threadgroup),
    DISPATCH3(grid_origin),
    DISPATCH1(dispatch_simdgroups_per_threadgroup),
    DISPATCH3(threadgroup_position_in_grid),
    DISPATCH3(threads_per_threadgroup),
    DISPATCH1(simdgroups_per_threadgroup),
    DISPATCH1(thread_count),
};

static void move_blocks(LLVMValueRef from, LLVMValueRef to)
{
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(from); block;
        block = LLVMGetFirstBasicBlock(from)) {
        LLVMRemoveBasicBlockFromParent(block);
        LLVMAppendExistingBasicBlock(to, block);
    }
}

static void load_arguments(check_unit *unit, LLVMValueRef kernel)
{
    for (unsigned i = 0; i < LLVMCountParams(kernel); i++) {
        LLVMValueRef parameter = LLVMGetParam(kernel, i);
        if (!LLVMGetFirstUse(parameter)) continue;
        LLVMValueRef address =
            check_load_field(unit, LLVMTypeOf(parameter), unit->arguments, (uint64_t)i * 8, true);
        ir_tag(address, CHECK_ARGUMENT, i);
        LLVMReplaceAllUsesWith(parameter, address);
    }
}

static void resolve_position(LLVMValueRef call, void *context)
{
    check_unit *unit = context;
    LLVMValueRef callee = ir_callee(call);
    if (!callee || !ir_name_starts(callee, "__tombac_")) return;
    size_t length;
    const char *name = LLVMGetValueName2(callee, &length) + strlen("__tombac_");
    LLVMPositionBuilderBefore(unit->builder, call);
    LLVMValueRef value = NULL;
    if (!strcmp(name, "threadgroup_memory")) {
        uint64_t offset = offsetof(tb_check_thread, threadgroup_memory);
        value = check_load_field(unit, LLVMTypeOf(call), unit->thread, offset, true);
    }
    for (size_t i = 0; i < sizeof fields / sizeof fields[0] && !value; i++) {
        if (strcmp(name, fields[i].name)) continue;
        LLVMValueRef record = fields[i].of_thread ? unit->thread : unit->dispatch;
        value = check_load_field(unit, unit->i32, record, fields[i].offset, true);
    }
    if (!value) return;
    LLVMReplaceAllUsesWith(call, value);
    LLVMInstructionEraseFromParent(call);
}

void check_entry_build(check_unit *unit)
{
    LLVMValueRef kernel = unit->kernel->function;
    LLVMTypeRef types[3] = {unit->ptr, unit->ptr, unit->ptr};
    unit->function =
        LLVMAddFunction(unit->module, TB_CHECK_ENTRY, LLVMFunctionType(unit->nothing, types, 3, false));
    ir_add_function_attribute(unit->function, "nounwind", 0);
    unit->dispatch = LLVMGetParam(unit->function, 0);
    unit->arguments = LLVMGetParam(unit->function, 1);
    unit->thread = LLVMGetParam(unit->function, 2);
    move_blocks(kernel, unit->function);
    LLVMPositionBuilderBefore(unit->builder, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(unit->function)));
    load_arguments(unit, kernel);
    LLVMDeleteFunction(kernel);
    unit->kernel->function = unit->function;
    ir_visit(unit->function, resolve_position, unit);
}
