//@ check
//? source error
//: 7:76: error: use of undeclared identifier 'atomic_fetch_add'
//: 7:76: note: atomic operations name their order, as atomic_fetch_add_explicit(p, 1, memory_order_relaxed)
#include <metal_stdlib>
using namespace metal;
kernel void k(device atomic_uint *a, uint i [[thread_position_in_grid]]) { atomic_fetch_add(a, 1); }
