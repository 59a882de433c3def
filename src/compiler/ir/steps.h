/* The steps of ir_prepare, in the order in which prepare.c takes them. Each is one file. */
#ifndef TB_COMPILER_IR_STEPS_H
#define TB_COMPILER_IR_STEPS_H

#include "compiler/ir/support.h"

/* annotation.c: what clang::annotate left on functions and global variables. */
typedef struct ir_annotation {
    LLVMValueRef value;
    const char *text; /* lives as long as the context */
    size_t length;
} ir_annotation;
tombac_status ir_annotations_read(
    LLVMModuleRef module, ir_annotation **list, size_t *count, tombac_error **error);
/* The function of `kernel`, by "tombac.kernel:NAME" or "tombac.host_name:NAME"; NULL where there is none. */
LLVMValueRef ir_annotations_kernel(const ir_annotation *list, size_t count, const front_kernel *kernel);
/* The global annotated PREFIX followed by NAME, or NULL. */
LLVMValueRef ir_annotations_find(
    const ir_annotation *list, size_t count, const char *prefix, const char *name);
/* Removes all annotations and the lists that keep globals alive. */
void ir_annotations_erase(LLVMModuleRef module);

#define IR_CONSTANT_NAME "tombac.constant." /* in front of the name of a function constant */
/* constants.c: gives function constants their values and evaluates what depends on them. Fills
 * kernel->constants. Constants without a value, and what cannot be computed for want of one, become
 * declarations; ir_constants_verify refuses a kernel that still reads one. */
/* Keeps the functions that show conditions of arguments until all are read, and drops them. */
void ir_constants_keep(ir_kernel *kernel);
void ir_constants_drop(ir_kernel *kernel);
tombac_status ir_constants_set(ir_kernel *kernel, const ir_request *request, const ir_annotation *annotations,
    size_t annotation_count, tombac_error **error);
/* Evaluates program-scope constants with dynamic initialisers (llvm.global_ctors). */
tombac_status ir_constants_evaluate(ir_kernel *kernel, tombac_error **error);
/* The truth of the constant that decides about an argument. */
tombac_status ir_constants_condition(
    ir_kernel *kernel, const front_parameter *parameter, bool *active, tombac_error **error);
tombac_status ir_constants_verify(ir_kernel *kernel, tombac_error **error);

/* arguments.c: the bindable arguments with their types. */
tombac_status ir_arguments_reflect(LLVMContextRef context, LLVMValueRef function, const front_kernel *kernel,
    ir_argument **arguments, size_t *count, tombac_error **error);
void ir_arguments_free(ir_argument *arguments, size_t count);

/* thunk.c: makes IR_KERNEL_FUNCTION, which calls `body` with positions computed. */
tombac_status ir_thunk_build(ir_kernel *kernel, LLVMValueRef body, tombac_error **error);

/* functions.c: refuses what is neither an operation nor an intrinsic: recursion, calls through pointers. Cycles of calls are
 * noted before inlining and refused after it, unless they became loops. */
typedef struct ir_cycle {
    char function[IR_NAME_SIZE];
    ir_position position; /* of the call that closes it */
    tb_text text;         /* "'f' calls 'g' calls 'f'" */
} ir_cycle;
enum { IR_MAX_CYCLES = 16 };
typedef struct ir_cycles {
    ir_cycle list[IR_MAX_CYCLES];
    size_t count;
} ir_cycles;
void ir_note_cycles(ir_kernel *kernel, ir_cycles *cycles);
void ir_cycles_free(ir_cycles *cycles);
tombac_status ir_refuse_cycles(ir_kernel *kernel, const ir_cycles *cycles, tombac_error **error);
tombac_status ir_check_functions(ir_kernel *kernel, tombac_error **error);

/* mathlink.c: chooses fast or precise for every __tombac_FN.f32 and links the math library if it is needed.
 */
tombac_status ir_math_link(ir_kernel *kernel, const char *library, tombac_error **error);

/* loops.c: gives every loop one latch (before SSA form: no header phis are expected, but they are handled).
 */
tombac_status ir_loops_merge_latches(LLVMValueRef function, tombac_error **error);

/* unroll.c: marks the loops that ir_optimise must not unroll. */
tombac_status ir_loops_limit_unrolling(ir_kernel *kernel, tombac_error **error);
/* The constant number of trips at which a loop is left at its latch (other exits may come earlier); 0: unknown. */
uint32_t ir_loop_trips(LLVMBasicBlockRef header, LLVMBasicBlockRef latch);

/* outside.c: keeps accesses at constant places outside of private variables as calls of __tombac_outside. */
tombac_status ir_watch_private(ir_kernel *kernel, tombac_error **error);
/* Gives copies of objects the metadata IR_COPY; the stores that they become keep it. */
void ir_mark_copies(ir_kernel *kernel);
/* Variables start with what is read from IR_UNSET. */
void ir_keep_unset(ir_kernel *kernel);

/* packed.c: accesses promise no more alignment than packed structures have; once references are known. */
void ir_align_packed(LLVMModuleRef module, LLVMValueRef function);

/* lower.c: fmuladd, round, memory intrinsics, lifetime markers. */
void ir_lower_intrinsics(LLVMModuleRef module, LLVMValueRef function);

/* define.c: results for what C++ leaves undefined and machines disagree about, the same in every engine:
 * division by zero (quotient 0, remainder the dividend), the overflowing signed division (the dividend, 0),
 * shift counts (modulo the width), conversions out of range (saturate, NaN to 0), the count of zeros in 0
 * (the width), the absolute value of the minimum. */
void ir_define_results(LLVMModuleRef module, LLVMValueRef function);

/* range.c: what is known of positions in a kernel in C. */
void ir_c_ranges(LLVMModuleRef module);

/* spaces.c, for kernels in C: moves variables annotated "tombac.threadgroup" to address space 3; after
 * inlining, makes generic pointers those of the memory that they point into, and vectors scalars. */
void ir_c_variables(LLVMModuleRef module, const ir_annotation *annotations, size_t count);
tombac_status ir_c_resolve(ir_kernel *kernel, tombac_error **error);
/* generic.c: answers __tombac_is_thread, _is_device, _is_threadgroup. *found: there was one. */
tombac_status ir_generic_resolve(ir_kernel *kernel, bool *found, tombac_error **error);

/* arena.c: threadgroup variables become offsets from __tombac_threadgroup_memory(). */
tombac_status ir_arena_build(ir_kernel *kernel, tombac_error **error);

#endif
