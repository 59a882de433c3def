/* Two stages over a vector; what they share is passed as a structure by value. */
#include <tombac/kernel.h>

typedef struct affine {
    float scale, offset;
    uint n;
} affine;

static float apply(affine a, float x)
{
    return x * a.scale + a.offset;
}

kernel threads_required(128)
    requires(len(in) == len(out), a.n == len(in)) void scale(const float *in, float *out, affine a)
{
    uint i = thread_position_in_grid().x;
    if (i < a.n) out[i] = apply(a, in[i]) * 2.0f;
}

kernel requires(len(in) == len(out), a.n == len(in)) void finish(const float *in, float *out, affine a)
{
    uint i = thread_position_in_grid().x;
    if (i < a.n) out[i] = apply(a, in[i]);
}
