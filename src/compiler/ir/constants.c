/* Function constants and the program-scope constants that depend on them.
 *
 * A set constant becomes an internal constant global with its value; one that is not set becomes a
 * declaration, so that no pass can invent a value for it: whether the kernel needs it shows after dead code
 * is gone (ir_constants_verify). Dynamic initialisers are evaluated one after the other by globalopt's
 * interpreter; a variable whose initialiser it cannot evaluate becomes a declaration in the same way. */
#include "compiler/ir/steps.h"

#include "compiler/ir/type.h"

#include <stdlib.h>
#include <string.h>

#define CONSTANT_PREFIX "tombac.function_constant:"
#define DEFINED_PREFIX "tombac.function_constant_defined:"

/* ---- Values ---- */

/* The constant of `type` whose memory image is `bytes` (little endian, `size` bytes; what lies beyond is
 * zero). */
static LLVMValueRef from_bytes(LLVMTargetDataRef layout, LLVMTypeRef type, const uint8_t *bytes, size_t size)
{
    LLVMValueRef elements[16];
    switch (LLVMGetTypeKind(type)) {
    case LLVMIntegerTypeKind:
    case LLVMHalfTypeKind:
    case LLVMFloatTypeKind:
    case LLVMDoubleTypeKind: {
        size_t width = LLVMStoreSizeOfType(layout, type);
        uint64_t bits = 0;
        if (width > 8) return NULL;
        memcpy(&bits, bytes, width < size ? width : size);
        LLVMTypeRef integer = LLVMIntTypeInContext(LLVMGetTypeContext(type), (unsigned)width * 8);
        LLVMValueRef value = LLVMConstInt(integer, bits, false);
        if (LLVMGetTypeKind(type) != LLVMIntegerTypeKind) return LLVMConstBitCast(value, type);
        return LLVMGetIntTypeWidth(type) == width * 8 ? value : LLVMConstInt(type, bits, false);
    }
    case LLVMStructTypeKind: {
        unsigned count = LLVMCountStructElementTypes(type);
        if (count > 16) return NULL;
        for (unsigned i = 0; i < count; i++) {
            uint64_t offset = LLVMOffsetOfElement(layout, type, i);
            if (offset > size) offset = size;
            elements[i] =
                from_bytes(layout, LLVMStructGetTypeAtIndex(type, i), bytes + offset, size - offset);
            if (!elements[i]) return NULL;
        }
        if (LLVMGetStructName(type)) return LLVMConstNamedStruct(type, elements, count);
        return LLVMConstStructInContext(LLVMGetTypeContext(type), elements, count, LLVMIsPackedStruct(type));
    }
    case LLVMArrayTypeKind: {
        LLVMTypeRef element = LLVMGetElementType(type);
        uint64_t count = LLVMGetArrayLength2(type), width = LLVMABISizeOfType(layout, element);
        if (count > 16) return NULL;
        for (uint64_t i = 0; i < count; i++) {
            uint64_t offset = i * width < size ? i * width : size;
            elements[i] = from_bytes(layout, element, bytes + offset, size - offset);
            if (!elements[i]) return NULL;
        }
        return LLVMConstArray2(element, elements, count);
    }
    case LLVMVectorTypeKind: { /* of a kernel in C; elements lie without gaps */
        LLVMTypeRef element = LLVMGetElementType(type);
        unsigned count = LLVMGetVectorSize(type);
        uint64_t width = LLVMStoreSizeOfType(layout, element);
        if (count > 16) return NULL;
        for (uint64_t i = 0; i < count; i++) {
            uint64_t offset = i * width < size ? i * width : size;
            elements[i] = from_bytes(layout, element, bytes + offset, size - offset);
            if (!elements[i]) return NULL;
        }
        return LLVMConstVector(elements, count);
    }
    default: return NULL;
    }
}

static void make_declaration(LLVMValueRef global)
{
    LLVMSetInitializer(global, NULL);
    LLVMSetLinkage(global, LLVMExternalLinkage);
    LLVMSetGlobalConstant(global, false);
}

static void make_constant(LLVMValueRef global, LLVMValueRef value)
{
    LLVMSetInitializer(global, value);
    LLVMSetLinkage(global, LLVMInternalLinkage);
    LLVMSetGlobalConstant(global, true);
    LLVMSetExternallyInitialized(global, false);
}

static size_t constant_size(const front_constant *constant)
{
    size_t scalar = ir_scalar_size(constant->type);
    return scalar * (constant->vector_length ? constant->vector_length : 1);
}

/* The value that the request gives for a constant: the last one that names it; NULL for none. */
static const ir_constant_value *value_of(const ir_request *request, const front_constant *constant)
{
    const ir_constant_value *found = NULL;
    for (size_t i = 0; i < request->constant_count; i++) {
        const ir_constant_value *value = &request->constants[i];
        if (value->name ? !strcmp(value->name, constant->name) : value->index == constant->index)
            found = value;
    }
    return found;
}

