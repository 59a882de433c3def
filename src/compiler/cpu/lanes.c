/* What has no vector form runs lane by lane: atomics, calls into the host, scattered bytes.
 *
 * Takes the mask; promises that the active lanes, and only they, run the instruction once each, the lowest
 * first (one of the orders that Metal allows). Operands that differ between lanes are written to the stack
 * once and read back by lane number: an extractelement at a variable place would do that in every iteration.
 */
#include "compiler/cpu/kernel.h"

/* ---- Vectors in memory ---- */

static LLVMTypeRef stored_type(cpu_kernel *k, LLVMTypeRef type)
{
    bool bits = LLVMGetTypeKind(type) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) < 8;
    return bits ? k->i8 : type;
}

LLVMValueRef cpu_spill_room(cpu_kernel *k, LLVMTypeRef type)
{
    LLVMValueRef memory = cpu_alloca(k, cpu_vector_type(k, stored_type(k, type)), "lanes");
    LLVMSetAlignment(memory, 64);
    return memory;
}

LLVMValueRef cpu_spill(cpu_kernel *k, LLVMValueRef vector)
{
    LLVMTypeRef type = LLVMGetElementType(LLVMTypeOf(vector)), stored = stored_type(k, type);
    LLVMValueRef memory = cpu_spill_room(k, type);
    if (stored != type) vector = LLVMBuildZExt(k->builder, vector, cpu_vector_type(k, stored), "");
    LLVMBuildStore(k->builder, vector, memory);
    return memory;
}

LLVMValueRef cpu_unspill(cpu_kernel *k, LLVMValueRef memory, LLVMTypeRef type)
{
    LLVMTypeRef stored = stored_type(k, type);
    LLVMValueRef vector = LLVMBuildLoad2(k->builder, cpu_vector_type(k, stored), memory, "");
    return stored == type ? vector : LLVMBuildTrunc(k->builder, vector, cpu_vector_type(k, type), "");
}

LLVMValueRef cpu_spilled_lane(cpu_kernel *k, LLVMValueRef memory, LLVMTypeRef type, LLVMValueRef lane)
{
    LLVMTypeRef stored = stored_type(k, type);
    LLVMValueRef at = LLVMBuildGEP2(k->builder, stored, memory, &lane, 1, "");
    LLVMValueRef value = LLVMBuildLoad2(k->builder, stored, at, "");
    return stored == type ? value : LLVMBuildTrunc(k->builder, value, type, "");
}

void cpu_set_spilled_lane(cpu_kernel *k, LLVMValueRef memory, LLVMValueRef value, LLVMValueRef lane)
{
    LLVMTypeRef type = LLVMTypeOf(value), stored = stored_type(k, type);
    if (stored != type) value = LLVMBuildZExt(k->builder, value, stored, "");
    LLVMBuildStore(k->builder, value, LLVMBuildGEP2(k->builder, stored, memory, &lane, 1, ""));
}

/* ---- The loop ---- */

void cpu_lane_loop(cpu_kernel *k, LLVMValueRef mask, cpu_lane_body *body, void *data)
{
    LLVMValueRef all = cpu_mask_bits(k, mask), zero = cpu_int(k->i32, 0);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(k->builder);
    LLVMBasicBlockRef loop = cpu_new_block(k, "lane"), end = cpu_new_block(k, "lanes.end");
    if (mask == k->all)
        LLVMBuildBr(k->builder, loop);
    else
        LLVMBuildCondBr(k->builder, LLVMBuildICmp(k->builder, LLVMIntNE, all, zero, ""), loop, end);
    LLVMPositionBuilderAtEnd(k->builder, loop);
    LLVMValueRef left = LLVMBuildPhi(k->builder, k->i32, "left");
    LLVMValueRef arguments[2] = {left, cpu_int(k->i1, 1)};
    LLVMValueRef lane = cpu_intrinsic(k, "llvm.cttz", &k->i32, 1, arguments, 2);
    body(k, LLVMBuildZExt(k->builder, lane, k->i64, ""), data);
    LLVMValueRef less = LLVMBuildSub(k->builder, left, cpu_int(k->i32, 1), "");
    LLVMValueRef next = LLVMBuildAnd(k->builder, left, less, "");
    LLVMValueRef values[2] = {all, next};
    LLVMBasicBlockRef blocks[2] = {before, LLVMGetInsertBlock(k->builder)};
    LLVMAddIncoming(left, values, blocks, 2);
    LLVMBuildCondBr(k->builder, LLVMBuildICmp(k->builder, LLVMIntNE, next, zero, ""), loop, end);
    LLVMPositionBuilderAtEnd(k->builder, end);
}

