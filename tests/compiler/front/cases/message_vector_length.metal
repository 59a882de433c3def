//@ check
//? source error
//: 7:58: error: no viable overloaded '='
//: 7:58: note: the two sides have different types; convert explicitly, as float4(v, 0) or float4(i)
#include <metal_stdlib>
using namespace metal;
kernel void k(device float4 *o, device float3 *p) { o[0] = p[0]; }
