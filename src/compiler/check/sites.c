/* Convergence points: collectives, barriers and latches become waits at sites numbered in block order;
 * operations that one thread does alone become calls of the driver.
 *
 * A site is a constant record; the wait passes its address and up to four operands as 64-bit patterns. Every
 * loop also counts down at its latch, so that the driver gets control of loops that do not end. Because the
 * number travels with the call, no later optimisation can change who meets whom. */
#include "compiler/check/steps.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- Names ---- */

static int find_name(const char *const *names, size_t count, const char *name, size_t length)
{
    for (size_t i = 0; i < count; i++) {
        if (strlen(names[i]) == length && !memcmp(names[i], name, length)) return (int)i;
    }
    return -1;
}

#define X(name) #name,
static const char *const collectives[] = {TB_CHECK_COLLECTIVES(X)};
static const char *const type_names[] = {TB_CHECK_TYPES(X)};
#undef X

/* What a call waits for: false where it is no operation that waits. */
static bool parse_operation(LLVMValueRef call, tb_check_site *site)
{
    LLVMValueRef callee = ir_callee(call);
    if (!callee || !ir_name_starts(callee, "__tombac_")) return false;
    size_t length;
    const char *name = LLVMGetValueName2(callee, &length) + strlen("__tombac_");
    *site = (tb_check_site){.width = TB_SIMD_WIDTH};
    LLVMValueRef first = LLVMGetNumArgOperands(call) ? LLVMIsAConstantInt(LLVMGetOperand(call, 0)) : NULL;
    site->flags = first ? (uint8_t)LLVMConstIntGetZExtValue(first) : 0;
    if (!strcmp(name, "threadgroup_barrier")) return site->operation = TB_CHECK_THREADGROUP_BARRIER, true;
    if (!strcmp(name, "simdgroup_barrier")) return site->operation = TB_CHECK_SIMDGROUP_BARRIER, true;
    site->flags = 0;
    if (!strcmp(name, "matrix_multiply_accumulate.f32")) {
        site->type = TB_CHECK_f32;
        return site->operation = TB_CHECK_MATRIX_MULTIPLY, true;
    }
    if (!strncmp(name, "quad_", 5))
        site->width = 4;
    else if (strncmp(name, "simd_", 5))
        return false;
    name += 5;
    const char *dot = strchr(name, '.');
    size_t base = dot ? (size_t)(dot - name) : strlen(name);
    int operation = find_name(collectives, sizeof collectives / sizeof collectives[0], name, base);
    int type =
        dot ? find_name(type_names, sizeof type_names / sizeof type_names[0], dot + 1, strlen(dot + 1)) : -1;
    if (operation < 0 || (dot && type < 0)) return false;
    site->operation = (uint8_t)operation;
    site->type = (uint8_t)(type + 1);
    return true;
}

/* ---- Building waits ---- */

static LLVMValueRef site_record(check_unit *unit, const tb_check_site *site, LLVMValueRef instruction)
{
    LLVMValueRef fields[6] = {check_place_fields(unit, instruction, NULL),
        LLVMConstInt(unit->i32, site->order, false), LLVMConstInt(unit->i8, site->operation, false),
        LLVMConstInt(unit->i8, site->type, false), LLVMConstInt(unit->i8, site->width, false),
        LLVMConstInt(unit->i8, site->flags, false)};
    _Static_assert(
        offsetof(tb_check_site, order) == 16 && offsetof(tb_check_site, flags) == 23, "fields as above");
    return check_constant_global(unit, LLVMConstStructInContext(unit->context, fields, 6, false));
}

/* The bits of a value, zero-extended to 64. */
static LLVMValueRef to_bits(check_unit *unit, LLVMValueRef value)
{
    LLVMTypeRef type = LLVMTypeOf(value);
    switch (LLVMGetTypeKind(type)) {
    case LLVMHalfTypeKind: value = LLVMBuildBitCast(unit->builder, value, unit->i16, ""); break;
    case LLVMFloatTypeKind: value = LLVMBuildBitCast(unit->builder, value, unit->i32, ""); break;
    case LLVMIntegerTypeKind: break;
    default: return NULL;
    }
    return LLVMBuildIntCast2(unit->builder, value, unit->i64, false, "");
}

