//@ check
//! cannot be initialised
// The braces of a type's members are no initialiser.
#include <metal_stdlib>
using namespace metal;
struct S {
    int x;
};
kernel void k(device float *b)
{
    threadgroup struct {
        int x;
        float y[3];
    } whole;
    threadgroup struct T {
        int z;
    } named[2];
    threadgroup union {
        float f;
        uint u;
    } either;
    threadgroup struct S zero{};
    threadgroup T *p = named;
    whole.y[1] = 3, named[1].z = 4, either.f = 1, zero.x = 1;
    b[0] = whole.y[1] + p[1].z + either.u + zero.x;
}
