//@ check
//? source error
//: 8:5: error: type 'double' does not exist in Metal
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *o)
{
    double x = 1;
    o[0] = x;
}
