/* Reading clang's description of variables: which value a variable has from an instruction on. */
#ifndef TB_COMPILER_IR_DEBUG_H
#define TB_COMPILER_IR_DEBUG_H

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct ir_assignment {
    LLVMMetadataRef variable;   /* a DILocalVariable; NULL: the record says something else */
    LLVMMetadataRef location;   /* a DILocation; with its inlined-at it tells copies of the variable apart */
    LLVMMetadataRef inlined_at; /* NULL: not inlined */
    LLVMValueRef value;
    uint64_t offset, size; /* bytes of the variable that get the value */
} ir_assignment;

/* Reads one debug record; false for what is no plain assignment of a value of known size. */
bool ir_assignment_read(LLVMDbgRecordRef record, LLVMTargetDataRef layout, ir_assignment *assignment);
/* Same variable, same inlined call? */
bool ir_assignment_same(const ir_assignment *a, const ir_assignment *b);

/* Lets the function that the scope lies in forget its list of variables, of which others now take the place. */
void ir_scope_forget_variables(LLVMContextRef context, LLVMMetadataRef scope);

/* Parts of a DILocalVariable. */
LLVMMetadataRef ir_variable_scope(LLVMContextRef context, LLVMMetadataRef variable);
LLVMMetadataRef ir_variable_type(LLVMContextRef context, LLVMMetadataRef variable);
const char *ir_variable_name(LLVMContextRef context, LLVMMetadataRef variable, unsigned *length);

#endif
