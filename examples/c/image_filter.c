/* A blur of 3 x 3 pixels (binomial weights) of an image of RGBA bytes; beyond its edges the image goes on as
 * at them. */
#include <tombac/kernel.h>

kernel requires(len(in) == width * height, len(out) == width * height) void blur(
    const uchar4 *in, uchar4 *out, uint width, uint height)
{
    uint3 p = thread_position_in_grid();
    if (p.x >= width || p.y >= height) return;
    uint4 sum = {8, 8, 8, 8}; /* half of 16, so that the division rounds */
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) {
            uint x = (uint)clamp((int)p.x + dx, 0, (int)width - 1),
                 y = (uint)clamp((int)p.y + dy, 0, (int)height - 1);
            uchar4 pixel = in[y * width + x];
            uint weight = (dx ? 1 : 2) * (dy ? 1 : 2);
            sum += weight * (uint4){pixel.x, pixel.y, pixel.z, pixel.w};
        }
    out[p.y * width + p.x] =
        (uchar4){(uchar)(sum.x / 16), (uchar)(sum.y / 16), (uchar)(sum.z / 16), (uchar)(sum.w / 16)};
}
