/* One instruction of the kernel, as scalars or as a vector.
 *
 * Takes the shapes; promises the value for all active lanes. A uniform or strided value is computed by scalar
 * code on the first lanes' operands, without the flags that speak of active lanes only (the first lane need
 * not be one); a varying one by the same instruction on vectors, flags kept. Divisors are 1 in inactive
 * lanes. */
#include "compiler/cpu/affine.h"

#include <string.h>

static LLVMValueRef operand(cpu_kernel *k, LLVMValueRef ir, unsigned i)
{
    return cpu_vector(k, LLVMGetOperand(ir, i));
}

static bool is_division(LLVMOpcode opcode)
{
    return opcode == LLVMUDiv || opcode == LLVMSDiv || opcode == LLVMURem || opcode == LLVMSRem;
}

static void copy_flags(LLVMValueRef to, LLVMValueRef from)
{
    if (!LLVMIsAInstruction(to)) return;
    switch (LLVMGetInstructionOpcode(to)) {
    case LLVMAdd:
    case LLVMSub:
    case LLVMMul:
    case LLVMShl:
        LLVMSetNSW(to, LLVMGetNSW(from));
        LLVMSetNUW(to, LLVMGetNUW(from));
        break;
    case LLVMLShr:
    case LLVMAShr:
    case LLVMUDiv:
    case LLVMSDiv: LLVMSetExact(to, LLVMGetExact(from)); break;
    case LLVMZExt:
    case LLVMUIToFP: LLVMSetNNeg(to, LLVMGetNNeg(from)); break;
    default:
        if (LLVMCanValueUseFastMathFlags(to) && LLVMCanValueUseFastMathFlags(from))
            LLVMSetFastMathFlags(to, LLVMGetFastMathFlags(from));
    }
}

static void drop_flags(LLVMValueRef ir)
{
    switch (LLVMGetInstructionOpcode(ir)) {
    case LLVMAdd:
    case LLVMSub:
    case LLVMMul:
    case LLVMShl:
    case LLVMTrunc:
        LLVMSetNSW(ir, 0);
        LLVMSetNUW(ir, 0);
        break;
    case LLVMLShr:
    case LLVMAShr: LLVMSetExact(ir, 0); break;
    case LLVMZExt: LLVMSetNNeg(ir, 0); break;
    case LLVMICmp: LLVMSetICmpSameSign(ir, 0); break;
    default: break;
    }
}

/* Do flags speak of more than what the first lane has? */
static bool differs_by_lane(const cpu_kernel *k, const cpu_value *value, int operands)
{
    if (cpu_shape_has_stride(&value->shape)) return true;
    for (int i = 0; i < operands; i++) {
        cpu_shape s = cpu_shape_of(k, LLVMGetOperand(value->ir, (unsigned)i));
        if (cpu_shape_has_stride(&s)) return true;
    }
    return false;
}

/* ---- Scalars ---- */

/* For a copy of which no lane may be active, an address that can be read. */
static LLVMValueRef safe_address(cpu_kernel *k, const cpu_value *value, int copy, LLVMValueRef address)
{
    if (value->copies == 1 || k->mask == k->all) return address;
    if (!k->dummy) {
        k->dummy = cpu_alloca(k, LLVMArrayType2(k->i8, 64), "nothing");
        LLVMSetAlignment(k->dummy, 64);
        LLVMTypeRef words = LLVMArrayType2(k->i8, 64);
        LLVMBuildStore(k->entry_builder, LLVMConstNull(words), k->dummy);
    }
    int lanes = 1 << value->shape.bits;
    LLVMValueRef active = cpu_mask_any(k, cpu_slice(k, k->mask, copy * lanes, lanes));
    LLVMValueRef dummy = LLVMBuildAddrSpaceCast(k->builder, k->dummy, LLVMTypeOf(address), "");
    return LLVMBuildSelect(k->builder, active, address, dummy, "");
}

static bool is_float_operation(LLVMValueRef ir)
{
    switch (LLVMGetInstructionOpcode(ir)) {
    case LLVMFPExt:
    case LLVMFNeg:
    case LLVMFAdd:
    case LLVMFSub:
    case LLVMFMul: return true;
    default: return false;
    }
}

