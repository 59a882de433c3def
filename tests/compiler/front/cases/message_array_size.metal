//@ check
//? source error
//: 11:13: error: the size of an array must be a constant
//: 11:13: note: give it a constant size, or a function constant's largest value
//: 11:13: note: function parameter 'n' with unknown value cannot be used in a constant expression
//: 9:47: note: declared here
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *o, constant uint &n)
{
    float a[n];
    a[0] = 1;
    o[0] = a[0];
}
