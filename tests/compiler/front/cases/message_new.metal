//@ check
//? source error
//: 8:21: error: 'new' is not available in Metal
#include <metal_stdlib>
using namespace metal;
kernel void k(device int *o)
{
    thread int *p = new int;
    o[0] = *p;
}
