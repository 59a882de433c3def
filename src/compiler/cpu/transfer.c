/* The shape of an instruction's result from the shapes of its operands.
 *
 * A strided value is kept as its first lane alone, so what is claimed here must hold for all 32 lanes, those
 * included that are masked out: flags such as nsw, which speak of active lanes only, prove nothing. All
 * arithmetic modulo 2^width is exact; what looks at bits (and, shifts right, extensions) needs a proof that
 * no carry runs: offsets made of distinct bits below the alignment of the base, or a bound on every lane
 * (`bound`).
 *
 * One weaker claim is made for addresses (cpu_index_assumed). An in-bounds address p + scale * ext(i) with a
 * strided 32-bit i may count as strided although i may wrap between two lanes: of a zext, lanes before the
 * wrap lie 4 GiB * scale beyond p, which no buffer reaches, so only lanes behind it are ever accessed and the
 * base is taken as ext(i) - 2^32 (instruction.c); of a sext, with scale >= 2, both sides lie beyond. */
#include "compiler/cpu/kernel.h"

static const int64_t MAX_STRIDE = (int64_t)1 << 40;
static const uint64_t UNBOUNDED = UINT64_MAX;

static int min(int a, int b)
{
    return a < b ? a : b;
}

static unsigned width_of(LLVMValueRef ir)
{
    LLVMTypeRef type = LLVMTypeOf(ir);
    return LLVMGetTypeKind(type) == LLVMIntegerTypeKind ? LLVMGetIntTypeWidth(type) : 64;
}

static bool constant_of(LLVMValueRef ir, uint64_t *value)
{
    if (!LLVMIsAConstantInt(ir) || LLVMGetIntTypeWidth(LLVMTypeOf(ir)) > 64) return false;
    *value = LLVMConstIntGetZExtValue(ir);
    return true;
}

/* Strides in `width` bits, and cut where they are too large to be followed. */
static cpu_shape normal(cpu_shape s, unsigned width)
{
    for (int b = 0; b < s.bits; b++) {
        if (width < 64) s.stride[b] = (int64_t)((uint64_t)s.stride[b] << (64 - width)) >> (64 - width);
        if (s.stride[b] > MAX_STRIDE || s.stride[b] < -MAX_STRIDE) return cpu_shape_cut(s, b);
    }
    return cpu_shape_cut(s, s.bits);
}

/* Are the offsets sums of distinct bits below the alignment of the base (so that base + offset is base |
 * offset)? */
static bool carries_nothing(const cpu_shape *s, uint64_t *bits)
{
    uint64_t used = 0;
    for (int b = 0; b < s->bits; b++) {
        uint64_t stride = (uint64_t)s->stride[b];
        if (s->stride[b] < 0 || (used & stride)) return false;
        used |= stride;
    }
    *bits = used;
    return s->bits && (s->align >= 63 || used < (uint64_t)1 << s->align);
}

/* ---- A bound on every lane as unsigned number, proven step by step without wrapping ---- */

static uint64_t bound_of_range(LLVMValueRef ir)
{
    if (LLVMIsAInstruction(ir) && LLVMGetInstructionOpcode(ir) == LLVMCall) {
        cpu_operation operation = cpu_operation_of(ir);
        switch (operation.kind) {
        case OP_LANE:
        case OP_SIMDGROUP: return 31;
        case OP_THREAD_INDEX:
        case OP_POSITION: return TB_MAX_THREADS_PER_THREADGROUP - 1;
        case OP_MATRIX_ROW:
        case OP_MATRIX_COLUMN: return 7;
        default: break;
        }
    }
    unsigned width = width_of(ir);
    return width < 64 ? ((uint64_t)1 << width) - 1 : UNBOUNDED;
}

/* threadgroup_position * threads_per_threadgroup as the entry thunk writes it lies in the grid, so it does
 * not wrap. */
static bool is_threadgroup_origin(LLVMValueRef a, LLVMValueRef b)
{
    if (!LLVMIsACallInst(a) || !LLVMIsACallInst(b)) return false;
    cpu_operation x = cpu_operation_of(a), y = cpu_operation_of(b);
    if (x.kind != OP_FIELD || y.kind != OP_FIELD) return false;
    for (unsigned axis = 0; axis < 12; axis += 4) {
        size_t position = offsetof(tb_dispatch, threadgroup_position_in_grid) + axis;
        size_t size = offsetof(tb_dispatch, dispatch_threads_per_threadgroup) + axis;
        if ((x.offset == position && y.offset == size) || (x.offset == size && y.offset == position))
            return true;
    }
    return false;
}

