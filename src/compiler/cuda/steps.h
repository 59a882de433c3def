/* The steps of cuda_compile; see cuda.h. */
#ifndef TB_COMPILER_CUDA_STEPS_H
#define TB_COMPILER_CUDA_STEPS_H

#include "artifact/cuda.h"
#include "compiler/cuda/cuda.h"
#include "compiler/ir/cfg.h"
#include "compiler/ir/support.h"

/* The threadgroup's memory. */
#define CUDA_SHARED "tombac_cuda_shared"

/* Placeholder in tombac.kernel for the lanes of the SIMD-group that exist; entry.c resolves it like a
 * position. */
#define CUDA_MASK "tombac_cuda.existing_lanes"

/* True for an operation that lanes execute together, and so needs the mask of those that do. */
bool cuda_is_collective(LLVMValueRef instruction);

/* uniform.c: divergent[i] says whether block i of the cfg may be executed by a part of a SIMD-group's lanes.
 * `divergent` has room for cfg->block_count. */
tombac_status cuda_uniform_blocks(
    const ir_kernel *kernel, const ir_cfg *cfg, bool *divergent, tombac_error **error);

/* linearise.c: gives every collective operation its mask, as an additional last operand of a call to "NAME"
 * with
 * "__tombac_" replaced by "tombac_cuda." */
tombac_status cuda_linearise(ir_kernel *kernel, tombac_error **error);

/* operation.c: what is left of the operations becomes calls of the library; *records: the kernel writes
 * records. `thread` is the address of the thread's tb_cuda_thread in the entry function. */
tombac_status cuda_operations_lower(
    ir_kernel *kernel, LLVMValueRef thread, bool *records, tombac_error **error);
/* A call of a library function, declared at its first use. */
LLVMValueRef cuda_call(LLVMModuleRef module, LLVMBuilderRef builder, const char *name, LLVMTypeRef result,
    LLVMValueRef *operands, unsigned count, bool convergent);

/* root.c: square roots, before the library is linked. */
void cuda_roots_lower(ir_kernel *kernel);

/* select.c: private arrays with run-time indices become selects. */
tombac_status cuda_select_arrays(ir_kernel *kernel, tombac_error **error);

/* address.c: every address becomes base + bytes, which the merging of accesses needs. */
void cuda_flatten_addresses(ir_kernel *kernel);

/* align.c */
enum { CUDA_MAX_MULTIPLES = 48 };
typedef struct cuda_multiple {
    uint32_t parameter, offset, size; /* an integer in a parameter; the first after the launch is 0 */
} cuda_multiple;

/* Numbers that are multiples of 16; buffers are too, if `any`. */
typedef struct cuda_assumptions {
    bool any;
    size_t count;
    cuda_multiple numbers[CUDA_MAX_MULTIPLES];
} cuda_assumptions;

/* What would make accesses wider; `kinds` as entry.c gives them, without those that are not passed. */
void cuda_find_assumptions(ir_kernel *kernel, const char *kinds, cuda_assumptions *needed);
/* Raises the alignment of accesses. `assume` may be NULL. */
void cuda_align(ir_kernel *kernel, const char *kinds, const cuda_assumptions *assume);

/* exchange.c: pairs of the loop's loads that lanes do for each other; `starts` are their addresses in the
 * first iteration, `loads` follows. */
enum { CUDA_MAX_LOADS = 32 };
void cuda_exchange(ir_kernel *kernel, LLVMBasicBlockRef loop, LLVMBasicBlockRef preheader,
    LLVMValueRef *loads, const LLVMValueRef *starts, unsigned count);

/* pipeline.c: loops that copy tiles load one iteration ahead. */
void cuda_pipeline(ir_kernel *kernel);

/* wide.c: makes the kernel's function one whose threads each do the work of several neighbours; how many, or 1
 * where that cannot be. Threadgroups have `threads` threads. */
unsigned cuda_widen(ir_kernel *kernel, uint32_t threads);
/* Loads from device memory and stores to it in the function's text; in wide code without what runs one thread after
 * the other. */
unsigned cuda_count_accesses(const ir_kernel *kernel);

/* narrow.c: in PTX, stores of less than a register store a copy, which has no type. */
tombac_status cuda_copy_narrow_stores(tb_text *ptx, tombac_error **error);

/* count.c: loops compare their counters' next values. */
void cuda_compare_next(ir_kernel *kernel);

#define CUDA_LDMATRIX "llvm.nvvm.ldmatrix.sync.aligned"

/* swizzle.c: other places in threadgroup memory, in which matrices are read faster; blocks have at most
 * `threads` threads. *changed: false where accesses do not allow it, or are as fast without. */
tombac_status cuda_swizzle(ir_kernel *kernel, uint32_t threads, bool *changed, tombac_error **error);

/* bank.c: where the lanes of the first SIMD-group access memory, and in how many turns the banks of
 * threadgroup memory serve such an access of `size` bytes by each lane. */
void cuda_bank_places(ir_kernel *kernel, LLVMValueRef address, uint32_t places[TB_SIMD_WIDTH]);
unsigned cuda_bank_turns(const uint32_t places[TB_SIMD_WIDTH], unsigned size);

/* Of an integer or an address, how many of the lowest bits are known to be zero. */
unsigned cuda_known_zeros(ir_kernel *kernel, const char *kinds, LLVMValueRef value);

/* matrix.c: whether the kernel multiplies matrices; and the choice how, late among the passes. `kinds` as
 * above. */
bool cuda_matrix_used(const ir_kernel *kernel);
bool cuda_is_product(LLVMValueRef instruction);
tombac_status cuda_matrix_lower(ir_kernel *kernel, const char *kinds, tombac_error **error);

/* What a kernel that multiplies matrices calls "tombac_cuda." CUDA_ROW and CUDA_COLUMN until
 * cuda_matrix_lower is done: row and column of the first of its lane's two elements. */
#define CUDA_ROW "opaque_row"
#define CUDA_COLUMN "opaque_column"

/* tile.c: operands that come from memory, for one block at a time. */
typedef struct cuda_tiles cuda_tiles;
cuda_tiles *cuda_tiles_create(ir_kernel *kernel, const char *kinds); /* NULL without memory */
void cuda_tiles_free(cuda_tiles *tiles);
/* Loads left operands of the block's products as tensor cores want them, and prepares right operands. */
void cuda_tiles_load(cuda_tiles *tiles, LLVMBasicBlockRef block);
/* The right operand that these two loads give, by columns: two halves in an integer; or NULL. */
LLVMValueRef cuda_tiles_columns(const cuda_tiles *tiles, LLVMValueRef first, LLVMValueRef second);

/* entry.c: the kernel's body moves into TB_CUDA_ENTRY, which becomes kernel->function, in the form for every
 * launch; appends the header line's kinds of arguments to `kinds`. *thread as above. `threadgroup` as in
 * cuda_options. */
tombac_status cuda_entry_build(ir_kernel *kernel, const uint32_t threadgroup[3], tb_text *kinds,
    LLVMValueRef *thread, tombac_error **error);
/* Makes of it the form for plain launches. */
void cuda_entry_make_plain(ir_kernel *kernel);
/* Says how many threads its blocks have: exactly where that is known, else at most as many as the manifest
 * says; in the plain form as many as its registers allow, which the driver asks for. */
void cuda_entry_limit(ir_kernel *kernel, const uint32_t threadgroup[3], bool plain);

#endif
