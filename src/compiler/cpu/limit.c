/* Safe points: where running code can be told to stop.
 *
 * Takes the loops; promises that every loop which may run long looks now and then at a word of the launch, and leaves
 * the kernel where it is not zero (TB_CPU_STOP). A loop need not look if the numbers of trips of itself and of the
 * loops inside have constant bounds whose product is small. Where the loop counts in a scalar, it looks in one iteration of
 * SKIP only, which costs one instruction in the others; else in each. The load is volatile, so that it stays in the
 * loop, and of memory that nothing else is said to point to, so that it hinders nothing. */
#include "compiler/cpu/kernel.h"
#include "compiler/ir/steps.h"
#include "compiler/ir/support.h"

static const uint64_t MAX_ITERATIONS = (uint64_t)1 << 18; /* without a look; some milliseconds */

enum { SKIP = 128 };

/* The integer that the header's phi becomes by a constant that is added in every iteration of loop l, or NULL. */
static LLVMValueRef counted(const cpu_kernel *k, int l, LLVMValueRef phi, LLVMValueRef *by)
{
    LLVMBasicBlockRef latch = k->blocks[k->loops[l].latch].ir;
    if (LLVMGetTypeKind(LLVMTypeOf(phi)) != LLVMIntegerTypeKind || LLVMGetIntTypeWidth(LLVMTypeOf(phi)) > 64) return NULL;
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
        LLVMValueRef next = LLVMGetIncomingValue(phi, i);
        if (LLVMGetIncomingBlock(phi, i) != latch || !LLVMIsAInstruction(next)) continue;
        if (LLVMGetInstructionOpcode(next) != LLVMAdd || LLVMGetOperand(next, 0) != phi) return NULL;
        *by = LLVMGetOperand(next, 1);
        return LLVMIsAConstantInt(*by) ? next : NULL;
    }
    return NULL;
}

/* A bound of the trips of a loop that goes on while a counter is below a constant b, unsigned: growing by c without passing
 * the end of the type it takes b / c of them, wherever it starts, and one more where its first step wraps. 0: unknown. */
static uint64_t trips_at_most(const cpu_kernel *k, int l)
{
    LLVMBasicBlockRef header = k->blocks[k->loops[l].header].ir;
    LLVMValueRef end = LLVMGetBasicBlockTerminator(k->blocks[k->loops[l].latch].ir), by;
    LLVMValueRef condition = LLVMGetInstructionOpcode(end) == LLVMBr && LLVMIsConditional(end) ? LLVMGetCondition(end) : NULL;
    if (condition && LLVMIsACallInst(condition) && cpu_operation_of(condition).kind == OP_ALL_LANES)
        condition = LLVMGetOperand(condition, 0); /* split.c: it holds in every lane where the loop goes on */
    if (!condition || !LLVMIsAICmpInst(condition) || !LLVMIsAConstantInt(LLVMGetOperand(condition, 1))) return 0;
    LLVMIntPredicate below = LLVMGetSuccessor(end, 0) == header ? LLVMIntULT : LLVMIntUGE;
    LLVMIntPredicate up_to = below == LLVMIntULT ? LLVMIntULE : LLVMIntUGT, is = LLVMGetICmpPredicate(condition);
    if (is != below && is != up_to) return 0;
    for (LLVMValueRef phi = LLVMGetFirstInstruction(header); LLVMIsAPHINode(phi); phi = LLVMGetNextInstruction(phi)) {
        LLVMValueRef next = counted(k, l, phi, &by), tested = LLVMGetOperand(condition, 0);
        if (!next || (tested != next && tested != phi)) continue;
        unsigned width = LLVMGetIntTypeWidth(LLVMTypeOf(phi));
        uint64_t c = LLVMConstIntGetZExtValue(by), b = LLVMConstIntGetZExtValue(LLVMGetOperand(condition, 1)), last;
        uint64_t top = width < 64 ? ((uint64_t)1 << width) - 1 : UINT64_MAX;
        if (!c || __builtin_add_overflow(b, c, &last) || last > top) return 0;
        return b / c + 3; /* one for `up to`, one for a test before the step */
    }
    return 0;
}

