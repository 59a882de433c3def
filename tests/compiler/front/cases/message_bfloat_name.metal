//@ check
//? source error
//: 7:41: error: unknown type name 'bfloat16_t'
//: 7:41: note: Metal's type is bfloat, from metal3.1 on
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *a, constant bfloat16_t *b) { a[0] = b[0]; }