/* ---- One instruction by lanes ---- */

enum { MAX_OPERANDS = 16 };

typedef struct one {
    LLVMValueRef ir, operand[MAX_OPERANDS], result[2];
    LLVMTypeRef spilled[MAX_OPERANDS], result_type[2]; /* NULL: the operand is the same for all lanes */
    int count, result_count;
    bool alone; /* an atomic on memory that only this operating-system thread uses: it needs no lock */
} one;

/* One OS thread runs the threadgroup, so its memory needs no lock: an update is a load and a store, lane after lane.
 * That every atomic function of Metal takes a pointer to volatile says nothing about who else looks. */
static bool is_threadgroup_memory(LLVMValueRef pointer)
{
    return LLVMGetPointerAddressSpace(LLVMTypeOf(pointer)) == 3;
}

static LLVMValueRef combine_plain(cpu_kernel *k, LLVMAtomicRMWBinOp op, LLVMValueRef old, LLVMValueRef x)
{
    LLVMBuilderRef b = k->builder;
    switch (op) {
    case LLVMAtomicRMWBinOpXchg: return x;
    case LLVMAtomicRMWBinOpAdd: return LLVMBuildAdd(b, old, x, "");
    case LLVMAtomicRMWBinOpSub: return LLVMBuildSub(b, old, x, "");
    case LLVMAtomicRMWBinOpAnd: return LLVMBuildAnd(b, old, x, "");
    case LLVMAtomicRMWBinOpNand: return LLVMBuildNot(b, LLVMBuildAnd(b, old, x, ""), "");
    case LLVMAtomicRMWBinOpOr: return LLVMBuildOr(b, old, x, "");
    case LLVMAtomicRMWBinOpXor: return LLVMBuildXor(b, old, x, "");
    case LLVMAtomicRMWBinOpMax:
        return LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntSGT, old, x, ""), old, x, "");
    case LLVMAtomicRMWBinOpMin:
        return LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntSLT, old, x, ""), old, x, "");
    case LLVMAtomicRMWBinOpUMax:
        return LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntUGT, old, x, ""), old, x, "");
    case LLVMAtomicRMWBinOpUMin:
        return LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntULT, old, x, ""), old, x, "");
    case LLVMAtomicRMWBinOpFAdd: return LLVMBuildFAdd(b, old, x, "");
    case LLVMAtomicRMWBinOpFSub: return LLVMBuildFSub(b, old, x, "");
    default: return NULL;
    }
}

/* The old value; NULL: the operation has no plain form. */
static LLVMValueRef update_alone(cpu_kernel *k, LLVMValueRef update, LLVMValueRef address, LLVMValueRef x)
{
    LLVMValueRef old = LLVMBuildLoad2(k->builder, LLVMTypeOf(x), address, "");
    LLVMValueRef new = combine_plain(k, LLVMGetAtomicRMWBinOp(update), old, x);
    if (!new) return NULL;
    LLVMBuildStore(k->builder, new, address);
    return old;
}

static LLVMValueRef operand_of(cpu_kernel *k, const one *d, int i, LLVMValueRef lane)
{
    return d->spilled[i] ? cpu_spilled_lane(k, d->operand[i], d->spilled[i], lane) : d->operand[i];
}

