/* One kernel on its way through the vectoriser: the facts that the passes find, and who finds them.
 *
 *     prepare.c      IR of the kernel -> canonical IR: one return, two-way branches, barriers at the start of a block
 *     graph.c        blocks, edges, values                                       (fills cpu_block, cpu_value)
 *     dominance.c    dominators, post-dominators
 *     loops.c        natural loops, and the order in which blocks are laid out
 *     split.c        loops that lanes leave one by one get a first part with all lanes (before the variants are made)
 *     shape.c        the lattice of lane shapes;  transfer.c: the shape of each instruction's result
 *     divergence.c   fixpoint of shapes and of divergent control
 *     masks.c        which blocks share an execution mask
 *     affine.c       indices that differ by constants only
 *     gather.c       gathers and scatters with 32-bit indices
 *     matrix.c       which products of matrices are computed together (tile.c emits them, layout.c moves between layouts)
 *     linearise.c    blocks to vector code under masks (uses value.c, instruction.c, memory.c, group.c, lanes.c, collective.c)
 *     barrier.c      states: what is saved at a barrier and restored after it
 *     tally.c        buffers that are only counted in (before the variants are made)
 *     entry.c        the loop over SIMD-groups, the entry point
 *     defer.c        takes the general step out, to be made when a launch needs it
 *
 * Blocks and values are numbers into k->blocks and k->values. Memory of the analysis comes from one arena. A
 * pass that finds something that it cannot do calls cpu_fail, which leaves all passes at once (setjmp in
 * vectorise.c). */
#ifndef TB_COMPILER_CPU_KERNEL_H
#define TB_COMPILER_CPU_KERNEL_H

#include "artifact/abi.h"
#include "compiler/cpu/cpu.h"
#include "compiler/cpu/operation.h"
#include "compiler/cpu/report.h"
#include "compiler/cpu/support.h"

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>

enum { LANES = TB_SIMD_WIDTH, LANE_BITS = 5, MAX_COPIES = 4 };

/* ---- Shapes ----
 * Lanes come in aligned blocks of 2^bits. In each block, lane l holds base + sum over b of stride[b] * (bit b
 * of l), in the arithmetic of the value's type. Uniform is bits = 5 and no stride; a varying value has bits =
 * 0. */
typedef struct cpu_shape {
    int64_t stride[LANE_BITS];
    int8_t bits;
    int8_t align; /* every base is a multiple of 2^align; 63: every base is zero */
    bool top;     /* nothing known yet (optimistic start) */
} cpu_shape;

typedef struct cpu_log_call cpu_log_call;
typedef struct cpu_bundle cpu_bundle;
typedef struct cpu_family cpu_family; /* affine.c */

typedef struct cpu_value {
    LLVMValueRef ir;
    int block;
    cpu_operation operation; /* of calls; OP_NONE if it is no call of ours */
    cpu_shape shape;
    int cell;     /* private arrays kept cell by cell: bytes of a cell, else 0 */
    int copies;   /* kept as that many scalars (first lanes of the blocks of lanes), 0: kept as a vector */
    bool crosses; /* used in another block */
    bool part_elsewhere; /* part of an address (affine.c, gather.c) in another block */
    bool done;    /* already emitted, together with an earlier instruction */
    struct cpu_pending_run *pending_run; /* loaded together with others (group.c) */
    struct cpu_product *product; /* matrix products and their parts, see matrix.h */
    struct cpu_batch *batch;     /* matrix products that are emitted before this value */
    cpu_bundle *bundle;          /* kept as rows of matrices, together with others */
    int place;                   /* in the bundle */
    bool counts;  /* a loop's safe point reads it in the latch */
    bool again;   /* a few scalar instructions on positions and arguments: made anew in every block that uses it */
    LLVMTypeRef type;                  /* of one copy, or of the vector */
    LLVMValueRef now[MAX_COPIES];      /* the definition, while its block is being emitted */
    LLVMValueRef slot[MAX_COPIES];     /* memory of a value that crosses blocks */
    LLVMValueRef incoming[MAX_COPIES]; /* phis: what edges store */
} cpu_value;

