/* The entry thunk: IR_KERNEL_FUNCTION(bindable arguments) computes the positions and calls the source's
 * kernel.
 *
 * Every thread-position and size attribute of Metal becomes an expression over the position calls of
 * docs/operations.md, of the width that the parameter has: scalars come as integers, vectors as byval
 * pointers to class-template structs whose components lie one after the other. Tensors come as byval pointers,
 * too. */
#include "compiler/ir/steps.h"

#include "artifact/abi.h"

#include <stdlib.h>
#include <string.h>

typedef struct thunk {
    ir_kernel *kernel;
    LLVMBuilderRef builder;
    LLVMTypeRef i32;
} thunk;

/* ---- Position calls ---- */

static LLVMValueRef number(const thunk *t, uint32_t value)
{
    return LLVMConstInt(t->i32, value, false);
}

/* A call of __tombac_NAME whose value is in [low, high); high 0: nothing is known. */
static LLVMValueRef position_call(const thunk *t, const char *name, uint32_t low, uint32_t high)
{
    tb_text symbol = {0};
    tb_text_printf(&symbol, "__tombac_%s", name);
    LLVMTypeRef type = LLVMFunctionType(t->i32, NULL, 0, false);
    LLVMValueRef function = ir_declare(t->kernel->module, tb_text_string(&symbol), type);
    tb_text_free(&symbol);
    ir_mark_pure(function);
    LLVMValueRef call = LLVMBuildCall2(t->builder, type, function, NULL, 0, "");
    if (high) {
        LLVMMetadataRef range[2] = {
            LLVMValueAsMetadata(number(t, low)), LLVMValueAsMetadata(number(t, high))};
        LLVMContextRef context = t->kernel->context;
        LLVMMetadataRef node = LLVMMDNodeInContext2(context, range, 2);
        LLVMSetMetadata(
            call, LLVMGetMDKindIDInContext(context, "range", 5), LLVMMetadataAsValue(context, node));
    }
    return call;
}

/* The component `d` of a three-dimensional call: NAME_x, NAME_y, NAME_z. */
static LLVMValueRef component_call(const thunk *t, const char *name, unsigned d, uint32_t low, uint32_t high)
{
    char full[96];
    size_t length = strlen(name);
    if (length > sizeof full - 3) length = sizeof full - 3;
    memcpy(full, name, length);
    full[length] = '_';
    full[length + 1] = (char)('x' + d);
    full[length + 2] = 0;
    return position_call(t, full, low, high);
}

enum { LIMIT = TB_MAX_THREADS_PER_THREADGROUP, GROUP_LIMIT = LIMIT / TB_SIMD_WIDTH };

/* (n + 3) / 4: quad-groups for n threads. */
static LLVMValueRef quads(const thunk *t, LLVMValueRef threads)
{
    return LLVMBuildLShr(t->builder, LLVMBuildAdd(t->builder, threads, number(t, 3), ""), number(t, 2), "");
}

static LLVMValueRef threads_launched(const thunk *t)
{
    LLVMValueRef product = NULL;
    for (unsigned d = 0; d < 3; d++) {
        LLVMValueRef size = component_call(t, "dispatch_threads_per_threadgroup", d, 1, LIMIT + 1);
        product = product ? LLVMBuildMul(t->builder, product, size, "") : size;
    }
    return product;
}

typedef enum shape { SCALAR, VECTOR } shape;
typedef LLVMValueRef position_maker(const thunk *t, unsigned d);

