//@ check k
//@ std metal3.1
//! error
#ifndef __HAVE_BFLOAT__
#error wrong macros
#endif
#include <metal_stdlib>
using namespace metal;
kernel void k(device bfloat *a, device half *h) { a[0] = 1.5bf; h[0] = 1.5h; }
