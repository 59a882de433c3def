/* The check engine's compiler: a prepared kernel becomes scalar code for one thread, in which nothing is
 * undefined.
 *
 * Takes a kernel as ir_prepare leaves it and gives an object with TB_CHECK_ENTRY (artifact/abi.h,
 * artifact/check.h):
 *   1. entry.c    arguments and positions come from the dispatch and thread records
 *   2. unset.c    uses of values that nothing set are reported
 *   3. strict.c   no undefined behaviour is left for LLVM to exploit: division, shifts, conversions, poison,
 * flags
 *   4. order.c    the block order that convergence rests on
 *   5. sites.c    collectives, barriers and loop latches become waits at numbered sites
 *   6. memory.c   every access goes through one hook (bounds.c: which object a pointer points into)
 *   7. compile.c  a short pass list and code generation */
#ifndef TB_COMPILER_CHECK_CHECK_H
#define TB_COMPILER_CHECK_CHECK_H

#include "compiler/ir/ir.h"

/* Appends the object (or assembly) to `object`. The kernel's module is used up. */
tombac_status check_compile(ir_kernel *kernel, bool assembly, tb_text *object, tombac_error **error);

#endif
