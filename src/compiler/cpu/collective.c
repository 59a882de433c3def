/* Operations across the lanes of a SIMD-group or quad-group; docs/operations.md says what each gives.
 *
 * Takes the mask of the block: it is the set of active lanes. Inactive lanes are given the neutral element,
 * or zero before bits move, so that nothing of them is seen. Results that all lanes share are scalars. */
#include "compiler/cpu/kernel.h"

#include <math.h>

/* ---- Permutations ---- */

/* What lanes read of each other: zero of inactive ones. LLVM 22 folds a load that zeroes under a mask into a permutation
 * that blends under the same mask, as if lanes stayed in their places (peephole-opt, on AVX-512); it must not see both. */
static LLVMValueRef active_lanes(cpu_kernel *k, LLVMValueRef x)
{
    if (k->mask == k->all) return x;
    x = cpu_mask_select(k, k->mask, x, LLVMConstNull(LLVMGetElementType(LLVMTypeOf(x))));
    return k->piece_bytes == 64 ? cpu_hide(k, x) : x;
}

/* Lane l takes source[index[l]]; index is a <32 x i32> within 0 to 31. x86 moves bytes and words best as 32
 * bits. */
static LLVMValueRef permute(cpu_kernel *k, LLVMValueRef source, LLVMValueRef index)
{
    LLVMTypeRef type = LLVMTypeOf(source), element = LLVMGetElementType(type);
    unsigned width = LLVMGetIntTypeWidth(element);
    if (width < 32) source = LLVMBuildZExt(k->builder, source, cpu_vector_type(k, k->i32), "");
    LLVMTypeRef moved = width < 32 ? k->i32 : element, wide = cpu_vector_type(k, moved);
    LLVMValueRef memory = cpu_spill(k, source);
    LLVMValueRef offset = LLVMBuildZExt(k->builder, index, cpu_vector_type(k, k->i64), "");
    LLVMValueRef at = LLVMBuildGEP2(k->builder, moved, cpu_splat(k, memory), &offset, 1, "");
    LLVMTypeRef overloads[2] = {wide, LLVMTypeOf(at)};
    LLVMValueRef arguments[3] = {at, k->all, LLVMGetPoison(wide)};
    LLVMValueRef result = cpu_intrinsic(k, "llvm.masked.gather", overloads, 2, arguments, 3);
    LLVMAddCallSiteAttribute(result, 1, cpu_attribute(k, "align", width == 64 ? 8 : 4));
    return width < 32 ? LLVMBuildTrunc(k->builder, result, type, "") : result;
}

static LLVMValueRef exchange(cpu_kernel *k, LLVMValueRef v, int distance)
{
    int index[LANES];
    for (int i = 0; i < LANES; i++) index[i] = i ^ distance;
    return cpu_shuffle(k, v, NULL, index, LANES);
}

static LLVMValueRef integers(cpu_kernel *k, uint64_t x)
{
    return cpu_splat(k, cpu_int(k->i32, x));
}

/* ---- Reductions and scans ---- */

static LLVMValueRef neutral(cpu_kernel *k, const cpu_operation *op, LLVMTypeRef type)
{
    bool is_float = LLVMGetTypeKind(type) != LLVMIntegerTypeKind;
    uint64_t top = is_float ? 0 : (uint64_t)1 << (LLVMGetIntTypeWidth(type) - 1);
    switch (op->combine) {
    case COMBINE_PRODUCT: return is_float ? LLVMConstReal(type, 1) : cpu_int(type, 1);
    case COMBINE_MIN:
        return is_float ? LLVMConstReal(type, INFINITY) : cpu_int(type, op->is_signed ? top - 1 : ~0ull);
    case COMBINE_MAX:
        return is_float ? LLVMConstReal(type, -INFINITY) : cpu_int(type, op->is_signed ? top : 0);
    case COMBINE_AND: return cpu_int(type, ~0ull);
    default: return LLVMConstNull(type);
    }
}