static LLVMValueRef copies_of(cpu_kernel *k, LLVMValueRef ir, int copies)
{
    LLVMValueRef all = LLVMGetPoison(LLVMVectorType(LLVMTypeOf(ir), (unsigned)copies));
    for (int i = 0; i < copies; i++)
        all = LLVMBuildInsertElement(k->builder, all, cpu_scalar(k, ir, i, copies), cpu_int(k->i32, (uint64_t)i), "");
    return all;
}

/* Floats of several blocks of lanes, as where lanes share a scale: one short vector, which costs what one of them does, and
 * from which one permutation makes the vector of all lanes. */
static void emit_copies_together(cpu_kernel *k, cpu_value *value)
{
    LLVMValueRef ir = value->ir, a = copies_of(k, LLVMGetOperand(ir, 0), value->copies), result;
    LLVMBuilderRef b = k->builder;
    switch (LLVMGetInstructionOpcode(ir)) {
    case LLVMFPExt: result = LLVMBuildFPExt(b, a, LLVMVectorType(LLVMTypeOf(ir), (unsigned)value->copies), ""); break;
    case LLVMFNeg: result = LLVMBuildFNeg(b, a, ""); break;
    default:
        result = LLVMBuildBinOp(b, LLVMGetInstructionOpcode(ir), a, copies_of(k, LLVMGetOperand(ir, 1), value->copies), "");
    }
    if (LLVMIsAInstruction(result) && LLVMCanValueUseFastMathFlags(ir))
        LLVMSetFastMathFlags(result, LLVMGetFastMathFlags(ir));
    for (int i = 0; i < value->copies; i++)
        cpu_define(k, value, i, LLVMBuildExtractElement(b, result, cpu_int(k->i32, (uint64_t)i), ""));
}

void cpu_emit_scalars(cpu_kernel *k, cpu_value *value)
{
    LLVMValueRef ir = value->ir;
    LLVMOpcode opcode = LLVMGetInstructionOpcode(ir);
    int count = LLVMGetNumOperands(ir) - (opcode == LLVMCall);
    if (value->copies > 1 && is_float_operation(ir)) {
        emit_copies_together(k, value);
        return;
    }
    for (int copy = 0; copy < value->copies; copy++) {
        if (opcode == LLVMOr && LLVMGetIsDisjoint(ir)) { /* see binary() in transfer.c */
            LLVMValueRef a = cpu_scalar(k, LLVMGetOperand(ir, 0), copy, value->copies);
            LLVMValueRef b = cpu_scalar(k, LLVMGetOperand(ir, 1), copy, value->copies);
            cpu_define(k, value, copy, LLVMBuildAdd(k->builder, a, b, ""));
            continue;
        }
        LLVMValueRef clone = LLVMInstructionClone(ir);
        for (int i = 0; i < count; i++) {
            LLVMValueRef o = cpu_scalar(k, LLVMGetOperand(ir, (unsigned)i), copy, value->copies);
            if (opcode == LLVMLoad) o = safe_address(k, value, copy, o);
            LLVMSetOperand(clone, (unsigned)i, o);
        }
        if (differs_by_lane(k, value, count)) drop_flags(clone);
        LLVMInsertIntoBuilder(k->builder, clone);
        cpu_define(k, value, copy, clone);
    }
}

/* ---- Addresses ---- */

/* The scalar index number `copy` of `copies`, as 64 bits. */
static LLVMValueRef scalar_index(
    cpu_kernel *k, LLVMValueRef index, uint64_t scale, bool in_bounds, int copy, int copies)
{
    cpu_shape inner;
    if (in_bounds && cpu_index_assumed(k, index, scale, &inner)) {
        k->index_assumed = true;
        /* See transfer.c: extend at the top of the block of lanes, then come back down in 64 bits. */
        LLVMValueRef narrow = cpu_scalar(k, LLVMGetOperand(index, 0), copy, copies);
        int64_t top = 0;
        for (int b = 0; b < LANE_BITS; b++)
            if (inner.stride[b] > 0 && b < inner.bits) top += inner.stride[b];
        if (LLVMGetInstructionOpcode(index) == LLVMSExt) return LLVMBuildSExt(k->builder, narrow, k->i64, "");
        LLVMValueRef last = LLVMBuildAdd(k->builder, narrow, cpu_int(LLVMTypeOf(narrow), (uint64_t)top), "");
        return LLVMBuildSub(
            k->builder, LLVMBuildZExt(k->builder, last, k->i64, ""), cpu_int(k->i64, (uint64_t)top), "");
    }
    LLVMValueRef scalar = cpu_scalar(k, index, copy, copies);
    if (LLVMGetIntTypeWidth(LLVMTypeOf(scalar)) == 64) return scalar;
    return LLVMBuildSExtOrBitCast(k->builder, scalar, k->i64, "");
}

