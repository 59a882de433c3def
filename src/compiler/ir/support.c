/* Small helpers over the LLVM-C API; see support.h. */
#include "compiler/ir/support.h"

#include <llvm-c/DebugInfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool ir_name_starts(LLVMValueRef value, const char *prefix)
{
    size_t size, length = strlen(prefix);
    const char *name = LLVMGetValueName2(value, &size);
    return size >= length && !memcmp(name, prefix, length);
}

void ir_source_name(LLVMValueRef value, char name[IR_NAME_SIZE])
{
    size_t size, used = 0;
    const char *mangled = LLVMGetValueName2(value, &size), *p = mangled;
    name[0] = 0;
    if (strncmp(p, "_Z", 2) == 0) {
        bool nested = p[2] == 'N';
        p += 2 + nested;
        while (*p == 'L' || *p == 'K') p++; /* internal linkage, a const method */
        do {
            char *end;
            unsigned long length = strtoul(p, &end, 10);
            if (end == p || length > strlen(end) || used + length + 3 > IR_NAME_SIZE) break;
            if (used) used += (size_t)snprintf(name + used, 3, "::");
            memcpy(name + used, end, length);
            name[used += length] = 0;
            p = end + length;
        } while (nested && *p >= '0' && *p <= '9');
    }
    if (!used) snprintf(name, IR_NAME_SIZE, "%s", mangled);
}

void ir_tag(LLVMValueRef instruction, const char *kind, uint32_t number)
{
    LLVMContextRef context = LLVMGetTypeContext(LLVMTypeOf(instruction));
    LLVMMetadataRef value = LLVMValueAsMetadata(LLVMConstInt(LLVMInt32TypeInContext(context), number, false));
    LLVMMetadataRef node = LLVMMDNodeInContext2(context, &value, 1);
    LLVMSetMetadata(instruction, LLVMGetMDKindIDInContext(context, kind, (unsigned)strlen(kind)),
        LLVMMetadataAsValue(context, node));
}

LLVMValueRef ir_callee(LLVMValueRef instruction)
{
    if (!LLVMIsACallInst(instruction)) return NULL;
    LLVMValueRef callee = LLVMGetCalledValue(instruction);
    return callee && LLVMIsAFunction(callee) ? callee : NULL;
}

bool ir_is_intrinsic(LLVMValueRef instruction, const char *name)
{
    LLVMValueRef callee = ir_callee(instruction);
    if (!callee) return false;
    unsigned id = LLVMGetIntrinsicID(callee);
    return id && id == LLVMLookupIntrinsicID(name, strlen(name));
}

LLVMAttributeRef ir_enum_attribute(LLVMContextRef context, const char *name, uint64_t value)
{
    return LLVMCreateEnumAttribute(context, LLVMGetEnumAttributeKindForName(name, strlen(name)), value);
}

void ir_add_function_attribute(LLVMValueRef function, const char *name, uint64_t value)
{
    LLVMContextRef context = LLVMGetModuleContext(LLVMGetGlobalParent(function));
    LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex, ir_enum_attribute(context, name, value));
}

void ir_mark_pure(LLVMValueRef function)
{
    ir_add_function_attribute(function, "nounwind", 0);
    ir_add_function_attribute(function, "willreturn", 0);
    ir_add_function_attribute(function, "memory", 0); /* none */
}

unsigned ir_operand_alignment(LLVMValueRef call, unsigned operand)
{
    unsigned kind = LLVMGetEnumAttributeKindForName("align", 5);
    LLVMAttributeRef attribute = LLVMGetCallSiteEnumAttribute(call, operand + 1, kind);
    return attribute ? (unsigned)LLVMGetEnumAttributeValue(attribute) : 1;
}

LLVMValueRef ir_build_intrinsic(LLVMBuilderRef builder, LLVMModuleRef module, const char *name,
    LLVMTypeRef *types, unsigned type_count, LLVMValueRef *operands, unsigned count)
{
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMValueRef function = LLVMGetIntrinsicDeclaration(module, id, types, type_count);
    return LLVMBuildCall2(builder, LLVMGlobalGetValueType(function), function, operands, count, "");
}

LLVMValueRef ir_declare(LLVMModuleRef module, const char *name, LLVMTypeRef type)
{
    LLVMValueRef function = LLVMGetNamedFunction(module, name);
    return function ? function : LLVMAddFunction(module, name, type);
}

