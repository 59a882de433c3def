//@ check
//? source error
//: 7:27: error: a list for a vector has too many elements
//: 10:12: error: a list for a vector has too many elements
#include <metal_stdlib>
using namespace metal;
constant float2 pair[] = {{1, 2, 3}};
kernel void k(device float4 *o)
{
    o[0] = {1, 2, 3, 4, 5};
    o[1] = {1, 2, o[0].x, pair[0].y};
}
