// Every thread sorts 16 numbers in a private array by insertion: nested loops whose lengths depend on the
// data.
#include <metal_stdlib>
using namespace metal;

kernel void sort16(device const float *in [[buffer(0)]],
                   device float *out [[buffer(1)]],
                   constant uint &n [[buffer(2)]],
                   uint i [[thread_position_in_grid]])
{
    float values[16];
    for (uint k = 0; k < 16; k++) values[k] = in[i + k * n];
    for (int k = 1; k < 16; k++) {
        float value = values[k];
        int at = k;
        while (at > 0 && values[at - 1] > value) {
            values[at] = values[at - 1];
            at--;
        }
        values[at] = value;
    }
    out[i] = values[7] + 2.0f * values[8];
}
