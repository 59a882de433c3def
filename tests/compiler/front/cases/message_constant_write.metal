//@ check
//? source error
//: 10:9: error: cannot assign to variable 'p' with const-qualified type 'constant float4 &'
//: 10:9: note: memory behind const or constant cannot be written
//: 8:32: note: variable 'p' declared const here
#include <metal_stdlib>
using namespace metal;
kernel void k(constant float4 &p, device float4 *o)
{
    p.x = 2;
    o[0] = p;
}
