/* The cpu engine's compiler: a prepared kernel becomes code in which one SIMD-group is one vector of 32
 * lanes.
 *
 * Input is the module of ir_prepare after ir_optimise (compiler/ir/ir.h): one function "tombac.kernel",
 * scalar, everything inlined, positions and operations as calls named __tombac_... (docs/operations.md).
 * Output is the same module with the entry point TB_CPU_ENTRY (artifact/abi.h), which runs one threadgroup of
 * any size and shape, partial SIMD-groups included.
 *
 *     cpu_vectorise   scalar IR -> vector IR           (kernel.h lists the passes inside)
 *     cpu_optimise    the pass list for vector IR
 *     cpu_emit        machine code, as object or as assembly
 *     cpu_finish      the rest that cpu_vectorise left out -> an object with TB_CPU_GENERAL
 *
 * Limits, refused by name: functions without a return, indirect calls, vector values that are no matrices.
 * Promise about memory: an access touches no byte that an active thread would not have touched. 32-bit index
 * arithmetic may wrap; where the code relies on buffers of less than 4 GiB for it, it says so
 * (TB_CPU_SMALL_BUFFERS). */
#ifndef TB_COMPILER_CPU_H
#define TB_COMPILER_CPU_H

#include "base/error.h"
#include "base/text.h"
#include "base/times.h"

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>
#include <stdint.h>

#define CPU_KERNEL_FUNCTION "tombac.kernel"
#define CPU_CONTEXT_ATTRIBUTE "tombac-context" /* parameter that points to a SIMD-group's context */
/* Without it LLVM takes gathers apart on AVX2, into a branch per lane. */
#define CPU_TARGET_FEATURES "+fast-gather"

typedef struct cpu_options {
    const char *target; /* "x86-64-v3", "x86-64-v4": level that the code may use */
    /* Threads per threadgroup that are the rule, 0: unknown. Any size runs. Code is made for rows of a
     * multiple of 32 threads, for rows of 16 and 8 where the kernel asks for y or z, and for all else; where
     * the size is known, for that and all else. */
    uint32_t threads[3];
    bool whole; /* every threadgroup has that size: the code relies on it */
    bool debug; /* code for a debugger: lines and variables, hardly optimised */
    LLVMMetadataRef subprogram; /* of the kernel's function, for debugging */
    tb_text *rest;       /* receives the bitcode of the general form of the code, which is left out; NULL: it is not */
    uint32_t defer_from; /* instructions from which that is worth it; smaller kernels are complete */
    tb_times *times;           /* where time goes; NULL: nobody asks */
    struct cpu_report *report; /* receives what was decided (report.h); NULL: nobody asks */
} cpu_options;

/* Makes LLVM's process-wide code generation options right for this engine; call once, before any code is
 * generated. */
void cpu_set_llvm_options(void);
/* A target machine for the level, made the way this engine wants it. */
tombac_status cpu_target_machine(const char *target, LLVMTargetMachineRef *machine, tombac_error **error);

/* Replaces the kernel by the engine's entry point. *context_size receives what the entry needs per
 * SIMD-group. */
tombac_status cpu_vectorise(
    LLVMModuleRef module, const cpu_options *options, size_t *context_size, tombac_error **error);
/* LLVM's passes by name; `machine` may be NULL. */
tombac_status cpu_run_passes(
    LLVMModuleRef module, const char *names, LLVMTargetMachineRef machine, tombac_error **error);
tombac_status cpu_optimise(LLVMModuleRef module, LLVMTargetMachineRef machine, bool debug, tombac_error **error);
/* Part of cpu_optimise: places the accesses to contexts (context.c). */
tombac_status cpu_context_place(LLVMModuleRef module, tombac_error **error);
tombac_status cpu_emit(
    LLVMModuleRef module, LLVMTargetMachineRef machine, bool assembly, tb_text *out, tombac_error **error);
tombac_status cpu_finish(
    const void *bitcode, size_t size, const char *target, tb_text *object, tombac_error **error);
/* The first three; the machine is made by cpu_target_machine. */
tombac_status cpu_compile(LLVMModuleRef module, const cpu_options *options, tb_text *object,
    size_t *context_size, tombac_error **error);

#endif
