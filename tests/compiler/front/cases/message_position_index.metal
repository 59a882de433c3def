//@ check
//? source error
//: 7:72: error: no viable overloaded operator[] for type 'device float *'
//: 7:72: note: an index is one integer: take a component of a position, as i.x, or declare it as uint
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *a, uint2 i [[thread_position_in_grid]]) { a[i] = 1; }