static void body_of_one(cpu_kernel *k, LLVMValueRef lane, void *data)
{
    const one *d = data;
    LLVMValueRef a[MAX_OPERANDS], result = NULL;
    LLVMBuilderRef b = k->builder;
    for (int i = 0; i < d->count; i++) a[i] = operand_of(k, d, i, lane);
    LLVMOpcode opcode = LLVMGetInstructionOpcode(d->ir);
    if (opcode == LLVMAtomicRMW && d->alone) {
        result = update_alone(k, d->ir, a[0], a[1]);
    } else if (opcode == LLVMAtomicCmpXchg && d->alone) {
        LLVMValueRef old = LLVMBuildLoad2(b, LLVMTypeOf(a[1]), a[0], "");
        LLVMValueRef same = LLVMBuildICmp(b, LLVMIntEQ, old, a[1], "");
        LLVMBuildStore(b, LLVMBuildSelect(b, same, a[2], old, ""), a[0]);
        result = LLVMBuildInsertValue(b, LLVMGetPoison(LLVMTypeOf(d->ir)), old, 0, "");
        result = LLVMBuildInsertValue(b, result, same, 1, "");
    }
    if (!result) {
        result = LLVMInstructionClone(d->ir);
        for (int i = 0; i < d->count; i++) LLVMSetOperand(result, (unsigned)i, a[i]);
        LLVMInsertIntoBuilder(b, result);
    }
    for (int i = 0; i < d->result_count; i++) {
        LLVMValueRef part = d->result_count > 1 ? LLVMBuildExtractValue(b, result, (unsigned)i, "") : result;
        cpu_set_spilled_lane(k, d->result[i], part, lane);
    }
}

enum { LARGE_KERNEL = 400 }; /* instructions */

/* An update without a lock is shorter than the step from one set bit of a mask to the next: where all lanes turn out to
 * be active, it runs for all of them in a line. */
static void run_lanes(cpu_kernel *k, one *d)
{
    bool is_short = LLVMIsAAtomicRMWInst(d->ir) && d->alone;
    if (!is_short || k->mask == k->all || k->value_count > LARGE_KERNEL) {
        cpu_lane_loop(k, k->mask, body_of_one, d);
        return;
    }
    LLVMBasicBlockRef full = cpu_new_block(k, "all.lanes"), part = cpu_new_block(k, "some.lanes"), end;
    LLVMBuildCondBr(k->builder, cpu_mask_all(k, k->mask), full, part);
    end = cpu_new_block(k, "lanes.end");
    LLVMPositionBuilderAtEnd(k->builder, full);
    cpu_lane_loop(k, k->all, body_of_one, d);
    LLVMBuildBr(k->builder, end);
    LLVMPositionBuilderAtEnd(k->builder, part);
    cpu_lane_loop(k, k->mask, body_of_one, d);
    LLVMBuildBr(k->builder, end);
    LLVMPositionBuilderAtEnd(k->builder, end);
}

static one prepare_lanes(cpu_kernel *k, LLVMValueRef ir)
{
    one d = {.ir = ir, .count = LLVMGetNumOperands(ir)};
    if (LLVMIsACallInst(ir)) d.count--;
    if (d.count > MAX_OPERANDS)
        cpu_fail(
            &k->job, TOMBAC_ERROR_UNSUPPORTED, "cpu engine: a call with more than %d operands", MAX_OPERANDS);
    for (int i = 0; i < d.count; i++) {
        LLVMValueRef o = LLVMGetOperand(ir, (unsigned)i);
        d.spilled[i] = cpu_is_uniform(k, o) ? NULL : LLVMTypeOf(o);
        d.operand[i] = d.spilled[i] ? cpu_spill(k, cpu_vector(k, o)) : cpu_scalar(k, o, 0, 1);
    }
    bool atomic = LLVMIsAAtomicRMWInst(ir) || LLVMIsAAtomicCmpXchgInst(ir);
    d.alone = atomic && is_threadgroup_memory(LLVMGetOperand(ir, 0));
    return d;
}

