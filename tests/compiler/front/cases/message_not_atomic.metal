//@ check
//? source error
//: 7:33: error: no matching function for call to 'atomic_fetch_add_explicit'
//: 7:33: note: the first argument must point to an atomic type in device or threadgroup memory, as device atomic_uint *
#include <metal_stdlib>
using namespace metal;
kernel void k(device uint *o) { atomic_fetch_add_explicit(o, 1u, memory_order_relaxed); }
