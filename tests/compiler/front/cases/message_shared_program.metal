//@ check
//? source error
//: 6:19: error: variable 's' at program scope must be in constant memory: 'constant' is missing
#include <metal_stdlib>
using namespace metal;
threadgroup float s[32];
kernel void k(device float *o) { o[0] = s[0]; }