LLVMValueRef cpu_by_lanes(cpu_kernel *k, LLVMValueRef ir)
{
    one d = prepare_lanes(k, ir);
    LLVMTypeRef type = LLVMTypeOf(ir);
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    if (kind != LLVMVoidTypeKind && LLVMGetFirstUse(ir))
        d.result_count = kind == LLVMStructTypeKind ? (int)LLVMCountStructElementTypes(type) : 1;
    if (d.result_count > 2)
        cpu_fail(&k->job, TOMBAC_ERROR_UNSUPPORTED, "cpu engine: a call that returns a large struct");
    for (int i = 0; i < d.result_count; i++) {
        d.result_type[i] = d.result_count > 1 ? LLVMStructGetTypeAtIndex(type, (unsigned)i) : type;
        d.result[i] = cpu_spill_room(k, d.result_type[i]);
    }
    run_lanes(k, &d);
    if (!d.result_count) return NULL;
    if (d.result_count == 1) return cpu_unspill(k, d.result[0], d.result_type[0]);
    LLVMValueRef result = LLVMGetPoison(cpu_vector_type(k, type));
    for (int i = 0; i < d.result_count; i++)
        result = LLVMBuildInsertValue(
            k->builder, result, cpu_unspill(k, d.result[i], d.result_type[i]), (unsigned)i, "");
    return result;
}

/* ---- Atomics ---- */

/* Combines the lanes of a mask into one number by the operation; NULL where order or rounding could be seen. */
static LLVMValueRef combine_lanes(cpu_kernel *k, LLVMAtomicRMWBinOp op, LLVMValueRef x, LLVMValueRef mask)
{
    LLVMTypeRef type = LLVMTypeOf(x), element = LLVMGetElementType(type);
    if (LLVMGetTypeKind(element) != LLVMIntegerTypeKind) return NULL;
    uint64_t top = (uint64_t)1 << (LLVMGetIntTypeWidth(element) - 1), neutral = 0;
    const char *name;
    switch (op) {
    case LLVMAtomicRMWBinOpAdd:
    case LLVMAtomicRMWBinOpSub: name = "llvm.vector.reduce.add"; break;
    case LLVMAtomicRMWBinOpOr: name = "llvm.vector.reduce.or"; break;
    case LLVMAtomicRMWBinOpXor: name = "llvm.vector.reduce.xor"; break;
    case LLVMAtomicRMWBinOpAnd: name = "llvm.vector.reduce.and", neutral = ~(uint64_t)0; break;
    case LLVMAtomicRMWBinOpUMax: name = "llvm.vector.reduce.umax"; break;
    case LLVMAtomicRMWBinOpUMin: name = "llvm.vector.reduce.umin", neutral = ~(uint64_t)0; break;
    case LLVMAtomicRMWBinOpMax: name = "llvm.vector.reduce.smax", neutral = top; break;
    case LLVMAtomicRMWBinOpMin: name = "llvm.vector.reduce.smin", neutral = top - 1; break;
    default: return NULL;
    }
    x = cpu_mask_select(k, mask, x, cpu_int(element, neutral));
    return cpu_intrinsic(k, name, &type, 1, &x, 1);
}

static bool can_combine(LLVMAtomicRMWBinOp op)
{
    return op == LLVMAtomicRMWBinOpAdd || op == LLVMAtomicRMWBinOpSub || op == LLVMAtomicRMWBinOpOr ||
           op == LLVMAtomicRMWBinOpXor || op == LLVMAtomicRMWBinOpAnd || op == LLVMAtomicRMWBinOpUMax ||
           op == LLVMAtomicRMWBinOpUMin || op == LLVMAtomicRMWBinOpMax || op == LLVMAtomicRMWBinOpMin;
}

/* ---- Tallies (tally.c): code for memory of the worker's own, and for the buffer itself ---- */

typedef struct fork {
    LLVMBasicBlockRef shared, end;
} fork;

/* Goes on where the memory is the worker's own; false: it never is. */
static bool fork_begin(cpu_kernel *k, LLVMValueRef is_own, fork *f)
{
    if (!is_own) return false;
    LLVMBasicBlockRef own = cpu_new_block(k, "own");
    f->shared = cpu_new_block(k, "shared");
    f->end = cpu_new_block(k, "updated");
    LLVMBuildCondBr(k->builder, is_own, own, f->shared);
    LLVMPositionBuilderAtEnd(k->builder, own);
    return true;
}

static void fork_else(cpu_kernel *k, const fork *f)
{
    LLVMBuildBr(k->builder, f->end);
    LLVMPositionBuilderAtEnd(k->builder, f->shared);
}

static void fork_end(cpu_kernel *k, const fork *f)
{
    LLVMBuildBr(k->builder, f->end);
    LLVMPositionBuilderAtEnd(k->builder, f->end);
}

