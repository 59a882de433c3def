/* Which blocks do the lanes of a SIMD-group execute all together, or not at all?
 *
 * A forward analysis to the least fixed point. A value is divergent if lanes may see different values: it
 * comes from the thread's own position, from writable memory, from an operation that differs by lane, or from
 * a divergent operand. A branch on a divergent condition makes the blocks between it and its nearest
 * post-dominator divergent, and the phis of those and of the post-dominator; so does a loop that lanes leave
 * at different times, whose values are divergent outside. */
#include "compiler/cuda/steps.h"

#include <stdlib.h>
#include <string.h>

typedef struct analysis {
    const ir_kernel *kernel;
    const ir_cfg *cfg;
    bool *divergent;          /* blocks */
    bool *joins;              /* blocks whose phis are divergent */
    bool *done;               /* branches that were followed */
    uint64_t *postdominators; /* bit sets of `words` words for each block */
    size_t words;
    const void **table; /* divergent values and numbers of blocks, open addressing */
    uint32_t *numbers;
    size_t capacity, used;
    bool failed, changed;
} analysis;

/* ---- A set of values, and the numbers of blocks ---- */

static size_t slot_of(const analysis *a, const void *key)
{
    size_t slot = ((uintptr_t)key >> 4) * 0x9E3779B97F4A7C15u >> 20 & (a->capacity - 1);
    while (a->table[slot] && a->table[slot] != key) slot = (slot + 1) & (a->capacity - 1);
    return slot;
}

static void insert(analysis *a, const void *key, uint32_t number)
{
    size_t slot = slot_of(a, key);
    if (!a->table[slot]) a->used++;
    a->table[slot] = key;
    a->numbers[slot] = number;
}

static uint32_t number_of(const analysis *a, LLVMBasicBlockRef block)
{
    size_t slot = slot_of(a, block);
    return a->table[slot] ? a->numbers[slot] : IR_NONE;
}

static bool is_divergent(const analysis *a, LLVMValueRef value)
{
    size_t slot = slot_of(a, value);
    return a->table[slot] && a->numbers[slot] == IR_NONE; /* blocks have a number */
}

/* ---- Post-dominators ---- */

static bool has(const uint64_t *set, uint32_t i)
{
    return set[i / 64] >> (i % 64) & 1;
}

/* Blocks on every way from b to an end; everything for blocks from which there is none. */
static bool refine(const analysis *a, uint32_t b)
{
    const ir_cfg_block *block = &a->cfg->blocks[b];
    uint64_t *own = a->postdominators + b * a->words;
    bool changed = false;
    for (size_t w = 0; w < a->words; w++) {
        uint64_t value = block->successor_count ? ~UINT64_C(0) : 0;
        for (uint32_t s = 0; s < block->successor_count; s++)
            value &= a->postdominators[block->successors[s] * a->words + w];
        if (w == b / 64) value |= UINT64_C(1) << (b % 64);
        changed |= value != own[w];
        own[w] = value;
    }
    return changed;
}

static void find_postdominators(analysis *a)
{
    memset(a->postdominators, 0xff, a->cfg->block_count * a->words * sizeof *a->postdominators);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t b = a->cfg->block_count; b-- > 0;) changed |= refine(a, b);
    }
}

/* ---- Values ---- */

/* The argument or global that an address is computed from, NULL for others. */
static LLVMValueRef root_of(LLVMValueRef address)
{
    for (int depth = 0; depth < 64; depth++) {
        if (LLVMIsAGetElementPtrInst(address) || LLVMIsAAddrSpaceCastInst(address) ||
            LLVMIsABitCastInst(address) ||
            (LLVMIsAConstantExpr(address) && LLVMGetNumOperands(address) > 0)) {
            address = LLVMGetOperand(address, 0);
        } else {
            return address;
        }
    }
    return NULL;
}

/* Memory that nothing writes while the kernel runs. */
static bool is_constant_memory(const analysis *a, LLVMValueRef address)
{
    LLVMValueRef root = root_of(address);
    if (!root) return false;
    if (LLVMIsAGlobalVariable(root)) return LLVMIsGlobalConstant(root);
    for (unsigned i = 0; i < a->kernel->argument_count; i++) {
        if (LLVMGetParam(a->kernel->function, i) == root)
            return a->kernel->arguments[i].parameter->space == FRONT_CONSTANT;
    }
    return false;
}

static bool is_uniform_operation(LLVMValueRef callee)
{
    static const char *const names[] = {"__tombac_simd_sum", "__tombac_simd_product", "__tombac_simd_min",
        "__tombac_simd_max", "__tombac_simd_and", "__tombac_simd_or", "__tombac_simd_xor",
        "__tombac_simd_ballot", "__tombac_simd_active_threads_mask", "__tombac_simd_all", "__tombac_simd_any",
        "__tombac_simd_broadcast_first"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (ir_name_starts(callee, names[i])) return true;
    }
    return false;
}

/* Calls whose result differs by lane although their operands do not, or is the same although they do; the
 * rest is decided by the operands. */
