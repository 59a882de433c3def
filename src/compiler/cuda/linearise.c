/* Masks for collective operations: which lanes execute an operation together?
 *
 * In blocks that a SIMD-group executes as a whole it is every lane that exists. Where a collective stands in
 * another block the whole function is rewritten, so that the answer does not depend on how the hardware
 * happens to reconverge: blocks are put into the order of docs/architecture.md "Convergence" (check/order.c),
 * each behind a head that every lane of the surrounding region passes. A branch only sets its target's guard;
 * a block is entered by the lanes whose guard is set. In the head of a block with collectives a ballot over
 * the region's lanes says which these are; being a synchronising instruction, it waits for all of them.
 *
 *     head(b)   g = guard(b); guard(b) = false; [mask(b) = ballot(mask(region), g)]; g ? b : next
 *     entry(l)  [mask(l) = ballot(mask(region), guard(header))]; guard(header) ? head(header) : behind(l)
 *     end(l)    [mask(l) = ballot(mask(l), guard(header))];      guard(header) ? head(header) : behind(l)
 *
 * A region is the function or a loop l. Values that cross blocks and phis go to memory first (reg2mem);
 * scalar replacement brings them back. A block that only returns is not put in order: lanes end there at
 * once, so that barriers and ballots do not wait for them. */
#include "compiler/check/steps.h"
#include "compiler/cuda/steps.h"
#include "compiler/ir/steps.h"

#include <stdlib.h>
#include <string.h>

bool cuda_is_collective(LLVMValueRef instruction)
{
    static const char *const prefixes[] = {
        "__tombac_simd_", "__tombac_quad_", "__tombac_simdgroup_barrier", "__tombac_matrix_multiply"};
    LLVMValueRef callee = ir_callee(instruction);
    for (size_t i = 0; callee && i < sizeof prefixes / sizeof prefixes[0]; i++) {
        if (ir_name_starts(callee, prefixes[i])) return true;
    }
    return false;
}

static bool has_collective(LLVMBasicBlockRef block)
{
    for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i)) {
        if (cuda_is_collective(i)) return true;
    }
    return false;
}

/* ---- Operands ---- */

/* Replaces the call of an operation by one of the library function, with `mask` as a further operand. */
static void give_mask(LLVMModuleRef module, LLVMBuilderRef builder, LLVMValueRef call, LLVMValueRef mask)
{
    LLVMValueRef operands[8];
    unsigned count = LLVMGetNumArgOperands(call);
    for (unsigned i = 0; i < count && i < 7; i++) operands[i] = LLVMGetOperand(call, i);
    operands[count] = mask;
    size_t length;
    const char *name = LLVMGetValueName2(ir_callee(call), &length) + strlen("__tombac_");
    LLVMPositionBuilderBefore(builder, call);
    LLVMValueRef made = cuda_call(module, builder, name, LLVMTypeOf(call), operands, count + 1, true);
    LLVMReplaceAllUsesWith(call, made);
    LLVMInstructionEraseFromParent(call);
}

static void give_masks(
    LLVMModuleRef module, LLVMBuilderRef builder, LLVMBasicBlockRef block, LLVMValueRef mask)
{
    for (LLVMValueRef i = LLVMGetFirstInstruction(block), next; i; i = next) {
        next = LLVMGetNextInstruction(i);
        if (cuda_is_collective(i)) give_mask(module, builder, i, mask);
    }
}

/* ---- The rewritten function ---- */

typedef struct rewrite {
    ir_kernel *kernel;
    LLVMBuilderRef builder;
    const ir_cfg *cfg;
    const uint32_t *order;
    uint32_t *place;                   /* place in the order, of each block */
    bool *returns;                     /* blocks that only return */
    bool *loop_masks;                  /* loops that hold a collective */
    LLVMValueRef *guards;              /* memory, of each block */
    LLVMBasicBlockRef *heads;          /* of each block */
    LLVMBasicBlockRef *entries, *ends; /* of each loop */
    LLVMValueRef *masks;               /* memory, of each loop */
    LLVMValueRef existing;             /* lanes of the SIMD-group that exist */
    LLVMBasicBlockRef finish;
    LLVMTypeRef i1, i32;
} rewrite;

