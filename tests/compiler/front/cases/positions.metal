//@ check
//? source error
//: 17:41: error: use of undeclared identifier 'missing'
//: 18:14: error: use of undeclared identifier 'nowhere'
//: 19:9: error: use of undeclared identifier 'untold'
//: 20:22: error: use of undeclared identifier 'comment'
//: 21:19: error: no member named 'q' in 'float4'
//: 22:5: error: use of undeclared identifier 'early'
//= positions.metal:6:1: error: unknown type name 'line'
//= 17 | float x = ADD(1.0, missing);
//= | ^
#include <metal_stdlib>
using namespace metal;
#define ADD(a, b) ((a) + (b))
#define UNKNOWN(x) nowhere(x)
kernel void k(device float *a [[buffer(0)]],   constant float4 &p [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    float  x    =   ADD(1.0,            missing);
    a[i] =   UNKNOWN(3) + p.x;
	a[0] =	untold;
    /* a comment */  comment = 1;
    a[i] = p.x, p.q;
    early = 2.0 + 1.0h + ADD(1.0, 2.0);
}
#line 6 "positions.metal"
line y;