static LLVMValueRef vector_index(cpu_kernel *k, LLVMValueRef index)
{
    LLVMValueRef vector = cpu_vector(k, index);
    if (LLVMGetIntTypeWidth(LLVMTypeOf(index)) == 64) return vector;
    return LLVMBuildSExt(k->builder, vector, cpu_vector_type(k, k->i64), "");
}

/* base + the sum of index * size, in bytes; arrays kept cell by cell are LANES times as large. */
void cpu_emit_address(cpu_kernel *k, cpu_value *value)
{
    LLVMValueRef ir = value->ir, base = LLVMGetOperand(ir, 0);
    const cpu_value *array = cpu_value_of(k, base);
    uint64_t cells = array && array->cell ? LANES : 1;
    bool in_bounds = LLVMIsInBounds(ir) && cells == 1;
    int count = LLVMGetNumOperands(ir), forms = value->copies ? value->copies : 1;
    for (int copy = 0; copy < forms; copy++) {
        LLVMTypeRef type = LLVMGetGEPSourceElementType(ir);
        LLVMValueRef at = value->copies ? cpu_scalar(k, base, copy, value->copies) : NULL;
        if (!at) at = cpu_is_uniform(k, base) ? cpu_scalar(k, base, 0, 1) : cpu_vector(k, base);
        uint64_t constant = 0;
        for (int i = 1; i < count; i++) {
            LLVMValueRef index = LLVMGetOperand(ir, (unsigned)i), offset;
            if (i > 1 && LLVMGetTypeKind(type) == LLVMStructTypeKind) {
                unsigned field = (unsigned)LLVMConstIntGetZExtValue(index);
                constant += LLVMOffsetOfElement(k->layout, type, field);
                type = LLVMStructGetTypeAtIndex(type, field);
                continue;
            }
            if (i > 1) type = LLVMGetElementType(type);
            uint64_t size = LLVMABISizeOfType(k->layout, type) * cells;
            if (LLVMIsAConstantInt(index)) {
                constant += (uint64_t)LLVMConstIntGetSExtValue(index) * size;
                continue;
            }
            bool scalar = value->copies || cpu_is_uniform(k, index);
            int64_t rest = 0;
            offset = cpu_family_index(k, value, (unsigned)i, (int64_t)size, &rest);
            constant += (uint64_t)(rest * (int64_t)size);
            if (offset)
                ;
            else if (value->copies)
                offset = scalar_index(k, index, size, in_bounds, copy, value->copies);
            else
                offset = scalar ? scalar_index(k, index, size, false, 0, 1) : vector_index(k, index);
            LLVMValueRef factor = cpu_int(k->i64, size);
            if (size != 1)
                offset = LLVMBuildMul(k->builder, offset, scalar ? factor : cpu_splat(k, factor), "");
            at = LLVMBuildGEP2(k->builder, k->i8, at, &offset, 1, "");
        }
        at = cpu_at(k, at, (int64_t)constant);
        if (!value->copies && LLVMGetTypeKind(LLVMTypeOf(at)) != LLVMVectorTypeKind) at = cpu_splat(k, at);
        cpu_define(k, value, copy, at);
    }
}

enum { LARGE_ARRAY = 16384 }; /* bytes, of all lanes */

