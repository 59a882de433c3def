//@ check
//? source error
//: 6:18: error: the index of a function constant must be an integer constant between 0 and 65535
#include <metal_stdlib>
using namespace metal;
constant int c [[function_constant(70000)]];
kernel void k(device int *o) { o[0] = c; }
