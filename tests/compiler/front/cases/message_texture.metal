//@ check
//? unsupported
//: 6:36: error: kernel parameters with attribute 'texture' are not supported
#include <metal_stdlib>
using namespace metal;
kernel void k(texture2d<float> t [[texture(0)]], device float4 *o) { o[0] = t.read(uint2(0)); }