static void emit_array(cpu_kernel *k, cpu_value *value)
{
    LLVMValueRef ir = value->ir, memory;
    if (!LLVMIsConstant(LLVMGetOperand(ir, 0)) || LLVMConstIntGetZExtValue(LLVMGetOperand(ir, 0)) != 1)
        cpu_fail(&k->job, TOMBAC_ERROR_UNSUPPORTED, "cpu engine: an array of variable length");
    uint64_t size = LLVMABISizeOfType(k->layout, LLVMGetAllocatedType(ir));
    if (size > (uint64_t)1 << 20)
        cpu_fail(&k->job, TOMBAC_ERROR_UNSUPPORTED, "cpu engine: a private array of more than 1 MiB");
    /* Must outlive the return at a barrier; and large ones are no matter for the stack. */
    if (k->has_barrier || size * LANES > LARGE_ARRAY) {
        memory = cpu_at(k, k->parameter[PARAM_CONTEXT], (int64_t)k->context_used);
        k->context_used += (size_t)(size * LANES + 63) / 64 * 64;
    } else {
        memory = cpu_alloca(k, LLVMArrayType2(k->i8, size * LANES), "array");
        LLVMSetAlignment(memory, 64);
    }
    cpu_define(k, value, 0, memory);
}

/* ---- Vectors ---- */

/* x86 has no vector division of integers; up to 32 bits one of floating point is exact. The quotient of a and
 * b below 2^32 is at least 1 / b away from the integer above it, and rounding to 53 bits moves it by less
 * than 2^-20 / b; likewise below 2^16 with the 24 bits of float. */
static LLVMValueRef divide(cpu_kernel *k, LLVMOpcode opcode, LLVMValueRef a, LLVMValueRef b, unsigned width)
{
    LLVMBuilderRef builder = k->builder;
    bool is_signed = opcode == LLVMSDiv || opcode == LLVMSRem;
    LLVMTypeRef type = LLVMTypeOf(a);
    LLVMTypeRef wide = cpu_vector_type(k, width <= 16 ? k->f32 : LLVMDoubleTypeInContext(k->context));
    LLVMOpcode to = is_signed ? LLVMSIToFP : LLVMUIToFP, from = is_signed ? LLVMFPToSI : LLVMFPToUI;
    LLVMValueRef x = LLVMBuildCast(builder, to, a, wide, ""), y = LLVMBuildCast(builder, to, b, wide, "");
    LLVMValueRef quotient = LLVMBuildCast(builder, from, LLVMBuildFDiv(builder, x, y, ""), type, "");
    if (opcode == LLVMUDiv || opcode == LLVMSDiv) return quotient;
    return LLVMBuildSub(builder, a, LLVMBuildMul(builder, quotient, b, ""), "");
}

static LLVMValueRef emit_binary(cpu_kernel *k, LLVMValueRef ir)
{
    LLVMOpcode opcode = LLVMGetInstructionOpcode(ir);
    LLVMValueRef a = operand(k, ir, 0), b = operand(k, ir, 1);
    if (is_division(opcode) && !LLVMIsConstant(LLVMGetOperand(ir, 1))) {
        unsigned width = LLVMGetIntTypeWidth(LLVMTypeOf(ir));
        b = cpu_mask_select(k, k->mask, b, cpu_int(LLVMTypeOf(ir), 1));
        cpu_note(k, cpu_value_of(k, ir), width <= 32 ? CPU_DIVISION : CPU_DIVISION_WIDE);
        if (width <= 32) return divide(k, opcode, a, b, width);
    }
    return LLVMBuildBinOp(k->builder, opcode, a, b, "");
}

static LLVMValueRef emit_select(cpu_kernel *k, LLVMValueRef ir)
{
    LLVMValueRef condition = LLVMGetOperand(ir, 0);
    LLVMTypeKind kind = LLVMGetTypeKind(LLVMTypeOf(ir));
    if (kind == LLVMStructTypeKind || kind == LLVMVectorTypeKind)
        cpu_fail(&k->job, TOMBAC_ERROR_UNSUPPORTED, "cpu engine: select of an aggregate");
    LLVMValueRef c = cpu_is_uniform(k, condition) ? cpu_scalar(k, condition, 0, 1) : cpu_vector(k, condition);
    return LLVMBuildSelect(k->builder, c, operand(k, ir, 1), operand(k, ir, 2), "");
}

