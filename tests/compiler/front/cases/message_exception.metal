//@ check
//? source error
//: 8:5: error: exceptions are not available in Metal
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *o)
{
    try {
        o[0] = 1;
    } catch (...) {
    }
}
