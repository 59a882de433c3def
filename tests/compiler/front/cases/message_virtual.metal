//@ check
//? source error
//: 7:5: error: virtual functions are not available in Metal
#include <metal_stdlib>
using namespace metal;
struct S {
    virtual int f() { return 1; }
};
kernel void k(device int *o)
{
    S s;
    o[0] = s.f();
}