/* One update of memory that others may use; returns the old value. */
static LLVMValueRef update_locked(cpu_kernel *k, LLVMValueRef update, LLVMValueRef address, LLVMValueRef x)
{
    LLVMValueRef old = LLVMInstructionClone(update);
    LLVMSetOperand(old, 0, address);
    LLVMSetOperand(old, 1, x);
    LLVMInsertIntoBuilder(k->builder, old);
    return old;
}

/* All lanes on one address: one operation with what they give together. Old values, where asked for, are
 * those of the order of lanes, which for additions is the old value before all and the sum of the lanes
 * below. */
static bool emit_combined(cpu_kernel *k, cpu_value *value)
{
    LLVMValueRef ir = value->ir, pointer = LLVMGetOperand(ir, 0), old;
    if (LLVMGetInstructionOpcode(ir) != LLVMAtomicRMW || !cpu_is_uniform(k, pointer)) return false;
    LLVMAtomicRMWBinOp op = LLVMGetAtomicRMWBinOp(ir);
    bool used = LLVMGetFirstUse(ir), adds = op == LLVMAtomicRMWBinOpAdd || op == LLVMAtomicRMWBinOpSub;
    if (LLVMGetTypeKind(LLVMTypeOf(ir)) != LLVMIntegerTypeKind || (used && !adds)) return false;
    LLVMValueRef wide = cpu_vector(k, LLVMGetOperand(ir, 1)), x = combine_lanes(k, op, wide, k->mask);
    if (!x) return false;
    LLVMValueRef address = cpu_scalar(k, pointer, 0, 1);
    fork f;
    if (fork_begin(k, cpu_tally_is_own(k, ir), &f)) { /* nobody needs the old value */
        update_alone(k, ir, address, x);
        fork_else(k, &f);
        update_locked(k, ir, address, x);
        fork_end(k, &f);
        return true;
    }
    old = is_threadgroup_memory(pointer) ? update_alone(k, ir, address, x) : update_locked(k, ir, address, x);
    if (!used) return true;
    LLVMValueRef below = cpu_exclusive_sum(k, wide), all = cpu_splat(k, old);
    cpu_define(k, value, 0,
        op == LLVMAtomicRMWBinOpAdd ? LLVMBuildAdd(k->builder, all, below, "")
                                    : LLVMBuildSub(k->builder, all, below, ""));
    return true;
}

/* ---- Updates of device memory whose result nobody needs, at addresses of which many may be equal ---- */

enum { FEW = 4, MAX_MISSES = 2 };

typedef struct meeting {
    one by_lanes;
    LLVMValueRef pointers, numbers; /* wide */
} meeting;

/* One update for all lanes of `left` that have the address of its first one; returns their bits. */
static LLVMValueRef update_together(cpu_kernel *k, const meeting *m, LLVMValueRef left)
{
    LLVMBuilderRef b = k->builder;
    LLVMValueRef arguments[2] = {left, cpu_int(k->i1, 1)};
    LLVMValueRef lane = LLVMBuildZExt(b, cpu_intrinsic(k, "llvm.cttz", &k->i32, 1, arguments, 2), k->i64, "");
    LLVMValueRef address = operand_of(k, &m->by_lanes, 0, lane), ir = m->by_lanes.ir;
    LLVMValueRef equal = LLVMBuildICmp(b, LLVMIntEQ, m->pointers, cpu_splat(k, LLVMBuildPtrToInt(b, address, k->i64, "")), "");
    LLVMValueRef together = LLVMBuildAnd(b, left, cpu_mask_bits(k, equal), "meet");
    LLVMValueRef mask = LLVMBuildBitCast(b, together, k->mask_type, "");
    update_locked(k, ir, address, combine_lanes(k, LLVMGetAtomicRMWBinOp(ir), m->numbers, mask));
    return together;
}

/* Locked updates take turns: lanes that meet at an address make one update, as long as there are enough that do. An address
 * that few lanes have is a miss; after some misses the rest goes lane by lane. */
