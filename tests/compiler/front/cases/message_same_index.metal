//@ check
//? source error
//: 6:60: error: kernel parameter 'p' has the index of another one
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *o [[buffer(1)]], device float *p [[buffer(1)]]) { o[0] = p[0]; }