static LLVMValueRef combine(cpu_kernel *k, const cpu_operation *op, LLVMValueRef a, LLVMValueRef b)
{
    LLVMTypeRef type = LLVMTypeOf(a), element = type;
    if (LLVMGetTypeKind(type) == LLVMVectorTypeKind) element = LLVMGetElementType(type);
    bool is_float = LLVMGetTypeKind(element) != LLVMIntegerTypeKind;
    LLVMValueRef both[2] = {a, b};
    const char *name;
    switch (op->combine) {
    case COMBINE_SUM:
        return is_float ? LLVMBuildFAdd(k->builder, a, b, "") : LLVMBuildAdd(k->builder, a, b, "");
    case COMBINE_PRODUCT:
        return is_float ? LLVMBuildFMul(k->builder, a, b, "") : LLVMBuildMul(k->builder, a, b, "");
    case COMBINE_AND: return LLVMBuildAnd(k->builder, a, b, "");
    case COMBINE_OR: return LLVMBuildOr(k->builder, a, b, "");
    case COMBINE_XOR: return LLVMBuildXor(k->builder, a, b, "");
    case COMBINE_MIN: name = is_float ? "llvm.minnum" : op->is_signed ? "llvm.smin" : "llvm.umin"; break;
    default: name = is_float ? "llvm.maxnum" : op->is_signed ? "llvm.smax" : "llvm.umax"; break;
    }
    if (LLVMGetTypeKind(element) != LLVMHalfTypeKind) return cpu_intrinsic(k, name, &type, 1, both, 2);
    LLVMTypeRef wide = element == type ? k->f32 : LLVMVectorType(k->f32, LLVMGetVectorSize(type));
    for (int i = 0; i < 2; i++)
        both[i] = LLVMBuildFPExt(k->builder, both[i], wide, ""); /* x86 has no min of halves */
    return LLVMBuildFPTrunc(k->builder, cpu_intrinsic(k, name, &wide, 1, both, 2), type, "");
}

/* The xor tree 16, 8, 4, 2, 1. Over 32 lanes both halves of a step are equal, so halving gives the same
 * numbers. */
static LLVMValueRef reduce_tree(cpu_kernel *k, const cpu_operation *op, LLVMValueRef v)
{
    if (op->width < LANES) {
        for (int step = op->width / 2; step; step /= 2) v = combine(k, op, v, exchange(k, v, step));
        return v;
    }
    for (int half = LANES / 2; half > 1; half /= 2)
        v = combine(k, op, cpu_slice(k, v, 0, half), cpu_slice(k, v, half, half));
    return combine(k, op, LLVMBuildExtractElement(k->builder, v, cpu_int(k->i32, 0), ""),
        LLVMBuildExtractElement(k->builder, v, cpu_int(k->i32, 1), ""));
}

/* In float from the start to the end, which LLVM must not undo: of single halves it would make calls of fmax. */
static LLVMValueRef reduce_halves(cpu_kernel *k, const cpu_operation *op, LLVMValueRef v)
{
    LLVMTypeRef half = LLVMGetElementType(LLVMTypeOf(v));
    LLVMValueRef wide = cpu_hide(k, LLVMBuildFPExt(k->builder, v, cpu_vector_type(k, k->f32), ""));
    LLVMValueRef result = reduce_tree(k, op, wide);
    return LLVMBuildFPTrunc(k->builder, result, op->width < LANES ? cpu_vector_type(k, half) : half, "");
}

static LLVMValueRef reduce(cpu_kernel *k, const cpu_operation *op, LLVMValueRef v)
{
    v = cpu_mask_select(k, k->mask, v, neutral(k, op, LLVMGetElementType(LLVMTypeOf(v))));
    bool is_extremum = op->combine == COMBINE_MIN || op->combine == COMBINE_MAX;
    if (is_extremum && LLVMGetTypeKind(LLVMGetElementType(LLVMTypeOf(v))) == LLVMHalfTypeKind)
        return reduce_halves(k, op, v);
    return reduce_tree(k, op, v);
}

/* Lane i takes lane i - step within its group, the neutral element below it. */
static LLVMValueRef shift_up(cpu_kernel *k, LLVMValueRef v, LLVMValueRef fill, int step, int width)
{
    int index[LANES];
    for (int i = 0; i < LANES; i++) index[i] = i % width >= step ? i - step : LANES;
    return cpu_shuffle(k, v, fill, index, LANES);
}

static LLVMValueRef scan(cpu_kernel *k, const cpu_operation *op, LLVMValueRef v)
{
    LLVMValueRef element = neutral(k, op, LLVMGetElementType(LLVMTypeOf(v))), fill = cpu_splat(k, element);
    v = cpu_mask_select(k, k->mask, v, element);
    if (!op->inclusive) v = shift_up(k, v, fill, 1, op->width);
    for (int step = 1; step < op->width; step *= 2)
        v = combine(k, op, shift_up(k, v, fill, step, op->width), v);
    return v;
}

LLVMValueRef cpu_exclusive_sum(cpu_kernel *k, LLVMValueRef v)
{
    cpu_operation sum = {.kind = OP_SCAN, .combine = COMBINE_SUM, .width = LANES};
    return scan(k, &sum, v);
}

/* ---- Shuffles ---- */

