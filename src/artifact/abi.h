/* What compiled kernels and the runtime agree on: the dispatch record and the entry points of the object code.
 *
 * A kernel's object is an ELF relocatable file for the host. It defines one entry point per engine (below) and may refer to
 * the engine's runtime functions, which the loader resolves from the driver's table of names.
 *
 * Arguments come as an array of addresses, one per argument that the reflection lists, in the order of declaration: for a
 * buffer or constant argument the address of its first byte, for a threadgroup argument the address of its block in
 * the running threadgroup's memory; NULL for an argument that a function constant removed. A tensor argument is the
 * address of its first element; its layout (extents, then strides in elements, uint64_t) is a constant argument after
 * all of the source's. */
#ifndef TB_ARTIFACT_ABI_H
#define TB_ARTIFACT_ABI_H

#include <stdint.h>

#define TB_ABI_VERSION 4 /* goes into artifacts; raise it when anything in this file changes */

enum { TB_SIMD_WIDTH = 32, TB_MAX_THREADS_PER_THREADGROUP = 1024, TB_MAX_THREADGROUP_MEMORY = 32768 };
enum { TB_MAX_BUFFERS = 31, TB_MAX_FUNCTION_CONSTANTS = 65536 }; /* indices count from 0 */

/* All values are in threads or threadgroups; index 0, 1, 2 is x, y, z. The first block is fixed during a launch, the second
 * belongs to the threadgroup that runs. Kernels load from it at the offset of the field. */
typedef struct tb_dispatch {
    uint32_t threads_per_grid[3];
    uint32_t threadgroups_per_grid[3];
    uint32_t dispatch_threads_per_threadgroup[3]; /* as launched */
    uint32_t grid_origin[3];                      /* zero */
    uint32_t dispatch_simdgroups_per_threadgroup;

    uint32_t threadgroup_position_in_grid[3];
    uint32_t threads_per_threadgroup[3]; /* smaller than launched in partial threadgroups at the grid's edges */
    uint32_t simdgroups_per_threadgroup;
    uint32_t thread_count; /* product of threads_per_threadgroup */
} tb_dispatch;

/* ---- Engine "check" ---- */

/* Of an argument: how many bytes lie before its address in the bound buffer, and the size of all of it. */
typedef struct tb_check_extent {
    uint64_t before, size;
} tb_check_extent;

/* State of one thread, as far as kernel code reads it; the driver keeps more behind it. */
typedef struct tb_check_thread {
    uint32_t position[3]; /* thread_position_in_threadgroup */
    uint32_t index;       /* thread_index_in_threadgroup */
    uint32_t lane;        /* thread_index_in_simdgroup */
    uint32_t simdgroup;   /* simdgroup_index_in_threadgroup */
    void *threadgroup_memory; /* base of the kernel's own (static) threadgroup variables */
    uint64_t range_begin, range_size; /* the block that the last device access was found in (check.h) */
    uint64_t memory_begin, memory_size; /* all of the threadgroup's memory */
    uint32_t countdown;       /* loop iterations until the next tombac_check_tick */
    uint32_t races;           /* not zero: accesses are told to tombac_check_race */
    const tb_check_extent *extents; /* one per argument */
} tb_check_thread;

#define TB_CHECK_ENTRY "tombac_check_thread"
/* Runs one thread from start to end. */
typedef void tb_check_entry(const tb_dispatch *dispatch, void *const *arguments, tb_check_thread *thread);

/* ---- Engine "cpu" ---- */

/* One worker's view of the threadgroup that it runs. */
typedef struct tb_cpu_group {
    void *threadgroup_memory; /* base of the static threadgroup variables, 64-byte aligned, padded by 128 bytes */
    void *context;            /* per-SIMD-group state across barriers, `context_size` bytes for each SIMD-group */
    const uint32_t *stop;     /* loops look at it; not zero: TB_CPU_STOP is called */
    void *general;            /* TB_CPU_GENERAL of the rest, where the object has TB_CPU_SHAPES; NULL: not there yet */
    uint32_t tallies; /* bit n: argument n's address is that of a block of this worker alone (TB_CPU_TALLIES) */
} tb_cpu_group;

#define TB_CPU_ENTRY "tombac_cpu_threadgroup"
/* Called by kernel code where threads of a threadgroup wait at different barriers; ends the launch with an error. */
#define TB_CPU_DIVERGENT_BARRIER "tombac_cpu_divergent_barrier"
/* void (const char *file, uint32_t line): called by a loop that found *stop set; file NULL: unknown. Does not return. */
#define TB_CPU_STOP "tombac_cpu_stop"
/* A constant in the object, if the code relies on buffers of less than 4 GiB (32-bit index arithmetic that may wrap). */
#define TB_CPU_SMALL_BUFFERS "tombac_cpu_small_buffers"
#define TB_CPU_MAX_SMALL_BUFFER (((uint64_t)1 << 32) - ((uint64_t)1 << 28))
/* Arguments that the kernel only counts in: a constant in the object, one byte (tb_cpu_tally) for each of the first TB_CPU_TALLIES_MAX
 * arguments; no such constant: none. Instead of the buffer a worker may be given a block of zeros, of the buffer's size and
 * alignment, and combine its 32-bit words with the buffer's by this operation, unsigned, behind its last threadgroup, provided
 * that no other argument's buffer has memory in common with it. */
#define TB_CPU_TALLIES "tombac_cpu_tallies"
enum { TB_CPU_TALLIES_MAX = 32 };
typedef enum tb_cpu_tally {
    TB_CPU_TALLY_NONE,
    TB_CPU_TALLY_ADD,
    TB_CPU_TALLY_OR,
    TB_CPU_TALLY_XOR,
    TB_CPU_TALLY_MAX
} tb_cpu_tally;
/* A constant in the object, if the code for threadgroups of any shape was left out: a set of numbers that says of which rows whole
 * SIMD-groups may consist, 32 for rows of a multiple of 32 threads, w for rows of w threads, a power of two below. The code
 * that was left out is in the artifact's section REST; what the compiler makes of it is an object with the function
 * TB_CPU_GENERAL, whose address goes into tb_cpu_group. Threadgroups of other shapes must not be run without it. */
#define TB_CPU_SHAPES "tombac_cpu_shapes"
#define TB_CPU_GENERAL "tombac_cpu_general"
/* Runs one whole threadgroup. */
typedef void tb_cpu_entry(const tb_dispatch *dispatch, void *const *arguments, tb_cpu_group *group);

#endif