static bool decide_call(const analysis *a, LLVMValueRef call, bool *divergent)
{
    static const char *const positions[] = {"__tombac_lane", "__tombac_thread_index",
        "__tombac_thread_position_", "__tombac_matrix_row", "__tombac_matrix_column"};
    LLVMValueRef callee = ir_callee(call);
    *divergent = true;
    if (!callee) return true;
    if (LLVMGetIntrinsicID(callee)) return false;
    for (size_t i = 0; i < sizeof positions / sizeof positions[0]; i++) {
        if (ir_name_starts(callee, positions[i])) return true;
    }
    if (is_uniform_operation(callee)) {
        *divergent = false;
        return true;
    }
    if (ir_name_starts(callee, "__tombac_simd_broadcast.") ||
        ir_name_starts(callee, "__tombac_simd_shuffle.")) {
        *divergent = is_divergent(a, LLVMGetOperand(call, 1));
        return true;
    }
    /* Other collectives differ by lane; what is left without operands is a fact about the threadgroup. */
    *divergent = ir_name_starts(callee, "__tombac_simd_") || ir_name_starts(callee, "__tombac_quad_") ||
                 ir_name_starts(callee, "__tombac_matrix_") || LLVMGetNumArgOperands(call) > 0;
    return true;
}

static bool operand_divergent(const analysis *a, LLVMValueRef instruction)
{
    bool outside = !a->divergent[number_of(a, LLVMGetInstructionParent(instruction))];
    for (int i = 0; i < LLVMGetNumOperands(instruction); i++) {
        LLVMValueRef operand = LLVMGetOperand(instruction, (unsigned)i);
        if (is_divergent(a, operand)) return true;
        if (!outside || !LLVMIsAInstruction(operand)) continue;
        uint32_t home = number_of(a, LLVMGetInstructionParent(operand));
        if (home != IR_NONE && a->divergent[home])
            return true; /* lanes left a loop in different iterations */
    }
    return false;
}

static bool compute(const analysis *a, LLVMValueRef instruction, uint32_t block)
{
    bool divergent;
    switch (LLVMGetInstructionOpcode(instruction)) {
    case LLVMCall:
        if (decide_call(a, instruction, &divergent)) return divergent;
        break;
    case LLVMLoad:
        if (!is_constant_memory(a, LLVMGetOperand(instruction, 0))) return true;
        break;
    case LLVMPHI:
        if (a->joins[block]) return true;
        break;
    case LLVMAlloca:
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg: return true;
    default: break;
    }
    return operand_divergent(a, instruction);
}

/* ---- Branches ---- */

/* Marks what lies between a divergent branch and its post-dominators. */
static void follow(analysis *a, uint32_t from)
{
    const ir_cfg *cfg = a->cfg;
    const uint64_t *ends = a->postdominators + from * a->words;
    uint32_t *stack = malloc((cfg->block_count + 1) * sizeof *stack), depth = 0;
    bool *seen = calloc(cfg->block_count, sizeof *seen);
    if (!stack || !seen) {
        a->failed = true;
    } else {
        stack[depth++] = from;
        while (depth) {
            uint32_t b = stack[--depth];
            for (uint32_t s = 0; s < cfg->blocks[b].successor_count; s++) {
                uint32_t next = cfg->blocks[b].successors[s];
                if (!a->joins[next]) a->joins[next] = a->changed = true;
                if (seen[next] || (has(ends, next) && next != from)) continue;
                seen[next] = true;
                if (!a->divergent[next]) a->divergent[next] = a->changed = true;
                stack[depth++] = next;
            }
        }
    }
    free(stack);
    free(seen);
}

static void visit_block(analysis *a, uint32_t b)
{
    LLVMBasicBlockRef block = a->cfg->blocks[b].block;
    for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i)) {
        if (is_divergent(a, i) || !compute(a, i, b)) continue;
        insert(a, i, IR_NONE);
        a->changed = true;
    }
    LLVMValueRef end = LLVMGetBasicBlockTerminator(block);
    if (a->cfg->blocks[b].successor_count > 1 && is_divergent(a, end) && !a->done[b]) {
        a->done[b] = true;
        follow(a, b);
    }
}

static size_t count_values(const ir_cfg *cfg)
{
    size_t count = cfg->block_count;
    for (uint32_t b = 0; b < cfg->block_count; b++) {
        for (LLVMValueRef i = LLVMGetFirstInstruction(cfg->blocks[b].block); i; i = LLVMGetNextInstruction(i))
            count++;
    }
    return count;
}

tombac_status cuda_uniform_blocks(
    const ir_kernel *kernel, const ir_cfg *cfg, bool *divergent, tombac_error **error)
{
    analysis a = {.kernel = kernel,
        .cfg = cfg,
        .divergent = divergent,
        .words = (cfg->block_count + 63) / 64,
        .capacity = 64};
    while (a.capacity < 2 * count_values(cfg)) a.capacity *= 2;
    memset(divergent, 0, cfg->block_count * sizeof *divergent);
    a.joins = calloc(cfg->block_count, sizeof *a.joins);
    a.done = calloc(cfg->block_count, sizeof *a.done);
    a.postdominators = calloc(cfg->block_count * a.words, sizeof *a.postdominators);
    a.table = calloc(a.capacity, sizeof *a.table);
    a.numbers = calloc(a.capacity, sizeof *a.numbers);
    a.failed = !a.joins || !a.done || !a.postdominators || !a.table || !a.numbers;
    if (!a.failed) {
        find_postdominators(&a);
        for (uint32_t b = 0; b < cfg->block_count; b++) insert(&a, cfg->blocks[b].block, b);
        do {
            a.changed = false;
            for (uint32_t b = 0; b < cfg->block_count && !a.failed; b++) visit_block(&a, b);
        } while (a.changed && !a.failed);
    }
    free(a.joins);
    free(a.done);
    free(a.postdominators);
    free(a.table);
    free(a.numbers);
    return a.failed ? tb_fail_memory(error) : TOMBAC_OK;
}
