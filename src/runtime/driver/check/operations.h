/* Collective operations on the lanes of one SIMD-group, as docs/operations.md defines them. Pure. */
#ifndef RT_CHECK_OPERATIONS_H
#define RT_CHECK_OPERATIONS_H

#include "artifact/check.h"

#include <stdbool.h>

/* `active` has a bit per lane that takes part; operands[lane][k] are bit patterns, zero-extended. Writes
 * results[lane] of the active lanes. False where the operation cannot be done by these lanes: a matrix
 * operation needs all 32. */
bool check_collective(
    const tb_check_site *site, uint32_t active, const uint64_t (*operands)[4], uint64_t *results);

#endif
