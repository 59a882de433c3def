//@ check
//? source error
//: 8:41: error: no matching function for call to 'f'
//: 7:7: note: candidate function not viable: requires 2 arguments, but 1 was provided
#include <metal_stdlib>
using namespace metal;
float f(float a, float b) { return a + b; }
kernel void k(device float *o) { o[0] = f(o[1]); }
