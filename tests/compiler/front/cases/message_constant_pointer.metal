//@ check
//? source error
//: 11:5: error: no matching function for call to 'f'
//: 8:6: note: candidate function not viable: cannot pass pointer to address space 'constant' as a pointer to address space 'device' in 1st argument
//: 8:6: note: a function takes the address spaces that its parameters name; add an overload for this one
#include <metal_stdlib>
using namespace metal;
void f(device float *p) { p[0] = 1; }
kernel void k(constant float *c, device float *o)
{
    f(c);
    o[0] = 1;
}
