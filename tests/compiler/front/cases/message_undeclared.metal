//@ check
//? source error
//: 6:77: error: use of undeclared identifier 'expp'
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = expp(o[i]); }
