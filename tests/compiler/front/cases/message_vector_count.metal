//@ check
//? source error
//: 12:12: error: no matching constructor for initialization of 'float4'
//: 12:12: note: a vector is made of one value, or of exactly as many components as it has
//: 13:12: error: no matching constructor for initialization of 'float4'
//: 14:11: error: no matching constructor for initialization of 'half3'
//: 15:19: error: no matching constructor for initialization of 'packed_float3'
#include <metal_stdlib>
using namespace metal;
kernel void k(device float4 *o)
{
    o[0] = float4(1, 2, 3);
    o[1] = float4(o[0].xy, 1);
    half3 h(1, 2);
    packed_float3 p(1, 2);
    o[2] = float4(h.x, o[1].yz, 1) + float4(o[0].xyz, 1) + float4(p, 1) + float4(o[0].xy, p.xy) + float4(7);
}