static tombac_status check_known(const ir_request *request, tombac_error **error)
{
    for (size_t i = 0; i < request->constant_count; i++) {
        const ir_constant_value *value = &request->constants[i];
        bool known = false;
        for (size_t k = 0; k < front_constant_count(request->unit) && !known; k++) {
            const front_constant *constant = front_constant_at(request->unit, k);
            known = value->name ? !strcmp(value->name, constant->name) : value->index == constant->index;
        }
        if (known) continue;
        if (value->name)
            return tb_fail(error, TOMBAC_ERROR_NOT_FOUND, "there is no function constant '%s'", value->name);
        return tb_fail(
            error, TOMBAC_ERROR_NOT_FOUND, "there is no function constant with index %u", value->index);
    }
    return TOMBAC_OK;
}

static tombac_status set_one(ir_kernel *kernel, const front_constant *constant,
    const ir_constant_value *value, LLVMValueRef global, tombac_error **error)
{
    if (value->size != constant_size(constant)) {
        return tb_fail(error, TOMBAC_ERROR_ARGUMENT,
            "function constant '%s' is %zu bytes (%s), but %zu were given", constant->name,
            constant_size(constant), constant->type_text, value->size);
    }
    if (!global) return TOMBAC_OK; /* nothing refers to it */
    uint8_t bytes[64] = {0};
    if (value->size > sizeof bytes) return tb_fail_memory(error);
    memcpy(bytes, value->bytes, value->size);
    if (constant->type == TOMBAC_TYPE_BOOL) {
        for (size_t i = 0; i < value->size; i++) bytes[i] = bytes[i] != 0;
    }
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(kernel->module);
    LLVMValueRef initial = from_bytes(layout, LLVMGlobalGetValueType(global), bytes, sizeof bytes);
    if (!initial) {
        return tb_fail(error, TOMBAC_ERROR_UNSUPPORTED,
            "function constant '%s' has type %s, which is not supported", constant->name,
            constant->type_text);
    }
    make_constant(global, initial);
    return TOMBAC_OK;
}

#define CONDITION_PREFIX "__tombac_condition_"

/* The function that the front end put behind a constant which decides about arguments; it returns the
 * constant. */
static LLVMValueRef condition_function(LLVMModuleRef module, const char *name)
{
    tb_text symbol = {0};
    tb_text_printf(&symbol, CONDITION_PREFIX "%s", name);
    LLVMValueRef function = symbol.bad ? NULL : LLVMGetNamedFunction(module, tb_text_string(&symbol));
    tb_text_free(&symbol);
    return function;
}

/* Nothing calls these functions; no pass may remove them before they are read. */
void ir_constants_keep(ir_kernel *kernel)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(kernel->module); f; f = LLVMGetNextFunction(f)) {
        if (ir_name_starts(f, CONDITION_PREFIX)) LLVMSetLinkage(f, LLVMExternalLinkage);
    }
}

void ir_constants_drop(ir_kernel *kernel)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(kernel->module), next; f; f = next) {
        next = LLVMGetNextFunction(f);
        if (ir_name_starts(f, CONDITION_PREFIX)) LLVMDeleteFunction(f);
    }
}

static void name_constant(LLVMValueRef global, const char *name)
{
    tb_text text = {0};
    tb_text_printf(&text, IR_CONSTANT_NAME "%s", name);
    if (!text.bad) LLVMSetValueName2(global, text.data, text.size);
    tb_text_free(&text);
}

tombac_status ir_constants_set(ir_kernel *kernel, const ir_request *request, const ir_annotation *annotations,
    size_t annotation_count, tombac_error **error)
{
    size_t count = front_constant_count(request->unit);
    tombac_status status = check_known(request, error);
    if (status != TOMBAC_OK || !count) return status;
    kernel->constants = calloc(count, sizeof *kernel->constants);
    if (!kernel->constants) return tb_fail_memory(error);
    kernel->constant_count = count;
    for (size_t i = 0; i < count && status == TOMBAC_OK; i++) {
        const front_constant *constant = front_constant_at(request->unit, i);
        const ir_constant_value *value = value_of(request, constant);
        ir_constant_state *state = &kernel->constants[i];
        *state = (ir_constant_state){.constant = constant, .set = value != NULL};
        LLVMValueRef global =
            ir_annotations_find(annotations, annotation_count, CONSTANT_PREFIX, constant->name);
        LLVMValueRef defined =
            ir_annotations_find(annotations, annotation_count, DEFINED_PREFIX, constant->name);
        state->used = (global && LLVMGetFirstUse(global)) || (defined && LLVMGetFirstUse(defined));
        if (global) name_constant(global, constant->name);
        if (defined)
            make_constant(defined, LLVMConstInt(LLVMGlobalGetValueType(defined), value != NULL, false));
        if (!value && global) make_declaration(global);
        if (!value) continue;
        status = set_one(kernel, constant, value, global, error);
        for (size_t b = 0; b < value->size; b++) state->truth |= ((const uint8_t *)value->bytes)[b] != 0;
    }
    return status;
}

