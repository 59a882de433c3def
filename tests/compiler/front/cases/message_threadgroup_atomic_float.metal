//@ check
//? source error
//: 6:46: error: adding to atomic floats in threadgroup memory needs language version metal4.1 or later
#include <metal_stdlib>
using namespace metal;
kernel void k(threadgroup atomic_float *s) { atomic_fetch_add_explicit(s, 1.0f, memory_order_relaxed); }
