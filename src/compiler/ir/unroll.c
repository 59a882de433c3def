/* Which loops are not to be unrolled.
 *
 * Takes a kernel whose loops have one latch, rotated as far as they can be; marks loops with llvm.loop.unroll.disable.
 * LLVM counts an operation as one call, but to the cpu engine some are much more than that:
 *   - a threadgroup barrier is a return and an entry, with all that lives across it saved and loaded, so that copies of
 *     it multiply the states: loops around one are never unrolled;
 *   - a collective is dozens of vector instructions, an atomic update a loop over the lanes: loops are unrolled as long
 *     as the copies stay below EXPENSIVE.
 * A loop whose counter may be the index of a private array is left to LLVM: the array becomes values only when the loop
 * is gone. */
#include "compiler/ir/steps.h"

#include "compiler/ir/cfg.h"

#include <llvm-c/DebugInfo.h>
#include <stdlib.h>
#include <string.h>

enum { EXPENSIVE = 64, ATOMIC_WEIGHT = 8, MAX_TRIPS = 1 << 16 };

typedef struct loop_facts {
    uint64_t weight; /* of the body: its own operations, and those of inner loops as often as they will be there */
    uint32_t trips;  /* 0: unknown */
    bool barrier, array, keep;
} loop_facts;

/* ---- Trips ---- */

static bool constant_of(LLVMValueRef value, uint64_t *constant)
{
    if (!LLVMIsAConstantInt(value) || LLVMGetIntTypeWidth(LLVMTypeOf(value)) > 64) return false;
    *constant = LLVMConstIntGetZExtValue(value);
    return true;
}

static uint64_t cut(uint64_t x, unsigned width)
{
    return width < 64 ? x & (((uint64_t)1 << width) - 1) : x;
}

static int64_t sign(uint64_t x, unsigned width)
{
    return (int64_t)(x << (64 - width)) >> (64 - width);
}

static bool step_of(LLVMOpcode opcode, uint64_t x, uint64_t c, unsigned width, uint64_t *next)
{
    bool shift = opcode == LLVMShl || opcode == LLVMLShr || opcode == LLVMAShr;
    if (shift && c >= width) return false;
    switch (opcode) {
    case LLVMAdd: *next = cut(x + c, width); return true;
    case LLVMSub: *next = cut(x - c, width); return true;
    case LLVMMul: *next = cut(x * c, width); return true;
    case LLVMShl: *next = cut(x << c, width); return true;
    case LLVMLShr: *next = x >> c; return true;
    case LLVMAShr: *next = cut((uint64_t)(sign(x, width) >> c), width); return true;
    default: return false;
    }
}

static bool compare(LLVMIntPredicate predicate, uint64_t a, uint64_t b, unsigned width)
{
    int64_t x = sign(a, width), y = sign(b, width);
    switch (predicate) {
    case LLVMIntEQ: return a == b;
    case LLVMIntNE: return a != b;
    case LLVMIntUGT: return a > b;
    case LLVMIntUGE: return a >= b;
    case LLVMIntULT: return a < b;
    case LLVMIntULE: return a <= b;
    case LLVMIntSGT: return x > y;
    case LLVMIntSGE: return x >= y;
    case LLVMIntSLT: return x < y;
    default: return x <= y;
    }
}

/* Runs the counter `phi` from its start until the comparison says that the loop ends. */
static uint32_t count_trips(LLVMValueRef phi, LLVMValueRef condition, bool goes_on, LLVMBasicBlockRef latch)
{
    LLVMValueRef step = NULL, tested = LLVMGetOperand(condition, 0);
    uint64_t x = 0, by, bound, next;
    bool started = false;
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
        if (LLVMGetIncomingBlock(phi, i) == latch)
            step = LLVMGetIncomingValue(phi, i);
        else
            started = constant_of(LLVMGetIncomingValue(phi, i), &x);
    }
    if (!started || !step || !LLVMIsABinaryOperator(step) || LLVMGetOperand(step, 0) != phi) return 0;
    if (!constant_of(LLVMGetOperand(step, 1), &by) || !constant_of(LLVMGetOperand(condition, 1), &bound)) return 0;
    if (tested != phi && tested != step) return 0;
    unsigned width = LLVMGetIntTypeWidth(LLVMTypeOf(phi));
    for (uint32_t trips = 1; trips <= MAX_TRIPS; trips++) {
        if (!step_of(LLVMGetInstructionOpcode(step), x, by, width, &next)) return 0;
        bool holds = compare(LLVMGetICmpPredicate(condition), tested == phi ? x : next, bound, width);
        if (holds != goes_on) return trips;
        x = next;
    }
    return 0;
}