typedef struct cpu_block {
    LLVMBasicBlockRef ir;
    int successors[2], successor_count; /* distinct */
    int *predecessors, predecessor_count;
    int first_value, value_count; /* values are numbered in program order */
    int rpo;                      /* reverse post-order */
    int idom, ipdom;              /* immediate (post-)dominator; -1: none; the root's is itself */
    int dom_in, dom_out, pdom_in, pdom_out;
    int loop;              /* innermost, -1: none */
    int position;          /* in k->order */
    bool forced;           /* leaves a loop around a barrier: uniform by the language's rule */
    bool divergent_branch; /* lanes may go both ways */
    bool divergent_phis;   /* lanes may arrive by different edges */
    bool temporal_phis;    /* ... in different iterations of a loop */
    int leader;            /* block with the same mask; itself if it owns one */
    bool cheap;            /* may run with no lane active */
    /* Emission */
    LLVMBasicBlockRef out;
    LLVMValueRef pending_mask; /* slot: lanes that wait to enter */
    LLVMValueRef mask_slot;    /* slot: lanes that entered */
    uint64_t *pending;         /* set of blocks that may have waiting lanes when this one ends */
    struct cpu_batch *batch;   /* matrix products that are emitted at the end */
} cpu_block;

typedef struct cpu_loop {
    int header, latch, parent, depth;
    bool divergent; /* lanes may leave in different iterations */
    bool has_barrier;
    bool polled; /* may run long: has a safe point (limit.c), */
    LLVMValueRef counter; /* reached when these bits of the counter are zero; NULL: in every iteration */
    uint64_t counter_bits;
    uint64_t *members;
} cpu_loop;

/* Which code is being made: the same analysis and emission run once per variant. */
typedef enum cpu_layout {
    LAYOUT_ROWS,   /* a full SIMD-group that lies in one row: x is first + lane, y and z are uniform */
    LAYOUT_BOX,    /* a full SIMD-group of several whole rows, whose width is a known power of two */
    LAYOUT_GENERAL /* anything, with a mask of the threads that exist */
} cpu_layout;

typedef struct cpu_variant {
    cpu_layout layout;
    int width; /* LAYOUT_BOX: threads per row, 1 to 16 */
    LLVMValueRef step;
} cpu_variant;

enum { MAX_VARIANTS = 4 };

typedef struct cpu_kernel {
    cpu_job job;
    const cpu_options *options;
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMTargetDataRef layout;
    LLVMValueRef function; /* scalar kernel */
    LLVMTypeRef i1, i8, i16, i32, i64, f32, ptr, mask_type;
    int piece_bytes; /* preferred width of memory accesses: 64 or 32 */

    /* graph, loops */
    cpu_block *blocks;
    int block_count;
    cpu_value *values;
    int value_count;
    cpu_loop *loops;
    int loop_count;
    int *order;
    cpu_map block_map, value_map;
    bool has_barrier;
    bool has_tallies;
    uint8_t tallies[TB_CPU_TALLIES_MAX]; /* tb_cpu_tally of each argument (tally.c) */
    bool defers;        /* the general step becomes a module of its own (defer.c) */
    bool index_assumed; /* an address was taken as strided by cpu_index_assumed, or is in a family (affine.c) */
    cpu_family *families;
    int family_count;

    /* variant */
    cpu_layout variant;
    int width; /* of LAYOUT_BOX */

    /* emission */
    LLVMBuilderRef builder, entry_builder; /* entry_builder: end of the block of allocas */
    LLVMValueRef step;                     /* function being made */
    LLVMBasicBlockRef entry, init;
    cpu_map arguments;            /* parameter of the kernel -> its place among the step's */
    LLVMValueRef parameter[10];    /* step parameters after the kernel's own */
    LLVMValueRef thread_base;     /* index of the first thread */
    LLVMValueRef position[3];     /* of the first thread; of all threads in the general variant */
    LLVMValueRef all, entry_mask; /* constant true; mask of the threads that exist */
    LLVMValueRef mask;            /* of the block being emitted */
    LLVMValueRef dummy;           /* 64 bytes of nothing, for loads without a lane */
    int current;                  /* block being emitted */
    size_t context_used;
    struct cpu_barrier *barriers;
    int barrier_count;
    struct cpu_pending_store *pending_store;
    LLVMValueRef *scratch; /* matrices on the stack (tile.c) */
    int scratch_count, hidden;
    bool products_called; /* matrix products are calls (product.c) */
    struct cpu_debug *debug; /* debug.c */
    struct cpu_log_call *log_first, *log_last; /* calls of the log line that is being collected */
    int log_leader;
} cpu_kernel;