static LLVMValueRef from_bits(check_unit *unit, LLVMValueRef bits, LLVMTypeRef type)
{
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(unit->module);
    LLVMTypeRef integer = LLVMIntTypeInContext(unit->context, (unsigned)LLVMSizeOfTypeInBits(layout, type));
    LLVMValueRef value = LLVMBuildIntCast2(unit->builder, bits, integer, false, "");
    return LLVMBuildBitCast(unit->builder, value, type, "");
}

static LLVMValueRef pair(check_unit *unit, LLVMValueRef low, LLVMValueRef high)
{
    LLVMValueRef shifted =
        LLVMBuildShl(unit->builder, to_bits(unit, high), LLVMConstInt(unit->i64, 32, false), "");
    return LLVMBuildOr(unit->builder, to_bits(unit, low), shifted, "");
}

static LLVMValueRef build_wait(
    check_unit *unit, tb_check_site *site, LLVMValueRef instruction, LLVMValueRef *bits)
{
    site->order = unit->site_count++;
    LLVMValueRef operands[6] = {
        unit->thread, site_record(unit, site, instruction), bits[0], bits[1], bits[2], bits[3]};
    return check_call(unit, "tombac_check_wait", unit->i64, operands, 6, false);
}

static void replace_operation(check_unit *unit, tb_check_site *site, LLVMValueRef call)
{
    LLVMPositionBuilderBefore(unit->builder, call);
    LLVMValueRef zero = LLVMConstNull(unit->i64), bits[4] = {zero, zero, zero, zero};
    unsigned count = LLVMGetNumArgOperands(call);
    if (site->operation == TB_CHECK_MATRIX_MULTIPLY && count == 6) {
        for (unsigned i = 0; i < 3; i++)
            bits[i] = pair(unit, LLVMGetOperand(call, 2 * i), LLVMGetOperand(call, 2 * i + 1));
    } else {
        for (unsigned i = 0; i < count && i < 4; i++) bits[i] = to_bits(unit, LLVMGetOperand(call, i));
    }
    bool good = count <= 4 || site->operation == TB_CHECK_MATRIX_MULTIPLY;
    for (unsigned i = 0; i < 4; i++) good &= bits[i] != NULL;
    if (!good) {
        check_fail(unit, ir_internal_error(unit->kernel->kernel, unit->error, "operands of %s",
                             LLVMGetValueName(ir_callee(call))));
        return;
    }
    LLVMValueRef result = build_wait(unit, site, call, bits);
    LLVMTypeRef type = LLVMTypeOf(call);
    if (LLVMGetTypeKind(type) != LLVMVoidTypeKind)
        LLVMReplaceAllUsesWith(call, from_bits(unit, result, type));
    LLVMInstructionEraseFromParent(call);
}

/* ---- Operations of one thread ---- */

static void matrix_position(check_unit *unit, LLVMValueRef call, bool column)
{
    LLVMBuilderRef b = unit->builder;
    LLVMValueRef lane =
        check_load_field(unit, unit->i32, unit->thread, offsetof(tb_check_thread, lane), true);
    LLVMValueRef n[5];
    for (unsigned i = 0; i < 5; i++) n[i] = LLVMConstInt(unit->i32, i, false);
    LLVMValueRef value;
    if (column) { /* ((lane / 4) & 2) * 2 + (lane % 2) * 2 */
        LLVMValueRef high =
            LLVMBuildMul(b, LLVMBuildAnd(b, LLVMBuildUDiv(b, lane, n[4], ""), n[2], ""), n[2], "");
        value = LLVMBuildAdd(b, high, LLVMBuildMul(b, LLVMBuildURem(b, lane, n[2], ""), n[2], ""), "");
    } else { /* ((lane / 4) & 4) + (lane / 2) % 4 */
        LLVMValueRef high = LLVMBuildAnd(b, LLVMBuildUDiv(b, lane, n[4], ""), n[4], "");
        value = LLVMBuildAdd(b, high, LLVMBuildURem(b, LLVMBuildUDiv(b, lane, n[2], ""), n[4], ""), "");
    }
    LLVMReplaceAllUsesWith(call, value);
    LLVMInstructionEraseFromParent(call);
}