/* ---- Dynamic initialisers ---- */

typedef struct function_list {
    LLVMValueRef *items;
    size_t count;
    bool bad;
} function_list;

static void push(function_list *list, LLVMValueRef function)
{
    LLVMValueRef *grown = realloc(list->items, (list->count + 1) * sizeof *grown);
    if (!grown) {
        list->bad = true;
        return;
    }
    list->items = grown;
    list->items[list->count++] = function;
}

/* Clang makes one function that calls an initialiser per variable; take those apart. */
static void push_initialisers(function_list *list, LLVMValueRef function)
{
    LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function);
    bool calls_only = block && !LLVMGetNextBasicBlock(block);
    for (LLVMValueRef i = calls_only ? LLVMGetFirstInstruction(block) : NULL; i;
        i = LLVMGetNextInstruction(i)) {
        LLVMValueRef callee = ir_callee(i);
        bool initialiser = callee && LLVMGetFirstBasicBlock(callee) && !LLVMCountParams(callee);
        if (!initialiser && !LLVMIsAReturnInst(i)) calls_only = false;
    }
    if (!calls_only) {
        push(list, function);
        return;
    }
    for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i)) {
        if (ir_callee(i)) push(list, ir_callee(i));
    }
}

static function_list collect_initialisers(LLVMValueRef constructors)
{
    function_list list = {0};
    LLVMValueRef array = LLVMGetInitializer(constructors);
    int count = array && LLVMIsAConstantArray(array) ? LLVMGetNumOperands(array) : 0;
    for (int i = 0; i < count; i++) {
        LLVMValueRef entry = LLVMGetOperand(array, (unsigned)i);
        LLVMValueRef function = LLVMGetNumOperands(entry) >= 2 ? LLVMGetOperand(entry, 1) : NULL;
        if (function && LLVMIsAFunction(function)) push_initialisers(&list, function);
    }
    return list;
}

/* Makes `function` the only entry of llvm.global_ctors, of the same types as `model`'s entries. */
static void set_constructor(LLVMModuleRef module, LLVMTypeRef entry_type, LLVMValueRef function)
{
    LLVMContextRef context = LLVMGetModuleContext(module);
    LLVMValueRef fields[3] = {LLVMConstInt(LLVMInt32TypeInContext(context), 65535, false), function,
        LLVMConstNull(LLVMStructGetTypeAtIndex(entry_type, 2))};
    LLVMValueRef entry = LLVMConstStructInContext(context, fields, 3, false);
    LLVMValueRef array = LLVMConstArray2(entry_type, &entry, 1);
    LLVMValueRef global = LLVMAddGlobal(module, LLVMTypeOf(array), "llvm.global_ctors");
    LLVMSetInitializer(global, array);
    LLVMSetLinkage(global, LLVMAppendingLinkage);
}

static void abandon_destination(LLVMValueRef instruction, void *context)
{
    LLVMValueRef pointer = NULL;
    if (LLVMIsAStoreInst(instruction))
        pointer = LLVMGetOperand(instruction, 1);
    else if (ir_callee(instruction) && LLVMGetNumArgOperands(instruction))
        pointer = LLVMGetOperand(instruction, 0);
    while (pointer && LLVMIsAConstantExpr(pointer)) pointer = LLVMGetOperand(pointer, 0);
    LLVMValueRef global = pointer ? LLVMIsAGlobalVariable(pointer) : NULL;
    if (global && !LLVMIsGlobalConstant(global) && LLVMGetInitializer(global)) make_declaration(global);
}

