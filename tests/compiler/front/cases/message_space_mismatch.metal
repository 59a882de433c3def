//@ check
//? source error
//: 9:41: error: no matching function for call to 'f'
//: 8:7: note: candidate function not viable: cannot pass pointer to address space 'device' as a pointer to address space 'threadgroup' in 1st argument
//: 8:7: note: a function takes the address spaces that its parameters name; add an overload for this one
#include <metal_stdlib>
using namespace metal;
float f(threadgroup float *p) { return p[0]; }
kernel void k(device float *o) { o[0] = f(o); }
