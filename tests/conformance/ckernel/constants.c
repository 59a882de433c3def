/* Function constants: values that are set when the kernel is made. */
#include <tombac/kernel.h>

enum { SCALE = 4 };
function_constant(0) uint rounds;
function_constant(SCALE) float2 scale;
function_constant(2) bool twice;
function_constant(0x10) int8_t shift;

static float term(uint k)
{
    return scale.x * (float)k + scale.y;
}

kernel void specialised(float *out)
{
    uint i = thread_position_in_grid().x;
    float sum = 0;
    for (uint k = 0; k < rounds; k++) sum += term(k);
    if (is_function_constant_defined(twice)) sum = twice ? sum * 2 : sum + 1000;
    out[i] = sum + (is_function_constant_defined(shift) ? (float)((int)i + shift) : (float)i + 100);
}
