/* Loads and stores whose address or mask differs between lanes.
 *
 * Takes the shape of the address; promises that exactly the active lanes' bytes are touched. In this order:
 * adjacent elements in lane order are one vector access; accesses that together cover runs are grouped
 * (group.c); blocks of lanes with adjacent elements are one access per block; bytes and 16-bit elements go
 * lane by lane, since x86 has no gather for them; the rest is gathered or scattered. */
#include "compiler/cpu/kernel.h"
#include "compiler/cpu/memory.h"

/* half and bfloat travel as 16-bit integers: their vectors are no registers of their own below AVX512-FP16.
 */
LLVMTypeRef cpu_memory_type(cpu_kernel *k, LLVMTypeRef type)
{
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    return kind == LLVMHalfTypeKind || kind == LLVMBFloatTypeKind ? k->i16 : type;
}

int cpu_memory_size(cpu_kernel *k, LLVMTypeRef type)
{
    switch (LLVMGetTypeKind(type)) {
    case LLVMIntegerTypeKind: {
        unsigned width = LLVMGetIntTypeWidth(type);
        return width == 8 || width == 16 || width == 32 || width == 64 ? (int)width / 8 : 0;
    }
    case LLVMHalfTypeKind:
    case LLVMBFloatTypeKind: return 2;
    case LLVMFloatTypeKind: return 4;
    case LLVMDoubleTypeKind:
    case LLVMPointerTypeKind: return 8;
    default: return 0;
    }
}

LLVMValueRef cpu_cast_vector(cpu_kernel *k, LLVMValueRef vector, LLVMTypeRef element)
{
    LLVMTypeRef type = LLVMVectorType(element, LLVMGetVectorSize(LLVMTypeOf(vector)));
    return LLVMTypeOf(vector) == type ? vector : LLVMBuildBitCast(k->builder, vector, type, "");
}

LLVMValueRef cpu_load_at(cpu_kernel *k, LLVMTypeRef type, LLVMValueRef address, unsigned align)
{
    LLVMValueRef load = LLVMBuildLoad2(k->builder, type, address, "");
    LLVMSetAlignment(load, align);
    return load;
}

void cpu_store_at(cpu_kernel *k, LLVMValueRef value, LLVMValueRef address, unsigned align)
{
    LLVMSetAlignment(LLVMBuildStore(k->builder, value, address), align);
}

/* ---- Masked accesses ---- */

static bool masks_are_cheap(const cpu_kernel *k, int size)
{
    return k->piece_bytes == 64 || size >= 4;
}

static void set_align(cpu_kernel *k, LLVMValueRef call, unsigned parameter, unsigned align)
{
    LLVMAddCallSiteAttribute(call, parameter, cpu_attribute(k, "align", align));
}

static LLVMValueRef masked_load(
    cpu_kernel *k, LLVMTypeRef element, LLVMValueRef address, LLVMValueRef mask, unsigned align)
{
    LLVMTypeRef type = LLVMVectorType(element, LLVMGetVectorSize(LLVMTypeOf(mask)));
    LLVMTypeRef overloads[2] = {type, LLVMTypeOf(address)};
    LLVMValueRef arguments[3] = {address, mask, LLVMGetPoison(type)};
    LLVMValueRef call = cpu_intrinsic(k, "llvm.masked.load", overloads, 2, arguments, 3);
    set_align(k, call, 1, align);
    return call;
}

static void masked_store(
    cpu_kernel *k, LLVMValueRef vector, LLVMValueRef address, LLVMValueRef mask, unsigned align)
{
    LLVMTypeRef overloads[2] = {LLVMTypeOf(vector), LLVMTypeOf(address)};
    LLVMValueRef arguments[3] = {vector, address, mask};
    set_align(k, cpu_intrinsic(k, "llvm.masked.store", overloads, 2, arguments, 3), 2, align);
}

