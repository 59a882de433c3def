/* Convolution of an image with a small filter; the result has the image's size, and beyond the edges all is
 * zero:
 *
 *     out(x, y) = sum over i, j of filter(i, j) in(x + filter_width / 2 - i, y + filter_height / 2 - j)
 *
 * An image of height 1 is a signal. Directly from the definition: neighbouring threads read neighbouring
 * elements, and all of them the same element of the filter at a time. SIMD-groups inside of the image need
 * no test of the edges; for the usual small squares their loops are written out. */
#include <tombac/kernel.h>

typedef struct convolution {
    uint width, height, filter_width, filter_height;
} convolution;

/* The sum whose first term is in[from]; the others lie before it. */
static inline float sum_inside(const float *restrict in, const float *restrict filter, uint from, uint width,
    uint filter_width, uint filter_height)
{
    float sum = 0.0f;
    for (uint j = 0; j < filter_height; j++)
        for (uint i = 0; i < filter_width; i++)
            sum = fmaf(filter[j * filter_width + i], in[from - j * width - i], sum);
    return sum;
}

kernel requires(len(in) >= s.width * s.height, len(out) >= s.width * s.height,
    len(filter) >= s.filter_width * s.filter_height) void convolve_float(const float *restrict in,
    const float *restrict filter, float *restrict out, convolution s)
{
    uint3 p = thread_position_in_grid();
    uint right = s.filter_width / 2, down = s.filter_height / 2;
    uint left = s.filter_width - 1 - right, up = s.filter_height - 1 - down;
    uint first_x = p.x + right, first_y = p.y + down, at = p.y * s.width + p.x;
    if (simd_all(p.x >= left && p.y >= up && first_x < s.width && first_y < s.height)) {
        uint from = first_y * s.width + first_x, square = s.filter_width == s.filter_height ? s.filter_width : 0;
        if (square == 3)
            out[at] = sum_inside(in, filter, from, s.width, 3, 3);
        else if (square == 5)
            out[at] = sum_inside(in, filter, from, s.width, 5, 5);
        else if (square == 7)
            out[at] = sum_inside(in, filter, from, s.width, 7, 7);
        else
            out[at] = sum_inside(in, filter, from, s.width, s.filter_width, s.filter_height);
        return;
    }
    if (p.x >= s.width || p.y >= s.height) return;
    float sum = 0.0f;
    for (uint j = 0; j < s.filter_height; j++)
        for (uint i = 0; i < s.filter_width; i++) {
            uint x = first_x - i, y = first_y - j; /* before the first: huge */
            if (x < s.width && y < s.height)
                sum = fmaf(filter[j * s.filter_width + i], in[y * s.width + x], sum);
        }
    out[at] = sum;
}
