//@ check
//? source error
//: 7:41: error: use of undeclared identifier 'powf'
//: 7:41: note: Metal's functions have one name for all types, without C's suffix: exp, sqrt, fmax
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *a) { a[0] = powf(a[0], 2.0f); }