/* AVX2 stores under a mask are microcoded on some processors: the whole mask is worth a test. */
static void store_vector(
    cpu_kernel *k, LLVMValueRef vector, LLVMValueRef address, LLVMValueRef mask, unsigned align)
{
    if (mask == k->all) {
        cpu_store_at(k, vector, address, align);
        return;
    }
    if (k->piece_bytes == 64) {
        masked_store(k, vector, address, mask, align);
        return;
    }
    LLVMBasicBlockRef whole = cpu_new_block(k, "store.all"), part = cpu_new_block(k, "store.part");
    LLVMBasicBlockRef end = cpu_new_block(k, "store.end");
    LLVMBuildCondBr(k->builder, cpu_mask_all(k, mask), whole, part);
    LLVMPositionBuilderAtEnd(k->builder, whole);
    cpu_store_at(k, vector, address, align);
    LLVMBuildBr(k->builder, end);
    LLVMPositionBuilderAtEnd(k->builder, part);
    masked_store(k, vector, address, mask, align);
    LLVMBuildBr(k->builder, end);
    LLVMPositionBuilderAtEnd(k->builder, end);
}

LLVMValueRef cpu_gather(
    cpu_kernel *k, LLVMTypeRef element, LLVMValueRef addresses, LLVMValueRef mask, unsigned align)
{
    LLVMTypeRef type = LLVMVectorType(element, LLVMGetVectorSize(LLVMTypeOf(mask)));
    LLVMTypeRef overloads[2] = {type, LLVMTypeOf(addresses)};
    LLVMValueRef arguments[3] = {addresses, mask, LLVMGetPoison(type)};
    LLVMValueRef call = cpu_intrinsic(k, "llvm.masked.gather", overloads, 2, arguments, 3);
    set_align(k, call, 1, align);
    return call;
}

static void scatter(
    cpu_kernel *k, LLVMValueRef vector, LLVMValueRef addresses, LLVMValueRef mask, unsigned align)
{
    LLVMTypeRef overloads[2] = {LLVMTypeOf(vector), LLVMTypeOf(addresses)};
    LLVMValueRef arguments[3] = {vector, addresses, mask};
    set_align(k, cpu_intrinsic(k, "llvm.masked.scatter", overloads, 2, arguments, 3), 2, align);
}

/* ---- Blocks of lanes ---- */

/* Are lanes adjacent elements within blocks of at least four? */
static bool is_blockwise(const cpu_shape *s, int size)
{
    for (int b = 0; b < s->bits; b++)
        if (s->stride[b] != (int64_t)size << b) return false;
    return s->bits >= 2 && s->bits < LANE_BITS;
}

/* Address of the first lane of block i of n. */
static LLVMValueRef block_address(cpu_kernel *k, LLVMValueRef pointer, LLVMValueRef addresses, int i, int n)
{
    if (!addresses) return cpu_scalar(k, pointer, i, n);
    return LLVMBuildExtractElement(k->builder, addresses, cpu_int(k->i32, (uint64_t)(i * LANES / n)), "");
}

static LLVMValueRef load_blocks(
    cpu_kernel *k, LLVMTypeRef element, LLVMValueRef pointer, const cpu_shape *s, unsigned align)
{
    LLVMValueRef parts[LANES], addresses = cpu_shape_copies(s) ? NULL : cpu_vector(k, pointer);
    int count = LANES >> s->bits, width = 1 << s->bits;
    for (int i = 0; i < count; i++) {
        LLVMValueRef address = block_address(k, pointer, addresses, i, count);
        parts[i] = k->mask == k->all
                       ? cpu_load_at(k, LLVMVectorType(element, (unsigned)width), address, align)
                       : masked_load(k, element, address, cpu_slice(k, k->mask, i * width, width), align);
    }
    return cpu_concat(k, parts, count, width);
}

static void store_blocks(
    cpu_kernel *k, LLVMValueRef vector, LLVMValueRef pointer, const cpu_shape *s, unsigned align)
{
    LLVMValueRef addresses = cpu_shape_copies(s) ? NULL : cpu_vector(k, pointer);
    int count = LANES >> s->bits, width = 1 << s->bits;
    for (int i = 0; i < count; i++) {
        LLVMValueRef address = block_address(k, pointer, addresses, i, count);
        LLVMValueRef part = cpu_slice(k, vector, i * width, width);
        if (k->mask == k->all)
            cpu_store_at(k, part, address, align);
        else
            masked_store(k, part, address, cpu_slice(k, k->mask, i * width, width), align);
    }
}

/* ---- The two instructions ---- */

