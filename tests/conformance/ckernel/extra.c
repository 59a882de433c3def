/* Functions that C has and Metal has not: no Metal source is made of them. */
#include <tombac/kernel.h>

kernel void functions_of_c(const float *in, const float *with, float *out)
{
    uint i = thread_position_in_grid().x, n = threads_per_grid().x;
    float x = in[i], y = with[i];
    out[i] = cbrtf(x);
    out[i + n] = expm1f(x);
    out[i + 2 * n] = log1pf(y);
    out[i + 3 * n] = erff(x);
    out[i + 4 * n] = hypotf(x, y);
    out[i + 5 * n] = tgammaf(y);
}
