/* 32-bit indices that differ by constants only share one extension, so that the constants go into the addresses.
 *
 * Takes shapes and copies; finds in-bounds addresses p + size * ext(i) whose i is a sum of multiples of other values and a
 * constant, modulo 2^32, and puts those with the same multiples into one family. With K the greatest constant of the
 * family, ext(sum + c) is computed as ext(sum + K) - (K - c): one extension for all, and K - c is part of the instruction.
 * Otherwise each constant would need an addition, an extension and, across a barrier, a slot of its own, because the sum
 * may wrap between two constants.
 *
 * Why it may: let D = K - c + top - o for lane offset o and greatest offset `top` (transfer.c), 0 <= D < 2^27.
 *   zext: j = zext(first + K + top) stands for the true index (j - D) mod 2^32. If j < D the computed index is 2^32 below
 *         the true one, which then is at least 2^32 - 2^27: 4 GiB - 128 MiB bytes or more behind p.
 *   sext, size >= 2: the computed index leaves [-2^31, 2^31) by less than 2^27, so the true one is within 2^27 of the
 *         other end: more than 4 GiB - 256 MiB bytes away from p.
 * No object has such a byte: threadgroup memory is small, and for buffers the object says that it relies on
 * TB_CPU_MAX_SMALL_BUFFER. An address in bounds that is never accessed is poison in either form. So as not to refuse large
 * buffers where nothing else does, buffers take part only in kernels that rely on it anyway. */
#include "compiler/cpu/affine.h"

enum { MAX_DEPTH = 8, MAX_FAMILIES = 512 };
static const int64_t MAX_CONSTANT = 1 << 24;

struct cpu_family {
    cpu_family *next;
    cpu_affine sum; /* without its constant */
    int64_t most, least;
};

/* ---- Sums of multiples ---- */

static int32_t low(int64_t x)
{
    return (int32_t)(uint32_t)(uint64_t)x;
}

static bool add_multiple(cpu_affine *a, int leaf, int32_t factor)
{
    int i = 0;
    while (i < a->count && a->leaf[i] < leaf) i++;
    if (i < a->count && a->leaf[i] == leaf) {
        a->factor[i] = low((int64_t)a->factor[i] + factor);
        return true;
    }
    if (a->count == AFFINE_TERMS) return false;
    for (int j = a->count++; j > i; j--) a->leaf[j] = a->leaf[j - 1], a->factor[j] = a->factor[j - 1];
    a->leaf[i] = leaf;
    a->factor[i] = factor;
    return true;
}

/* Adds factor * ir. Goes into operations whose operands are single scalars, as the sum is. */
static bool add_value(const cpu_kernel *k, cpu_affine *a, LLVMValueRef ir, int32_t factor, int depth)
{
    if (LLVMIsAConstantInt(ir)) {
        a->constant = low(a->constant + factor * (int64_t)low(LLVMConstIntGetSExtValue(ir)));
        return true;
    }
    const cpu_value *value = cpu_value_of(k, ir);
    if (!value || value->copies != 1) return false;
    LLVMOpcode opcode = LLVMGetInstructionOpcode(ir);
    cpu_affine saved = *a;
    bool fits = false;
    if (depth < MAX_DEPTH) {
        LLVMValueRef x = LLVMGetNumOperands(ir) ? LLVMGetOperand(ir, 0) : NULL;
        LLVMValueRef y = LLVMGetNumOperands(ir) > 1 ? LLVMGetOperand(ir, 1) : NULL;
        uint64_t c = y && LLVMIsAConstantInt(y) ? LLVMConstIntGetZExtValue(y) : 0;
        if (opcode == LLVMAdd || (opcode == LLVMOr && LLVMGetIsDisjoint(ir)))
            fits = add_value(k, a, x, factor, depth + 1) && add_value(k, a, y, factor, depth + 1);
        else if (opcode == LLVMSub)
            fits = add_value(k, a, x, factor, depth + 1) && add_value(k, a, y, low(-(int64_t)factor), depth + 1);
        else if (opcode == LLVMMul && LLVMIsAConstantInt(y))
            fits = add_value(k, a, x, low(factor * (int64_t)low((int64_t)c)), depth + 1);
        else if (opcode == LLVMShl && LLVMIsAConstantInt(y) && c < 32)
            fits = add_value(k, a, x, low(factor * ((int64_t)1 << c)), depth + 1);
    }
    if (fits) return true;
    *a = saved;
    return add_multiple(a, (int)(value - k->values), factor);
}

