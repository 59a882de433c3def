// y = alpha x + y: streams two vectors, one multiply-add per element.
#include <metal_stdlib>
using namespace metal;

kernel void saxpy(device const float *x [[buffer(0)]],
                  device float *y [[buffer(1)]],
                  constant float &alpha [[buffer(2)]],
                  constant uint &n [[buffer(3)]],
                  uint i [[thread_position_in_grid]])
{
    if (i >= n) return;
    y[i] = alpha * x[i] + y[i];
}
