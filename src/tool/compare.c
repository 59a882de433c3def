/* Expected against found; see compare.h. */
#include "tool/compare.h"

#include <math.h>

static bool same(tool_number a, tool_number b)
{
    if (!a.is_float && !b.is_float)
        return a.magnitude == b.magnitude && (a.negative == b.negative || !a.magnitude);
    double x = tool_number_real(a), y = tool_number_real(b);
    return x == y || (isnan(x) && isnan(y));
}

void tool_compare(
    const tool_array *found, const tool_array *expected, double tolerance, tool_difference *difference)
{
    size_t count = tool_array_scalar_count(found);
    *difference = (tool_difference){0};
    for (size_t i = 0; i < count; i++) {
        tool_number a = tool_scalar_load(found->type, tool_array_at(found, i));
        tool_number b = tool_scalar_load(expected->type, tool_array_at(expected, i));
        if (same(a, b)) continue;
        double want = tool_number_real(b), error = fabs(tool_number_real(a) - want);
        if (error > difference->largest) {
            difference->largest = error;
            difference->largest_at = i;
        }
        if (tolerance > 0 && isfinite(want) && error <= tolerance + tolerance * fabs(want)) continue;
        if (difference->count++ == 0) difference->first = i;
    }
}
