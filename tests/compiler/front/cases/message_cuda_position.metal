//@ check
//? source error
//: 9:42: error: use of undeclared identifier 'threadIdx'
//: 9:42: note: a kernel gets positions as parameters, as uint i [[thread_position_in_threadgroup]]
//: 9:56: error: use of undeclared identifier 'blockIdx'
//: 9:56: note: a kernel gets positions as parameters, as uint g [[threadgroup_position_in_grid]]
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *a) { int i = threadIdx.x + blockIdx.x; a[i] = 1; }