/* Short vectors and structs are structs of vectors here. */
static LLVMValueRef emit_part(cpu_kernel *k, LLVMValueRef ir)
{
    LLVMOpcode opcode = LLVMGetInstructionOpcode(ir);
    bool insert = opcode == LLVMInsertElement || opcode == LLVMInsertValue;
    unsigned part;
    if (opcode == LLVMExtractElement || opcode == LLVMInsertElement) {
        LLVMValueRef index = LLVMGetOperand(ir, insert ? 2 : 1);
        if (!LLVMIsAConstantInt(index))
            cpu_fail(&k->job, TOMBAC_ERROR_UNSUPPORTED, "cpu engine: a vector indexed by a variable");
        part = (unsigned)LLVMConstIntGetZExtValue(index);
    } else {
        if (LLVMGetNumIndices(ir) != 1)
            cpu_fail(&k->job, TOMBAC_ERROR_UNSUPPORTED, "cpu engine: a nested aggregate value");
        part = LLVMGetIndices(ir)[0];
    }
    LLVMValueRef whole = operand(k, ir, 0);
    if (!insert) return LLVMBuildExtractValue(k->builder, whole, part, "");
    return LLVMBuildInsertValue(k->builder, whole, operand(k, ir, 1), part, "");
}

static unsigned bits_of(cpu_kernel *k, LLVMTypeRef type)
{
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    return kind == LLVMIntegerTypeKind ? LLVMGetIntTypeWidth(type)
                                       : (unsigned)LLVMSizeOfTypeInBits(k->layout, type);
}

/* Part i of `want` bits of a value whose parts have `have` bits. */
static LLVMValueRef integer_part(
    cpu_kernel *k, const LLVMValueRef *parts, unsigned have, unsigned want, unsigned i)
{
    LLVMBuilderRef b = k->builder;
    LLVMTypeRef type = cpu_vector_type(k, LLVMIntTypeInContext(k->context, want));
    if (want <= have) { /* a slice of one part */
        unsigned shift = i * want % have;
        LLVMTypeRef own = LLVMIntTypeInContext(k->context, have);
        LLVMValueRef part = parts[i * want / have];
        if (shift) part = LLVMBuildLShr(b, part, cpu_splat(k, cpu_int(own, shift)), "");
        return want < have ? LLVMBuildTrunc(b, part, type, "") : part;
    }
    LLVMValueRef sum = LLVMConstNull(type);
    for (unsigned j = 0; j < want / have; j++) {
        LLVMValueRef part = LLVMBuildZExt(b, parts[i * (want / have) + j], type, "");
        LLVMValueRef shift = cpu_splat(k, cpu_int(LLVMIntTypeInContext(k->context, want), j * have));
        sum = LLVMBuildOr(b, sum, j ? LLVMBuildShl(b, part, shift, "") : part, "");
    }
    return sum;
}

/* A bitcast from or to a short vector: element 0 is in the lowest bits. */
static LLVMValueRef emit_short_bitcast(cpu_kernel *k, LLVMValueRef ir)
{
    LLVMTypeRef from = LLVMTypeOf(LLVMGetOperand(ir, 0)), to = LLVMTypeOf(ir);
    bool from_vector = LLVMGetTypeKind(from) == LLVMVectorTypeKind,
         to_vector = LLVMGetTypeKind(to) == LLVMVectorTypeKind;
    unsigned from_count = from_vector ? LLVMGetVectorSize(from) : 1,
             to_count = to_vector ? LLVMGetVectorSize(to) : 1;
    LLVMTypeRef from_element = from_vector ? LLVMGetElementType(from) : from;
    LLVMTypeRef to_element = to_vector ? LLVMGetElementType(to) : to;
    unsigned have = bits_of(k, from_element), want = bits_of(k, to_element);
    LLVMValueRef whole = operand(k, ir, 0), parts[8];
    LLVMTypeRef integers = LLVMVectorType(LLVMIntTypeInContext(k->context, have), LANES);
    for (unsigned i = 0; i < from_count; i++) {
        parts[i] = from_vector ? LLVMBuildExtractValue(k->builder, whole, i, "") : whole;
        parts[i] = LLVMBuildBitCast(k->builder, parts[i], integers, "");
    }
    LLVMValueRef result = to_vector ? LLVMGetPoison(cpu_vector_type(k, to)) : NULL;
    for (unsigned i = 0; i < to_count; i++) {
        LLVMValueRef part = integer_part(k, parts, have, want, i);
        part = LLVMBuildBitCast(k->builder, part, LLVMVectorType(to_element, LANES), "");
        result = to_vector ? LLVMBuildInsertValue(k->builder, result, part, i, "") : part;
    }
    return result;
}

