// y = alpha * x + y for a grid of whole threadgroups: the threads beyond the end must do nothing.
#include <metal_stdlib>
using namespace metal;

struct saxpy_arguments {
    float alpha;
    uint n;
};

kernel void saxpy(constant saxpy_arguments &arguments [[buffer(0)]],
                  device const float *x [[buffer(1)]],
                  device float *y [[buffer(2)]],
                  uint i [[thread_position_in_grid]])
{
    if (i >= arguments.n) return;
    y[i] = arguments.alpha * x[i] + y[i];
}
