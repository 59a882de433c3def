//@ check
//? source error
//: 7:1: error: this '{' is never closed: expected '}'
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *o)
{
    if (o[0] > 1) {
        o[0] = 1;
}
