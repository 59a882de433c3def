//@ check
//? source error
//: 7:46: error: invalid operands to binary expression ('device float' and 'float')
//: 7:46: note: the remainder of floats is fmod(x, y)
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *o) { o[0] = o[1] % 2.0f; }