static bool same_sum(const cpu_affine *a, const cpu_affine *b)
{
    if (a->count != b->count || a->extension != b->extension) return false;
    for (int i = 0; i < a->count; i++)
        if (a->leaf[i] != b->leaf[i] || a->factor[i] != b->factor[i]) return false;
    return true;
}

/* ---- Which indices ---- */

static bool variable_index(LLVMValueRef address, unsigned i, LLVMOpcode *extension)
{
    LLVMValueRef index = LLVMGetOperand(address, i);
    *extension = LLVMIsAInstruction(index) ? LLVMGetInstructionOpcode(index) : 0;
    return !LLVMIsAConstantInt(index);
}

/* With several indices, each must be at least zero for a bound on their sum to bound each of them. */
static bool others_are_positive(LLVMValueRef address, unsigned except)
{
    LLVMOpcode own, other;
    variable_index(address, except, &own);
    for (unsigned i = 1; i < (unsigned)LLVMGetNumOperands(address); i++)
        if (i != except && variable_index(address, i, &other) && (own != LLVMZExt || other != LLVMZExt)) return false;
    return true;
}

static bool find_sum(const cpu_kernel *k, const cpu_value *address, unsigned i, int64_t size, cpu_affine *a)
{
    LLVMValueRef index = LLVMGetOperand(address->ir, i);
    *a = (cpu_affine){0};
    if (!variable_index(address->ir, i, &a->extension)) return false;
    if (a->extension != LLVMZExt && (a->extension != LLVMSExt || size < 2)) return false;
    LLVMValueRef narrow = LLVMGetOperand(index, 0);
    const cpu_value *value = cpu_value_of(k, narrow);
    if (!value || value->copies != 1 || LLVMGetIntTypeWidth(LLVMTypeOf(narrow)) != 32) return false;
    for (int b = 0; b < LANE_BITS; b++) {
        int64_t stride = value->shape.stride[b];
        if (stride > MAX_CONSTANT || stride < -MAX_CONSTANT) return false;
        if (stride > 0 && a->extension == LLVMZExt) a->top += stride;
    }
    return others_are_positive(address->ir, i) && add_value(k, a, narrow, 1, 0) && a->constant <= MAX_CONSTANT &&
           a->constant >= -MAX_CONSTANT;
}

static bool takes_part(const cpu_kernel *k, const cpu_value *address)
{
    LLVMValueRef ir = address->ir;
    if (!LLVMIsAGetElementPtrInst(ir) || address->copies != 1 || !LLVMIsInBounds(ir)) return false;
    const cpu_value *base = cpu_value_of(k, LLVMGetOperand(ir, 0));
    if (base && base->cell) return false;
    return k->index_assumed || LLVMGetPointerAddressSpace(LLVMTypeOf(ir)) == 3;
}

/* ---- Families ---- */

static cpu_family *find_family(const cpu_kernel *k, const cpu_affine *a)
{
    for (cpu_family *f = k->families; f; f = f->next)
        if (same_sum(&f->sum, a)) return f;
    return NULL;
}

static void note(cpu_kernel *k, const cpu_affine *a)
{
    cpu_family *f = find_family(k, a);
    if (!f) {
        if (k->family_count == MAX_FAMILIES) return;
        k->family_count++;
        f = cpu_alloc(&k->job, 1, sizeof *f);
        *f = (cpu_family){.next = k->families, .sum = *a, .most = a->constant, .least = a->constant};
        k->families = f;
    }
    if (a->constant > f->most) f->most = a->constant;
    if (a->constant < f->least) f->least = a->constant;
}

typedef void visitor(cpu_kernel *k, const cpu_value *address, const cpu_affine *a);

static void visit_note(cpu_kernel *k, const cpu_value *address, const cpu_affine *a)
{
    (void)address;
    note(k, a);
}

