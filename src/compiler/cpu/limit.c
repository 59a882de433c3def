/* Safe points: where running code can be told to stop.
 *
 * Takes the loops; promises that every loop which may run long looks, once per iteration, at a word of the launch, and
 * leaves the kernel where it is not zero (TB_CPU_STOP). A loop need not look if the numbers of trips of itself and of
 * the loops inside are constants whose product is small. The test costs a load and a branch that is never taken; the
 * load is volatile, so that it stays in the loop, and of memory that nothing else is said to point to, so that it
 * hinders nothing. */
#include "compiler/cpu/kernel.h"
#include "compiler/ir/steps.h"
#include "compiler/ir/support.h"

static const uint64_t MAX_ITERATIONS = (uint64_t)1 << 18; /* without a look; some milliseconds */

void cpu_limit_find(cpu_kernel *k)
{
    uint64_t *inside = cpu_alloc(&k->job, (size_t)k->loop_count + 1, sizeof *inside);
    for (int l = k->loop_count - 1; l >= 0; l--) { /* inner loops stand behind outer ones */
        cpu_loop *loop = &k->loops[l];
        uint64_t trips = ir_loop_trips(k->blocks[loop->header].ir, k->blocks[loop->latch].ir);
        uint64_t iterations = trips * (1 + inside[l]);
        loop->polled = !trips || iterations > MAX_ITERATIONS;
        if (loop->parent >= 0) inside[loop->parent] += loop->polled ? 1 : iterations;
    }
}

/* The source position as {file, line} operands; equal names share one string. */
static void describe_place(cpu_kernel *k, LLVMValueRef instruction, LLVMValueRef place[2])
{
    ir_position at = ir_instruction_position(instruction);
    place[0] = LLVMConstNull(k->ptr);
    place[1] = cpu_int(k->i32, at.line);
    if (!at.file || !at.file_length) return;
    tb_text name = {0};
    tb_text_printf(&name, "file:%.*s", (int)at.file_length, at.file);
    if (name.bad) cpu_fail(&k->job, TOMBAC_ERROR_MEMORY, "out of memory");
    LLVMValueRef global = LLVMGetNamedGlobal(k->module, name.data);
    if (!global) {
        LLVMValueRef text = LLVMConstStringInContext2(k->context, at.file, at.file_length, false);
        global = LLVMAddGlobal(k->module, LLVMTypeOf(text), name.data);
        LLVMSetInitializer(global, text);
        LLVMSetGlobalConstant(global, true);
        LLVMSetLinkage(global, LLVMPrivateLinkage);
    }
    tb_text_free(&name);
    place[0] = global;
}

void cpu_limit_poll(cpu_kernel *k, int latch)
{
    int l = k->blocks[latch].loop;
    if (l < 0 || k->loops[l].latch != latch || !k->loops[l].polled) return;
    LLVMBuilderRef b = k->builder;
    LLVMBasicBlockRef stop = cpu_new_block(k, "stop"), go_on = cpu_new_block(k, "go.on");
    LLVMValueRef word = LLVMBuildLoad2(b, k->i32, k->parameter[PARAM_STOP], ""), place[2];
    LLVMSetVolatile(word, true);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, word, cpu_int(k->i32, 0), ""), stop, go_on);
    LLVMPositionBuilderAtEnd(b, stop);
    describe_place(k, LLVMGetBasicBlockTerminator(k->blocks[latch].ir), place);
    LLVMTypeRef types[2] = {k->ptr, k->i32};
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(k->context), types, 2, false);
    LLVMValueRef function = LLVMGetNamedFunction(k->module, TB_CPU_STOP);
    if (!function) {
        function = LLVMAddFunction(k->module, TB_CPU_STOP, type);
        static const char *const attributes[] = {"noreturn", "nounwind", "cold"};
        for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
            LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex, cpu_attribute(k, attributes[i], 0));
    }
    LLVMBuildCall2(b, type, function, place, 2, "");
    LLVMBuildUnreachable(b);
    LLVMPositionBuilderAtEnd(b, go_on);
}