static uint64_t bound(const cpu_kernel *k, LLVMValueRef ir, bool *wraps, int depth)
{
    uint64_t constant, a, b, most = bound_of_range(ir);
    if (constant_of(ir, &constant)) return constant;
    if (!LLVMIsAInstruction(ir) || depth > 12) return most;
    bool harmless = false; /* a uniform value is what it is, even if it came about by wrapping */
    if (cpu_shape_is_uniform(&cpu_value_of(k, ir)->shape)) wraps = &harmless;
    LLVMValueRef x = LLVMGetNumOperands(ir) > 0 ? LLVMGetOperand(ir, 0) : NULL;
    LLVMValueRef y = LLVMGetNumOperands(ir) > 1 ? LLVMGetOperand(ir, 1) : NULL;
    switch (LLVMGetInstructionOpcode(ir)) {
    case LLVMAdd:
        a = bound(k, x, wraps, depth + 1), b = bound(k, y, wraps, depth + 1);
        if (a <= most && b <= most - a) return a + b;
        break;
    case LLVMMul:
        a = bound(k, x, wraps, depth + 1), b = bound(k, y, wraps, depth + 1);
        if (!a || b <= most / a) return a * b;
        if (is_threadgroup_origin(x, y)) return most - 2 * TB_MAX_THREADS_PER_THREADGROUP;
        break;
    case LLVMShl:
        a = bound(k, x, wraps, depth + 1);
        if (constant_of(y, &constant) && constant < 63 && a <= most >> constant) return a << constant;
        break;
    case LLVMOr:
        if (!LLVMGetIsDisjoint(ir)) return most;
        a = bound(k, x, wraps, depth + 1), b = bound(k, y, wraps, depth + 1);
        if (a <= most && b <= most - a) return a + b;
        break;
    case LLVMAnd:
        a = bound(k, x, &(bool){false}, depth + 1), b = bound(k, y, &(bool){false}, depth + 1);
        return a < b ? a : b;
    case LLVMLShr:
        a = bound(k, x, &(bool){false}, depth + 1);
        return constant_of(y, &constant) && constant < 64 ? a >> constant : a;
    case LLVMURem:
        a = bound(k, x, &(bool){false}, depth + 1);
        return constant_of(y, &constant) && constant && constant - 1 < a ? constant - 1 : a;
    case LLVMUDiv:
        a = bound(k, x, &(bool){false}, depth + 1);
        return constant_of(y, &constant) && constant ? a / constant : a;
    case LLVMZExt: return bound(k, x, &(bool){false}, depth + 1);
    case LLVMTrunc:
        a = bound(k, x, wraps, depth + 1);
        if (a <= most) return a;
        break;
    case LLVMCall: return most; /* positions */
    default: break;             /* no proof */
    }
    *wraps = true;
    return most;
}

/* Does every lane lie in [0, limit], reached without wrapping? Uniform operands may be anything in their
 * type. */
static bool bounded(const cpu_kernel *k, LLVMValueRef ir, uint64_t limit)
{
    bool wraps = false;
    uint64_t most = bound(k, ir, &wraps, 0);
    return !wraps && most <= limit;
}

/* ---- Extensions ---- */

static cpu_shape extension(const cpu_kernel *k, LLVMValueRef ir, const cpu_shape *s)
{
    bool is_signed = LLVMGetInstructionOpcode(ir) == LLVMSExt;
    LLVMValueRef from = LLVMGetOperand(ir, 0);
    unsigned width = width_of(from) - is_signed;
    uint64_t bits, most = width < 64 ? ((uint64_t)1 << width) - 1 : UNBOUNDED;
    if (!cpu_shape_has_stride(s)) return *s;
    if (carries_nothing(s, &bits) && bits <= most && (s->align >= 63 || s->align <= (int)width)) return *s;
    /* Steps that cannot wrap only add, so true offsets are not negative: a negative stride stands for another
     * number. */
    bool rises = true;
    for (int b = 0; b < s->bits; b++) rises &= s->stride[b] >= 0;
    if (rises && bounded(k, from, most)) return *s;
    return cpu_shape_equal_lanes(*s);
}

