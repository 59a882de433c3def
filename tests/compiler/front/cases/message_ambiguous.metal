//@ check
//? source error
//: 7:77: error: call to 'max' is ambiguous
//: 7:77: note: the arguments have different types, of which none is preferred; convert them to one, as max(x, 0.0f) or max(i, 1u)
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *a, uint i [[thread_position_in_grid]]) { a[i] = max(a[i], 0); }
