//@ check
//? source error
//: 6:13: error: a kernel cannot be called 'main'
#include <metal_stdlib>
using namespace metal;
kernel void main(device float *a) { a[0] = 1; }