/* Positions in k->parameter. */
enum {
    PARAM_DISPATCH,
    PARAM_SIMDGROUP,
    PARAM_MEMORY,
    PARAM_CONTEXT,
    PARAM_GROUPS_PER_ROW,
    PARAM_WIDTH_FACTOR, /* reciprocal (entry.c) of SIMD-groups per row, or of the width in the general variant
                         */
    PARAM_HEIGHT_FACTOR, /* reciprocal of the height */
    PARAM_STOP,          /* address of the word that says: stop (limit.c) */
    PARAM_TALLIES,       /* tb_cpu_group.tallies (tally.c) */
    PARAM_STATE,         /* barrier to resume at, or one more than the last: start */
    PARAM_COUNT
};

/* ---- Passes, in this order; cpu_analyse runs those from the graph to the masks ---- */
void cpu_set_up(cpu_kernel *k, LLVMModuleRef module, const cpu_options *options);
void cpu_tear_down(cpu_kernel *k);
void cpu_analyse(cpu_kernel *k, cpu_layout layout, int width);
void cpu_prepare(cpu_kernel *k);
/* split.c; after the analysis of the rows variant, which is stale if it returns true. */
bool cpu_loops_split(cpu_kernel *k);
void cpu_prepare_again(cpu_kernel *k);
void cpu_tallies_find(cpu_kernel *k);
void cpu_tallies_declare(cpu_kernel *k);
void cpu_graph_build(cpu_kernel *k);
void cpu_dominance_build(cpu_kernel *k);
void cpu_loops_build(cpu_kernel *k);
void cpu_order_build(cpu_kernel *k);
void cpu_arrays_find(cpu_kernel *k);
void cpu_divergence_find(cpu_kernel *k);
void cpu_masks_find(cpu_kernel *k);
LLVMValueRef cpu_step_emit(cpu_kernel *k, const char *name); /* entry.c; calls cpu_linearise */
void cpu_linearise(cpu_kernel *k);
/* The last variant is the general one. */
void cpu_entry_emit(cpu_kernel *k, const cpu_variant *variants, int count);
void cpu_defer_general(cpu_kernel *k, const cpu_variant *variants, int count);

/* ---- Graph ---- */
bool cpu_dominates(const cpu_kernel *k, int a, int b);
bool cpu_post_dominates(const cpu_kernel *k, int a, int b);
/* Is block b in loop l (-1: the whole function)? */
bool cpu_in_loop(const cpu_kernel *k, int l, int b);
bool cpu_is_header(const cpu_kernel *k, int b);
cpu_value *cpu_value_of(const cpu_kernel *k, LLVMValueRef ir);
int cpu_block_of(const cpu_kernel *k, LLVMBasicBlockRef ir);

/* ---- Shapes ---- */
cpu_shape cpu_shape_uniform(int align);
cpu_shape cpu_shape_linear(int64_t stride, int align);
cpu_shape cpu_shape_varying(void);
/* Only the lowest `bits` lane bits count. */
cpu_shape cpu_shape_cut(cpu_shape s, int bits);
cpu_shape cpu_shape_meet(cpu_shape a, cpu_shape b);
/* Cut to the leading lane bits without stride: what an operation on equal inputs gives. */
cpu_shape cpu_shape_equal_lanes(cpu_shape s);
bool cpu_shape_equals(const cpu_shape *a, const cpu_shape *b);
bool cpu_shape_is_uniform(const cpu_shape *s);
/* One block of lanes, no stride below zero. */
bool cpu_shape_rises(const cpu_shape *s);
bool cpu_shape_has_stride(const cpu_shape *s);
/* All lanes in one block, at distance `stride`? */
bool cpu_shape_is_linear(const cpu_shape *s, int64_t stride);
int64_t cpu_shape_offset(const cpu_shape *s, int lane);
/* Scalar copies by which a value of this shape is kept; 0: it needs a vector. */
int cpu_shape_copies(const cpu_shape *s);
cpu_shape cpu_shape_of(const cpu_kernel *k, LLVMValueRef ir);
cpu_shape cpu_transfer(const cpu_kernel *k, const cpu_value *value);
/* Is `index`, a zext or sext, exactly strided only as an index of an in-bounds address (transfer.c)? */
bool cpu_index_assumed(const cpu_kernel *k, LLVMValueRef index, uint64_t scale, cpu_shape *shape);

