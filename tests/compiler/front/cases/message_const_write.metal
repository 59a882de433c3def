//@ check
//? source error
//: 7:45: error: read-only variable is not assignable
//: 7:45: note: memory behind const or constant cannot be written
#include <metal_stdlib>
using namespace metal;
kernel void k(device const float *o) { o[0] = 1; }
