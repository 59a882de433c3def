/* Map: out[i] = f(in[i]), one thread for an element.
 *
 * Threads of a SIMD-group touch neighbouring elements, so that memory is read and written in whole lines; the
 * arithmetic of most functions hides behind the memory traffic. in and out may be the same buffer: a thread
 * touches its own element alone. */
#include <math.h>
#include <tombac/kernel.h>

#define MAP(NAME, EXPRESSION)                                                                                \
    kernel requires(len(in) >= n, len(out) >= n) void map_##NAME##_float(                                    \
        const float *in, float *out, uint n)                                                                 \
    {                                                                                                        \
        uint i = thread_position_in_grid().x;                                                                \
        if (i >= n) return;                                                                                  \
        float x = in[i];                                                                                     \
        out[i] = EXPRESSION;                                                                                 \
    }
MAP(abs, fabsf(x))
MAP(negate, -x)
MAP(square, x *x)
MAP(sqrt, sqrtf(x))
MAP(reciprocal, 1.0f / x)
MAP(exp, expf(x))
MAP(log, logf(x))
MAP(sin, sinf(x))
MAP(cos, cosf(x))
MAP(tanh, tanhf(x))

/* out = a x + b, with the sum rounded once */
kernel requires(len(in) >= n, len(out) >= n) void map_affine_float(
    const float *in, float *out, uint n, float a, float b)
{
    uint i = thread_position_in_grid().x;
    if (i < n) out[i] = fmaf(a, in[i], b);
}
