/* Building blocks of emission: vectors, masks, and how a value of the kernel is read and defined in the new
 * function.
 *
 * A value lives as scalars (the first lanes of its blocks of lanes) or as one vector of 32 lanes; a struct or
 * short vector lives as a struct of vectors. Within its block it is an SSA value (`now`), across blocks a
 * stack slot; mem2reg makes SSA form again. Promise: cpu_vector and cpu_scalar give the value for every
 * active lane, whatever form it is kept in. */
#include "compiler/cpu/kernel.h"

#include <string.h>

LLVMValueRef cpu_int(LLVMTypeRef type, uint64_t value)
{
    return LLVMConstInt(type, value, 0);
}

LLVMTypeRef cpu_vector_type(cpu_kernel *k, LLVMTypeRef type)
{
    LLVMTypeRef parts[8];
    unsigned count;
    switch (LLVMGetTypeKind(type)) {
    case LLVMStructTypeKind:
        count = LLVMCountStructElementTypes(type);
        if (count > 8) break;
        for (unsigned i = 0; i < count; i++) parts[i] = cpu_vector_type(k, LLVMStructGetTypeAtIndex(type, i));
        return LLVMStructTypeInContext(k->context, parts, count, 0);
    case LLVMVectorTypeKind:
        count = LLVMGetVectorSize(type);
        if (count > 8) break;
        for (unsigned i = 0; i < count; i++) parts[i] = LLVMVectorType(LLVMGetElementType(type), LANES);
        return LLVMStructTypeInContext(k->context, parts, count, 0);
    case LLVMIntegerTypeKind:
    case LLVMHalfTypeKind:
    case LLVMBFloatTypeKind:
    case LLVMFloatTypeKind:
    case LLVMDoubleTypeKind:
    case LLVMPointerTypeKind: return LLVMVectorType(type, LANES);
    default: break;
    }
    char *text = LLVMPrintTypeToString(type), copy[80];
    strncpy(copy, text, sizeof copy - 1);
    copy[sizeof copy - 1] = 0;
    LLVMDisposeMessage(text);
    cpu_fail(&k->job, TOMBAC_ERROR_UNSUPPORTED, "cpu engine: values of type %s", copy);
}

LLVMValueRef cpu_shuffle(cpu_kernel *k, LLVMValueRef a, LLVMValueRef b, const int *index, int count)
{
    LLVMValueRef element[512];
    for (int i = 0; i < count; i++) element[i] = cpu_int(k->i32, (uint64_t)index[i]);
    if (!b) b = LLVMGetPoison(LLVMTypeOf(a));
    return LLVMBuildShuffleVector(k->builder, a, b, LLVMConstVector(element, (unsigned)count), "");
}

static bool is_identity(LLVMValueRef vector, const int *index, int count)
{
    if (LLVMGetVectorSize(LLVMTypeOf(vector)) != (unsigned)count) return false;
    for (int i = 0; i < count; i++)
        if (index[i] != i) return false;
    return true;
}

LLVMValueRef cpu_slice(cpu_kernel *k, LLVMValueRef vector, int from, int count)
{
    int index[64];
    for (int i = 0; i < count; i++) index[i] = from + i;
    return is_identity(vector, index, count) ? vector : cpu_shuffle(k, vector, NULL, index, count);
}

LLVMValueRef cpu_concat(cpu_kernel *k, LLVMValueRef *parts, int count, int width)
{
    int index[512];
    for (; count > 1; count /= 2, width *= 2) {
        for (int i = 0; i < 2 * width; i++) index[i] = i;
        for (int i = 0; i < count / 2; i++)
            parts[i] = cpu_shuffle(k, parts[2 * i], parts[2 * i + 1], index, 2 * width);
    }
    return parts[0];
}

LLVMValueRef cpu_splat(cpu_kernel *k, LLVMValueRef scalar)
{
    LLVMTypeRef type = LLVMTypeOf(scalar);
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    if (kind == LLVMStructTypeKind || kind == LLVMVectorTypeKind) {
        LLVMTypeRef wide = cpu_vector_type(k, type);
        LLVMValueRef result = LLVMGetPoison(wide);
        for (unsigned i = 0; i < LLVMCountStructElementTypes(wide); i++) {
            LLVMValueRef part = kind == LLVMStructTypeKind
                                    ? LLVMBuildExtractValue(k->builder, scalar, i, "")
                                    : LLVMBuildExtractElement(k->builder, scalar, cpu_int(k->i32, i), "");
            result = LLVMBuildInsertValue(k->builder, result, cpu_splat(k, part), i, "");
        }
        return result;
    }
    LLVMTypeRef wide = cpu_vector_type(k, type);
    if (LLVMIsUndef(scalar)) return LLVMIsPoison(scalar) ? LLVMGetPoison(wide) : LLVMGetUndef(wide);
    if (LLVMIsConstant(scalar)) {
        LLVMValueRef element[LANES];
        for (int i = 0; i < LANES; i++) element[i] = scalar;
        return LLVMConstVector(element, LANES);
    }
    static const int zeros[LANES];
    LLVMValueRef one =
        LLVMBuildInsertElement(k->builder, LLVMGetPoison(wide), scalar, cpu_int(k->i32, 0), "");
    return cpu_shuffle(k, one, NULL, zeros, LANES);
}

