/* From the front end's bitcode to one prepared kernel, the input of every engine.
 *
 * ir_prepare takes the bitcode of front_compile and gives a module with the host's triple and data layout in
 * which one function is defined, "tombac.kernel":
 *   - its parameters are the bindable arguments in the order of ir_kernel.arguments (no positions; the layouts
 * of tensors follow the source's arguments): ptr addrspace(1) for buffer, constant and tensor arguments, ptr addrspace(3) for threadgroup ones; active references to
 * constant memory carry noalias readonly nonnull dereferenceable(n). It returns void. An inactive argument
 * has no uses;
 *   - function constants are folded, the math library is linked, everything is inlined, nothing is left to
 * resolve but the operations of docs/operations.md (calls named __tombac_...) and LLVM intrinsics;
 *   - positions are calls of docs/operations.md with !range, declared memory(none) willreturn nounwind;
 *   - threadgroup variables are offsets from one call of __tombac_threadgroup_memory, ptr addrspace(3),
 * 64-byte aligned; the address of one carries the metadata IR_VARIABLE (support.h);
 *   - values are in SSA form (sroa), constant branches folded, but the control flow is the source's: no loop
 * was rotated, unrolled or merged. Every loop is natural and has one latch;
 *   - llvm.fmuladd is llvm.fma and llvm.round is expanded, so that engines agree bit for bit; memcpy, memmove
 * and memset of a small constant size are loads and stores; no lifetime markers, no annotations.
 *   - instructions have source lines; variables and types are described too if the request is for debugging;
 *   - integer division cannot trap, shift counts are below the width, float to integer conversions saturate
 * (define.c). Program-scope constant tables remain as internal constant globals in addrspace(1).
 *
 * The context belongs to the ir_kernel. LLVM's own fatal errors end the process (the caller installs a
 * handler). */
#ifndef TB_COMPILER_IR_H
#define TB_COMPILER_IR_H

#include "base/error.h"
#include "base/times.h"
#include "compiler/front/front.h"

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

#define IR_KERNEL_FUNCTION "tombac.kernel"

/* ---- Reflection ---- */

/* A type as reflection shows it. Scalars and vectors of scalars have a scalar type; all else is
 * TOMBAC_TYPE_OTHER. */
typedef struct ir_type {
    char *name; /* Metal's: "float4", "packed_half3", a struct's own name */
    tombac_type scalar;
    uint32_t vector_length; /* 1 for scalars, 2 to 4 for vectors, 0 otherwise */
    bool packed;
    uint64_t size, alignment; /* bytes; 0 where unknown (void) */
    struct ir_member *members;
    size_t member_count;
} ir_type;

typedef struct ir_member {
    char *name;
    uint64_t offset; /* bytes from the start of the struct */
    uint64_t count;  /* array length (product of all dimensions), or 1 */
    ir_type type;    /* of one element; `size` is the element's */
} ir_member;

enum { IR_MAX_RANK = 16 };

typedef struct ir_argument {
    const front_parameter *parameter; /* never a position */
    bool active;                      /* false: its function constant removed it */
    ir_type type;                     /* of the element pointed or referred to, or of the tensor's */
    uint32_t rank;                    /* tensors: dimensions, else 0 */
    uint64_t extents[IR_MAX_RANK];    /* tensors: fixed ones, UINT64_MAX where the host chooses */
    tombac_type index_type;           /* tensors: in which they are counted */
    size_t layout;                    /* tensors: the argument that holds extents and strides */
    bool is_layout;                   /* such an argument, a reference to constant memory; `parameter` is owned */
} ir_argument;

/* ---- Function constants ---- */

typedef struct ir_constant_value {
    const char *name; /* NULL: found by index */
    uint32_t index;
    const void *bytes; /* memory order, the constant's own size */
    size_t size;
} ir_constant_value;

/* ---- Preparation ---- */

typedef struct ir_request {
    const front_unit *unit; /* must outlive the ir_kernel */
    const front_kernel *kernel;
    const void *bitcode;
    size_t bitcode_size;
    const ir_constant_value *constants;
    size_t constant_count;
    tombac_math math;
    const char *math_library; /* path of math.bc */
    const char *target;       /* "x86-64-v3", "x86-64-v4": a CPU name of LLVM's x86 back end */
    bool debug;               /* keep what debuggers want: types and variables, not lines only */
    bool watch;               /* keep accesses outside of private variables (outside.c) */
    tb_times *times;          /* NULL: nobody asks where time goes */
} ir_request;

