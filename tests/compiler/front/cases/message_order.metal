//@ check
//? source error
//: 6:93: error: atomic operations with an order other than memory_order_relaxed need language version metal4.1 or later
#include <metal_stdlib>
using namespace metal;
kernel void k(device atomic_uint *o) { atomic_fetch_add_explicit(o, 1u, memory_order_acq_rel); }
