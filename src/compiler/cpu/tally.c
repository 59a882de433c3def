/* Tallies: buffers that a kernel only counts in. Each worker may count in memory of its own ("privatization" of reductions:
 * Rauchwerger and Padua, "The LRPD test", 1995; here it is proved, in the kernel and at the launch).
 *
 * Takes the canonical kernel; finds the arguments whose memory the kernel does nothing with but relaxed atomic updates
 * by one commutative operation on 32-bit words, of which nobody needs the old value. The object lists them (TB_CPU_TALLIES).
 * The driver may give a worker a block of zeros in the place of such a buffer, and combine it with the buffer when the
 * worker leaves the launch, if no other argument shares memory with it; a bit of tb_cpu_group.tallies says so,
 * and updates need no lock then (lanes.c).
 *
 * Nobody can tell: no thread of the launch reads the words, old values are not asked for, and relaxed updates may become
 * visible to others at any time before the launch has ended. Therefore nothing in the kernel may order device
 * memory for other threadgroups (fences, stronger orders), and no pointer may come from memory or from an integer,
 * since it could lead to the same words. */
#include "compiler/cpu/kernel.h"

/* ---- The kernel as a whole ---- */

/* Does the instruction make a pointer that no argument, variable or threadgroup memory is the origin of? */
static bool makes_pointer(LLVMValueRef ir)
{
    if (LLVMGetTypeKind(LLVMTypeOf(ir)) != LLVMPointerTypeKind) return false;
    switch (LLVMGetInstructionOpcode(ir)) {
    case LLVMGetElementPtr:
    case LLVMPHI:
    case LLVMSelect:
    case LLVMAddrSpaceCast:
    case LLVMBitCast:
    case LLVMFreeze:
    case LLVMAlloca: return false;
    case LLVMCall: return cpu_operation_of(ir).kind != OP_THREADGROUP_MEMORY;
    default: return true;
    }
}

static bool orders_memory(LLVMValueRef ir)
{
    switch (LLVMGetInstructionOpcode(ir)) {
    case LLVMFence: return true;
    case LLVMCall: {
        cpu_operation_kind kind = cpu_operation_of(ir).kind;
        return kind == OP_FENCE || kind == OP_UNKNOWN;
    }
    case LLVMLoad:
    case LLVMStore:
    case LLVMAtomicRMW: return LLVMGetOrdering(ir) > LLVMAtomicOrderingMonotonic;
    case LLVMAtomicCmpXchg:
        return LLVMGetCmpXchgSuccessOrdering(ir) > LLVMAtomicOrderingMonotonic ||
               LLVMGetCmpXchgFailureOrdering(ir) > LLVMAtomicOrderingMonotonic;
    default: return false;
    }
}

static bool is_transparent(const cpu_kernel *k)
{
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(k->function); b; b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
            if (makes_pointer(i) || orders_memory(i)) return false;
    return true;
}

/* ---- One argument ---- */

/* By which a block of zeros is combined with the buffer. */
static tb_cpu_tally combination(LLVMAtomicRMWBinOp op)
{
    switch (op) {
    case LLVMAtomicRMWBinOpAdd:
    case LLVMAtomicRMWBinOpSub: return TB_CPU_TALLY_ADD;
    case LLVMAtomicRMWBinOpOr: return TB_CPU_TALLY_OR;
    case LLVMAtomicRMWBinOpXor: return TB_CPU_TALLY_XOR;
    case LLVMAtomicRMWBinOpUMax: return TB_CPU_TALLY_MAX;
    default: return TB_CPU_TALLY_NONE;
    }
}

/* Are all uses of the address updates by one operation? *found: that of those seen so far. Recursion ends because
 * addresses form no cycles without phis. */
static bool only_counts(const cpu_kernel *k, LLVMValueRef address, tb_cpu_tally *found)
{
    for (LLVMUseRef use = LLVMGetFirstUse(address); use; use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);
        if (LLVMIsAGetElementPtrInst(user) && LLVMGetOperand(user, 0) == address) {
            if (!only_counts(k, user, found)) return false;
            continue;
        }
        if (!LLVMIsAAtomicRMWInst(user) || LLVMGetOperand(user, 1) == address || LLVMGetFirstUse(user)) return false;
        tb_cpu_tally by = combination(LLVMGetAtomicRMWBinOp(user));
        if (LLVMTypeOf(user) != k->i32 || by == TB_CPU_TALLY_NONE || (*found != TB_CPU_TALLY_NONE && *found != by)) return false;
        *found = by;
    }
    return true;
}

void cpu_tallies_find(cpu_kernel *k)
{
    unsigned count = LLVMCountParams(k->function);
    if (count > TB_CPU_TALLIES_MAX) count = TB_CPU_TALLIES_MAX;
    bool looked = false;
    for (unsigned i = 0; i < count; i++) {
        LLVMValueRef argument = LLVMGetParam(k->function, i);
        tb_cpu_tally by = TB_CPU_TALLY_NONE;
        if (LLVMGetTypeKind(LLVMTypeOf(argument)) != LLVMPointerTypeKind || !only_counts(k, argument, &by)) continue;
        if (by == TB_CPU_TALLY_NONE) continue; /* not used */
        if (!looked && !is_transparent(k)) return;
        looked = true;
        k->tallies[i] = by;
        k->has_tallies = true;
    }
}

void cpu_tallies_declare(cpu_kernel *k)
{
    if (!k->has_tallies) return;
    LLVMValueRef by[TB_CPU_TALLIES_MAX];
    for (int i = 0; i < TB_CPU_TALLIES_MAX; i++) by[i] = cpu_int(k->i8, k->tallies[i]);
    LLVMValueRef table = LLVMAddGlobal(k->module, LLVMArrayType2(k->i8, TB_CPU_TALLIES_MAX), TB_CPU_TALLIES);
    LLVMSetInitializer(table, LLVMConstArray2(k->i8, by, TB_CPU_TALLIES_MAX));
    LLVMSetGlobalConstant(table, 1);
}

/* ---- Updates ---- */

/* The argument that the update's address starts from, if it may be the worker's own; else -1. */
static int tally_argument(const cpu_kernel *k, LLVMValueRef update)
{
    if (!k->has_tallies || !LLVMIsAAtomicRMWInst(update)) return -1;
    LLVMValueRef address = LLVMGetOperand(update, 0);
    while (LLVMIsAGetElementPtrInst(address)) address = LLVMGetOperand(address, 0);
    for (int i = 0; i < TB_CPU_TALLIES_MAX; i++)
        if (k->tallies[i] != TB_CPU_TALLY_NONE && LLVMGetParam(k->function, (unsigned)i) == address) return i;
    return -1;
}

LLVMValueRef cpu_tally_is_own(cpu_kernel *k, LLVMValueRef update)
{
    int argument = tally_argument(k, update);
    if (argument < 0) return NULL;
    LLVMValueRef bit = LLVMBuildAnd(k->builder, k->parameter[PARAM_TALLIES], cpu_int(k->i32, (uint64_t)1 << argument), "");
    return LLVMBuildICmp(k->builder, LLVMIntNE, bit, cpu_int(k->i32, 0), "own");
}
