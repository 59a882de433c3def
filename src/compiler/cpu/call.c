/* Calls: positions, synchronisation, LLVM's intrinsics, and what goes to the host thread by thread.
 *
 * Takes the operation of the call; promises its value for the active lanes. The calls of one log line are
 * kept until its end and then made lane by lane, so that lines of different threads do not mix. */
#include "compiler/cpu/kernel.h"

#include <string.h>

/* ---- Positions ---- */

static LLVMValueRef dispatch_field(cpu_kernel *k, unsigned offset)
{
    LLVMValueRef load =
        LLVMBuildLoad2(k->builder, k->i32, cpu_at(k, k->parameter[PARAM_DISPATCH], offset), "");
    LLVMValueRef empty = LLVMMetadataAsValue(k->context, LLVMMDNodeInContext2(k->context, NULL, 0));
    LLVMSetMetadata(load, LLVMGetMDKindIDInContext(k->context, "invariant.load", 14), empty);
    return load;
}

static void emit_position(cpu_kernel *k, cpu_value *value)
{
    const cpu_operation *op = &value->operation;
    LLVMValueRef result;
    switch (op->kind) {
    case OP_LANE:
    case OP_MATRIX_ROW:
    case OP_MATRIX_COLUMN: result = cpu_int(k->i32, 0); break;
    case OP_SIMDGROUP: result = k->parameter[PARAM_SIMDGROUP]; break;
    case OP_THREAD_INDEX: result = k->thread_base; break;
    case OP_FIELD: result = dispatch_field(k, op->offset); break;
    case OP_POSITION: result = k->position[op->axis]; break;
    default: /* OP_THREADGROUP_MEMORY */
        result = LLVMBuildAddrSpaceCast(k->builder, k->parameter[PARAM_MEMORY], LLVMTypeOf(value->ir), "");
    }
    cpu_define(k, value, 0, result);
}

/* a < b in all lanes, a strided: the last lane's a below b, written as "the first lane's below b - top" with a difference
 * that stops at the least number, because a + top may wrap. */
static void emit_all_lanes(cpu_kernel *k, cpu_value *value)
{
    LLVMValueRef c = LLVMGetOperand(value->ir, 0), a = LLVMGetOperand(c, 0), b = LLVMGetOperand(c, 1);
    cpu_shape s = cpu_shape_of(k, a);
    LLVMTypeRef type = LLVMTypeOf(a);
    bool is_signed = LLVMGetICmpPredicate(c) == LLVMIntSLT;
    uint64_t top = (uint64_t)cpu_shape_offset(&s, LANES - 1);
    if (!cpu_shape_rises(&s) || !cpu_is_uniform(k, b) || top >> (LLVMGetIntTypeWidth(type) - is_signed)) {
        cpu_define(k, value, 0, cpu_int(k->i1, 0));
        return;
    }
    LLVMValueRef arguments[2] = {cpu_scalar(k, b, 0, 1), cpu_int(type, top)};
    LLVMValueRef bound =
        cpu_intrinsic(k, is_signed ? "llvm.ssub.sat" : "llvm.usub.sat", &type, 1, arguments, 2);
    cpu_define(k, value, 0,
        LLVMBuildICmp(k->builder, LLVMGetICmpPredicate(c), cpu_scalar(k, a, 0, 1), bound, ""));
}

/* ---- Intrinsics ---- */

typedef struct vector_form {
    const char *name;
    int scalar_operand; /* stays as it is; -1: none */
    bool second_type;   /* overloaded on the first operand's type too */
} vector_form;

static const vector_form vector_forms[] = {
    {"llvm.fma", -1, false},
    {"llvm.fmuladd", -1, false},
    {"llvm.sqrt", -1, false},
    {"llvm.fabs", -1, false},
    {"llvm.minnum", -1, false},
    {"llvm.maxnum", -1, false},
    {"llvm.minimum", -1, false},
    {"llvm.maximum", -1, false},
    {"llvm.minimumnum", -1, false},
    {"llvm.maximumnum", -1, false},
    {"llvm.floor", -1, false},
    {"llvm.ceil", -1, false},
    {"llvm.trunc", -1, false},
    {"llvm.rint", -1, false},
    {"llvm.nearbyint", -1, false},
    {"llvm.round", -1, false},
    {"llvm.roundeven", -1, false},
    {"llvm.copysign", -1, false},
    {"llvm.canonicalize", -1, false},
    {"llvm.is.fpclass", 1, true},
    {"llvm.ldexp", -1, true},
    {"llvm.fptosi.sat", -1, true},
    {"llvm.fptoui.sat", -1, true},
    {"llvm.smin", -1, false},
    {"llvm.smax", -1, false},
    {"llvm.umin", -1, false},
    {"llvm.umax", -1, false},
    {"llvm.abs", 1, false},
    {"llvm.ctpop", -1, false},
    {"llvm.ctlz", 1, false},
    {"llvm.cttz", 1, false},
    {"llvm.fshl", -1, false},
    {"llvm.fshr", -1, false},
    {"llvm.bswap", -1, false},
    {"llvm.bitreverse", -1, false},
    {"llvm.sadd.sat", -1, false},
    {"llvm.uadd.sat", -1, false},
    {"llvm.ssub.sat", -1, false},
    {"llvm.usub.sat", -1, false},
    {"llvm.sshl.sat", -1, false},
    {"llvm.ushl.sat", -1, false},
    {"llvm.sadd.with.overflow", -1, false},
    {"llvm.uadd.with.overflow", -1, false},
    {"llvm.ssub.with.overflow", -1, false},
    {"llvm.usub.with.overflow", -1, false},
    {"llvm.smul.with.overflow", -1, false},
    {"llvm.umul.with.overflow", -1, false},
    {"llvm.scmp", -1, true},
    {"llvm.ucmp", -1, true},
};

