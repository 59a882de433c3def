/* Indices as sums of multiples; see affine.c. */
#ifndef TB_COMPILER_CPU_AFFINE_H
#define TB_COMPILER_CPU_AFFINE_H

#include "compiler/cpu/kernel.h"

enum { AFFINE_TERMS = 6 };

typedef struct cpu_affine {
    LLVMOpcode extension; /* of the sum to 64 bits: LLVMZExt, LLVMSExt */
    int count, leaf[AFFINE_TERMS]; /* numbers of values, ascending */
    int32_t factor[AFFINE_TERMS];
    int64_t constant, top; /* top: of a zext, the greatest offset of a lane */
} cpu_affine;

/* Index number i of `address`, whose elements have `size` bytes, as *constant more than the result; NULL: it is in no family. */
LLVMValueRef cpu_family_index(cpu_kernel *k, const cpu_value *address, unsigned i, int64_t size, int64_t *constant);

#endif
