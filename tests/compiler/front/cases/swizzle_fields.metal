//@ check
//! error
// A class with a member xy: the spelling means the member there and the swizzle on vectors.
#include <metal_stdlib>
struct Pair { int xy; };
kernel void k(device float2 *a, device Pair *b, device float4 *c) { b->xy = 3; a[0] = c[0].xy; c[1].zw = a[0]; }
// Inside ?:, whose operands the rewriter repeats.
kernel void t(device float4 *a, constant float4 *c, device Pair *b)
{
    a[0].xy = b->xy ? a[1].xy : c[1].xy;
    a[1].zw = b->xy > 1 ? c[0].xy : a[0].xy + (b->xy < 0 ? c[1].xy : a[1].xy);
}
