/* What kernels of the engine "cuda" and its driver agree on.
 *
 * The object is PTX text. Its first line is a comment that the driver reads:
 *
 *     // tombac cuda: FUNCTION RECORDS KIND KIND ...; ARGUMENT.OFFSET.SIZE ARGUMENT.OFFSET.SIZE ...; FACTOR
 *
 * FUNCTION is the entry's name, RECORDS 1 where the kernel writes records (below), and each KIND tells how
 * an argument of the manifest is passed, in their order: "p" the device address (8 bytes), "v" by value (the
 * argument's bytes, as many as the manifest's `size`), "t" the offset of a block of threadgroup memory (4
 * bytes; the first begins behind the kernel's own variables, at the next multiple of 16), "-" not at all.
 * The entry's parameters are a tb_cuda_launch followed by the arguments. Blocks are one-dimensional, of
 * whole SIMD-groups (the threadgroup's size rounded up); all threadgroup memory is dynamic shared memory, of
 * whole lines of 128 bytes. There are two entries, FUNCTION and FUNCTION with TB_CUDA_GENERAL behind it. The
 * first is for plain launches: `linear` is 0, every threadgroup is whole, its threads are whole SIMD-groups,
 * buffers begin at multiples of 16 bytes, and arguments hold multiples of 16 where the list after the
 * semicolon says: integers of SIZE bytes at OFFSET in argument number ARGUMENT of the manifest, which is
 * passed by value. It may also take fewer threads in a threadgroup than the second, which takes as many as
 * the manifest says. With "; FACTOR" there is a third entry, FUNCTION and TB_CUDA_WIDE, for launches that the
 * first could take: each of its threads does the work of FACTOR neighbours, so that its blocks have as many
 * times fewer threads, whole SIMD-groups still. It is for grids that leave the GPU enough threads. The global TB_CUDA_LITERALS, where there is one, lists the program's strings: pairs of
 * address and size (uint64_t). */
#ifndef TB_ARTIFACT_CUDA_H
#define TB_ARTIFACT_CUDA_H

#include "artifact/abi.h"

#include <stdbool.h>

#define TB_CUDA_ENTRY "tombac_cuda_kernel"
#define TB_CUDA_GENERAL "_general"
#define TB_CUDA_WIDE "_wide"
#define TB_CUDA_LITERALS "tombac_cuda_literals"
#define TB_CUDA_HEADER "// tombac cuda:"

enum { TB_CUDA_BY_VALUE = 1024 }; /* larger references are passed by address */

typedef struct tb_cuda_launch {
    tb_dispatch dispatch; /* its first block is filled in */
    uint32_t linear;      /* not 0: threadgroups are numbered, x + gridDim.x * y, instead of placed */
    uint64_t records;     /* device address of a tb_cuda_records, or 0 */
} tb_cuda_launch;

/* A thread's view; only the compiler's own code uses it. */
typedef struct tb_cuda_thread {
    tb_dispatch dispatch;
    uint32_t position[3], index, lane, simdgroup;
    uint32_t mask; /* lanes of the SIMD-group that exist */
    uint64_t records;
} tb_cuda_thread;

/* ---- Records: what kernels say ---- */

enum { TB_CUDA_LOG = 1, TB_CUDA_ASSERTION = 2, TB_CUDA_UNSUPPORTED = 3 };
enum { TB_CUDA_RECORD_BYTES = 8 << 20 };

typedef struct tb_cuda_value {
    uint64_t kind, bits; /* docs/operations.md "Logging" */
} tb_cuda_value;

typedef struct tb_cuda_record {
    uint32_t size, kind;   /* size with its values, in bytes */
    uint64_t group;        /* the threadgroup's number */
    uint32_t thread;       /* thread_index_in_threadgroup */
    uint32_t number;       /* level, or line */
    uint32_t count, spare; /* values */
    uint64_t text[2];      /* addresses: format; condition and file; what */
} tb_cuda_record;

typedef struct tb_cuda_records {
    uint32_t used, full; /* bytes that were asked for, more than TB_CUDA_RECORD_BYTES where some were lost */
    uint64_t spare;
} tb_cuda_records;

#endif
