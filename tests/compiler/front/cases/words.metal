//@ check
//? source error
//: 20:12: error: no viable conversion from 'float3' to 'float2'
//: 21:9: error: assigning to 'device float *' from incompatible type 'constant float4'
//: 22:19: error: cannot initialize a variable of type 'device float *' with an lvalue of type 'threadgroup float[32]'
//: 23:11: error: no viable conversion from 'float4x4' to 'half2'
//: 24:17: error: no viable conversion from 'packed_float3' to 'int *'
//: 25:9: error: cannot assign to variable 'p' with const-qualified type 'constant float4 &'
//: 26:24: error: incompatible operand types of '?:'
//: 27:7: error: no member named 'xy'
//! swz
//! __
//! opencl
//! metal::vec
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *a, constant float4 &p, uint i [[thread_position_in_grid]])
{
    threadgroup float tmp[32];
    float2 f = p.xyz;
    a = p;
    device float *d = tmp;
    half2 h = float4x4(1.0);
    thread int *q = packed_float3(1);
    p.x = 2;
    float array[2] = i ? a : tmp;
    i.xy = 3;
}