/* What the address is made of must be there in its block. */
static void visit_leaves(cpu_kernel *k, const cpu_value *address, const cpu_affine *a)
{
    const cpu_family *f = find_family(k, a);
    if (!f || f->most == f->least) return;
    for (int i = 0; i < a->count; i++)
        if (k->values[a->leaf[i]].block != address->block) k->values[a->leaf[i]].part_elsewhere = true;
}

/* Element size of each index, as the address walks through its type. */
static int64_t next_size(const cpu_kernel *k, LLVMTypeRef *type, LLVMValueRef address, unsigned i)
{
    if (i > 1 && LLVMGetTypeKind(*type) == LLVMStructTypeKind) {
        *type = LLVMStructGetTypeAtIndex(*type, (unsigned)LLVMConstIntGetZExtValue(LLVMGetOperand(address, i)));
        return 0;
    }
    if (i > 1) *type = LLVMGetElementType(*type);
    return (int64_t)LLVMABISizeOfType(k->layout, *type);
}

static void visit(cpu_kernel *k, visitor *function)
{
    for (int v = 0; v < k->value_count; v++) {
        const cpu_value *address = &k->values[v];
        if (!takes_part(k, address)) continue;
        LLVMTypeRef type = LLVMGetGEPSourceElementType(address->ir);
        for (unsigned i = 1; i < (unsigned)LLVMGetNumOperands(address->ir); i++) {
            cpu_affine a;
            int64_t size = next_size(k, &type, address->ir, i);
            if (size && find_sum(k, address, i, size, &a)) function(k, address, &a);
        }
    }
}

/* Does the kernel rely on small buffers anyway? */
static void find_assumptions(cpu_kernel *k)
{
    for (int v = 0; v < k->value_count && !k->index_assumed; v++) {
        const cpu_value *address = &k->values[v];
        if (!LLVMIsAGetElementPtrInst(address->ir) || !address->copies || !LLVMIsInBounds(address->ir)) continue;
        LLVMTypeRef type = LLVMGetGEPSourceElementType(address->ir);
        for (unsigned i = 1; i < (unsigned)LLVMGetNumOperands(address->ir); i++) {
            cpu_shape shape;
            int64_t size = next_size(k, &type, address->ir, i);
            LLVMValueRef index = LLVMGetOperand(address->ir, i);
            k->index_assumed |= size && cpu_index_assumed(k, index, (uint64_t)size, &shape);
        }
    }
}

void cpu_families_find(cpu_kernel *k)
{
    k->families = NULL;
    k->family_count = 0;
    find_assumptions(k);
    visit(k, visit_note);
    visit(k, visit_leaves);
}

/* ---- Emission ---- */

static LLVMValueRef emit_sum(cpu_kernel *k, const cpu_affine *a, int64_t constant)
{
    LLVMBuilderRef b = k->builder;
    LLVMValueRef sum = NULL;
    for (int i = 0; i < a->count; i++) {
        LLVMValueRef leaf = cpu_scalar(k, k->values[a->leaf[i]].ir, 0, 1);
        int32_t factor = a->factor[i];
        if (!factor) continue;
        if (factor != 1 && (factor != -1 || !sum))
            leaf = LLVMBuildMul(b, leaf, cpu_int(k->i32, (uint32_t)factor), "");
        sum = !sum ? leaf : factor == -1 ? LLVMBuildSub(b, sum, leaf, "") : LLVMBuildAdd(b, sum, leaf, "");
    }
    LLVMValueRef rest = cpu_int(k->i32, (uint32_t)(uint64_t)constant);
    return sum ? LLVMBuildAdd(b, sum, rest, "") : rest;
}

LLVMValueRef cpu_family_index(cpu_kernel *k, const cpu_value *address, unsigned i, int64_t size, int64_t *constant)
{
    cpu_affine a;
    if (!takes_part(k, address) || !find_sum(k, address, i, size, &a)) return NULL;
    const cpu_family *f = find_family(k, &a);
    if (!f || f->most == f->least) return NULL;
    LLVMValueRef sum = emit_sum(k, &f->sum, f->most + a.top);
    *constant = a.constant - f->most - a.top;
    return a.extension == LLVMZExt ? LLVMBuildZExt(k->builder, sum, k->i64, "") : LLVMBuildSExt(k->builder, sum, k->i64, "");
}
