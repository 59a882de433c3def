//@ check
//? source error
//: 9:9: error: value of type 'bool4' is not contextually convertible to 'bool'
//: 9:9: note: make one bool of a vector's with all(...) or any(...)
#include <metal_stdlib>
using namespace metal;
kernel void k(device float4 *o)
{
    if (o[0] > o[1]) o[0] = 1;
}
