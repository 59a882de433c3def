/* Convolution of an image with a small filter; the result has the image's size, and beyond the edges all is
 * zero:
 *
 *     out(x, y) = sum over i, j of filter(i, j) in(x + filter_width / 2 - i, y + filter_height / 2 - j)
 *
 * An image of height 1 is a signal. Directly from the definition: neighbouring threads read neighbouring
 * elements, and all of them the same element of the filter at a time. Threadgroups inside of the image need
 * no test of the edges. */
#include <tombac/kernel.h>

typedef struct convolution {
    uint width, height, filter_width, filter_height;
} convolution;

kernel requires(len(in) >= s.width * s.height, len(out) >= s.width * s.height,
    len(filter) >= s.filter_width * s.filter_height) void convolve_float(const float *restrict in,
    const float *restrict filter, float *restrict out, convolution s)
{
    uint3 p = thread_position_in_grid();
    if (p.x >= s.width || p.y >= s.height) return;
    uint right = s.filter_width / 2, down = s.filter_height / 2;
    uint left = s.filter_width - 1 - right, up = s.filter_height - 1 - down;
    uint first_x = p.x + right, first_y = p.y + down;
    float sum = 0.0f;
    bool inside = p.x >= left && p.y >= up && first_x < s.width && first_y < s.height;
    if (inside) {
        for (uint j = 0; j < s.filter_height; j++)
            for (uint i = 0; i < s.filter_width; i++)
                sum = fmaf(filter[j * s.filter_width + i], in[(first_y - j) * s.width + first_x - i], sum);
    } else {
        for (uint j = 0; j < s.filter_height; j++)
            for (uint i = 0; i < s.filter_width; i++) {
                uint x = first_x - i, y = first_y - j; /* before the first: huge */
                if (x < s.width && y < s.height)
                    sum = fmaf(filter[j * s.filter_width + i], in[y * s.width + x], sum);
            }
    }
    out[p.y * s.width + p.x] = sum;
}
