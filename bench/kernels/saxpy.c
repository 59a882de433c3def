/* saxpy.metal in C. */
#include <tombac/kernel.h>

kernel void saxpy(const float *x, float *y, float alpha, uint n)
{
    uint i = thread_position_in_grid().x;
    if (i >= n) return;
    y[i] = alpha * x[i] + y[i];
}
