//@ check
//? source error
//: 6:37: error: kernel parameter 'n' has no attribute that says what it receives; a value from the host is a reference, as constant int &n
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *o, uint n) { o[n] = 1; }
