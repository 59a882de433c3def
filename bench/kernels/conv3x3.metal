// A 3 x 3 convolution of one plane; the input has a margin of one element on each side.
#include <metal_stdlib>
using namespace metal;

kernel void conv3x3(device const float *in [[buffer(0)]],
                    constant float *weights [[buffer(1)]],
                    device float *out [[buffer(2)]],
                    constant uint &width [[buffer(3)]],
                    uint2 at [[thread_position_in_grid]])
{
    float sum = 0.0f;
    for (uint y = 0; y < 3; y++)
        for (uint x = 0; x < 3; x++) sum += weights[y * 3 + x] * in[(at.y + y) * (width + 2) + at.x + x];
    out[at.y * width + at.x] = sum;
}
