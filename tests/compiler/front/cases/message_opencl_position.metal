//@ check
//? source error
//: 7:42: error: use of undeclared identifier 'get_global_id'
//: 7:42: note: a kernel gets positions as parameters, as uint i [[thread_position_in_grid]]
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *a) { int i = get_global_id(0); a[i] = 1; }
