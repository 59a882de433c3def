//@ check k
//! error
// Words that are no keywords in Metal, names of C++ library functions, and a library macro redefined.
#include <metal_stdlib>
using namespace metal;
constant float M_SCALE_F = 2.0;
int local(int pipe) { return pipe; }
struct kernel_args { int global, generic, event_t; };
kernel void k(device float *a, constant kernel_args &x, ushort2 g [[threadgroup_position_in_grid]], uint i [[thread_position_in_grid]])
{
    int vertex_stage = local(x.global);
    auto square = [&](float v) thread { return v * v; };
    a[i] = square(vertex_stage) + M_SCALE_F + g.x;
}
