// The Mandelbrot set: how soon each point escapes, as a colour.
#include <metal_stdlib>
using namespace metal;

struct view {
    float x, y, step; // of the middle; between two pixels
    uint width, height, limit;
};

static uint escape(float2 c, uint limit)
{
    float2 z = 0;
    uint n = 0;
    for (; n < limit && dot(z, z) <= 4; n++) z = float2(z.x * z.x - z.y * z.y, 2 * z.x * z.y) + c;
    return n;
}

[[tombac::requires("len(pixels) == v.width * v.height")]]
kernel void draw(device uchar4 *pixels, constant view &v, uint2 at [[thread_position_in_grid]])
{
    float2 c = float2(v.x, v.y) + (float2(at) - 0.5f * float2(v.width, v.height)) * v.step;
    uint n = escape(c, v.limit);
    pixels[at.y * v.width + at.x] = n == v.limit ? uchar4(0, 0, 0, 255) : uchar4(n * 7 & 255, n * 3 & 255, 255 - (n * 5 & 255), 255);
}