tombac_status ir_constants_evaluate(ir_kernel *kernel, tombac_error **error)
{
    LLVMValueRef constructors = LLVMGetNamedGlobal(kernel->module, "llvm.global_ctors");
    if (!constructors) return TOMBAC_OK;
    LLVMTypeRef entry_type = LLVMGetElementType(LLVMGlobalGetValueType(constructors));
    function_list list = collect_initialisers(constructors);
    LLVMDeleteGlobal(constructors);
    if (list.bad) {
        free(list.items);
        return tb_fail_memory(error);
    }
    for (size_t i = 0; i < list.count; i++)
        LLVMSetLinkage(list.items[i], LLVMExternalLinkage); /* keep till its turn */
    /* The interpreter stores no address space cast, so the `this` of a constructor must not go through memory. */
    tombac_status status = list.count ? ir_run_passes(kernel, "function(sroa)", error) : TOMBAC_OK;
    for (size_t i = 0; i < list.count && status == TOMBAC_OK; i++) {
        set_constructor(kernel->module, entry_type, list.items[i]);
        status = ir_run_passes(kernel, "globalopt", error);
        LLVMValueRef left = LLVMGetNamedGlobal(kernel->module, "llvm.global_ctors");
        LLVMValueRef array = left ? LLVMGetInitializer(left) : NULL;
        bool evaluated = !array || !LLVMIsAConstantArray(array) || !LLVMGetNumOperands(array);
        if (left) LLVMDeleteGlobal(left);
        if (!evaluated) ir_visit(list.items[i], abandon_destination, NULL);
        LLVMSetLinkage(list.items[i], LLVMInternalLinkage);
    }
    free(list.items);
    return status;
}

/* ---- Conditions of arguments ---- */

static tombac_status condition_missing(const front_parameter *parameter, tombac_error **error)
{
    return tb_fail(error, TOMBAC_ERROR_NOT_FOUND,
        "function constant '%s' decides whether argument '%s' exists, but it has no value",
        parameter->condition, parameter->name);
}

tombac_status ir_constants_condition(
    ir_kernel *kernel, const front_parameter *parameter, bool *active, tombac_error **error)
{
    *active = true;
    if (!parameter->condition) return TOMBAC_OK;
    for (size_t i = 0; i < kernel->constant_count; i++) {
        ir_constant_state *state = &kernel->constants[i];
        if (strcmp(state->constant->name, parameter->condition)) continue;
        state->used = true;
        *active = state->truth;
        return state->set ? TOMBAC_OK : condition_missing(parameter, error);
    }
    LLVMValueRef function = condition_function(kernel->module, parameter->condition);
    LLVMBasicBlockRef block = function ? LLVMGetFirstBasicBlock(function) : NULL;
    LLVMValueRef value = NULL;
    for (LLVMValueRef i = block ? LLVMGetFirstInstruction(block) : NULL; i && !value;
        i = LLVMGetNextInstruction(i)) {
        if (LLVMIsAReturnInst(i)) value = LLVMIsAConstantInt(LLVMGetOperand(i, 0));
        if (!LLVMIsALoadInst(i)) continue;
        LLVMValueRef global = LLVMIsAGlobalVariable(LLVMGetOperand(i, 0));
        if (!global) break;
        value = LLVMGetInitializer(global);
        if (!value) return condition_missing(parameter, error);
    }
    if (!value) {
        return tb_fail(error, TOMBAC_ERROR_UNSUPPORTED,
            "argument '%s' depends on '%s', whose value cannot be found", parameter->name,
            parameter->condition);
    }
    *active = !LLVMIsNull(value);
    return TOMBAC_OK;
}

/* ---- What is left without a value ---- */

static bool lacks_value(LLVMValueRef global) { return !LLVMGetInitializer(global) && LLVMGetFirstUse(global); }

/* Names every function constant that is read without a value at once, so that one failed compile tells all to set. */
static tombac_status missing_values(const ir_kernel *kernel, tombac_error **error)
{
    tb_text names = {0};
    size_t count = 0;
    for (LLVMValueRef g = LLVMGetFirstGlobal(kernel->module); g; g = LLVMGetNextGlobal(g)) {
        if (!lacks_value(g) || !ir_name_starts(g, IR_CONSTANT_NAME)) continue;
        size_t length;
        tb_text_printf(&names, "%s'%s'", count++ ? ", " : "", LLVMGetValueName2(g, &length) + strlen(IR_CONSTANT_NAME));
    }
    tombac_status status = TOMBAC_OK;
    if (count) {
        status = tb_fail(error, TOMBAC_ERROR_NOT_FOUND,
            count == 1 ? "the kernel reads function constant %s, which has no value"
                       : "the kernel reads function constants %s, which have no value",
            tb_text_string(&names));
    }
    tb_text_free(&names);
    return status;
}

tombac_status ir_constants_verify(ir_kernel *kernel, tombac_error **error)
{
    tombac_status status = missing_values(kernel, error);
    if (status != TOMBAC_OK) return status;
    for (LLVMValueRef g = LLVMGetFirstGlobal(kernel->module); g; g = LLVMGetNextGlobal(g)) {
        if (!lacks_value(g) || ir_name_starts(g, IR_UNSET)) continue;
        char source_name[IR_NAME_SIZE];
        ir_source_name(g, source_name);
        return tb_fail(error, TOMBAC_ERROR_UNSUPPORTED,
            "the kernel reads '%s', whose value is not known at compile time; "
            "does it depend on a function constant without a value?", source_name);
    }
    return TOMBAC_OK;
}
