/* The steps of check_compile; see check.h. */
#ifndef TB_COMPILER_CHECK_STEPS_H
#define TB_COMPILER_CHECK_STEPS_H

#include "artifact/check.h"
#include "compiler/check/check.h"
#include "compiler/ir/cfg.h"
#include "compiler/ir/support.h"

/* Metadata of loads whose value may not matter, made by msl/__tombac/cooperative.h: no race is looked for. */
#define CHECK_NO_RACE "nontemporal"
/* Metadata of an argument's address, !{i32 its number}. */
#define CHECK_ARGUMENT "tombac.argument"
/* Metadata of accesses to shadows (unset.c). */
#define CHECK_SHADOW "tombac.shadow"

typedef struct check_unit {
    ir_kernel *kernel;
    LLVMModuleRef module;
    LLVMContextRef context;
    LLVMBuilderRef builder;
    LLVMValueRef function;                    /* TB_CHECK_ENTRY */
    LLVMValueRef dispatch, arguments, thread; /* its parameters */
    LLVMTypeRef i1, i8, i16, i32, i64, ptr, nothing;
    uint32_t site_count;
    bool watches_unset;
    struct check_bounds *bounds; /* bounds.c's own */
    tombac_error **error;
    tombac_status status; /* the first failure */
} check_unit;

/* entry.c: moves the kernel's body into TB_CHECK_ENTRY and resolves position calls. */
void check_entry_build(check_unit *unit);
/* unset.c */
void check_unset_watch(check_unit *unit);
/* strict.c */
void check_strict_apply(check_unit *unit);
/* order.c: order[i] is the cfg number of the i-th block. `order` has room for cfg->block_count. */
tombac_status check_order_compute(const ir_cfg *cfg, uint32_t *order, tombac_error **error);
/* sites.c */
void check_sites_mark(check_unit *unit);
/* bounds.c: the object that a pointer points into, as i64 offset and size, and the i32 number of its tb_check_object; false where
 * that cannot be told. May add instructions and move the builder. */
typedef struct check_bounds check_bounds;
typedef struct check_span {
    LLVMValueRef offset, size, object;
} check_span;
bool check_bounds_find(check_unit *unit, LLVMValueRef pointer, check_span *span);
/* The address of a constant array of all objects so far; to be called after the last pass that drops what is unused. */
LLVMValueRef check_bounds_objects(check_unit *unit, uint64_t *count);
void check_bounds_free(check_unit *unit);
/* memory.c */
void check_memory_hook(check_unit *unit);
/* Bytes of private variables. */
uint64_t check_memory_private(check_unit *unit);

/* debug.c: for ir_kernel.debug, before the instrumentation. */
void check_debug_keep(check_unit *unit, LLVMMetadataRef subprogram);

/* common.c: a driver function, declared at its first use; `never_returns` marks it so. */
LLVMValueRef check_call(check_unit *unit, const char *name, LLVMTypeRef result, LLVMValueRef *operands,
    unsigned count, bool never_returns);
/* An internal always-inline function NAME(types...) -> void whose body `fill` writes at its first use; a call
 * of it. */
typedef void check_filler(check_unit *unit, LLVMValueRef helper);
void check_call_helper(
    check_unit *unit, const char *name, check_filler *fill, LLVMValueRef *operands, unsigned count);
/* The address of a constant tb_check_place for an instruction. */
LLVMValueRef check_place(check_unit *unit, LLVMValueRef instruction);
LLVMValueRef check_place_fields(check_unit *unit, LLVMValueRef instruction, LLVMTypeRef *type);
LLVMValueRef check_constant_global(check_unit *unit, LLVMValueRef initial);
/* tombac_check_fault if operands[1] holds: {thread, i1, i32 kind, place}. */
void check_report(check_unit *unit, LLVMValueRef operands[4]);
/* The object that an address is computed from, through GEPs and casts; the address space that it had first. */
LLVMValueRef check_base_of(LLVMValueRef pointer);
unsigned check_space_of(LLVMValueRef pointer);
/* Loads a field of a record at a byte offset; `invariant` where it never changes while the thread runs. */
LLVMValueRef check_load_field(
    check_unit *unit, LLVMTypeRef type, LLVMValueRef record, uint64_t offset, bool invariant);
void check_fail(check_unit *unit, tombac_status status);

#endif