bool cpu_index_assumed(const cpu_kernel *k, LLVMValueRef index, uint64_t scale, cpu_shape *shape)
{
    if (!LLVMIsAInstruction(index)) return false;
    LLVMOpcode opcode = LLVMGetInstructionOpcode(index);
    if (opcode != LLVMZExt && opcode != LLVMSExt) return false;
    const cpu_value *value = cpu_value_of(k, index);
    cpu_shape inner = cpu_shape_of(k, LLVMGetOperand(index, 0));
    if (!value || value->shape.top || inner.bits <= value->shape.bits) return false;
    if (width_of(LLVMGetOperand(index, 0)) != 32 || scale < (opcode == LLVMSExt ? 2 : 1)) return false;
    for (int b = 0; b < inner.bits; b++)
        if (inner.stride[b] > 1 << 24 || inner.stride[b] < -(1 << 24)) return false;
    *shape = inner;
    return true;
}

/* ---- Comparisons ---- */

/* Is a < b in all lanes or in none? With b and the base of a multiples of 2^n and offsets below 2^n, all lanes of a lie in
 * the same aligned 2^n numbers, and b begins such a piece. */
static bool below_together(const cpu_shape *a, const cpu_shape *b, unsigned width)
{
    int n = min(min(a->align, b->align), (int)width - 1);
    uint64_t top = 0;
    for (int i = 0; i < a->bits; i++) {
        if (a->stride[i] < 0) return false;
        top += (uint64_t)a->stride[i];
    }
    return top < (uint64_t)1 << n && !cpu_shape_has_stride(b);
}

static LLVMIntPredicate strict(LLVMIntPredicate p, bool *is_signed)
{
    *is_signed = p == LLVMIntSLT || p == LLVMIntSGE || p == LLVMIntSGT || p == LLVMIntSLE;
    if (p == LLVMIntSLT || p == LLVMIntSGE || p == LLVMIntUGE) return LLVMIntULT;
    return p == LLVMIntSGT || p == LLVMIntSLE || p == LLVMIntULE ? LLVMIntUGT : p;
}

/* a < b and its negation; b < a likewise; a > c where c is a constant is not a < c + 1. */
static cpu_shape comparison(LLVMValueRef ir, cpu_shape a, cpu_shape b, cpu_shape same)
{
    bool is_signed, integers = LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(ir, 0))) == LLVMIntegerTypeKind;
    unsigned width = width_of(LLVMGetOperand(ir, 0));
    LLVMIntPredicate p = strict(LLVMGetICmpPredicate(ir), &is_signed);
    uint64_t c, most = width < 64 ? ((uint64_t)1 << width) - 1 : UNBOUNDED;
    cpu_shape result = cpu_shape_cut(cpu_shape_uniform(0), min(a.bits, b.bits));
    if (!integers || width > 64 || (p != LLVMIntULT && p != LLVMIntUGT)) return same;
    if (p == LLVMIntULT) return below_together(&a, &b, width) ? result : same;
    if (below_together(&b, &a, width)) return result;
    if (!constant_of(LLVMGetOperand(ir, 1), &c) || c == (is_signed ? most >> 1 : most)) return same;
    b.align = (int8_t)cpu_trailing_zeros(c + 1);
    return below_together(&a, &b, width) ? result : same;
}

/* ---- Instructions ---- */

static cpu_shape add(cpu_shape a, cpu_shape b, int sign, unsigned width)
{
    int bits = min(a.bits, b.bits);
    a = cpu_shape_cut(a, bits);
    b = cpu_shape_cut(b, bits);
    a.align = (int8_t)min(a.align, b.align);
    for (int i = 0; i < LANE_BITS; i++) a.stride[i] += sign * b.stride[i];
    return normal(a, width);
}

/* Alignment of a product. */
static int8_t sum_of_zeros(int a, int b)
{
    return (int8_t)(a >= 63 || b >= 63 ? 63 : min(62, a + b));
}

static cpu_shape scale(cpu_shape s, int64_t factor, int zeros, unsigned width)
{
    for (int b = 0; b < s.bits; b++)
        if (__builtin_mul_overflow(s.stride[b], factor, &s.stride[b])) return cpu_shape_cut(s, b);
    s.align = sum_of_zeros(s.align, zeros);
    return normal(s, width);
}