static const char *const ignored[] = {"llvm.lifetime.start", "llvm.lifetime.end", "llvm.assume",
    "llvm.dbg.declare", "llvm.dbg.value", "llvm.dbg.label", "llvm.dbg.assign",
    "llvm.experimental.noalias.scope.decl", "llvm.sideeffect", "llvm.donothing", "llvm.pseudoprobe",
    "llvm.invariant.start", "llvm.invariant.end", "llvm.prefetch"};

static bool same_name(const char *name, size_t length, const char *other)
{
    return strlen(other) == length && !memcmp(name, other, length);
}

/* x86 computes halves in float; of these functions the result is the same, and without a call per lane. */
static bool goes_through_float(LLVMTypeRef type, const char *name)
{
    static const char *const names[] = {"llvm.minnum", "llvm.maxnum", "llvm.minimum", "llvm.maximum",
        "llvm.minimumnum", "llvm.maximumnum", "llvm.sqrt", "llvm.floor", "llvm.ceil", "llvm.trunc",
        "llvm.rint", "llvm.nearbyint", "llvm.roundeven", "llvm.round"};
    if (LLVMGetTypeKind(type) != LLVMHalfTypeKind) return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], name)) return true;
    return false;
}

static LLVMValueRef half_intrinsic(cpu_kernel *k, LLVMValueRef ir, const char *name)
{
    LLVMTypeRef wide = cpu_vector_type(k, k->f32);
    LLVMValueRef arguments[2];
    int count = (int)LLVMGetNumArgOperands(ir);
    for (int i = 0; i < count; i++)
        arguments[i] = LLVMBuildFPExt(k->builder, cpu_vector(k, LLVMGetOperand(ir, (unsigned)i)), wide, "");
    LLVMValueRef result = cpu_intrinsic(k, name, &wide, 1, arguments, count);
    return LLVMBuildFPTrunc(k->builder, result, cpu_vector_type(k, LLVMTypeOf(ir)), "");
}

enum { MAX_ASSUMED = 8 };

static bool is_extremum(LLVMValueRef ir)
{
    if (!LLVMIsACallInst(ir) || !LLVMIsAFunction(LLVMGetCalledValue(ir))) return false;
    unsigned id = LLVMGetIntrinsicID(LLVMGetCalledValue(ir));
    size_t length;
    const char *name = id ? LLVMIntrinsicGetName(id, &length) : NULL;
    return name && (same_name(name, length, "llvm.maxnum") || same_name(name, length, "llvm.minnum"));
}

/* Is this float a number for every active lane? Extrema are if one operand is; phis and selects if all that flows in is, which for
 * the phis in `assumed` is taken for granted: along a loop that is induction. */
static bool is_number(LLVMValueRef ir, LLVMValueRef *assumed, int count)
{
    LLVMBool lossy;
    if (LLVMIsAConstantFP(ir)) {
        double x = LLVMConstRealGetDouble(ir, &lossy);
        return x == x;
    }
    if (LLVMIsASIToFPInst(ir) || LLVMIsAUIToFPInst(ir)) return true;
    if (is_extremum(ir))
        return is_number(LLVMGetOperand(ir, 0), assumed, count) || is_number(LLVMGetOperand(ir, 1), assumed, count);
    if (LLVMIsASelectInst(ir))
        return is_number(LLVMGetOperand(ir, 1), assumed, count) && is_number(LLVMGetOperand(ir, 2), assumed, count);
    if (!LLVMIsAPHINode(ir)) return false;
    for (int i = 0; i < count; i++)
        if (assumed[i] == ir) return true;
    if (count == MAX_ASSUMED) return false;
    assumed[count++] = ir;
    for (unsigned i = 0; i < LLVMCountIncoming(ir); i++)
        if (!is_number(LLVMGetIncomingValue(ir, i), assumed, count)) return false;
    return true;
}

