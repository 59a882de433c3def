//@ check
//? source error
//: 6:44: error: invalid suffix 'd' on floating constant
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *o) { o[0] = 1.0d; }
