//@ check
//? source error
//: 6:33: error: the index of attribute 'buffer' must be between 0 and 30
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *o [[buffer(31)]]) { o[0] = 1; }