static LLVMValueRef in_grid(const thunk *t, unsigned d)
{
    LLVMValueRef group = component_call(t, "threadgroup_position_in_grid", d, 0, 0);
    LLVMValueRef size = component_call(t, "dispatch_threads_per_threadgroup", d, 1, LIMIT + 1);
    LLVMValueRef inside = component_call(t, "thread_position", d, 0, LIMIT);
    return LLVMBuildAdd(t->builder, LLVMBuildMul(t->builder, group, size, ""), inside, "");
}
static LLVMValueRef in_threadgroup(const thunk *t, unsigned d)
{
    return component_call(t, "thread_position", d, 0, LIMIT);
}
static LLVMValueRef group_in_grid(const thunk *t, unsigned d)
{
    return component_call(t, "threadgroup_position_in_grid", d, 0, 0);
}
static LLVMValueRef group_size(const thunk *t, unsigned d)
{
    return component_call(t, "threads_per_threadgroup", d, 1, LIMIT + 1);
}
static LLVMValueRef launched_size(const thunk *t, unsigned d)
{
    return component_call(t, "dispatch_threads_per_threadgroup", d, 1, LIMIT + 1);
}
static LLVMValueRef grid_threads(const thunk *t, unsigned d)
{
    return component_call(t, "threads_per_grid", d, 0, 0);
}
static LLVMValueRef grid_groups(const thunk *t, unsigned d)
{
    return component_call(t, "threadgroups_per_grid", d, 0, 0);
}
static LLVMValueRef origin(const thunk *t, unsigned d)
{
    return component_call(t, "grid_origin", d, 0, 0);
}
static LLVMValueRef index_in_group(const thunk *t, unsigned d)
{
    return position_call(t, "thread_index", 0, LIMIT);
}
static LLVMValueRef lane(const thunk *t, unsigned d)
{
    return position_call(t, "lane", 0, TB_SIMD_WIDTH);
}
static LLVMValueRef simdgroup(const thunk *t, unsigned d)
{
    return position_call(t, "simdgroup", 0, GROUP_LIMIT);
}
static LLVMValueRef simdgroups(const thunk *t, unsigned d)
{
    return position_call(t, "simdgroups_per_threadgroup", 1, GROUP_LIMIT + 1);
}
static LLVMValueRef simdgroups_launched(const thunk *t, unsigned d)
{
    return position_call(t, "dispatch_simdgroups_per_threadgroup", 1, GROUP_LIMIT + 1);
}
static LLVMValueRef simd_width(const thunk *t, unsigned d)
{
    return number(t, TB_SIMD_WIDTH);
}
static LLVMValueRef lane_in_quad(const thunk *t, unsigned d)
{
    return LLVMBuildAnd(t->builder, lane(t, 0), number(t, 3), "");
}
static LLVMValueRef quadgroup(const thunk *t, unsigned d)
{
    return LLVMBuildLShr(t->builder, index_in_group(t, 0), number(t, 2), "");
}
static LLVMValueRef quadgroups(const thunk *t, unsigned d)
{
    return quads(t, position_call(t, "thread_count", 1, LIMIT + 1));
}
static LLVMValueRef quadgroups_launched(const thunk *t, unsigned d)
{
    return quads(t, threads_launched(t));
}

static const struct {
    const char *attribute;
    shape shape;
    position_maker *make;
} positions[] = {
    {"thread_position_in_grid", VECTOR, in_grid},
    {"thread_position_in_threadgroup", VECTOR, in_threadgroup},
    {"threadgroup_position_in_grid", VECTOR, group_in_grid},
    {"threads_per_threadgroup", VECTOR, group_size},
    {"dispatch_threads_per_threadgroup", VECTOR, launched_size},
    {"threads_per_grid", VECTOR, grid_threads},
    {"grid_size", VECTOR, grid_threads},
    {"threadgroups_per_grid", VECTOR, grid_groups},
    {"grid_origin", VECTOR, origin},
    {"thread_index_in_threadgroup", SCALAR, index_in_group},
    {"thread_index_in_simdgroup", SCALAR, lane},
    {"simdgroup_index_in_threadgroup", SCALAR, simdgroup},
    {"simdgroups_per_threadgroup", SCALAR, simdgroups},
    {"dispatch_simdgroups_per_threadgroup", SCALAR, simdgroups_launched},
    {"threads_per_simdgroup", SCALAR, simd_width},
    {"thread_execution_width", SCALAR, simd_width},
    {"thread_index_in_quadgroup", SCALAR, lane_in_quad},
    {"quadgroup_index_in_threadgroup", SCALAR, quadgroup},
    {"quadgroups_per_threadgroup", SCALAR, quadgroups},
    {"dispatch_quadgroups_per_threadgroup", SCALAR, quadgroups_launched},
};

/* ---- Operands ---- */

/* The integer type that a vector class begins with, or NULL. */
static LLVMTypeRef component_type(LLVMTypeRef type)
{
    for (;;) {
        switch (LLVMGetTypeKind(type)) {
        case LLVMIntegerTypeKind: return type;
        case LLVMStructTypeKind:
            if (!LLVMCountStructElementTypes(type)) return NULL;
            type = LLVMStructGetTypeAtIndex(type, 0);
            break;
        case LLVMArrayTypeKind: type = LLVMGetElementType(type); break;
        default: return NULL;
        }
    }
}

static LLVMValueRef resize(const thunk *t, LLVMValueRef value, LLVMTypeRef type)
{
    return LLVMBuildIntCast2(t->builder, value, type, false, "");
}

