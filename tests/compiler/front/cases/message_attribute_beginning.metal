//@ check
//? source error
//: 6:40: error: unknown attribute 'thread_index_in_simd'; did you mean 'thread_index_in_simdgroup'?
#include <metal_stdlib>
using namespace metal;
kernel void k(device uint *a, uint l [[thread_index_in_simd]]) { a[l] = l; }
