//@ check
//? source error
//: 8:15: error: 'goto' is not available in Metal
#include <metal_stdlib>
using namespace metal;
kernel void k(device int *o)
{
    if (o[0]) goto end;
    o[1] = 2;
end:
    o[2] = 3;
}