/* ---- Emission helpers (value.c) ---- */
LLVMTypeRef cpu_vector_type(cpu_kernel *k, LLVMTypeRef type);
LLVMValueRef cpu_int(LLVMTypeRef type, uint64_t value);
/* Empty inline assembly: the same value, of which LLVM knows nothing any more. In pieces of one register. */
LLVMValueRef cpu_hide(cpu_kernel *k, LLVMValueRef vector);
LLVMValueRef cpu_splat(cpu_kernel *k, LLVMValueRef scalar);
LLVMValueRef cpu_lane_numbers(cpu_kernel *k, LLVMTypeRef type);
LLVMValueRef cpu_shuffle(cpu_kernel *k, LLVMValueRef a, LLVMValueRef b, const int *index, int count);
LLVMValueRef cpu_slice(cpu_kernel *k, LLVMValueRef vector, int from, int count);
/* Joins `count` (a power of two) vectors of `width` lanes; overwrites `parts`. */
LLVMValueRef cpu_concat(cpu_kernel *k, LLVMValueRef *parts, int count, int width);
LLVMValueRef cpu_intrinsic(cpu_kernel *k, const char *name, LLVMTypeRef *overloads, int overload_count,
    LLVMValueRef *arguments, int argument_count);
LLVMValueRef cpu_at(cpu_kernel *k, LLVMValueRef base, int64_t bytes);
LLVMValueRef cpu_alloca(cpu_kernel *k, LLVMTypeRef type, const char *name);
LLVMBasicBlockRef cpu_new_block(cpu_kernel *k, const char *name);
/* Scalar number i of n of a value that is kept as scalars; the vector of any value. */
LLVMValueRef cpu_scalar(cpu_kernel *k, LLVMValueRef ir, int i, int n);
LLVMValueRef cpu_vector(cpu_kernel *k, LLVMValueRef ir);
/* The vector of a value as it is kept: rows of matrices if it is in a bundle. */
LLVMValueRef cpu_held(cpu_kernel *k, cpu_value *value);
void cpu_define(cpu_kernel *k, cpu_value *value, int copy, LLVMValueRef definition);
bool cpu_is_uniform(const cpu_kernel *k, LLVMValueRef ir);
/* Masks are <32 x i1>. */
LLVMValueRef cpu_mask_bits(cpu_kernel *k, LLVMValueRef mask); /* i32 */
LLVMValueRef cpu_mask_any(cpu_kernel *k, LLVMValueRef mask);  /* i1 */
LLVMValueRef cpu_mask_all(cpu_kernel *k, LLVMValueRef mask);  /* i1 */
LLVMValueRef cpu_mask_and(cpu_kernel *k, LLVMValueRef mask, LLVMValueRef condition);
LLVMValueRef cpu_mask_first(cpu_kernel *k, LLVMValueRef mask); /* i32: lowest lane; mask is not empty */
/* `value` where the mask is set, `other` (a scalar) elsewhere. */
LLVMValueRef cpu_mask_select(cpu_kernel *k, LLVMValueRef mask, LLVMValueRef value, LLVMValueRef other);

/* ---- Instructions ---- */
void cpu_emit_instruction(cpu_kernel *k, cpu_value *value);
void cpu_emit_scalars(cpu_kernel *k, cpu_value *value);
void cpu_emit_load(cpu_kernel *k, cpu_value *value);
void cpu_emit_store(cpu_kernel *k, cpu_value *value);
void cpu_emit_atomic(cpu_kernel *k, cpu_value *value);
void cpu_emit_call(cpu_kernel *k, cpu_value *value);
void cpu_emit_collective(cpu_kernel *k, cpu_value *value);
void cpu_families_find(cpu_kernel *k); /* affine.c; knows the copies */
void cpu_places_find(cpu_kernel *k);   /* gather.c; after the families */
/* rematerialise.c: finds the values that are made anew; makes one. */
void cpu_again_find(cpu_kernel *k);
LLVMValueRef cpu_again(cpu_kernel *k, cpu_value *value);
/* Over the active lanes below each. */
LLVMValueRef cpu_exclusive_sum(cpu_kernel *k, LLVMValueRef v);
void cpu_emit_address(cpu_kernel *k, cpu_value *value);