/* A vector passed by value in memory: all components stored, at most the three that exist. */
static LLVMValueRef vector_operand(const thunk *t, position_maker *make, LLVMTypeRef type)
{
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(t->kernel->module);
    LLVMTypeRef component = component_type(type);
    if (!component) return NULL;
    uint64_t width = LLVMABISizeOfType(layout, component), count = LLVMABISizeOfType(layout, type) / width;
    LLVMValueRef memory = LLVMBuildAlloca(t->builder, type, "");
    LLVMSetAlignment(memory, 16);
    LLVMTypeRef i8 = LLVMInt8TypeInContext(t->kernel->context);
    for (unsigned d = 0; d < 3 && d < count; d++) {
        LLVMValueRef offset = number(t, (uint32_t)(d * width));
        LLVMValueRef address = LLVMBuildGEP2(t->builder, i8, memory, &offset, 1, "");
        LLVMBuildStore(t->builder, resize(t, make(t, d), component), address);
    }
    return memory;
}

/* A small vector that clang passes as one integer or as an LLVM vector. */
static LLVMValueRef position_operand(
    const thunk *t, const front_parameter *parameter, LLVMValueRef body, unsigned index, tombac_error **error)
{
    LLVMTypeRef type = LLVMTypeOf(LLVMGetParam(body, index));
    LLVMValueRef value = NULL;
    for (size_t i = 0; i < sizeof positions / sizeof positions[0]; i++) {
        if (strcmp(positions[i].attribute, parameter->position)) continue;
        unsigned byval = LLVMGetEnumAttributeKindForName("byval", 5);
        LLVMAttributeRef attribute = LLVMGetEnumAttributeAtIndex(body, index + 1, byval);
        if (attribute && positions[i].shape == VECTOR) {
            value = vector_operand(t, positions[i].make, LLVMGetTypeAttributeValue(attribute));
        } else if (LLVMGetTypeKind(type) == LLVMIntegerTypeKind) {
            value = resize(t, positions[i].make(t, 0), type);
        }
        if (value) return value;
        tb_fail(error, TOMBAC_ERROR_UNSUPPORTED, "parameter '%s': attribute %s cannot have type %s",
            parameter->name, parameter->position, parameter->type_text);
        tb_error_set_location(error, NULL, parameter->line, parameter->column);
        return NULL;
    }
    tb_fail(error, TOMBAC_ERROR_UNSUPPORTED, "parameter '%s': attribute %s is not supported", parameter->name,
        parameter->position);
    return NULL;
}

/* A tensor passed by value in memory: its address, then the 64-bit numbers of its layout (msl/__tombac/tensor.h).
 */
static LLVMValueRef tensor_operand(
    const thunk *t, const ir_argument *argument, LLVMValueRef own, LLVMValueRef body, unsigned index)
{
    unsigned byval = LLVMGetEnumAttributeKindForName("byval", 5);
    LLVMAttributeRef attribute = LLVMGetEnumAttributeAtIndex(body, index + 1, byval);
    LLVMTypeRef type = attribute ? LLVMGetTypeAttributeValue(attribute) : NULL;
    uint64_t numbers = 2 * (uint64_t)argument->rank;
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(t->kernel->module);
    if (!type || LLVMABISizeOfType(layout, type) != 8 + 8 * numbers) return NULL;
    LLVMTypeRef i8 = LLVMInt8TypeInContext(t->kernel->context), i64 = LLVMInt64TypeInContext(t->kernel->context);
    LLVMValueRef memory = LLVMBuildAlloca(t->builder, type, "");
    LLVMSetAlignment(memory, 8);
    LLVMBuildStore(t->builder, argument->active ? own : LLVMConstNull(LLVMTypeOf(own)), memory);
    LLVMValueRef from = LLVMGetParam(t->kernel->function, (unsigned)argument->layout);
    for (uint64_t i = 0; i < numbers; i++) {
        LLVMValueRef there = number(t, (uint32_t)(8 * i)), here = number(t, (uint32_t)(8 * i + 8));
        LLVMValueRef value = LLVMConstNull(i64);
        if (argument->active)
            value = LLVMBuildLoad2(t->builder, i64, LLVMBuildGEP2(t->builder, i8, from, &there, 1, ""), "");
        LLVMBuildStore(t->builder, value, LLVMBuildGEP2(t->builder, i8, memory, &here, 1, ""));
    }
    return memory;
}

/* ---- The function ---- */

static void add_parameter_attribute(LLVMValueRef function, unsigned index, const char *name, uint64_t value)
{
    LLVMContextRef context = LLVMGetModuleContext(LLVMGetGlobalParent(function));
    LLVMAddAttributeAtIndex(function, index + 1, ir_enum_attribute(context, name, value));
}