/* and, or, xor, lshr, ashr with a constant, lane bit by lane bit. False: not strided that way. */
static bool bitwise(LLVMOpcode opcode, cpu_shape s, uint64_t c, unsigned width, cpu_shape *result)
{
    uint64_t bits;
    bool low = opcode == LLVMAnd && s.align < 63 && c < (uint64_t)1 << s.align; /* the base drops out */
    uint64_t used = 0;
    for (int b = 0; b < s.bits; b++) {
        if (s.stride[b] < 0 || (used & (uint64_t)s.stride[b])) return false;
        used |= (uint64_t)s.stride[b];
    }
    if (!low && !carries_nothing(&s, &bits)) return false;
    if ((opcode == LLVMLShr || opcode == LLVMAShr) && c >= width) return false;
    for (int b = 0; b < s.bits; b++) {
        uint64_t stride = (uint64_t)s.stride[b];
        if (opcode == LLVMAnd) stride &= c;
        if (opcode == LLVMLShr || opcode == LLVMAShr) stride >>= c;
        if (opcode == LLVMOr) stride &= ~c;
        if (opcode == LLVMXor && (stride & c)) {
            if (stride & ~c) return false;
            stride = (uint64_t)-(int64_t)stride;
        }
        s.stride[b] = (int64_t)stride;
    }
    if (low)
        s.align = 63;
    else if (opcode == LLVMLShr || opcode == LLVMAShr)
        s.align = (int8_t)(s.align >= 63 ? 63 : s.align > (int)c ? s.align - (int)c : 0);
    else if (opcode == LLVMOr || opcode == LLVMXor)
        s.align = (int8_t)min(s.align, cpu_trailing_zeros(c));
    else if (opcode == LLVMAnd && s.align < cpu_trailing_zeros(c))
        s.align = (int8_t)cpu_trailing_zeros(c);
    *result = normal(s, width);
    return true;
}

/* lshr of what is a multiple of 2^c in every lane and did not wrap: base and strides are divided by themselves. */
static bool divides(const cpu_kernel *k, LLVMValueRef ir, cpu_shape s, uint64_t c, unsigned width, cpu_shape *result)
{
    uint64_t most = width < 64 ? ((uint64_t)1 << width) - 1 : UNBOUNDED;
    if (c >= width || s.align < (int)c || !bounded(k, LLVMGetOperand(ir, 0), most)) return false;
    for (int b = 0; b < s.bits; b++) {
        if (s.stride[b] < 0 || (s.stride[b] & (((int64_t)1 << c) - 1))) return false;
        s.stride[b] >>= c;
    }
    s.align = (int8_t)(s.align >= 63 ? 63 : s.align - (int)c);
    *result = normal(s, width);
    return true;
}

static cpu_shape binary(const cpu_kernel *k, LLVMValueRef ir, cpu_shape a, cpu_shape b)
{
    LLVMOpcode opcode = LLVMGetInstructionOpcode(ir);
    unsigned width = width_of(ir);
    uint64_t c;
    bool constant = constant_of(LLVMGetOperand(ir, 1), &c);
    int64_t signed_c = constant ? (int64_t)(c << (64 - width)) >> (64 - width) : 0;
    cpu_shape equal = cpu_shape_equal_lanes(a), other = cpu_shape_equal_lanes(b), result;
    int bits = min(equal.bits, other.bits);
    switch (opcode) {
    case LLVMAdd: return add(a, b, 1, width);
    case LLVMSub: return add(a, b, -1, width);
    case LLVMOr:
        if (LLVMGetIsDisjoint(ir)) return add(a, b, 1, width); /* and is emitted as an addition */
        if (constant && bitwise(opcode, a, c, width, &result)) return result;
        break;
    case LLVMXor:
    case LLVMAnd:
    case LLVMLShr:
    case LLVMAShr:
        if (constant && opcode == LLVMLShr && divides(k, ir, a, c, width, &result)) return result;
        if (constant && bitwise(opcode, a, c, width, &result)) return result;
        break;
    case LLVMMul:
        if (constant && signed_c < 1 << 30 && signed_c > -(1 << 30))
            return scale(a, signed_c, cpu_trailing_zeros(c), width);
        if (!cpu_shape_has_stride(&a) && !cpu_shape_has_stride(&b))
            return normal(cpu_shape_cut(cpu_shape_uniform(sum_of_zeros(a.align, b.align)), bits), width);
        break;
    case LLVMShl:
        if (constant && c < width && c < 31) return scale(a, (int64_t)1 << c, (int)c, width);
        break;
    case LLVMUDiv:
    case LLVMSDiv:
    case LLVMURem:
    case LLVMSRem: /* scalar copies would divide for nobody */
        return bits == LANE_BITS ? cpu_shape_uniform(0) : cpu_shape_varying();
    default: break;
    }
    return cpu_shape_cut(cpu_shape_uniform(0), bits);
}