static const struct {
    const char *name, *driver;
    bool ends, with_place;
} alone[] = {
    {"__tombac_log_begin", "tombac_check_log_begin", false, false},
    {"__tombac_log_argument.u64", "tombac_check_log_argument", false, false},
    {"__tombac_log_end", "tombac_check_log_end", false, false},
    {"__tombac_assert_fail", "tombac_check_assert", true, false},
    {"__tombac_unsupported", "tombac_check_unsupported", true, true},
};

/* An access outside of a private variable that is known when the kernel is compiled (ir/outside.c). */
static void replace_outside(check_unit *unit, LLVMValueRef call)
{
    bool store = !LLVMIsNull(LLVMGetOperand(call, 3));
    LLVMValueRef how = LLVMConstInt(unit->i32, store ? TB_CHECK_STORE : TB_CHECK_LOAD, false);
    LLVMValueRef operands[7] = {unit->thread, LLVMGetOperand(call, 0), LLVMGetOperand(call, 1),
        LLVMGetOperand(call, 2), how, LLVMConstNull(unit->i32), check_place(unit, call)};
    check_call(unit, "tombac_check_bound", unit->nothing, operands, 7, false);
    LLVMInstructionEraseFromParent(call);
}

static bool replace_alone(check_unit *unit, LLVMValueRef call)
{
    LLVMValueRef callee = ir_callee(call);
    if (!callee || !ir_name_starts(callee, "__tombac_")) return true;
    const char *name = LLVMGetValueName(callee);
    LLVMPositionBuilderBefore(unit->builder, call);
    if (!strcmp(name, "__tombac_outside")) return replace_outside(unit, call), true;
    if (!strcmp(name, "__tombac_matrix_row")) return matrix_position(unit, call, false), true;
    if (!strcmp(name, "__tombac_matrix_column")) return matrix_position(unit, call, true), true;
    if (!strcmp(name, "__tombac_fence")) { /* threads run one at a time: order is kept by doing nothing */
        LLVMBuildFence(unit->builder, LLVMAtomicOrderingSequentiallyConsistent, true, "");
        check_call(unit, "tombac_check_fence", unit->nothing, &unit->thread, 1, false);
        LLVMInstructionEraseFromParent(call);
        return true;
    }
    for (size_t i = 0; i < sizeof alone / sizeof alone[0]; i++) {
        if (strcmp(name, alone[i].name)) continue;
        LLVMValueRef operands[5] = {unit->thread};
        unsigned count = LLVMGetNumArgOperands(call);
        if (count > 3 || LLVMGetFirstUse(call)) return false;
        for (unsigned k = 0; k < count; k++) operands[k + 1] = LLVMGetOperand(call, k);
        if (alone[i].with_place) operands[++count] = check_place(unit, call);
        check_call(unit, alone[i].driver, unit->nothing, operands, count + 1, alone[i].ends);
        LLVMInstructionEraseFromParent(call);
        return true;
    }
    return false;
}

/* ---- Latches ---- */

/* tick(thread, place): if (!--thread->countdown) tombac_check_tick(thread, place) */
static void fill_tick(check_unit *unit, LLVMValueRef helper)
{
    LLVMBuilderRef b = unit->builder;
    LLVMValueRef thread = LLVMGetParam(helper, 0);
    LLVMValueRef offset = LLVMConstInt(unit->i64, offsetof(tb_check_thread, countdown), false);
    LLVMValueRef address = LLVMBuildInBoundsGEP2(b, unit->i8, thread, &offset, 1, "");
    LLVMValueRef count =
        LLVMBuildSub(b, LLVMBuildLoad2(b, unit->i32, address, ""), LLVMConstInt(unit->i32, 1, false), "");
    LLVMBuildStore(b, count, address);
    LLVMBasicBlockRef ring = LLVMAppendBasicBlockInContext(unit->context, helper, "");
    LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(unit->context, helper, "");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, count, LLVMConstNull(unit->i32), ""), ring, done);
    LLVMPositionBuilderAtEnd(b, ring);
    LLVMValueRef operands[2] = {thread, LLVMGetParam(helper, 1)};
    check_call(unit, "tombac_check_tick", unit->nothing, operands, 2, false);
    LLVMBuildBr(b, done);
    LLVMPositionBuilderAtEnd(b, done);
    LLVMBuildRetVoid(b);
}

