//@ check
//? source error
//: 8:17: error: cannot initialize a variable of type 'device int *' with an lvalue of type 'device float *'
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *o)
{
    device int *p = o;
    p[0] = 1;
}
