/* Assignments in debug records; see debug.h. LLVM-C tells neither a record's expression nor a variable's type and name:
 * the first is read from the record as text (only in code for a debugger), the others are operands of the node. */
#include "compiler/ir/debug.h"

#include <llvm-c/DebugInfo.h>
#include <stdio.h>
#include <string.h>

/* True for "no expression" and for a fragment of whole bytes, whose offset and size are stored. */
static bool read_expression(const char *text, uint64_t *offset, uint64_t *size)
{
    const char *at = strstr(text, "!DIExpression(");
    unsigned long long first, bits;
    *offset = *size = 0;
    if (!at) return false;
    at += strlen("!DIExpression(");
    if (*at == ')') return true;
    if (sscanf(at, "DW_OP_LLVM_fragment, %llu, %llu)", &first, &bits) != 2 || first % 8 || bits % 8) return false;
    *offset = first / 8;
    *size = bits / 8;
    return true;
}

bool ir_assignment_read(LLVMDbgRecordRef record, LLVMTargetDataRef layout, ir_assignment *a)
{
    *a = (ir_assignment){0};
    if (LLVMDbgRecordGetKind(record) != LLVMDbgRecordValue) return false;
    LLVMValueRef value = LLVMDbgVariableRecordGetValue(record, 0);
    if (!value || LLVMIsPoison(value) || LLVMIsUndef(value)) return false;
    LLVMTypeKind kind = LLVMGetTypeKind(LLVMTypeOf(value));
    if (kind == LLVMVoidTypeKind || kind == LLVMMetadataTypeKind || kind == LLVMTokenTypeKind) return false;
    char *text = LLVMPrintDbgRecordToString(record);
    bool plain = read_expression(text, &a->offset, &a->size);
    LLVMDisposeMessage(text);
    uint64_t bytes = LLVMStoreSizeOfType(layout, LLVMTypeOf(value));
    if (!plain || (a->size && a->size != bytes)) return false;
    a->size = bytes;
    a->value = value;
    a->variable = LLVMDbgVariableRecordGetVariable(record);
    a->location = LLVMDbgRecordGetDebugLoc(record);
    a->inlined_at = a->location ? LLVMDILocationGetInlinedAt(a->location) : NULL;
    return a->variable && a->location;
}

bool ir_assignment_same(const ir_assignment *a, const ir_assignment *b)
{
    return a->variable == b->variable && a->inlined_at == b->inlined_at;
}

void ir_scope_forget_variables(LLVMContextRef context, LLVMMetadataRef scope)
{
    enum { SCOPE = 1, RETAINED_NODES = 7 }; /* operands of a DISubprogram; a DILexicalBlock has its scope there, too */
    for (int depth = 0; scope && depth < 64; depth++) {
        LLVMValueRef node = LLVMMetadataAsValue(context, scope), operands[32];
        int count = LLVMGetMDNodeNumOperands(node);
        if (count > 32 || count <= SCOPE) return;
        LLVMGetMDNodeOperands(node, operands);
        LLVMMetadataKind kind = LLVMGetMetadataKind(scope);
        if (kind == LLVMDISubprogramMetadataKind) {
            if (count > RETAINED_NODES && operands[RETAINED_NODES])
                LLVMReplaceMDNodeOperandWith(node, RETAINED_NODES, LLVMMDNodeInContext2(context, NULL, 0));
            return;
        }
        scope = operands[SCOPE] ? LLVMValueAsMetadata(operands[SCOPE]) : NULL;
    }
}

/* Operands of a DILocalVariable: scope, name, file, type, annotations. */
static LLVMValueRef operand_of(LLVMContextRef context, LLVMMetadataRef variable, unsigned number)
{
    LLVMValueRef node = LLVMMetadataAsValue(context, variable), operands[16];
    unsigned count = (unsigned)LLVMGetMDNodeNumOperands(node);
    if (number >= count || count > 16) return NULL;
    LLVMGetMDNodeOperands(node, operands);
    return operands[number];
}

LLVMMetadataRef ir_variable_scope(LLVMContextRef context, LLVMMetadataRef variable)
{
    LLVMValueRef operand = operand_of(context, variable, 0);
    return operand ? LLVMValueAsMetadata(operand) : NULL;
}

LLVMMetadataRef ir_variable_type(LLVMContextRef context, LLVMMetadataRef variable)
{
    LLVMValueRef operand = operand_of(context, variable, 3);
    return operand ? LLVMValueAsMetadata(operand) : NULL;
}

const char *ir_variable_name(LLVMContextRef context, LLVMMetadataRef variable, unsigned *length)
{
    LLVMValueRef operand = operand_of(context, variable, 1);
    *length = 0;
    return operand ? LLVMGetMDString(operand, length) : "";
}
