//@ check
//? source error
//: 6:12: error: kernel 'k' must return void
#include <metal_stdlib>
using namespace metal;
kernel int k(device float *o) { return 1; }
