//@ check
//? source error
//: 6:34: error: '__syncthreads' does not exist in Metal; threads of a threadgroup wait with threadgroup_barrier(mem_flags::mem_threadgroup)
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *a) { __syncthreads(); a[0] = 1; }