/* ---- Lane loops (lanes.c) ---- */
typedef void cpu_lane_body(cpu_kernel *k, LLVMValueRef lane, void *data);
/* Runs `body` for each active lane, lowest first; `lane` is an i64. */
void cpu_lane_loop(cpu_kernel *k, LLVMValueRef mask, cpu_lane_body *body, void *data);
/* A vector in memory for access by lane number, and one lane of it. */
LLVMValueRef cpu_spill(cpu_kernel *k, LLVMValueRef vector);
LLVMValueRef cpu_spilled_lane(cpu_kernel *k, LLVMValueRef memory, LLVMTypeRef type, LLVMValueRef lane);
void cpu_set_spilled_lane(cpu_kernel *k, LLVMValueRef memory, LLVMValueRef value, LLVMValueRef lane);
LLVMValueRef cpu_spill_room(cpu_kernel *k, LLVMTypeRef type);
LLVMValueRef cpu_unspill(cpu_kernel *k, LLVMValueRef memory, LLVMTypeRef type);
/* The instruction itself, once per active lane, on its scalar operands. */
LLVMValueRef cpu_by_lanes(cpu_kernel *k, LLVMValueRef instruction);

/* Is the memory that an atomic update goes to the worker's own (tally.c)? An i1; NULL: never. */
LLVMValueRef cpu_tally_is_own(cpu_kernel *k, LLVMValueRef update);

/* ---- Grouped accesses (group.c) ---- */
bool cpu_group_load(cpu_kernel *k, cpu_value *value);
bool cpu_group_store(cpu_kernel *k, cpu_value *value);

/* ---- Matrices (matrix.c, tile.c, layout.c) ---- */
/* After the masks, before anything is emitted. */
void cpu_matrix_plan(cpu_kernel *k);
void cpu_emit_batch(cpu_kernel *k, const struct cpu_batch *batch);
/* Of a value in a bundle: the lanes' elements; for a phi, what the edge from block `from` brings, as rows. */
LLVMValueRef cpu_bundle_vector(cpu_kernel *k, cpu_value *value);
typedef LLVMValueRef cpu_incoming(cpu_kernel *k, LLVMValueRef phi, int from);
LLVMValueRef cpu_bundle_incoming(cpu_kernel *k, cpu_value *phi, cpu_incoming *incoming, int from);
/* Does the edge leave lanes of phis as they are? (linearise.c) */
bool cpu_edge_blends(const cpu_kernel *k, int from, int to);

/* ---- Barriers (barrier.c) ---- */
typedef struct cpu_barrier {
    LLVMBasicBlockRef block, resume; /* ends with the return of the state; starts again here */
    LLVMValueRef ir;
    size_t saved, loaded; /* bytes of the context */
} cpu_barrier;
void cpu_barrier_split(cpu_kernel *k);
/* Moves what stands before `place` into a new block in front, so that the phis behind keep their incoming block;
 * returns the branch between the two. */
LLVMValueRef cpu_split_before(cpu_kernel *k, LLVMValueRef place);
void cpu_emit_barrier(cpu_kernel *k);
void cpu_barrier_save(cpu_kernel *k);

/* ---- Safe points (limit.c) ---- */
void cpu_limit_find(cpu_kernel *k);
/* Before the branch of a block: nothing unless it is the latch of a loop with a safe point. */
void cpu_limit_poll(cpu_kernel *k, int latch);

/* ---- The report (report.c) ---- */
/* What was decided about an instruction; nothing happens if nobody asks. */
void cpu_note(cpu_kernel *k, const cpu_value *value, cpu_decision decision);
/* The variant is emitted: its branches, loops and barriers. */
void cpu_report_end_variant(cpu_kernel *k);

/* ---- Attributes (entry.c) ---- */
LLVMAttributeRef cpu_attribute(cpu_kernel *k, const char *name, uint64_t value);
/* The processor and vectors that all functions are made for. */
void cpu_function_attributes(cpu_kernel *k, LLVMValueRef function);

#endif