/* The next value of a counter of loop l: an integer, uniform or of a fixed stride, that grows or falls by a power of two, *bits
 * of whose first lane change from iteration to iteration as those of a number from 0 to SKIP - 1 do; NULL: none. */
static cpu_value *find_counter(const cpu_kernel *k, int l, uint64_t *bits)
{
    const cpu_block *header = &k->blocks[k->loops[l].header];
    for (int v = header->first_value; v < header->first_value + header->value_count; v++) {
        const cpu_value *phi = &k->values[v];
        if (!LLVMIsAPHINode(phi->ir)) break;
        LLVMValueRef by, next = counted(k, l, phi->ir, &by);
        cpu_value *value = next ? cpu_value_of(k, next) : NULL;
        if (!value || cpu_shape_copies(&phi->shape) != 1 || cpu_shape_copies(&value->shape) != 1) continue;
        int64_t step = LLVMConstIntGetSExtValue(by);
        uint64_t size = step < 0 ? -(uint64_t)step : (uint64_t)step;
        if (!size || (size & (size - 1)) || size > (uint64_t)1 << 32) continue;
        *bits = (SKIP - 1) * size;
        if (LLVMGetIntTypeWidth(LLVMTypeOf(by)) < 64 && *bits >> LLVMGetIntTypeWidth(LLVMTypeOf(by))) continue;
        return value;
    }
    return NULL;
}

void cpu_limit_find(cpu_kernel *k)
{
    uint64_t *inside = cpu_alloc(&k->job, (size_t)k->loop_count + 1, sizeof *inside);
    for (int l = k->loop_count - 1; l >= 0; l--) { /* inner loops stand behind outer ones */
        cpu_loop *loop = &k->loops[l];
        uint64_t trips = ir_loop_trips(k->blocks[loop->header].ir, k->blocks[loop->latch].ir);
        if (!trips) trips = trips_at_most(k, l);
        uint64_t iterations = 0;
        loop->polled = !trips || __builtin_mul_overflow(trips, 1 + inside[l], &iterations) || iterations > MAX_ITERATIONS;
        cpu_value *counter = loop->polled ? find_counter(k, l, &loop->counter_bits) : NULL;
        if (counter) {
            loop->counter = counter->ir;
            counter->counts = true;
        }
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

static void set_weights(cpu_kernel *k, LLVMValueRef branch, unsigned yes, unsigned no)
{
    LLVMMetadataRef parts[3] = {LLVMMDStringInContext2(k->context, "branch_weights", 14),
        LLVMValueAsMetadata(cpu_int(k->i32, yes)), LLVMValueAsMetadata(cpu_int(k->i32, no))};
    LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(k->context, "prof", 4),
        LLVMMetadataAsValue(k->context, LLVMMDNodeInContext2(k->context, parts, 3)));
}

void cpu_limit_poll(cpu_kernel *k, int latch)
{
    int l = k->blocks[latch].loop;
    if (l < 0 || k->loops[l].latch != latch || !k->loops[l].polled) return;
    LLVMBuilderRef b = k->builder;
    LLVMBasicBlockRef stop = cpu_new_block(k, "stop"), go_on = cpu_new_block(k, "go.on");
    if (k->loops[l].counter) {
        LLVMBasicBlockRef look = cpu_new_block(k, "look");
        LLVMValueRef counter = cpu_scalar(k, k->loops[l].counter, 0, 1), zero = LLVMConstNull(LLVMTypeOf(counter));
        LLVMValueRef bits = LLVMBuildAnd(b, counter, cpu_int(LLVMTypeOf(counter), k->loops[l].counter_bits), "");
        LLVMValueRef branch = LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, bits, zero, ""), look, go_on);
        set_weights(k, branch, 1, SKIP - 1);
        LLVMPositionBuilderAtEnd(b, look);
    }
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
