//@ check
//? source error
//: 7:63: error: invalid operands to binary expression ('device float4' and 'device int4')
//: 7:63: note: vectors of different types do not mix; convert one, as float4(v)
#include <metal_stdlib>
using namespace metal;
kernel void k(device float4 *o, device int4 *p) { o[0] = o[1] + p[0]; }
