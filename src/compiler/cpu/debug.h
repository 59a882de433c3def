/* Code for a debugger (debug.c); all of it does nothing unless k->options->debug. */
#ifndef TB_COMPILER_CPU_DEBUG_H
#define TB_COMPILER_CPU_DEBUG_H

#include "compiler/cpu/kernel.h"

/* Describes the step function that begins; until cpu_debug_end what the builders make has its position. */
void cpu_debug_begin(cpu_kernel *k, const char *name);
void cpu_debug_end(cpu_kernel *k);
/* What is emitted from here on is the code of this instruction of the kernel; first the variables that have a new value
 * before it. */
void cpu_debug_at(cpu_kernel *k, LLVMValueRef instruction);
/* The entry point's description, which its calls of the steps need. */
void cpu_debug_entry(cpu_kernel *k, LLVMValueRef function);
/* After a failure too. */
void cpu_debug_free(cpu_kernel *k);
/* The module is done: drops what only the vectoriser needed. */
void cpu_debug_finish(cpu_kernel *k);

#endif