static cpu_shape address(const cpu_kernel *k, const cpu_value *value, cpu_shape s)
{
    LLVMValueRef ir = value->ir;
    LLVMTypeRef type = LLVMGetGEPSourceElementType(ir);
    const cpu_value *base = cpu_value_of(k, LLVMGetOperand(ir, 0));
    int64_t cells = base && base->cell ? LANES : 1;
    int count = LLVMGetNumOperands(ir);
    s.align = 0;
    for (int i = 1; i < count; i++) {
        LLVMValueRef index = LLVMGetOperand(ir, (unsigned)i);
        if (i > 1 && LLVMGetTypeKind(type) == LLVMStructTypeKind) {
            type = LLVMStructGetTypeAtIndex(type, (unsigned)LLVMConstIntGetZExtValue(index));
            continue;
        }
        if (i > 1) type = LLVMGetElementType(type);
        int64_t size = (int64_t)LLVMABISizeOfType(k->layout, type);
        cpu_shape q = cpu_shape_of(k, index);
        if (LLVMIsInBounds(ir) && cells == 1) cpu_index_assumed(k, index, (uint64_t)size, &q);
        if (width_of(index) < 64 && cpu_shape_has_stride(&q))
            q = cpu_shape_equal_lanes(q); /* implicit sext */
        s = add(s, scale(q, size * cells, 0, 64), 1, 64);
        s.align = 0;
    }
    if (cells > 1 && s.bits < LANE_BITS) return cpu_shape_varying();
    return s;
}

static cpu_shape phi(const cpu_kernel *k, const cpu_value *value)
{
    cpu_shape result = {.top = true};
    LLVMValueRef only = NULL;
    bool several = false;
    unsigned count = LLVMCountIncoming(value->ir);
    for (unsigned i = 0; i < count; i++) {
        LLVMValueRef in = LLVMGetIncomingValue(value->ir, i);
        if (LLVMIsUndef(in)) continue;
        several |= only && only != in;
        only = in;
        result = cpu_shape_meet(result, cpu_shape_of(k, in));
    }
    /* One value and undef elsewhere stays what it is, unless lanes bring it from different iterations. */
    const cpu_block *block = &k->blocks[value->block];
    if (!result.top && block->divergent_phis && (several || block->temporal_phis)) return cpu_shape_varying();
    return result;
}

static cpu_shape position(const cpu_kernel *k, int axis)
{
    if (k->variant == LAYOUT_GENERAL) return cpu_shape_varying();
    if (k->variant == LAYOUT_ROWS) return axis ? cpu_shape_uniform(0) : cpu_shape_linear(1, 5);
    /* Width 2^j < 32 and whole rows per SIMD-group: x takes the low lane bits, y the others. */
    int row_bits = cpu_trailing_zeros((uint64_t)k->width);
    cpu_shape s = cpu_shape_uniform(axis ? LANE_BITS - row_bits : 63);
    if (axis == 2) return cpu_shape_uniform(0);
    for (int b = 0; b < LANE_BITS; b++) {
        if (axis == 0 && b < row_bits) s.stride[b] = 1 << b;
        if (axis == 1 && b >= row_bits) s.stride[b] = 1 << (b - row_bits);
    }
    return s;
}