static void end_iteration(check_unit *unit, LLVMBasicBlockRef latch, bool converges)
{
    LLVMValueRef terminator = LLVMGetBasicBlockTerminator(latch);
    LLVMPositionBuilderBefore(unit->builder, terminator);
    LLVMValueRef operands[2] = {unit->thread, check_place(unit, terminator)};
    check_call_helper(unit, "check.tick", fill_tick, operands, 2);
    if (!converges) return;
    tb_check_site site = {.operation = TB_CHECK_CONVERGE, .width = TB_SIMD_WIDTH};
    LLVMValueRef zero = LLVMConstNull(unit->i64), bits[4] = {zero, zero, zero, zero};
    build_wait(unit, &site, terminator, bits);
}

/* ---- All blocks ---- */

static bool block_waits(LLVMBasicBlockRef block)
{
    tb_check_site site;
    for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i)) {
        if (LLVMIsACallInst(i) && parse_operation(i, &site)) return true;
    }
    return false;
}

static void mark_block(check_unit *unit, LLVMBasicBlockRef block)
{
    for (LLVMValueRef next, i = LLVMGetFirstInstruction(block); i; i = next) {
        next = LLVMGetNextInstruction(i);
        tb_check_site site;
        if (!LLVMIsACallInst(i)) continue;
        if (parse_operation(i, &site)) {
            replace_operation(unit, &site, i);
        } else if (!replace_alone(unit, i)) {
            check_fail(unit, ir_internal_error(unit->kernel->kernel, unit->error,
                                 "operation '%s' is not known", LLVMGetValueName(ir_callee(i))));
        }
    }
}

/* For every loop: does it, or one inside it, contain a site? */
static void find_waiting_loops(const ir_cfg *cfg, bool *waits)
{
    for (uint32_t b = 0; b < cfg->block_count; b++) {
        if (cfg->blocks[b].loop == IR_NONE || !block_waits(cfg->blocks[b].block)) continue;
        for (uint32_t l = cfg->blocks[b].loop; l != IR_NONE && !waits[l]; l = cfg->loops[l].parent)
            waits[l] = true;
    }
}

void check_sites_mark(check_unit *unit)
{
    ir_cfg cfg;
    tombac_status status = ir_cfg_build(unit->function, &cfg, unit->error);
    if (status != TOMBAC_OK) {
        check_fail(unit, status);
        return;
    }
    uint32_t *order = calloc(cfg.block_count, sizeof *order);
    bool *waits = calloc(cfg.loop_count + 1, sizeof *waits);
    status = order && waits ? check_order_compute(&cfg, order, unit->error) : tb_fail_memory(unit->error);
    if (status == TOMBAC_OK && cfg.irreducible) {
        status = ir_internal_error(unit->kernel->kernel, unit->error, "irreducible control flow is left");
    }
    if (status == TOMBAC_OK) find_waiting_loops(&cfg, waits);
    for (uint32_t i = 0; status == TOMBAC_OK && i < cfg.block_count; i++) {
        const ir_cfg_block *block = &cfg.blocks[order[i]];
        mark_block(unit, block->block);
        for (uint32_t l = block->loop; l != IR_NONE; l = cfg.loops[l].parent) {
            if (cfg.loops[l].latch == order[i]) end_iteration(unit, block->block, waits[l]);
        }
    }
    check_fail(unit, status);
    free(order);
    free(waits);
    ir_cfg_free(&cfg);
}
