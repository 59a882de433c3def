/* What the steps of ir/ and the engines share on top of the LLVM-C API. Nothing here keeps state. */
#ifndef TB_COMPILER_IR_SUPPORT_H
#define TB_COMPILER_IR_SUPPORT_H

#include "compiler/ir/ir.h"

#include <stdbool.h>

/* True where a value's name begins with `prefix`. */
bool ir_name_starts(LLVMValueRef value, const char *prefix);
/* The name that the source gives, scopes included, without parameters: "s::tree" for "_ZN1s4treeEi" (Itanium C++ ABI).
 * What is spelled in another way is left as it is. */
enum { IR_NAME_SIZE = 256 };
void ir_source_name(LLVMValueRef value, char name[IR_NAME_SIZE]);
/* The function that a call instruction calls directly, or NULL. */
LLVMValueRef ir_callee(LLVMValueRef instruction);
/* True for a call to the LLVM intrinsic `name`, overloads included ("llvm.memcpy"). */
bool ir_is_intrinsic(LLVMValueRef instruction, const char *name);

LLVMAttributeRef ir_enum_attribute(LLVMContextRef context, const char *name, uint64_t value);
void ir_add_function_attribute(LLVMValueRef function, const char *name, uint64_t value);
/* Gives a function exactly the attributes nounwind willreturn memory(none): a pure value. */
void ir_mark_pure(LLVMValueRef function);
/* The alignment attribute of a call's operand (0 is the first), 1 where it has none. */
unsigned ir_operand_alignment(LLVMValueRef call, unsigned operand);

/* A call to an intrinsic overloaded on `types`. */
LLVMValueRef ir_build_intrinsic(LLVMBuilderRef builder, LLVMModuleRef module, const char *name,
    LLVMTypeRef *types, unsigned type_count, LLVMValueRef *operands, unsigned count);
/* The function `name`, declared if it is not there. */
LLVMValueRef ir_declare(LLVMModuleRef module, const char *name, LLVMTypeRef type);

/* Visits every instruction of a function; the visitor may erase the instruction that it gets. */
uint64_t ir_instruction_count(LLVMValueRef function);
/* Tells the stopwatch how many instructions the module has. */
void ir_note_size(tb_times *times, LLVMModuleRef module);

typedef void ir_visitor(LLVMValueRef instruction, void *context);
void ir_visit(LLVMValueRef function, ir_visitor *visit, void *context);

/* Metadata of divisions whose divisor is guarded (define.c). */
#define IR_DEFINED "tombac.defined"

/* Metadata of addresses of threadgroup variables (arena.c), !{i32 place in ir_kernel.variables}. */
#define IR_VARIABLE "tombac.variable"
/* In watched kernels: does the store (or copy) copy an object as it is (outside.c)? The name of the alias scope that says so. */
#define IR_COPY "tombac.copy"
bool ir_is_copy(LLVMValueRef instruction);
/* In watched kernels a variable from which every load gives a value that nothing set (outside.c). */
#define IR_UNSET "tombac.unset"
/* Gives an instruction metadata !{i32 number}. */
void ir_tag(LLVMValueRef instruction, const char *kind, uint32_t number);

/* "internal error while compiling KERNEL: ..." */
tombac_status ir_internal_error(const front_kernel *kernel, tombac_error **error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The user's source position of an instruction: the innermost one that is not in Tombac's own headers. `file`
 * is not zero-terminated by LLVM's promise, so its length is given; NULL, 0, 0 where unknown. */
typedef struct ir_position {
    const char *file;
    unsigned file_length, line;
} ir_position;
ir_position ir_instruction_position(LLVMValueRef instruction);
/* An error at a place: "FILE:LINE: error: ...", in clang's form. */
tombac_status ir_fail_at(ir_position at, tombac_status status, tombac_error **error, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
