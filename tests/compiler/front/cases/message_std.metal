//@ check
//? source error
//: 7:41: error: use of undeclared identifier 'std'
//: 7:41: note: Metal has no C++ standard library; its own is in namespace metal
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *o) { o[0] = std::max(o[1], 2.0f); }
