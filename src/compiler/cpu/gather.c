/* Gathers and scatters of 32-bit elements whose offsets fit in 32 bits: the AVX-512 instructions with one scalar base and 16
 * indices of 32 bits, in place of twice as many with 64-bit addresses.
 *
 * Takes addresses base + T, base uniform, T = sum of size * index + C. The instruction computes base + C + unit * sext(x),
 * where x is the sum of (size / unit) * index modulo 2^32 and unit, 4 or 8, divides all sizes. That is the address of every
 * access: what is accessed lies in the object that base points into, so |T| < 2^32 - 2^28, |T - C| < 2^32 with |C| <= 2^20,
 * thus |(T - C) / unit| < 2^31, and x is congruent to it modulo 2^32 whatever the extensions in the indices did, because
 * zext and sext of 32 bits, and the lower half of 64, all are.
 * Threadgroup memory is that small; for buffers it is what TB_CPU_SMALL_BUFFERS says, so they take part only in kernels that
 * rely on it anyway. Lanes that are not active may compute anything. Using the instructions' own intrinsics keeps base and
 * indices apart: a vector of pointers that is made in another block would be added up there. */
#include "compiler/cpu/memory.h"

enum { HALF = LANES / 2, MAX_PARTS = 6 };
static const int64_t MAX_OFFSET = 1 << 20;

typedef struct part {
    LLVMValueRef index; /* without its extension from 32 bits or fewer */
    LLVMOpcode extension;
    int64_t size;
} part;

typedef struct place {
    LLVMValueRef base;
    part parts[MAX_PARTS];
    int count;
    int64_t constant, unit;
} place;

static bool add_part(place *p, LLVMValueRef index, int64_t size)
{
    if (LLVMIsAConstantInt(index)) {
        int64_t bytes;
        if (__builtin_mul_overflow(LLVMConstIntGetSExtValue(index), size, &bytes)) return false;
        return !__builtin_add_overflow(p->constant, bytes, &p->constant);
    }
    if (p->count == MAX_PARTS || !LLVMIsAInstruction(index)) return false;
    part *new = &p->parts[p->count++];
    *new = (part){.index = index, .size = size};
    LLVMOpcode opcode = LLVMGetInstructionOpcode(index);
    if ((opcode == LLVMZExt || opcode == LLVMSExt) && LLVMGetIntTypeWidth(LLVMTypeOf(LLVMGetOperand(index, 0))) <= 32) {
        new->extension = opcode;
        new->index = LLVMGetOperand(index, 0);
    }
    return !LLVMIsConstant(new->index);
}

static bool add_address(const cpu_kernel *k, place *p, LLVMValueRef ir)
{
    LLVMTypeRef type = LLVMGetGEPSourceElementType(ir);
    for (unsigned i = 1; i < (unsigned)LLVMGetNumOperands(ir); i++) {
        LLVMValueRef index = LLVMGetOperand(ir, i);
        if (i > 1 && LLVMGetTypeKind(type) == LLVMStructTypeKind) {
            unsigned field = (unsigned)LLVMConstIntGetZExtValue(index);
            p->constant += (int64_t)LLVMOffsetOfElement(k->layout, type, field);
            type = LLVMStructGetTypeAtIndex(type, field);
            continue;
        }
        if (i > 1) type = LLVMGetElementType(type);
        if (!add_part(p, index, (int64_t)LLVMABISizeOfType(k->layout, type))) return false;
    }
    return true;
}

/* False: the address is not of that kind, or the processor has other instructions. */
static bool find_place(const cpu_kernel *k, LLVMValueRef pointer, place *p)
{
    *p = (place){.base = pointer, .unit = 8};
    if (k->piece_bytes != 64) return false;
    if (!k->index_assumed && LLVMGetPointerAddressSpace(LLVMTypeOf(pointer)) != 3) return false;
    while (LLVMIsAGetElementPtrInst(p->base)) {
        if (cpu_is_uniform(k, p->base)) break;
        const cpu_value *array = cpu_value_of(k, LLVMGetOperand(p->base, 0));
        if ((array && array->cell) || !add_address(k, p, p->base)) return false;
        p->base = LLVMGetOperand(p->base, 0);
    }
    for (int i = 0; i < p->count; i++)
        if (p->parts[i].size % 8) p->unit = 4;
    for (int i = 0; i < p->count; i++)
        if (p->parts[i].size % p->unit) return false;
    bool has_object = !LLVMIsConstant(p->base) || LLVMIsAGlobalVariable(p->base);
    return p->count && has_object && cpu_is_uniform(k, p->base) && !LLVMIsAAllocaInst(p->base) &&
           p->constant <= MAX_OFFSET && p->constant >= -MAX_OFFSET;
}