typedef struct ir_constant_state {
    const front_constant *constant;
    bool set;   /* the request gave a value */
    bool truth; /* the value is not zero */
    bool used;  /* the kernel's code (or an argument's condition) depends on it */
} ir_constant_state;

/* A static threadgroup variable: where it lies in the kernel's threadgroup memory. */
typedef struct ir_variable {
    char *name;
    uint64_t offset, size;
} ir_variable;

typedef struct ir_kernel {
    const front_unit *unit;
    const front_kernel *kernel;
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMValueRef function; /* IR_KERNEL_FUNCTION */
    LLVMTargetMachineRef machine;
    char *target;
    bool debug;
    bool gpu; /* for ir_optimise: collectives are single instructions, and vectors and any loops are welcome */
    LLVMMetadataRef subprogram; /* what clang says of the kernel's function (its DISubprogram) */
    tombac_math math;
    tb_times *times;  /* the request's */
    tb_text messages; /* what LLVM reported through the context's diagnostic handler */

    ir_argument *arguments;
    size_t argument_count;
    ir_constant_state *constants; /* all of the unit, in front_constant_at order */
    size_t constant_count;
    ir_variable *variables; /* in threadgroup memory, by offset */
    size_t variable_count;
    size_t static_threadgroup_memory;
    uint32_t max_total_threads; /* as the attribute says, 0: it does not */
    bool threadgroup_barriers; /* a threadgroup barrier is left in the code */
    bool simdgroup_operations; /* a SIMD-group, quad-group or matrix operation or a simdgroup barrier is left
                                */
} ir_kernel;

tombac_status ir_prepare(const ir_request *request, ir_kernel **kernel, tombac_error **error);
void ir_kernel_free(ir_kernel *kernel);

/* ---- Specialisation ---- */

/* What is bound to an argument in constant memory. */
typedef struct ir_argument_value {
    uint32_t index; /* of [[buffer(index)]] */
    const void *bytes;
    size_t size;
} ir_argument_value;

typedef struct ir_specialisation {
    const ir_argument_value *arguments;
    size_t argument_count;
    uint32_t threadgroup[3]; /* all threadgroups are of this size, none is cut by the grid's edge; 0: not known */
} ir_specialisation;

/* Makes constants of it and optimises again (specialise.c); after ir_contract. */
tombac_status ir_specialise(ir_kernel *kernel, const ir_specialisation *values, tombac_error **error);

/* The scalar optimisation that engines want which need no source-shaped control flow (cpu): two rounds of
 * unrolling and scalar replacement, licm, gvn, then lower-switch, fix-irreducible, unify-loop-exits,
 * loop-simplify, lcssa. */
tombac_status ir_optimise(ir_kernel *kernel, tombac_error **error);

/* After it: fuses multiplications with additions where the mode allows it, and takes fast-math flags off (contract.c). */
void ir_contract(ir_kernel *kernel);

/* Runs passes by their names in LLVM's pipeline syntax. */
tombac_status ir_run_passes(ir_kernel *kernel, const char *passes, tombac_error **error);
/* Compiles the module to an ELF object of the kernel's target, appended to `object`. */
tombac_status ir_emit_object(ir_kernel *kernel, bool assembly, tb_text *object, tombac_error **error);

/* ---- Manifest ---- */

/* The JSON manifest (docs/architecture.md) of a prepared kernel; `engine` NULL leaves the facts of an engine
 * out. `standard` as it was given, NULL: the default. */
tombac_status ir_manifest(const ir_kernel *kernel, const char *engine, const char *standard,
    size_t context_size, tb_text *json, tombac_error **error);
/* Reflects every kernel of the unit from the bitcode of the whole file: {"kernels": [ ... "kernel" objects
 * ... ]}. */
tombac_status ir_reflect_unit(
    const front_unit *unit, const void *bitcode, size_t size, tb_text *json, tombac_error **error);

#endif