static cpu_shape call(const cpu_kernel *k, const cpu_value *value, cpu_shape operands)
{
    LLVMValueRef ir = value->ir;
    cpu_shape s = cpu_shape_uniform(63);
    switch (value->operation.kind) {
    case OP_LANE: return cpu_shape_linear(1, 63);
    case OP_THREAD_INDEX: return cpu_shape_linear(1, 5);
    case OP_POSITION: return position(k, value->operation.axis);
    case OP_SIMDGROUP:
    case OP_FIELD:
    case OP_ALL_LANES:
    case OP_THREADGROUP_MEMORY: return cpu_shape_uniform(0);
    case OP_MATRIX_ROW: s.stride[1] = 1, s.stride[2] = 2, s.stride[4] = 4; return s;
    case OP_MATRIX_COLUMN: s.stride[0] = 2, s.stride[3] = 4; return s;
    case OP_REDUCE:
    case OP_BALLOT:
    case OP_ACTIVE:
    case OP_ALL:
    case OP_ANY:
    case OP_BROADCAST_FIRST:
        return value->operation.width == LANES ? cpu_shape_uniform(0) : cpu_shape_varying();
    case OP_SHUFFLE:
    case OP_BROADCAST: {
        cpu_shape index = cpu_shape_of(k, LLVMGetOperand(ir, 1));
        bool uniform = value->operation.width == LANES && cpu_shape_is_uniform(&index);
        return uniform ? cpu_shape_uniform(0) : cpu_shape_varying();
    }
    case OP_NONE: break;
    default: return cpu_shape_varying();
    }
    LLVMValueRef callee = LLVMGetCalledValue(ir);
    if (!LLVMIsAFunction(callee) || !LLVMGetIntrinsicID(callee)) return cpu_shape_varying();
    return cpu_shape_cut(cpu_shape_uniform(0), operands.bits);
}

cpu_shape cpu_transfer(const cpu_kernel *k, const cpu_value *value)
{
    LLVMValueRef ir = value->ir;
    LLVMOpcode opcode = LLVMGetInstructionOpcode(ir);
    if (opcode == LLVMPHI) return phi(k, value);
    if (opcode == LLVMAlloca) {
        int64_t size = (int64_t)LLVMABISizeOfType(k->layout, LLVMGetAllocatedType(ir));
        return cpu_shape_linear(value->cell ? value->cell : size, 0);
    }
    int count = LLVMGetNumOperands(ir) - (opcode == LLVMCall), bits = LANE_BITS, equal = LANE_BITS;
    for (int i = 0; i < count; i++) {
        cpu_shape s = cpu_shape_of(k, LLVMGetOperand(ir, (unsigned)i));
        if (s.top) return s;
        bits = min(bits, s.bits);
        equal = min(equal, cpu_shape_equal_lanes(s).bits);
    }
    cpu_shape same = cpu_shape_cut(cpu_shape_uniform(0), equal);
    cpu_shape a = count > 0 ? cpu_shape_of(k, LLVMGetOperand(ir, 0)) : same;
    cpu_shape b = count > 1 ? cpu_shape_of(k, LLVMGetOperand(ir, 1)) : same;
    switch (opcode) {
    case LLVMCall: return call(k, value, same);
    case LLVMZExt:
    case LLVMSExt: return extension(k, ir, &a);
    case LLVMTrunc: return normal(a, width_of(ir));
    case LLVMFreeze:
    case LLVMAddrSpaceCast: return a;
    case LLVMPtrToInt:
    case LLVMIntToPtr: a.align = 0; return width_of(ir) == 64 ? a : same;
    case LLVMGetElementPtr: return address(k, value, a);
    case LLVMLoad: return LLVMGetVolatile(ir) ? cpu_shape_varying() : same;
    case LLVMICmp: return comparison(ir, a, b, same);
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg: return cpu_shape_varying();
    case LLVMSelect: {
        cpu_shape arms = cpu_shape_meet(b, cpu_shape_of(k, LLVMGetOperand(ir, 2)));
        return cpu_shape_cut(arms, min(arms.bits, cpu_shape_equal_lanes(a).bits));
    }
    case LLVMAdd:
    case LLVMSub:
    case LLVMMul:
    case LLVMShl:
    case LLVMLShr:
    case LLVMAShr:
    case LLVMAnd:
    case LLVMOr:
    case LLVMXor:
    case LLVMUDiv:
    case LLVMSDiv:
    case LLVMURem:
    case LLVMSRem: return width_of(ir) <= 64 ? binary(k, ir, a, b) : same;
    default: return same;
    }
}