/* Offsets of the lanes from the first lane of their block. */
static LLVMValueRef offsets(cpu_kernel *k, LLVMTypeRef type, const cpu_shape *s)
{
    LLVMValueRef element[LANES];
    for (int i = 0; i < LANES; i++) element[i] = LLVMConstInt(type, (uint64_t)cpu_shape_offset(s, i), 1);
    return LLVMConstVector(element, LANES);
}

LLVMValueRef cpu_lane_numbers(cpu_kernel *k, LLVMTypeRef type)
{
    cpu_shape s = cpu_shape_linear(1, 63);
    return offsets(k, type, &s);
}

LLVMValueRef cpu_intrinsic(cpu_kernel *k, const char *name, LLVMTypeRef *overloads, int overload_count,
    LLVMValueRef *arguments, int argument_count)
{
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    if (!id) cpu_fail(&k->job, TOMBAC_ERROR_COMPILER, "cpu engine: LLVM has no intrinsic %s", name);
    LLVMValueRef callee = LLVMGetIntrinsicDeclaration(k->module, id, overloads, (size_t)overload_count);
    LLVMTypeRef type = LLVMIntrinsicGetType(k->context, id, overloads, (size_t)overload_count);
    return LLVMBuildCall2(k->builder, type, callee, arguments, (unsigned)argument_count, "");
}

LLVMValueRef cpu_at(cpu_kernel *k, LLVMValueRef base, int64_t bytes)
{
    if (!bytes) return base;
    LLVMValueRef offset = LLVMConstInt(k->i64, (uint64_t)bytes, 1);
    return LLVMBuildGEP2(k->builder, k->i8, base, &offset, 1, "");
}

LLVMValueRef cpu_alloca(cpu_kernel *k, LLVMTypeRef type, const char *name)
{
    return LLVMBuildAlloca(k->entry_builder, type, name);
}

LLVMBasicBlockRef cpu_new_block(cpu_kernel *k, const char *name)
{
    return LLVMAppendBasicBlockInContext(k->context, k->step, name);
}

/* ---- Reading values ---- */

/* base + bytes or number, by type. */
static LLVMValueRef advance(cpu_kernel *k, LLVMValueRef base, LLVMValueRef offset)
{
    LLVMTypeRef type = LLVMTypeOf(base);
    if (LLVMGetTypeKind(type) == LLVMVectorTypeKind) type = LLVMGetElementType(type);
    return LLVMGetTypeKind(type) == LLVMPointerTypeKind
               ? LLVMBuildGEP2(k->builder, k->i8, base, &offset, 1, "")
               : LLVMBuildAdd(k->builder, base, offset, "");
}

static LLVMTypeRef offset_type(cpu_kernel *k, LLVMTypeRef type)
{
    return LLVMGetTypeKind(type) == LLVMPointerTypeKind ? k->i64 : type;
}

static LLVMValueRef read_copy(cpu_kernel *k, cpu_value *value, int copy)
{
    if (value->block == k->current && value->now[copy]) return value->now[copy];
    if (value->again) return cpu_again(k, value);
    if (!value->slot[copy])
        cpu_fail(&k->job, TOMBAC_ERROR_COMPILER, "cpu engine: a value is used before its definition");
    return LLVMBuildLoad2(k->builder, value->type, value->slot[copy], "");
}

LLVMValueRef cpu_held(cpu_kernel *k, cpu_value *value)
{
    return read_copy(k, value, 0);
}

LLVMValueRef cpu_scalar(cpu_kernel *k, LLVMValueRef ir, int i, int n)
{
    cpu_value *value = cpu_value_of(k, ir);
    if (!value) {
        int number = LLVMIsAArgument(ir) ? cpu_map_get(&k->arguments, ir) : -1;
        return number < 0 ? ir : LLVMGetParam(k->step, (unsigned)number);
    }
    int copies = value->copies;
    if (!copies || copies > n)
        cpu_fail(&k->job, TOMBAC_ERROR_COMPILER, "cpu engine: a varying value is used as a scalar");
    LLVMValueRef base = read_copy(k, value, i * copies / n);
    int64_t offset = cpu_shape_offset(&value->shape, LANES / n * (i % (n / copies)));
    if (!offset) return base;
    return advance(k, base, LLVMConstInt(offset_type(k, LLVMTypeOf(base)), (uint64_t)offset, 1));
}