static bool only_returns(LLVMBasicBlockRef block)
{
    LLVMValueRef first = LLVMGetFirstInstruction(block);
    return LLVMIsAReturnInst(first) || LLVMIsAUnreachableInst(first);
}

static LLVMValueRef region_mask(const rewrite *r, uint32_t loop)
{
    return loop == IR_NONE ? r->existing : LLVMBuildLoad2(r->builder, r->i32, r->masks[loop], "");
}

static LLVMValueRef build_ballot(const rewrite *r, LLVMValueRef mask, LLVMValueRef condition)
{
    LLVMValueRef operands[2] = {mask, condition};
    return ir_build_intrinsic(
        r->builder, r->kernel->module, "llvm.nvvm.vote.ballot.sync", NULL, 0, operands, 2);
}

/* The place behind which the blocks of `loop` end. */
static uint32_t last_place(const rewrite *r, uint32_t loop)
{
    uint32_t last = r->place[r->cfg->loops[loop].header];
    while (last + 1 < r->cfg->block_count &&
           ir_cfg_in_loop(r->cfg, r->cfg->blocks[r->order[last + 1]].loop, loop))
        last++;
    return last;
}

/* Where a lane of `loop` goes on that has passed the block at `place`. */
static LLVMBasicBlockRef behind(const rewrite *r, uint32_t place, uint32_t loop)
{
    const ir_cfg *cfg = r->cfg;
    for (uint32_t next = place + 1; next < cfg->block_count; next++) {
        uint32_t b = r->order[next];
        if (loop != IR_NONE && !ir_cfg_in_loop(cfg, cfg->blocks[b].loop, loop)) break;
        if (r->returns[b]) continue;
        uint32_t inner = cfg->blocks[b].loop;
        bool enters = inner != loop && inner != IR_NONE && cfg->loops[inner].header == b;
        return enters ? r->entries[inner] : r->heads[b];
    }
    return loop == IR_NONE ? r->finish : r->ends[loop];
}

static void build_head(const rewrite *r, uint32_t b)
{
    LLVMPositionBuilderAtEnd(r->builder, r->heads[b]);
    uint32_t loop = r->cfg->blocks[b].loop;
    LLVMValueRef guard = LLVMBuildLoad2(r->builder, r->i1, r->guards[b], "");
    LLVMBuildStore(r->builder, LLVMConstNull(r->i1), r->guards[b]);
    LLVMValueRef mask =
        has_collective(r->cfg->blocks[b].block) ? build_ballot(r, region_mask(r, loop), guard) : NULL;
    LLVMBuildCondBr(r->builder, guard, r->cfg->blocks[b].block, behind(r, r->place[b], loop));
    if (mask) give_masks(r->kernel->module, r->builder, r->cfg->blocks[b].block, mask);
}

static void build_loop(const rewrite *r, uint32_t loop)
{
    uint32_t header = r->cfg->loops[loop].header, parent = r->cfg->loops[loop].parent,
             last = last_place(r, loop);
    for (int end = 0; end < 2; end++) {
        LLVMPositionBuilderAtEnd(r->builder, end ? r->ends[loop] : r->entries[loop]);
        LLVMValueRef guard = LLVMBuildLoad2(r->builder, r->i1, r->guards[header], "");
        if (r->loop_masks[loop]) {
            LLVMValueRef mask = build_ballot(r, region_mask(r, end ? loop : parent), guard);
            LLVMBuildStore(r->builder, mask, r->masks[loop]);
        }
        LLVMBuildCondBr(r->builder, guard, r->heads[header], behind(r, last, parent));
    }
}

