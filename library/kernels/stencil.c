/* A step of the heat equation on a grid: each cell moves towards the mean of its four neighbours,
 *
 *     out = in + rate (left + right + above + below - 4 in),    stable for rate <= 1/4
 *
 * and nothing flows over the edges (a neighbour outside is the cell itself). The method is Jacobi's: all
 * cells of a step are made of the step before, so in and out are different buffers, which change places from
 * step to step. SIMD-groups inside of the grid need no test of the edges. */
#include <tombac/kernel.h>

static float step(float own, float left, float right, float above, float below, float rate)
{
    return fmaf(rate, (left + right) + (above + below) - 4.0f * own, own);
}

kernel requires(len(in) >= width * height, len(out) >= width * height) void stencil_heat(
    const float *restrict in, float *restrict out, uint width, uint height, float rate)
{
    uint3 p = thread_position_in_grid();
    uint i = p.y * width + p.x;
    if (simd_all(p.x > 0 && p.x + 1 < width && p.y > 0 && p.y + 1 < height)) {
        out[i] = step(in[i], in[i - 1], in[i + 1], in[i - width], in[i + width], rate);
        return;
    }
    if (p.x >= width || p.y >= height) return;
    float own = in[i];
    float left = p.x > 0 ? in[i - 1] : own, right = p.x + 1 < width ? in[i + 1] : own;
    float above = p.y > 0 ? in[i - width] : own, below = p.y + 1 < height ? in[i + width] : own;
    out[i] = step(own, left, right, above, below, rate);
}