/* The lane that each lane reads, and whether it lies inside: all within groups of `width` lanes. */
static LLVMValueRef source_lane(
    cpu_kernel *k, cpu_operation_kind kind, LLVMValueRef argument, int width, LLVMValueRef *inside)
{
    LLVMBuilderRef b = k->builder;
    LLVMValueRef lane = cpu_lane_numbers(k, k->i32), low = integers(k, (uint64_t)width - 1);
    LLVMValueRef own = LLVMBuildAnd(b, lane, low, ""), first = LLVMBuildSub(b, lane, own, ""), to;
    bool wraps = false;
    switch (kind) {
    case OP_SHUFFLE:
    case OP_BROADCAST: to = argument, wraps = true; break;
    case OP_SHUFFLE_UP:
    case OP_FILL_UP: to = LLVMBuildSub(b, own, argument, ""); break;
    case OP_SHUFFLE_DOWN:
    case OP_FILL_DOWN: to = LLVMBuildAdd(b, own, argument, ""); break;
    case OP_SHUFFLE_XOR: to = LLVMBuildXor(b, own, argument, ""); break;
    case OP_ROTATE_UP: to = LLVMBuildSub(b, own, argument, ""), wraps = true; break;
    default: to = LLVMBuildAdd(b, own, argument, ""), wraps = true; break;
    }
    *inside = wraps ? NULL : LLVMBuildICmp(b, LLVMIntULT, to, integers(k, (uint64_t)width), "");
    return LLVMBuildAdd(b, first, LLVMBuildAnd(b, to, low, ""), "");
}

/* `index` as constants; false if it is not constant. */
static bool constant_lanes(LLVMValueRef index, int *lanes)
{
    if (!LLVMIsConstant(index)) return false;
    for (int i = 0; i < LANES; i++) {
        LLVMValueRef element = LLVMGetAggregateElement(index, (unsigned)i);
        if (!element || !LLVMIsAConstantInt(element)) return false;
        lanes[i] = (int)LLVMConstIntGetZExtValue(element);
    }
    return true;
}

static LLVMValueRef take_lanes(cpu_kernel *k, LLVMValueRef v, LLVMValueRef index)
{
    int lanes[LANES];
    return constant_lanes(index, lanes) ? cpu_shuffle(k, v, NULL, lanes, LANES) : permute(k, v, index);
}

static LLVMValueRef extend(cpu_kernel *k, LLVMValueRef argument)
{
    return LLVMBuildZExtOrBitCast(k->builder, argument, cpu_vector_type(k, k->i32), "");
}

static LLVMValueRef shuffle(cpu_kernel *k, const cpu_operation *op, LLVMValueRef ir)
{
    LLVMValueRef x = cpu_vector(k, LLVMGetOperand(ir, 0)), argument = LLVMGetOperand(ir, 1), inside;
    LLVMValueRef active = active_lanes(k, x);
    bool one_lane = op->kind == OP_SHUFFLE || op->kind == OP_BROADCAST;
    if (one_lane && op->width == LANES && cpu_is_uniform(k, argument)) {
        LLVMValueRef lane = cpu_scalar(k, argument, 0, 1);
        lane = LLVMBuildAnd(k->builder, lane, cpu_int(LLVMTypeOf(lane), LANES - 1), "");
        return LLVMBuildExtractElement(k->builder, active, lane, "");
    }
    LLVMValueRef from = source_lane(k, op->kind, extend(k, cpu_vector(k, argument)), op->width, &inside);
    LLVMValueRef moved = take_lanes(k, active, from);
    return inside ? LLVMBuildSelect(k->builder, inside, moved, x, "") : moved;
}

/* Blocks of `modulo` lanes; a lane whose source lies outside takes `fill` of the lane that wraps round. */
static LLVMValueRef shuffle_and_fill(cpu_kernel *k, const cpu_operation *op, LLVMValueRef ir)
{
    LLVMBuilderRef b = k->builder;
    LLVMValueRef in[2];
    for (unsigned i = 0; i < 2; i++) in[i] = active_lanes(k, cpu_vector(k, LLVMGetOperand(ir, i)));
    LLVMValueRef delta = extend(k, cpu_vector(k, LLVMGetOperand(ir, 2)));
    LLVMValueRef modulo = extend(k, cpu_vector(k, LLVMGetOperand(ir, 3)));
    LLVMValueRef lane = cpu_lane_numbers(k, k->i32), low = LLVMBuildSub(b, modulo, integers(k, 1), "");
    LLVMValueRef own = LLVMBuildAnd(b, lane, low, ""), first = LLVMBuildSub(b, lane, own, "");
    LLVMValueRef to =
        op->kind == OP_FILL_UP ? LLVMBuildSub(b, own, delta, "") : LLVMBuildAdd(b, own, delta, "");
    LLVMValueRef inside = LLVMBuildICmp(b, LLVMIntULT, to, modulo, "");
    LLVMValueRef from = LLVMBuildAdd(b, first, LLVMBuildAnd(b, to, low, ""), "");
    from = LLVMBuildAnd(b, from, integers(k, LANES - 1), "");
    return LLVMBuildSelect(b, inside, take_lanes(k, in[0], from), take_lanes(k, in[1], from), "");
}