static LLVMValueRef pointer_of(LLVMValueRef ir)
{
    if (LLVMIsALoadInst(ir)) return LLVMGetOperand(ir, 0);
    return LLVMIsAStoreInst(ir) ? LLVMGetOperand(ir, 1) : NULL;
}

static void note_elsewhere(cpu_kernel *k, LLVMValueRef ir, int block)
{
    cpu_value *value = cpu_value_of(k, ir);
    if (value && value->block != block) value->part_elsewhere = true;
}

void cpu_places_find(cpu_kernel *k)
{
    for (int v = 0; v < k->value_count; v++) {
        place p;
        LLVMValueRef pointer = pointer_of(k->values[v].ir);
        if (!pointer || cpu_is_uniform(k, pointer) || !find_place(k, pointer, &p)) continue;
        note_elsewhere(k, p.base, k->values[v].block);
        for (int i = 0; i < p.count; i++) note_elsewhere(k, p.parts[i].index, k->values[v].block);
    }
}

/* ---- Emission ---- */

static LLVMValueRef low_half(cpu_kernel *k, const part *p)
{
    LLVMTypeRef type = LLVMTypeOf(p->index), wide = cpu_vector_type(k, k->i32);
    unsigned width = LLVMGetIntTypeWidth(type);
    LLVMValueRef index = cpu_vector(k, p->index);
    if (width > 32) return LLVMBuildTrunc(k->builder, index, wide, "");
    if (width == 32) return index;
    return LLVMBuildCast(k->builder, p->extension ? p->extension : LLVMSExt, index, wide, "");
}

static LLVMValueRef indices(cpu_kernel *k, const place *p)
{
    LLVMValueRef sum = NULL;
    for (int i = 0; i < p->count; i++) {
        LLVMValueRef x = low_half(k, &p->parts[i]);
        int64_t factor = p->parts[i].size / p->unit;
        if (factor != 1)
            x = LLVMBuildMul(k->builder, x, cpu_splat(k, cpu_int(k->i32, (uint32_t)factor)), "");
        sum = sum ? LLVMBuildAdd(k->builder, sum, x, "") : x;
    }
    return sum;
}

static LLVMValueRef base_of(cpu_kernel *k, const place *p)
{
    LLVMValueRef base = cpu_at(k, cpu_scalar(k, p->base, 0, 1), p->constant);
    return LLVMBuildAddrSpaceCast(k->builder, base, k->ptr, "");
}

LLVMValueRef cpu_gather_narrow(cpu_kernel *k, LLVMTypeRef element, LLVMValueRef pointer)
{
    place p;
    bool is_float = element == k->f32;
    if ((!is_float && element != k->i32) || !find_place(k, pointer, &p)) return NULL;
    const char *name = is_float ? "llvm.x86.avx512.mask.gather.dps.512" : "llvm.x86.avx512.mask.gather.dpi.512";
    LLVMValueRef base = base_of(k, &p), index = indices(k, &p), halves[2];
    for (int i = 0; i < 2; i++) {
        LLVMValueRef arguments[5] = {LLVMConstNull(LLVMVectorType(element, HALF)), base,
            cpu_slice(k, index, i * HALF, HALF), cpu_slice(k, k->mask, i * HALF, HALF),
            cpu_int(k->i32, (uint64_t)p.unit)};
        halves[i] = cpu_intrinsic(k, name, NULL, 0, arguments, 5);
    }
    return cpu_concat(k, halves, 2, HALF);
}

bool cpu_scatter_narrow(cpu_kernel *k, LLVMValueRef vector, LLVMValueRef pointer)
{
    place p;
    LLVMTypeRef element = LLVMGetElementType(LLVMTypeOf(vector));
    bool is_float = element == k->f32;
    if ((!is_float && element != k->i32) || !find_place(k, pointer, &p)) return false;
    const char *name = is_float ? "llvm.x86.avx512.mask.scatter.dps.512" : "llvm.x86.avx512.mask.scatter.dpi.512";
    LLVMValueRef base = base_of(k, &p), index = indices(k, &p);
    for (int i = 0; i < 2; i++) {
        LLVMValueRef arguments[5] = {base, cpu_slice(k, k->mask, i * HALF, HALF), cpu_slice(k, index, i * HALF, HALF),
            cpu_slice(k, vector, i * HALF, HALF), cpu_int(k->i32, (uint64_t)p.unit)};
        cpu_intrinsic(k, name, NULL, 0, arguments, 5);
    }
    return true;
}
