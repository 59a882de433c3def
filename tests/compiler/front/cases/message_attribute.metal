//@ check
//? source error
//: 6:41: error: unknown attribute 'thread_position_in_gird'; did you mean 'thread_position_in_grid'?
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *o, uint i [[thread_position_in_gird]]) { o[i] = 1; }