/* ---- Votes ---- */

/* Per lane, the mask bits of its quad-group as i32. */
static LLVMValueRef quad_bits(cpu_kernel *k, LLVMValueRef mask)
{
    LLVMBuilderRef b = k->builder;
    LLVMValueRef quad = LLVMBuildAnd(b, cpu_lane_numbers(k, k->i32), integers(k, LANES - 4), "");
    LLVMValueRef bits = LLVMBuildLShr(b, cpu_splat(k, cpu_mask_bits(k, mask)), quad, "");
    return LLVMBuildAnd(b, bits, integers(k, 15), "");
}

static LLVMValueRef first_of_quad(cpu_kernel *k)
{
    LLVMTypeRef type = cpu_vector_type(k, k->i32);
    LLVMValueRef arguments[2] = {quad_bits(k, k->mask), cpu_int(k->i1, 0)};
    LLVMValueRef first = cpu_intrinsic(k, "llvm.cttz", &type, 1, arguments, 2);
    LLVMValueRef quad = LLVMBuildAnd(k->builder, cpu_lane_numbers(k, k->i32), integers(k, LANES - 4), "");
    first = LLVMBuildAdd(k->builder, first, quad, "");
    return LLVMBuildAnd(k->builder, first, integers(k, LANES - 1), "");
}

static LLVMValueRef vote(cpu_kernel *k, const cpu_operation *op, LLVMValueRef ir)
{
    bool quad = op->width < LANES, all = op->kind == OP_ALL;
    LLVMValueRef mask = k->mask;
    if (op->kind != OP_ACTIVE) {
        LLVMValueRef condition = cpu_vector(k, LLVMGetOperand(ir, 0));
        mask = cpu_mask_and(k, mask, all ? LLVMBuildNot(k->builder, condition, "") : condition);
    }
    if (op->kind == OP_ALL || op->kind == OP_ANY) {
        if (quad)
            return LLVMBuildICmp(
                k->builder, all ? LLVMIntEQ : LLVMIntNE, quad_bits(k, mask), integers(k, 0), "");
        LLVMValueRef any = cpu_mask_any(k, mask);
        return all ? LLVMBuildNot(k->builder, any, "") : any;
    }
    if (quad) return LLVMBuildZExt(k->builder, quad_bits(k, mask), cpu_vector_type(k, k->i64), "");
    return LLVMBuildZExt(k->builder, cpu_mask_bits(k, mask), k->i64, "");
}

static LLVMValueRef first(cpu_kernel *k, const cpu_operation *op, LLVMValueRef ir)
{
    bool quad = op->width < LANES;
    LLVMValueRef lane = quad ? first_of_quad(k) : cpu_mask_first(k, k->mask);
    if (op->kind == OP_IS_FIRST) {
        LLVMValueRef all = quad ? lane : cpu_splat(k, lane);
        return LLVMBuildICmp(k->builder, LLVMIntEQ, cpu_lane_numbers(k, k->i32), all, "");
    }
    LLVMValueRef x = cpu_vector(k, LLVMGetOperand(ir, 0));
    return quad ? take_lanes(k, x, lane) : LLVMBuildExtractElement(k->builder, x, lane, "");
}

void cpu_emit_collective(cpu_kernel *k, cpu_value *value)
{
    const cpu_operation *op = &value->operation;
    LLVMValueRef ir = value->ir, result;
    switch (op->kind) {
    case OP_REDUCE: result = reduce(k, op, cpu_vector(k, LLVMGetOperand(ir, 0))); break;
    case OP_SCAN: result = scan(k, op, cpu_vector(k, LLVMGetOperand(ir, 0))); break;
    case OP_FILL_UP:
    case OP_FILL_DOWN: result = shuffle_and_fill(k, op, ir); break;
    case OP_BALLOT:
    case OP_ACTIVE:
    case OP_ALL:
    case OP_ANY: result = vote(k, op, ir); break;
    case OP_BROADCAST_FIRST:
    case OP_IS_FIRST: result = first(k, op, ir); break;
    default: result = shuffle(k, op, ir); break;
    }
    cpu_define(k, value, 0, result);
}
