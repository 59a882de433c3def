/* What math.bc holds: instructions per function, and whether it is what kernels can be linked with. */
#ifndef TB_TESTS_MATH_COST_H
#define TB_TESTS_MATH_COST_H

#include <stdbool.h>

typedef struct math_bitcode math_bitcode;

/* NULL if the file is no bitcode. */
math_bitcode *bitcode_open(const char *path);
void bitcode_close(math_bitcode *bitcode);
/* LLVM instructions of __tombac_MODE_NAME.f32 (bitcasts, which are free, and phis not counted), -1 if it is
 * not defined. */
int bitcode_cost(const math_bitcode *bitcode, const char *mode, const char *name);
/* Calls `report` with the name of every undefined function that is no intrinsic, of every intrinsic of
 * transcendental functions, and of every global variable; returns how many. */
int bitcode_foreign(const math_bitcode *bitcode, void (*report)(const char *name));
/* True if all functions are linkonce_odr and carry no attribute that ties them to a target. */
bool bitcode_is_portable(const math_bitcode *bitcode, void (*report)(const char *name));

#endif