static void emit_meetings(cpu_kernel *k, meeting *m)
{
    LLVMBuilderRef b = k->builder;
    LLVMValueRef all = cpu_mask_bits(k, k->mask), zero = cpu_int(k->i32, 0);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b), loop = cpu_new_block(k, "meet"), next = cpu_new_block(k, "meet.next"),
                      rest = cpu_new_block(k, "meet.rest"), end = cpu_new_block(k, "meet.end");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, all, zero, ""), loop, end);
    LLVMPositionBuilderAtEnd(b, loop);
    LLVMValueRef left = LLVMBuildPhi(b, k->i32, "left"), misses = LLVMBuildPhi(b, k->i32, "misses");
    LLVMValueRef together = update_together(k, m, left);
    LLVMValueRef few = LLVMBuildICmp(b, LLVMIntULT, cpu_intrinsic(k, "llvm.ctpop", &k->i32, 1, &together, 1), cpu_int(k->i32, FEW), "");
    LLVMValueRef more = LLVMBuildAdd(b, misses, LLVMBuildZExt(b, few, k->i32, ""), "");
    LLVMValueRef others = LLVMBuildAnd(b, left, LLVMBuildNot(b, together, ""), "");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, others, zero, ""), end, next);
    LLVMPositionBuilderAtEnd(b, next);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, more, cpu_int(k->i32, MAX_MISSES), ""), loop, rest);
    LLVMBasicBlockRef from[2] = {before, next};
    LLVMAddIncoming(left, (LLVMValueRef[]){all, others}, from, 2);
    LLVMAddIncoming(misses, (LLVMValueRef[]){zero, more}, from, 2);
    LLVMPositionBuilderAtEnd(b, rest);
    cpu_lane_loop(k, LLVMBuildBitCast(b, others, k->mask_type, ""), body_of_one, &m->by_lanes);
    LLVMBuildBr(b, end);
    LLVMPositionBuilderAtEnd(b, end);
}

/* Is there a form of the update for lanes that meet? */
static bool can_meet(const cpu_kernel *k, LLVMValueRef ir)
{
    return LLVMIsAAtomicRMWInst(ir) && !LLVMGetFirstUse(ir) && k->value_count <= LARGE_KERNEL &&
           can_combine(LLVMGetAtomicRMWBinOp(ir)) && LLVMGetTypeKind(LLVMTypeOf(ir)) == LLVMIntegerTypeKind;
}

/* An update of device memory at different addresses. All that the blocks of a fork use is made before. */
static void emit_device(cpu_kernel *k, cpu_value *value)
{
    LLVMValueRef ir = value->ir, is_own = cpu_tally_is_own(k, ir);
    bool meets = can_meet(k, ir);
    cpu_note(k, value, is_own ? CPU_ATOMIC_TALLY : CPU_ATOMIC_LOCKED);
    if (!meets && !is_own) {
        LLVMValueRef result = cpu_by_lanes(k, ir);
        if (result) cpu_define(k, value, 0, result);
        return;
    }
    meeting m = {.by_lanes = prepare_lanes(k, ir)};
    if (meets) {
        m.numbers = cpu_vector(k, LLVMGetOperand(ir, 1));
        m.pointers = LLVMBuildPtrToInt(k->builder, cpu_vector(k, LLVMGetOperand(ir, 0)), LLVMVectorType(k->i64, LANES), "");
    }
    fork f;
    bool forks = fork_begin(k, is_own, &f);
    if (forks) {
        one own = m.by_lanes;
        own.alone = true;
        run_lanes(k, &own);
        fork_else(k, &f);
    }
    if (meets)
        emit_meetings(k, &m);
    else
        run_lanes(k, &m.by_lanes);
    if (forks) fork_end(k, &f);
}

void cpu_emit_atomic(cpu_kernel *k, cpu_value *value)
{
    bool local = is_threadgroup_memory(LLVMGetOperand(value->ir, 0));
    if (emit_combined(k, value)) {
        cpu_note(k, value, CPU_ATOMIC_COMBINED);
        return;
    }
    if (!local) {
        emit_device(k, value);
        return;
    }
    cpu_note(k, value, CPU_ATOMIC_LANES);
    LLVMValueRef result = cpu_by_lanes(k, value->ir);
    if (result) cpu_define(k, value, 0, result);
}
