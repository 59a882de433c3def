// Escape times: a loop whose length differs between neighbouring threads.
#include <metal_stdlib>
using namespace metal;

kernel void mandelbrot(device int *counts [[buffer(0)]],
                       constant float &left [[buffer(1)]],
                       constant float &top [[buffer(2)]],
                       constant float &step [[buffer(3)]],
                       constant uint &width [[buffer(4)]],
                       constant int &limit [[buffer(5)]],
                       uint2 pixel [[thread_position_in_grid]])
{
    float cx = left + float(pixel.x) * step;
    float cy = top + float(pixel.y) * step;
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