/* max(m, x) with m a number, as running extrema are: x > m ? x : m is the same, NaN and zeros included, and one
 * instruction of x86, which knows not what LLVM knows not: that m is a number. */
static LLVMValueRef running_extremum(cpu_kernel *k, LLVMValueRef ir, const char *name)
{
    LLVMValueRef assumed[MAX_ASSUMED], first = LLVMGetOperand(ir, 0), second = LLVMGetOperand(ir, 1);
    if (LLVMTypeOf(ir) != k->f32 || !is_extremum(ir) || LLVMIsConstant(second) || !is_number(first, assumed, 0))
        return NULL;
    LLVMValueRef m = cpu_vector(k, first), x = cpu_vector(k, second);
    LLVMRealPredicate predicate = strcmp(name, "llvm.maxnum") ? LLVMRealOLT : LLVMRealOGT;
    return LLVMBuildSelect(k->builder, LLVMBuildFCmp(k->builder, predicate, x, m, ""), x, m, "");
}

static LLVMValueRef vector_intrinsic(cpu_kernel *k, LLVMValueRef ir, const vector_form *form)
{
    if (goes_through_float(LLVMTypeOf(ir), form->name)) return half_intrinsic(k, ir, form->name);
    LLVMValueRef arguments[4], running = running_extremum(k, ir, form->name);
    if (running) return running;
    int count = (int)LLVMGetNumArgOperands(ir), types = 0;
    for (int i = 0; i < count && i < 4; i++) {
        LLVMValueRef o = LLVMGetOperand(ir, (unsigned)i);
        arguments[i] = i == form->scalar_operand ? o : cpu_vector(k, o);
    }
    LLVMTypeRef overloads[2], type = LLVMTypeOf(ir);
    bool is_struct = LLVMGetTypeKind(type) == LLVMStructTypeKind;
    bool by_operand = !strcmp(form->name, "llvm.is.fpclass");
    if (!by_operand)
        overloads[types++] = cpu_vector_type(k, is_struct ? LLVMStructGetTypeAtIndex(type, 0) : type);
    if (form->second_type)
        overloads[types++] = LLVMTypeOf(arguments[!strcmp(form->name, "llvm.ldexp") ? 1 : 0]);
    LLVMValueRef result = cpu_intrinsic(k, form->name, overloads, types, arguments, count);
    if (LLVMCanValueUseFastMathFlags(result) && LLVMCanValueUseFastMathFlags(ir))
        LLVMSetFastMathFlags(result, LLVMGetFastMathFlags(ir));
    return result;
}

static void emit_intrinsic(cpu_kernel *k, cpu_value *value, unsigned id)
{
    size_t length;
    const char *name = LLVMIntrinsicGetName(id, &length);
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        if (same_name(name, length, ignored[i])) return;
    for (size_t i = 0; i < sizeof vector_forms / sizeof *vector_forms; i++) {
        if (!same_name(name, length, vector_forms[i].name)) continue;
        if (value->copies)
            cpu_emit_scalars(k, value);
        else
            cpu_define(k, value, 0, vector_intrinsic(k, value->ir, &vector_forms[i]));
        return;
    }
    cpu_note(k, value, CPU_CALL_LANES);
    LLVMValueRef result = cpu_by_lanes(k, value->ir);
    if (!result) return;
    if (value->copies) /* all lanes gave the same */
        cpu_fail(&k->job, TOMBAC_ERROR_UNSUPPORTED, "cpu engine: cannot vectorise %.*s", (int)length, name);
    cpu_define(k, value, 0, result);
}

/* ---- Log lines ---- */

enum { LOG_OPERANDS = 2 };

struct cpu_log_call {
    LLVMValueRef ir, memory[LOG_OPERANDS]; /* NULL: the operand is a constant */
    bool wide[LOG_OPERANDS];
    cpu_log_call *next;
};

static void make_log_calls(cpu_kernel *k, LLVMValueRef lane, void *data)
{
    for (const cpu_log_call *c = data; c; c = c->next) {
        LLVMValueRef clone = LLVMInstructionClone(c->ir);
        int count = (int)LLVMGetNumArgOperands(c->ir);
        for (int i = 0; i < count; i++) {
            if (!c->memory[i]) continue;
            LLVMTypeRef type = LLVMTypeOf(LLVMGetOperand(c->ir, (unsigned)i));
            LLVMValueRef value = c->wide[i] ? cpu_spilled_lane(k, c->memory[i], type, lane)
                                            : LLVMBuildLoad2(k->builder, type, c->memory[i], "");
            LLVMSetOperand(clone, (unsigned)i, value);
        }
        LLVMInsertIntoBuilder(k->builder, clone);
    }
}

