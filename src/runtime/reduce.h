/* Sums, minima and maxima of arrays, on the host. */
#ifndef RT_REDUCE_H
#define RT_REDUCE_H

#include "tombac/tombac.h"

/* to[i] is from[0][i] combined with from[1][i] and so on, in this order; to may be from[0]. Half and brain
 * floats are added in single precision and rounded once. Not for TOMBAC_TYPE_BOOL and TOMBAC_TYPE_OTHER. */
void rt_reduce(tombac_type type, tombac_reduction reduction, const void *const *from, size_t arrays, void *to,
    size_t count);

#endif
