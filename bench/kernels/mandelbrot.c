/* mandelbrot.metal in C. */
#include <tombac/kernel.h>

kernel void mandelbrot(int *counts, float left, float top, float step, uint width, int limit)
{
    uint3 pixel = thread_position_in_grid();
    float cx = left + (float)pixel.x * step;
    float cy = top + (float)pixel.y * step;
    float x = 0.0f, y = 0.0f;
    int count = 0;
    while (count < limit && x * x + y * y < 4.0f) {
        float next = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = next;
        count++;
    }
    counts[pixel.y * width + pixel.x] = count;
}
