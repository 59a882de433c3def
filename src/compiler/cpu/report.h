/* What the vectoriser decided, for `tombac inspect --emit report`.
 *
 * While a variant of the kernel is emitted, every memory access, atomic update, division by lanes, call by lanes,
 * collective and barrier leaves a note where it is decided (cpu_note); branches and loops are noted from the analysis.
 * A note carries the source line, so the kernel must still have its line tables. Without a report (k->options->report
 * NULL) noting does nothing. report_print.c makes text and JSON of the notes. */
#ifndef TB_COMPILER_CPU_REPORT_H
#define TB_COMPILER_CPU_REPORT_H

#include "base/error.h"
#include "base/text.h"

#include <stdint.h>

/* Name, words, cost in the units of one vector operation (what a reader should look at first; no measurement). */
#define CPU_DECISIONS(X)                                                                                              \
    X(UNIFORM, "uniform", "one address for all threads: scalar access", 1)                                            \
    X(SCALARS, "scalars", "few addresses, one for each block of threads: scalar accesses", 2)                         \
    X(CONTIGUOUS, "contiguous", "adjacent elements: one vector access", 1)                                            \
    X(BLOCKS, "block-contiguous", "adjacent elements within blocks of threads: one vector access for each block", 3)  \
    X(INTERLEAVED, "interleaved", "constant stride: wide accesses and permutations", 4)                               \
    X(ROWS, "rows", "each thread's adjacent elements: wide accesses and a transposition", 16)                         \
    X(GATHER, "gather", "addresses without order: gather", 32)                                                        \
    X(SCATTER, "scatter", "addresses without order: scatter", 48)                                                     \
    X(LANES, "lane loop", "thread by thread", 96)                                                                     \
    X(PRIVATE_CELLS, "private array", "private array, kept so that threads are adjacent", 1)                          \
    X(ATOMIC_COMBINED, "atomic combined", "all threads update one address: combined first, then one update", 12)      \
    X(ATOMIC_LANES, "atomic lane loop", "thread by thread, without a lock (threadgroup memory)", 96)                  \
    X(ATOMIC_TALLY, "atomic tally", "counted by each processor for itself, or locked if another argument sees the buffer", 96) \
    X(ATOMIC_LOCKED, "atomic locked", "thread by thread, each with a locked instruction", 320)                        \
    X(DIVISION_WIDE, "64-bit division", "64-bit integer division: thread by thread", 320)                             \
    X(DIVISION, "division", "integer division by a value that is no constant: through floating point", 12)            \
    X(CALL_LANES, "call lane loop", "a call for each thread", 96)                                                     \
    X(LOG, "log", "logging: thread by thread", 320)                                                                   \
    X(COLLECTIVE, "collective", "operation across the SIMD-group, in registers", 8)                                   \
    X(BARRIER, "barrier", "threadgroup barrier: the SIMD-group's live values are saved and loaded", 8)                \
    X(BRANCH_UNIFORM, "uniform branch", "all threads of a SIMD-group go one way: a branch", 1)                        \
    X(BRANCH_DIVERGENT, "divergent branch", "threads may differ: both ways run under masks", 8)                       \
    X(BRANCH_FORCED, "checked branch", "leaves a loop around a barrier: taken as uniform, and tested", 2)             \
    X(LOOP_UNIFORM, "uniform loop", "all threads of a SIMD-group leave together", 1)                                  \
    X(LOOP_DIVERGENT, "divergent loop", "runs until the last thread of the SIMD-group leaves", 8)

typedef enum cpu_decision {
#define X(name, word, text, cost) CPU_##name,
    CPU_DECISIONS(X)
#undef X
    CPU_DECISION_COUNT
} cpu_decision;

/* Why an address has no order: what its computation goes through. */
typedef enum cpu_reason {
    CPU_REASON_NONE,
    CPU_REASON_MEMORY,   /* an index that is loaded */
    CPU_REASON_STRIDE,   /* a product with a value that is known at run time only */
    CPU_REASON_DIVISION, /* a quotient or remainder */
    CPU_REASON_BITS,     /* shifts and masks that cut a pattern */
    CPU_REASON_CONTROL,  /* a choice made by each thread: select, or assigned under a condition or in a loop */
    CPU_REASON_OTHER
} cpu_reason;

typedef enum cpu_space { CPU_SPACE_NONE, CPU_SPACE_DEVICE, CPU_SPACE_THREADGROUP, CPU_SPACE_PRIVATE } cpu_space;

typedef struct cpu_note_record {
    cpu_decision decision;
    int variant;
    char *file; /* of the report's pool; NULL: unknown */
    unsigned line;
    int loop; /* in the report's loops: the innermost one around; -1: none */
    bool masked;  /* some threads may be inactive: the access is masked or tested */
    bool guarded; /* skipped where no thread is active */
    /* accesses */
    bool store, is_volatile;
    cpu_space space;
    int argument;   /* the kernel's argument that the address starts from; -1: none or several */
    int size;       /* bytes of an element */
    int64_t stride; /* between neighbouring threads, where it is a constant */
    bool has_stride;
    cpu_reason reason;
    unsigned reason_line;
    const char *operation; /* collectives, calls: a name; else NULL */
    /* barriers: bytes per SIMD-group */
    size_t saved, loaded;
    int count; /* equal notes */
} cpu_note_record;

typedef struct cpu_note_loop {
    int variant, parent, depth;
    char *file;
    unsigned line;
    bool divergent;
} cpu_note_loop;

typedef struct cpu_report_variant {
    char name[32]; /* "rows of 32 threads", "rows of 16 threads", "any shape" */
    size_t context;
} cpu_report_variant;

enum { CPU_REPORT_VARIANTS = 4 };

typedef struct cpu_report {
    cpu_note_record *notes;
    size_t note_count, note_room;
    cpu_note_loop *loops;
    size_t loop_count, loop_room;
    cpu_report_variant variants[CPU_REPORT_VARIANTS];
    int variant_count;
    char **strings; /* pool */
    size_t string_count, string_room;
    bool bad; /* memory ran out */
} cpu_report;

void cpu_report_free(cpu_report *report);

/* What the printed report needs from outside. */
typedef struct cpu_report_context {
    const char *kernel, *file, *target;
    const char *(*argument)(void *data, int index);                         /* its name */
    bool (*line)(void *data, const char *file, unsigned line, tb_text *out); /* the source line's text */
    void *data;
} cpu_report_context;

tombac_status cpu_report_print(
    const cpu_report *report, const cpu_report_context *context, bool json, tb_text *out, tombac_error **error);

#endif