static void emit_log(cpu_kernel *k, cpu_value *value)
{
    LLVMValueRef ir = value->ir;
    int count = (int)LLVMGetNumArgOperands(ir), leader = k->blocks[k->current].leader;
    if (value->operation.kind == OP_LOG_BEGIN) {
        k->log_first = k->log_last = NULL;
        k->log_leader = leader;
    }
    if (leader != k->log_leader || count > LOG_OPERANDS)
        cpu_fail(&k->job, TOMBAC_ERROR_UNSUPPORTED,
            "cpu engine: a log line whose arguments depend on control flow");
    cpu_log_call *c = cpu_alloc(&k->job, 1, sizeof *c);
    c->ir = ir;
    for (int i = 0; i < count; i++) {
        LLVMValueRef o = LLVMGetOperand(ir, (unsigned)i);
        if (LLVMIsConstant(o)) continue;
        c->wide[i] = !cpu_is_uniform(k, o);
        if (c->wide[i]) {
            c->memory[i] = cpu_spill(k, cpu_vector(k, o));
        } else {
            c->memory[i] = cpu_alloca(k, LLVMTypeOf(o), "logged");
            LLVMBuildStore(k->builder, cpu_scalar(k, o, 0, 1), c->memory[i]);
        }
    }
    if (k->log_last)
        k->log_last->next = c;
    else
        k->log_first = c;
    k->log_last = c;
    if (value->operation.kind != OP_LOG_END) return;
    cpu_note(k, value, CPU_LOG);
    cpu_lane_loop(k, k->mask, make_log_calls, k->log_first);
    k->log_leader = -1;
}

/* ---- Synchronisation ---- */

static LLVMAtomicOrdering ordering_of(uint64_t order)
{
    switch (order) {
    case 2: return LLVMAtomicOrderingAcquire;
    case 3: return LLVMAtomicOrderingRelease;
    case 4: return LLVMAtomicOrderingAcquireRelease;
    default: return LLVMAtomicOrderingSequentiallyConsistent;
    }
}

/* Lanes and SIMD-groups of a threadgroup share an OS thread, so that only wider scopes cost anything. */
static void emit_fence(cpu_kernel *k, LLVMValueRef ir)
{
    LLVMValueRef order = LLVMGetOperand(ir, 1), scope = LLVMGetOperand(ir, 2);
    uint64_t o = LLVMIsAConstantInt(order) ? LLVMConstIntGetZExtValue(order) : 5;
    uint64_t s = LLVMIsAConstantInt(scope) ? LLVMConstIntGetZExtValue(scope) : 3;
    if (o == 0) return;
    LLVMBuildFence(k->builder, ordering_of(o), s == 0 || s == 1 || s == 4, "");
}

/* ---- Dispatch ---- */

void cpu_emit_call(cpu_kernel *k, cpu_value *value)
{
    cpu_operation_kind kind = value->operation.kind;
    LLVMValueRef callee = LLVMGetCalledValue(value->ir);
    if (cpu_operation_is_collective(kind) || kind == OP_MATRIX_MULTIPLY) cpu_note(k, value, CPU_COLLECTIVE);
    if (cpu_operation_is_collective(kind)) {
        cpu_emit_collective(k, value);
        return;
    }
    switch (kind) {
    case OP_NONE: break;
    case OP_ALL_LANES: emit_all_lanes(k, value); return;
    case OP_BARRIER: cpu_emit_barrier(k); return;
    case OP_SIMDGROUP_BARRIER: return; /* lanes run in step */
    case OP_FENCE: emit_fence(k, value->ir); return;
    case OP_LOG_BEGIN:
    case OP_LOG_ARGUMENT:
    case OP_LOG_END: emit_log(k, value); return;
    case OP_ASSERT_FAIL:
    case OP_UNSUPPORTED: cpu_by_lanes(k, value->ir); return;
    case OP_UNKNOWN: break;
    default: emit_position(k, value); return;
    }
    if (!LLVMIsAFunction(callee)) cpu_fail(&k->job, TOMBAC_ERROR_UNSUPPORTED, "cpu engine: indirect calls");
    unsigned id = LLVMGetIntrinsicID(callee);
    size_t length;
    const char *name = LLVMGetValueName2(callee, &length);
    if (kind == OP_UNKNOWN || !id)
        cpu_fail(&k->job, TOMBAC_ERROR_COMPILER, "cpu engine: call of the undefined function '%.*s'",
            (int)length, name);
    emit_intrinsic(k, value, id);
}