void cpu_emit_load(cpu_kernel *k, cpu_value *value)
{
    LLVMValueRef ir = value->ir, pointer = LLVMGetOperand(ir, 0);
    LLVMTypeRef type = LLVMTypeOf(ir), element = cpu_memory_type(k, type);
    cpu_shape s = cpu_shape_of(k, pointer);
    int size = cpu_memory_size(k, type);
    unsigned align = LLVMGetAlignment(ir);
    if (!size || LLVMGetVolatile(ir) || LLVMGetOrdering(ir) != LLVMAtomicOrderingNotAtomic) {
        cpu_define(k, value, 0, cpu_by_lanes(k, ir));
        return;
    }
    LLVMValueRef vector;
    bool maskable = k->mask == k->all || masks_are_cheap(k, size);
    if (cpu_shape_is_linear(&s, size) && maskable) {
        LLVMValueRef address = cpu_scalar(k, pointer, 0, 1);
        vector = k->mask == k->all ? cpu_load_at(k, cpu_vector_type(k, element), address, align)
                                   : masked_load(k, element, address, k->mask, align);
    } else if (cpu_group_load(k, value)) {
        return;
    } else if (is_blockwise(&s, size) && maskable) {
        vector = load_blocks(k, element, pointer, &s, align);
    } else if (size < 4) {
        vector = cpu_by_lanes(k, ir);
    } else {
        vector = cpu_gather_narrow(k, element, pointer);
        if (!vector) vector = cpu_gather(k, element, cpu_vector(k, pointer), k->mask, align);
    }
    cpu_define(k, value, 0, cpu_cast_vector(k, vector, type));
}

/* All lanes write one place: the last active one is seen. */
static void store_uniform(cpu_kernel *k, LLVMValueRef ir)
{
    LLVMValueRef data = LLVMGetOperand(ir, 0), address = cpu_scalar(k, LLVMGetOperand(ir, 1), 0, 1), value;
    if (cpu_is_uniform(k, data)) {
        value = cpu_scalar(k, data, 0, 1);
    } else {
        LLVMValueRef last = cpu_int(k->i32, LANES - 1);
        if (k->mask != k->all) {
            LLVMValueRef arguments[2] = {cpu_mask_bits(k, k->mask), cpu_int(k->i1, 1)};
            LLVMValueRef zeros = cpu_intrinsic(k, "llvm.ctlz", &k->i32, 1, arguments, 2);
            last = LLVMBuildSub(k->builder, last, zeros, "");
        }
        value = LLVMBuildExtractElement(k->builder, cpu_vector(k, data), last, "");
    }
    LLVMValueRef store = LLVMInstructionClone(ir);
    LLVMSetOperand(store, 0, value);
    LLVMSetOperand(store, 1, address);
    LLVMInsertIntoBuilder(k->builder, store);
}

void cpu_emit_store(cpu_kernel *k, cpu_value *value)
{
    LLVMValueRef ir = value->ir, data = LLVMGetOperand(ir, 0), pointer = LLVMGetOperand(ir, 1);
    LLVMTypeRef element = cpu_memory_type(k, LLVMTypeOf(data));
    cpu_shape s = cpu_shape_of(k, pointer);
    int size = cpu_memory_size(k, LLVMTypeOf(data));
    unsigned align = LLVMGetAlignment(ir);
    if (cpu_shape_is_uniform(&s)) {
        store_uniform(k, ir);
        return;
    }
    if (!size || LLVMGetVolatile(ir) || LLVMGetOrdering(ir) != LLVMAtomicOrderingNotAtomic) {
        cpu_by_lanes(k, ir);
        return;
    }
    bool maskable = k->mask == k->all || masks_are_cheap(k, size), linear = cpu_shape_is_linear(&s, size);
    if (!(linear && maskable) && cpu_group_store(k, value)) return;
    bool can_scatter = k->piece_bytes == 64 && size >= 4; /* AVX2 has no scatter */
    if ((!linear && !is_blockwise(&s, size) && !can_scatter) || !maskable) {
        cpu_by_lanes(k, ir);
        return;
    }
    LLVMValueRef vector = cpu_cast_vector(k, cpu_vector(k, data), element);
    if (linear)
        store_vector(k, vector, cpu_scalar(k, pointer, 0, 1), k->mask, align);
    else if (is_blockwise(&s, size))
        store_blocks(k, vector, pointer, &s, align);
    else if (!cpu_scatter_narrow(k, vector, pointer))
        scatter(k, vector, cpu_vector(k, pointer), k->mask, align);
}
