#include <tombac/kernel.h>

static float twice(float x)
{
    float y = x + 3.0f;
    return y * y; // in the function
}

kernel void stepped_c(float *out, const float *in)
{
    uint i = thread_position_in_grid().x;
    float a = in[i];
    out[i] = twice(a); // at the call
}
