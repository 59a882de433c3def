/* The cuda engine's compiler: a prepared kernel becomes PTX for NVIDIA GPUs. A SIMD-group is a warp, a
 * threadgroup a block.
 *
 * Takes a kernel of ir_optimise and ir_contract, whose floating-point operations have no fast-math flags any
 * more, and gives the text that artifact/cuda.h describes:
 *   1. uniform.c    which blocks do all threads of a SIMD-group execute together?
 *   2. linearise.c  where collectives stand in other blocks: flow in which every lane passes every block, so
 *                   that the lanes that execute an operation together are known as a mask, never guessed
 *   3. entry.c      the entry point: arguments, positions, threadgroup memory
 *   4. operation.c  operations become calls of the device library (device/); records. root.c: square roots
 *   5. matrix.c     products of matrices on tensor cores; tile.c: how their operands are loaded
 *   6. align.c, address.c, pipeline.c, bank.c, swizzle.c, exchange.c   accesses: wider, earlier, without bank
 *                   conflicts. wide.c: of several threads at a time. count.c: loops' counters
 *   7. compile.c    linking, passes, code generation: for plain launches, for all, and wide
 * The target is a GPU architecture as "sm_90". */
#ifndef TB_COMPILER_CUDA_CUDA_H
#define TB_COMPILER_CUDA_CUDA_H

#include "compiler/ir/ir.h"

#define CUDA_DEFAULT_TARGET "sm_90"

typedef struct cuda_options {
    const char *folder;     /* holds the device library, cuda.bc and cuda_matrix.bc */
    uint32_t threadgroup[3]; /* of every launch that this code is for, 0: not known */
} cuda_options;

/* For the process, before ir_optimise. */
void cuda_set_llvm_options(void);
/* Appends the PTX to `object`. The kernel's module is used up. */
tombac_status cuda_compile(
    ir_kernel *kernel, const cuda_options *options, tb_text *object, tombac_error **error);
/* Whether `target` names an architecture that this engine generates code for (sm_80 and later). */
bool cuda_is_target(const char *target);

#endif