/* The block's end sets the guard of its successor, or of one of two. */
static void rewrite_end(const rewrite *r, uint32_t b)
{
    const ir_cfg_block *block = &r->cfg->blocks[b];
    if (!block->successor_count) return;
    LLVMValueRef end = LLVMGetBasicBlockTerminator(block->block);
    LLVMBasicBlockRef next = behind(r, r->place[b], block->loop);
    LLVMPositionBuilderBefore(r->builder, end);
    bool two = LLVMGetNumSuccessors(end) == 2 && block->successor_count == 2;
    LLVMValueRef condition = two ? LLVMGetCondition(end) : LLVMConstAllOnes(r->i1);
    LLVMBasicBlockRef ending = NULL;
    LLVMValueRef ends_where = NULL;
    for (unsigned s = 0; s < (two ? 2u : 1u); s++) {
        LLVMBasicBlockRef target = LLVMGetSuccessor(end, s);
        uint32_t number = 0;
        while (r->cfg->blocks[number].block != target) number++;
        LLVMValueRef taken = s ? LLVMBuildNot(r->builder, condition, "") : condition;
        if (r->returns[number]) {
            ending = target;
            ends_where = ends_where ? LLVMConstAllOnes(r->i1) : taken;
        } else {
            LLVMBuildStore(r->builder, taken, r->guards[number]);
        }
    }
    if (ending)
        LLVMBuildCondBr(r->builder, ends_where, ending, next);
    else
        LLVMBuildBr(r->builder, next);
    LLVMInstructionEraseFromParent(end);
}

static void build_variables(rewrite *r)
{
    LLVMBasicBlockRef entry = r->cfg->blocks[0].block;
    LLVMPositionBuilderBefore(r->builder, LLVMGetFirstInstruction(entry));
    for (uint32_t b = 1; b < r->cfg->block_count; b++) {
        r->guards[b] = LLVMBuildAlloca(r->builder, r->i1, "");
        LLVMBuildStore(r->builder, LLVMConstNull(r->i1), r->guards[b]);
        r->heads[b] = LLVMAppendBasicBlockInContext(r->kernel->context, r->kernel->function, "head");
    }
    for (uint32_t l = 0; l < r->cfg->loop_count; l++) {
        r->masks[l] = LLVMBuildAlloca(r->builder, r->i32, "");
        r->entries[l] = LLVMAppendBasicBlockInContext(r->kernel->context, r->kernel->function, "enter");
        r->ends[l] = LLVMAppendBasicBlockInContext(r->kernel->context, r->kernel->function, "again");
    }
    r->finish = LLVMAppendBasicBlockInContext(r->kernel->context, r->kernel->function, "finish");
}

static void build(rewrite *r)
{
    const ir_cfg *cfg = r->cfg;
    for (uint32_t i = 0; i < cfg->block_count; i++) r->place[r->order[i]] = i;
    for (uint32_t b = 0; b < cfg->block_count; b++) {
        r->returns[b] = b && only_returns(cfg->blocks[b].block);
        if (!has_collective(cfg->blocks[b].block)) continue;
        for (uint32_t l = cfg->blocks[b].loop; l != IR_NONE; l = cfg->loops[l].parent)
            r->loop_masks[l] = true;
    }
    build_variables(r);
    LLVMPositionBuilderAtEnd(r->builder, r->finish);
    LLVMBuildRetVoid(r->builder);
    give_masks(r->kernel->module, r->builder, cfg->blocks[0].block, r->existing);
    for (uint32_t b = 0; b < cfg->block_count; b++) {
        if (r->returns[b])
            LLVMDeleteBasicBlock(r->heads[b]);
        else if (b)
            build_head(r, b);
    }
    for (uint32_t l = 0; l < cfg->loop_count; l++) build_loop(r, l);
    for (uint32_t b = 0; b < cfg->block_count; b++) {
        if (!r->returns[b]) rewrite_end(r, b);
    }
}