void ir_visit(LLVMValueRef function, ir_visitor *visit, void *context)
{
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block;
        block = LLVMGetNextBasicBlock(block)) {
        for (LLVMValueRef instruction = LLVMGetFirstInstruction(block); instruction;) {
            LLVMValueRef next = LLVMGetNextInstruction(instruction);
            visit(instruction, context);
            instruction = next;
        }
    }
}

uint64_t ir_instruction_count(LLVMValueRef function)
{
    uint64_t count = 0;
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(function); b; b = LLVMGetNextBasicBlock(b))
        for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) count++;
    return count;
}

void ir_note_size(tb_times *times, LLVMModuleRef module)
{
    if (!times) return;
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
        tb_times_size(times, ir_instruction_count(f));
}

bool ir_is_copy(LLVMValueRef instruction)
{
    LLVMContextRef context = LLVMGetTypeContext(LLVMTypeOf(instruction));
    LLVMValueRef list = LLVMGetMetadata(instruction, LLVMGetMDKindIDInContext(context, "alias.scope", 11)), scopes[64];
    unsigned count = list ? LLVMGetMDNodeNumOperands(list) : 0;
    if (!count || count > sizeof scopes / sizeof *scopes) return false;
    LLVMGetMDNodeOperands(list, scopes);
    for (unsigned i = 0; i < count; i++) {
        LLVMValueRef fields[4];
        unsigned length, fields_count = LLVMGetMDNodeNumOperands(scopes[i]);
        if (fields_count != 2) continue;
        LLVMGetMDNodeOperands(scopes[i], fields);
        const char *name = fields[0] ? LLVMGetMDString(fields[0], &length) : NULL;
        if (name && length == sizeof IR_COPY - 1 && !memcmp(name, IR_COPY, length)) return true;
    }
    return false;
}

tombac_status ir_internal_error(const front_kernel *kernel, tombac_error **error, const char *format, ...)
{
    tb_text text = {0};
    va_list arguments;
    va_start(arguments, format);
    tb_text_vprintf(&text, format, arguments);
    va_end(arguments);
    tombac_status status = tb_fail(error, TOMBAC_ERROR_COMPILER, "internal error while compiling %s: %s",
        kernel ? kernel->name : "the source", tb_text_string(&text));
    tb_text_free(&text);
    return status;
}

/* Tombac's headers lie in share/tombac/msl, in the source tree in msl/. */
static bool is_own_header(const char *file, unsigned length)
{
    static const char *const parts[] = {"share/tombac/msl/", "/msl/metal_", "/msl/simd/"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (memmem(file, length, parts[i], strlen(parts[i]))) return true;
    }
    return false;
}

ir_position ir_instruction_position(LLVMValueRef instruction)
{
    ir_position found = {0};
    LLVMMetadataRef location = LLVMInstructionGetDebugLoc(instruction);
    for (; location; location = LLVMDILocationGetInlinedAt(location)) {
        LLVMMetadataRef scope = LLVMDILocationGetScope(location);
        LLVMMetadataRef file = scope ? LLVMDIScopeGetFile(scope) : NULL;
        unsigned line = LLVMDILocationGetLine(location);
        if (!file || !line) continue;
        found.file = LLVMDIFileGetFilename(file, &found.file_length);
        found.line = line;
        if (!is_own_header(found.file, found.file_length)) break;
    }
    return found;
}

tombac_status ir_fail_at(ir_position at, tombac_status status, tombac_error **error, const char *format, ...)
{
    tb_text text = {0}, file = {0};
    tb_text_append(&file, at.file ? at.file : "", at.file ? at.file_length : 0);
    if (at.file) tb_text_printf(&text, "%s:%u: error: ", tb_text_string(&file), at.line);
    va_list arguments;
    va_start(arguments, format);
    tb_text_vprintf(&text, format, arguments);
    va_end(arguments);
    status = text.bad || file.bad ? tb_fail_memory(error) : tb_fail(error, status, "%s", tb_text_string(&text));
    if (at.file) tb_error_set_location(error, tb_text_string(&file), at.line, 0);
    tb_text_free(&text);
    tb_text_free(&file);
    return status;
}
