//@ check
//? source error
//: 5:10: fatal error: 'vector' file not found
//: 5:10: note: Metal has no C++ standard library; its own is <metal_stdlib>
#include <vector>
#include <metal_stdlib>
using namespace metal;
kernel void k(device uint *a) { a[0] = 1; }