static void add_reference_attributes(LLVMValueRef function, unsigned index, const ir_argument *argument)
{
    const front_parameter *parameter = argument->parameter;
    if (!argument->active || !parameter->is_reference || parameter->space != FRONT_CONSTANT) return;
    static const char *const names[] = {"noalias", "readonly", "nonnull"};
    for (int i = 0; i < 3; i++) add_parameter_attribute(function, index, names[i], 0);
    if (argument->type.size) add_parameter_attribute(function, index, "dereferenceable", argument->type.size);
}

/* `restrict` of the source: no other argument overlaps this one. With const nobody writes it, so its loads are invariant. */
static void keep_restrict(
    LLVMValueRef function, unsigned index, const ir_argument *argument, LLVMValueRef body, unsigned parameter)
{
    unsigned noalias = LLVMGetEnumAttributeKindForName("noalias", 7);
    if (!argument->active || !LLVMGetEnumAttributeAtIndex(body, parameter + 1, noalias)) return;
    add_parameter_attribute(function, index, "noalias", 0);
    if (argument->parameter->is_const) add_parameter_attribute(function, index, "readonly", 0);
}

static LLVMValueRef declare_thunk(ir_kernel *kernel, LLVMValueRef body, tombac_error **error)
{
    LLVMTypeRef *types = calloc(kernel->argument_count + 1, sizeof(LLVMTypeRef));
    if (!types) {
        tb_fail_memory(error);
        return NULL;
    }
    for (size_t i = 0; i < kernel->argument_count; i++) {
        bool threadgroup = kernel->arguments[i].parameter->binding == FRONT_THREADGROUP;
        types[i] = LLVMPointerTypeInContext(kernel->context, threadgroup ? 3 : 1);
    }
    LLVMTypeRef type = LLVMFunctionType(
        LLVMVoidTypeInContext(kernel->context), types, (unsigned)kernel->argument_count, false);
    free(types);
    LLVMValueRef function = LLVMAddFunction(kernel->module, IR_KERNEL_FUNCTION, type);
    ir_add_function_attribute(function, "nounwind", 0);
    for (unsigned i = 0; i < kernel->argument_count; i++) {
        const ir_argument *argument = &kernel->arguments[i];
        add_reference_attributes(function, i, argument);
        keep_restrict(function, i, argument, body, (unsigned)(argument->parameter - kernel->kernel->parameters));
    }
    return function;
}

tombac_status ir_thunk_build(ir_kernel *kernel, LLVMValueRef body, tombac_error **error)
{
    const front_kernel *source = kernel->kernel;
    unsigned count = LLVMCountParams(body);
    if (count != source->parameter_count) {
        return ir_internal_error(
            source, error, "the bitcode has %u parameters, the source %zu", count, source->parameter_count);
    }
    LLVMValueRef *operands = calloc(count + 1, sizeof(LLVMValueRef));
    kernel->function = operands ? declare_thunk(kernel, body, error) : NULL;
    if (!kernel->function) {
        if (!operands) tb_fail_memory(error);
        free(operands);
        return TOMBAC_ERROR_MEMORY;
    }
    thunk t = {kernel, LLVMCreateBuilderInContext(kernel->context), LLVMInt32TypeInContext(kernel->context)};
    LLVMPositionBuilderAtEnd(
        t.builder, LLVMAppendBasicBlockInContext(kernel->context, kernel->function, "entry"));
    unsigned bindable = 0;
    bool good = true;
    for (unsigned i = 0; i < count && good; i++) {
        if (source->parameters[i].binding == FRONT_POSITION) {
            operands[i] = position_operand(&t, &source->parameters[i], body, i, error);
        } else {
            const ir_argument *argument = &kernel->arguments[bindable];
            LLVMTypeRef type = LLVMTypeOf(LLVMGetParam(body, i));
            LLVMValueRef own = LLVMGetParam(kernel->function, bindable);
            bool fits = type == LLVMTypeOf(own);
            operands[i] = argument->rank ? tensor_operand(&t, argument, own, body, i)
                          : !argument->active ? LLVMConstNull(type)
                          : fits              ? own
                                              : NULL;
            if (!operands[i]) {
                ir_internal_error(
                    source, error, "argument '%s' has an unexpected type", source->parameters[i].name);
            }
            bindable++;
        }
        good = operands[i] != NULL;
    }
    if (good) {
        LLVMBuildCall2(t.builder, LLVMGlobalGetValueType(body), body, operands, count, "");
        LLVMBuildRetVoid(t.builder);
    }
    LLVMDisposeBuilder(t.builder);
    free(operands);
    return good ? TOMBAC_OK : error && *error ? tombac_error_status(*error) : TOMBAC_ERROR_UNSUPPORTED;
}
