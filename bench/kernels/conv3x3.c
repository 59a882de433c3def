/* conv3x3.metal in C. */
#include <tombac/kernel.h>

kernel void conv3x3(const float *in, const float *weights, float *out, uint width)
{
    uint3 at = thread_position_in_grid();
    float sum = 0.0f;
    for (uint y = 0; y < 3; y++)
        for (uint x = 0; x < 3; x++) sum += weights[y * 3 + x] * in[(at.y + y) * (width + 2) + at.x + x];
    out[at.y * width + at.x] = sum;
}
