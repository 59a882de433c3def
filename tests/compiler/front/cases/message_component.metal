//@ check
//? source error
//: 6:40: error: no member named 'z' in 'float2'
#include <metal_stdlib>
using namespace metal;
kernel void k(device float2 *o) { o[0].z = 1; }
