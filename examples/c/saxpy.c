/* y = a * x + y: a thread per element; threads beyond the end do nothing. */
#include <tombac/kernel.h>

kernel requires(len(x) >= n, len(y) >= n) void saxpy(float a, const float *x, float *y, uint n)
{
    uint i = thread_position_in_grid().x;
    if (i < n) y[i] += a * x[i];
}
