//@ check
//? source error
//: 8:15: error: expected ';' at end of declaration
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *o)
{
    float x = 1
    o[0] = x;
}