LLVMValueRef cpu_vector(cpu_kernel *k, LLVMValueRef ir)
{
    cpu_value *value = cpu_value_of(k, ir);
    if (!value) return cpu_splat(k, cpu_scalar(k, ir, 0, 1));
    if (value->bundle) return cpu_bundle_vector(k, value);
    if (!value->copies) return read_copy(k, value, 0);
    LLVMValueRef vector;
    if (value->copies == 1) {
        vector = cpu_splat(k, read_copy(k, value, 0));
    } else {
        LLVMTypeRef wide = cpu_vector_type(k, value->type);
        int index[LANES];
        vector = LLVMGetPoison(wide);
        for (int i = 0; i < value->copies; i++)
            vector = LLVMBuildInsertElement(
                k->builder, vector, read_copy(k, value, i), cpu_int(k->i32, (uint64_t)i), "");
        for (int i = 0; i < LANES; i++) index[i] = i >> value->shape.bits;
        vector = cpu_shuffle(k, vector, NULL, index, LANES);
    }
    if (!cpu_shape_has_stride(&value->shape)) return vector;
    return advance(k, vector, offsets(k, offset_type(k, value->type), &value->shape));
}

void cpu_define(cpu_kernel *k, cpu_value *value, int copy, LLVMValueRef definition)
{
    value->now[copy] = definition;
    if (value->crosses) LLVMBuildStore(k->builder, definition, value->slot[copy]);
}

bool cpu_is_uniform(const cpu_kernel *k, LLVMValueRef ir)
{
    cpu_shape s = cpu_shape_of(k, ir);
    return cpu_shape_is_uniform(&s);
}

LLVMValueRef cpu_hide(cpu_kernel *k, LLVMValueRef v)
{
    LLVMTypeRef element = LLVMGetElementType(LLVMTypeOf(v));
    int count = k->piece_bytes / (int)LLVMABISizeOfType(k->layout, element);
    int lanes = (int)LLVMGetVectorSize(LLVMTypeOf(v));
    if (count > lanes) count = lanes;
    LLVMTypeRef type = LLVMVectorType(element, (unsigned)count), signature = LLVMFunctionType(type, &type, 1, false);
    LLVMValueRef nothing = LLVMGetInlineAsm(signature, "", 0, "=v,0", 4, false, false, LLVMInlineAsmDialectATT, false);
    LLVMValueRef parts[LANES];
    for (int i = 0; i < lanes / count; i++) {
        LLVMValueRef part = cpu_slice(k, v, i * count, count);
        parts[i] = LLVMBuildCall2(k->builder, signature, nothing, &part, 1, "");
    }
    return cpu_concat(k, parts, lanes / count, count);
}

/* ---- Masks ---- */

LLVMValueRef cpu_mask_bits(cpu_kernel *k, LLVMValueRef mask)
{
    LLVMTypeRef bits = LLVMIntTypeInContext(k->context, LLVMGetVectorSize(LLVMTypeOf(mask)));
    return LLVMBuildBitCast(k->builder, mask, bits, "");
}

LLVMValueRef cpu_mask_any(cpu_kernel *k, LLVMValueRef mask)
{
    LLVMValueRef bits = cpu_mask_bits(k, mask);
    return LLVMBuildICmp(k->builder, LLVMIntNE, bits, LLVMConstNull(LLVMTypeOf(bits)), "");
}

LLVMValueRef cpu_mask_all(cpu_kernel *k, LLVMValueRef mask)
{
    LLVMValueRef bits = cpu_mask_bits(k, mask);
    return LLVMBuildICmp(k->builder, LLVMIntEQ, bits, LLVMConstAllOnes(LLVMTypeOf(bits)), "");
}

LLVMValueRef cpu_mask_and(cpu_kernel *k, LLVMValueRef mask, LLVMValueRef condition)
{
    /* A select, because the condition may be poison where the mask is false. */
    if (mask == k->all) return condition;
    return LLVMBuildSelect(k->builder, mask, condition, LLVMConstNull(k->mask_type), "");
}

LLVMValueRef cpu_mask_first(cpu_kernel *k, LLVMValueRef mask)
{
    if (mask == k->all) return cpu_int(k->i32, 0);
    LLVMValueRef arguments[2] = {cpu_mask_bits(k, mask), cpu_int(k->i1, 1)};
    return cpu_intrinsic(k, "llvm.cttz", &k->i32, 1, arguments, 2);
}

LLVMValueRef cpu_mask_select(cpu_kernel *k, LLVMValueRef mask, LLVMValueRef value, LLVMValueRef other)
{
    if (mask == k->all) return value;
    return LLVMBuildSelect(k->builder, mask, value, cpu_splat(k, other), "");
}
