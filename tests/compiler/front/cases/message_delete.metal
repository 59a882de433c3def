//@ check
//? source error
//: 6:32: error: 'delete' is not available in Metal
#include <metal_stdlib>
using namespace metal;
kernel void k(device int *o) { delete o; }
