/* Expected against found: the verdict behind --expect.
 *
 * A scalar is right if |found - expected| <= tolerance + tolerance * |expected|, computed in double. With
 * tolerance 0 that means equal (+0 equals -0; 64-bit integers are compared exactly). NaN is right where NaN
 * is expected, an infinity only where the same infinity is expected. */
#ifndef TB_TOOL_COMPARE_H
#define TB_TOOL_COMPARE_H

#include "tool/array.h"

typedef struct tool_difference {
    size_t count;   /* wrong scalars */
    size_t first;   /* index of the first of them */
    double largest; /* largest |found - expected| of all scalars; NaN does not count */
    size_t largest_at;
} tool_difference;

/* Both must have the same number of scalars. */
void tool_compare(
    const tool_array *found, const tool_array *expected, double tolerance, tool_difference *difference);

#endif
