//@ check blur
//? unsupported
//: 6:55: error: kernel parameters with attribute 'texture' are not supported
#include <metal_stdlib>
using namespace metal;
kernel void blur(texture2d<float, access::read> src [[texture(0)]], uint2 gid [[thread_position_in_grid]]) {}
