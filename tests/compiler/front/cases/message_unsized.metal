//@ check
//? source error
//: 9:23: error: definition of variable with array type needs an explicit size or an initializer
//: 9:23: note: threadgroup memory whose size the host gives is an argument, as threadgroup float *p [[threadgroup(0)]]
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *o)
{
    threadgroup float s[];
    o[0] = s[0];
}