static tombac_status rewrite_function(
    ir_kernel *kernel, LLVMBuilderRef builder, LLVMValueRef existing, const ir_cfg *cfg, tombac_error **error)
{
    size_t n = cfg->block_count, m = cfg->loop_count + 1;
    uint32_t *order = malloc(n * sizeof *order);
    rewrite r = {.kernel = kernel,
        .builder = builder,
        .cfg = cfg,
        .order = order,
        .existing = existing,
        .place = malloc(n * sizeof *r.place),
        .returns = calloc(n, sizeof *r.returns),
        .loop_masks = calloc(m, sizeof *r.loop_masks),
        .guards = calloc(n, sizeof *r.guards),
        .heads = calloc(n, sizeof *r.heads),
        .entries = calloc(m, sizeof *r.entries),
        .ends = calloc(m, sizeof *r.ends),
        .masks = calloc(m, sizeof *r.masks),
        .i1 = LLVMInt1TypeInContext(kernel->context),
        .i32 = LLVMInt32TypeInContext(kernel->context)};
    tombac_status status = TOMBAC_OK;
    if (!order || !r.place || !r.returns || !r.loop_masks || !r.guards || !r.heads || !r.entries || !r.ends ||
        !r.masks)
        status = tb_fail_memory(error);
    if (status == TOMBAC_OK) status = check_order_compute(cfg, order, error);
    if (status == TOMBAC_OK) build(&r);
    free(order);
    free(r.place);
    free(r.returns);
    free(r.loop_masks);
    free(r.guards);
    free(r.heads);
    free(r.entries);
    free(r.ends);
    free(r.masks);
    return status;
}

/* ---- The decision ---- */

/* Does a collective stand in a block that may be executed by a part of the lanes? */
static tombac_status decide(const ir_kernel *kernel, const ir_cfg *cfg, bool *needed, tombac_error **error)
{
    bool *divergent = calloc(cfg->block_count, sizeof *divergent);
    if (!divergent) return tb_fail_memory(error);
    tombac_status status = cuda_uniform_blocks(kernel, cfg, divergent, error);
    *needed = false;
    for (uint32_t b = 0; b < cfg->block_count && status == TOMBAC_OK; b++) {
        *needed |= divergent[b] && has_collective(cfg->blocks[b].block);
    }
    free(divergent);
    return status;
}

static LLVMValueRef build_existing(ir_kernel *kernel, LLVMBuilderRef builder)
{
    LLVMTypeRef type = LLVMFunctionType(LLVMInt32TypeInContext(kernel->context), NULL, 0, false);
    LLVMValueRef function = ir_declare(kernel->module, CUDA_MASK, type);
    ir_mark_pure(function);
    LLVMPositionBuilderBefore(builder, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(kernel->function)));
    return LLVMBuildCall2(builder, type, function, NULL, 0, "");
}

static tombac_status to_memory(ir_kernel *kernel, ir_cfg *cfg, tombac_error **error)
{
    bool irreducible = cfg->irreducible;
    ir_cfg_free(cfg);
    *cfg = (ir_cfg){0};
    tombac_status status = ir_run_passes(
        kernel, irreducible ? "function(lower-switch,fix-irreducible)" : "function(lower-switch)", error);
    if (status == TOMBAC_OK) status = ir_loops_merge_latches(kernel->function, error);
    if (status == TOMBAC_OK) status = ir_run_passes(kernel, "function(reg2mem)", error);
    return status == TOMBAC_OK ? ir_cfg_build(kernel->function, cfg, error) : status;
}

tombac_status cuda_linearise(ir_kernel *kernel, tombac_error **error)
{
    ir_cfg cfg;
    tombac_status status = ir_cfg_build(kernel->function, &cfg, error);
    if (status != TOMBAC_OK) return status;
    bool needed = false;
    status = decide(kernel, &cfg, &needed, error);
    if (status == TOMBAC_OK && needed) status = to_memory(kernel, &cfg, error);
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(kernel->context);
    if (status == TOMBAC_OK) {
        LLVMValueRef existing = build_existing(kernel, builder);
        if (needed) {
            status = rewrite_function(kernel, builder, existing, &cfg, error);
        } else {
            for (uint32_t b = 0; b < cfg.block_count; b++) {
                give_masks(kernel->module, builder, cfg.blocks[b].block, existing);
            }
        }
    }
    LLVMDisposeBuilder(builder);
    ir_cfg_free(&cfg);
    return status;
}