static LLVMValueRef emit_vector(cpu_kernel *k, LLVMValueRef ir)
{
    LLVMOpcode opcode = LLVMGetInstructionOpcode(ir);
    if (opcode == LLVMBitCast &&
        (LLVMGetTypeKind(LLVMTypeOf(ir)) == LLVMVectorTypeKind ||
            LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(ir, 0))) == LLVMVectorTypeKind))
        return emit_short_bitcast(k, ir);
    switch (opcode) {
    case LLVMAdd:
    case LLVMSub:
    case LLVMMul:
    case LLVMShl:
    case LLVMLShr:
    case LLVMAShr:
    case LLVMAnd:
    case LLVMOr:
    case LLVMXor:
    case LLVMFAdd:
    case LLVMFSub:
    case LLVMFMul:
    case LLVMFDiv:
    case LLVMFRem:
    case LLVMUDiv:
    case LLVMSDiv:
    case LLVMURem:
    case LLVMSRem: return emit_binary(k, ir);
    case LLVMFNeg: return LLVMBuildFNeg(k->builder, operand(k, ir, 0), "");
    case LLVMTrunc:
    case LLVMZExt:
    case LLVMSExt:
    case LLVMFPToUI:
    case LLVMFPToSI:
    case LLVMUIToFP:
    case LLVMSIToFP:
    case LLVMFPTrunc:
    case LLVMFPExt:
    case LLVMPtrToInt:
    case LLVMIntToPtr:
    case LLVMBitCast:
    case LLVMAddrSpaceCast:
        return LLVMBuildCast(k->builder, opcode, operand(k, ir, 0), cpu_vector_type(k, LLVMTypeOf(ir)), "");
    case LLVMFreeze: return LLVMBuildFreeze(k->builder, operand(k, ir, 0), "");
    case LLVMICmp:
        return LLVMBuildICmp(k->builder, LLVMGetICmpPredicate(ir), operand(k, ir, 0), operand(k, ir, 1), "");
    case LLVMFCmp:
        return LLVMBuildFCmp(k->builder, LLVMGetFCmpPredicate(ir), operand(k, ir, 0), operand(k, ir, 1), "");
    case LLVMSelect: return emit_select(k, ir);
    case LLVMExtractElement:
    case LLVMInsertElement:
    case LLVMExtractValue:
    case LLVMInsertValue: return emit_part(k, ir);
    default: break;
    }
    char *text = LLVMPrintValueToString(ir), copy[160];
    strncpy(copy, text, sizeof copy - 1);
    copy[sizeof copy - 1] = 0;
    LLVMDisposeMessage(text);
    cpu_fail(&k->job, TOMBAC_ERROR_UNSUPPORTED, "cpu engine: cannot vectorise:%s", copy);
}

void cpu_emit_instruction(cpu_kernel *k, cpu_value *value)
{
    switch (LLVMGetInstructionOpcode(value->ir)) {
    case LLVMStore: cpu_emit_store(k, value); return;
    case LLVMCall: cpu_emit_call(k, value); return;
    case LLVMAlloca: emit_array(k, value); return;
    case LLVMGetElementPtr: cpu_emit_address(k, value); return;
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg: cpu_emit_atomic(k, value); return;
    case LLVMFence: LLVMInsertIntoBuilder(k->builder, LLVMInstructionClone(value->ir)); return;
    case LLVMLoad:
        if (!value->copies) {
            cpu_emit_load(k, value);
            return;
        }
        cpu_note(k, value, value->copies == 1 ? CPU_UNIFORM : CPU_SCALARS);
        break;
    default: break;
    }
    if (value->copies) {
        cpu_emit_scalars(k, value);
        return;
    }
    LLVMValueRef vector = emit_vector(k, value->ir);
    if (LLVMIsAInstruction(vector) && LLVMGetInstructionOpcode(vector) == LLVMGetInstructionOpcode(value->ir))
        copy_flags(vector, value->ir);
    cpu_define(k, value, 0, vector);
}
