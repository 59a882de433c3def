//@ check user
//? unsupported
//: 6:38: error: texture2d is not supported by Tombac: kernels work on buffers
#include <metal_stdlib>
using namespace metal;
static float4 fetch(texture2d<float> t, uint2 p) { return t.read(p); }
kernel void user(device float4 *a, uint i [[thread_position_in_grid]]) { a[i] = fetch(a, i); }
