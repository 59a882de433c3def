//@ check
//? source error
//: 7:41: error: use of undeclared identifier 'M_PI'
//: 7:41: note: Metal's constants have the type at the end, as M_PI_F and M_PI_H
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *a) { a[0] = M_PI; }
