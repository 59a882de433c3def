//@ check
//? source error
//: 8:25: error: variables in threadgroup memory cannot be initialised
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *o)
{
    threadgroup float s = 1;
    o[0] = s;
}
