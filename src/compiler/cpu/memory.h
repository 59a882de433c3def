/* Shared by memory.c and group.c: element types in memory and plain accesses. */
#ifndef TB_COMPILER_CPU_MEMORY_H
#define TB_COMPILER_CPU_MEMORY_H

#include "compiler/cpu/kernel.h"

/* The type by which an element is moved; its size in bytes, 0 for what no vector access can move. */
LLVMTypeRef cpu_memory_type(cpu_kernel *k, LLVMTypeRef type);
int cpu_memory_size(cpu_kernel *k, LLVMTypeRef type);
/* Same bits, other element type of the same size. */
LLVMValueRef cpu_cast_vector(cpu_kernel *k, LLVMValueRef vector, LLVMTypeRef element);
LLVMValueRef cpu_load_at(cpu_kernel *k, LLVMTypeRef type, LLVMValueRef address, unsigned align);
void cpu_store_at(cpu_kernel *k, LLVMValueRef value, LLVMValueRef address, unsigned align);
LLVMValueRef cpu_gather(
    cpu_kernel *k, LLVMTypeRef element, LLVMValueRef addresses, LLVMValueRef mask, unsigned align);

/* ---- With one base and 32-bit indices (gather.c) ---- */

/* The elements of the active lanes (zero elsewhere); NULL: the address is of another kind. */
LLVMValueRef cpu_gather_narrow(cpu_kernel *k, LLVMTypeRef element, LLVMValueRef pointer);
bool cpu_scatter_narrow(cpu_kernel *k, LLVMValueRef vector, LLVMValueRef pointer);
/* May this instruction write what others read, or read what they write? (group.c) */
bool cpu_may_write(const cpu_value *value);
/* Neither volatile nor atomic? */
bool cpu_is_plain(LLVMValueRef ir);

/* ---- Addresses in canonical form (address.c): root + sum of scale * ext(index) + constant ---- */

enum { MAX_TERMS = 8 };

typedef struct cpu_term {
    LLVMValueRef index;
    LLVMOpcode extension; /* LLVMZExt, LLVMSExt, or 0 */
    int64_t scale;
} cpu_term;

typedef struct cpu_canonical {
    LLVMValueRef root;
    cpu_term terms[MAX_TERMS]; /* ascending by index and extension */
    int term_count;
    int64_t constant;
} cpu_canonical;

cpu_canonical cpu_canonical_address(const cpu_kernel *k, LLVMValueRef pointer);
/* Do they differ by constants only? */
bool cpu_canonical_matches(const cpu_canonical *a, const cpu_canonical *b);

/* ---- Runs (runs.c): for each of `lanes` lanes, `run` adjacent elements ---- */

typedef struct cpu_run {
    LLVMTypeRef element;
    int size;      /* of an element, bytes */
    int run;       /* elements per lane, a power of two */
    bool widen;    /* loads: halves that become floats */
    int lanes;     /* a power of two */
    int64_t first; /* bytes from the base to the run */
    unsigned align;
    LLVMValueRef base;        /* address of lane 0, or */
    const LLVMValueRef *rows; /* one address per lane */
    const cpu_shape *shape;   /* of the base */
} cpu_run;

/* elements[e] is element e of the lanes' runs, a vector of `lanes`. */
void cpu_run_load(cpu_kernel *k, const cpu_run *run, LLVMValueRef *elements);
void cpu_run_store(cpu_kernel *k, const cpu_run *run, const LLVMValueRef *elements);

#endif
