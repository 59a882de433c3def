//@ check
//? source error
//: 9:35: error: no member named 'y' in 'S'
#include <metal_stdlib>
using namespace metal;
struct S {
    float x;
};
kernel void k(device S *s) { s[0].y = 1; }
