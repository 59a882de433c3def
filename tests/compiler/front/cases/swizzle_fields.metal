//@ check k
//! error
// A class with a member xy: the spelling means the member there and the swizzle on vectors.
#include <metal_stdlib>
struct Pair { int xy; };
kernel void k(device float2 *a, device Pair *b, device float4 *c) { b->xy = 3; a[0] = c[0].xy; c[1].zw = a[0]; }