uint32_t ir_loop_trips(LLVMBasicBlockRef header, LLVMBasicBlockRef latch)
{
    LLVMValueRef end = LLVMGetBasicBlockTerminator(latch);
    if (LLVMGetInstructionOpcode(end) != LLVMBr || !LLVMIsConditional(end)) return 0;
    LLVMValueRef condition = LLVMGetCondition(end);
    if (!LLVMIsAICmpInst(condition) || LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(condition, 0))) != LLVMIntegerTypeKind)
        return 0;
    bool goes_on = LLVMGetSuccessor(end, 0) == header;
    for (LLVMValueRef phi = LLVMGetFirstInstruction(header); LLVMIsAPHINode(phi); phi = LLVMGetNextInstruction(phi)) {
        if (LLVMGetTypeKind(LLVMTypeOf(phi)) != LLVMIntegerTypeKind || LLVMGetIntTypeWidth(LLVMTypeOf(phi)) > 64)
            continue;
        uint32_t trips = count_trips(phi, condition, goes_on, latch);
        if (trips) return trips;
    }
    return 0;
}

/* ---- What is in a loop ---- */

static bool indexes_array(LLVMValueRef ir)
{
    if (!LLVMIsAGetElementPtrInst(ir) || !LLVMIsAAllocaInst(LLVMGetOperand(ir, 0))) return false;
    for (int i = 1; i < LLVMGetNumOperands(ir); i++)
        if (!LLVMIsConstant(LLVMGetOperand(ir, (unsigned)i))) return true;
    return false;
}

static void note_instruction(loop_facts *facts, LLVMValueRef ir)
{
    if (LLVMIsAAtomicRMWInst(ir) || LLVMIsAAtomicCmpXchgInst(ir)) facts->weight += ATOMIC_WEIGHT;
    facts->array |= indexes_array(ir);
    LLVMValueRef callee = LLVMIsACallInst(ir) ? ir_callee(ir) : NULL;
    if (!callee) return;
    facts->barrier |= ir_name_starts(callee, "__tombac_threadgroup_barrier");
    facts->weight += ir_name_starts(callee, "__tombac_simd_") || ir_name_starts(callee, "__tombac_quad_");
}

/* ---- Marks ---- */

static void disable(LLVMContextRef context, LLVMValueRef branch)
{
    static const char name[] = "llvm.loop.unroll.disable";
    LLVMMetadataRef string = LLVMMDStringInContext2(context, name, sizeof name - 1);
    LLVMMetadataRef property = LLVMMDNodeInContext2(context, &string, 1);
    LLVMMetadataRef self = LLVMTemporaryMDNode(context, NULL, 0), parts[2] = {self, property};
    LLVMMetadataRef id = LLVMMDNodeInContext2(context, parts, 2); /* a loop's name is a node that contains itself */
    LLVMMetadataReplaceAllUsesWith(self, id);
    LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(context, "llvm.loop", 9), LLVMMetadataAsValue(context, id));
}

/* Inner loops come after their parents, so going backwards sums up from the inside. */
static void decide(const ir_cfg *cfg, loop_facts *facts)
{
    for (uint32_t l = cfg->loop_count; l-- > 0;) {
        const ir_cfg_loop *loop = &cfg->loops[l];
        loop_facts *f = &facts[l];
        f->trips = loop->latch == IR_NONE
                       ? 0
                       : ir_loop_trips(cfg->blocks[loop->header].block, cfg->blocks[loop->latch].block);
        f->keep = !f->array && (f->barrier || f->weight * f->trips > EXPENSIVE);
        if (loop->parent == IR_NONE) continue;
        loop_facts *parent = &facts[loop->parent];
        parent->weight += f->weight * (f->keep || !f->trips ? 1 : f->trips);
        parent->barrier |= f->barrier;
        parent->array |= f->array;
    }
}

tombac_status ir_loops_limit_unrolling(ir_kernel *kernel, tombac_error **error)
{
    ir_cfg cfg;
    tombac_status status = ir_cfg_build(kernel->function, &cfg, error);
    if (status != TOMBAC_OK) return status;
    loop_facts *facts = calloc((size_t)cfg.loop_count + 1, sizeof *facts);
    if (!facts) status = tb_fail_memory(error);
    for (uint32_t b = 0; facts && b < cfg.block_count; b++) {
        if (cfg.blocks[b].loop == IR_NONE) continue;
        LLVMBasicBlockRef block = cfg.blocks[b].block;
        for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i))
            note_instruction(&facts[cfg.blocks[b].loop], i);
    }
    if (facts) decide(&cfg, facts);
    for (uint32_t l = 0; facts && l < cfg.loop_count; l++)
        if (facts[l].keep && cfg.loops[l].latch != IR_NONE)
            disable(kernel->context, LLVMGetBasicBlockTerminator(cfg.blocks[cfg.loops[l].latch].block));
    free(facts);
    ir_cfg_free(&cfg);
    return status;
}
