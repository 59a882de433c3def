//@ check k
//! warning
// Asked for precision, clang gets no licence to be imprecise; it says nothing about the pragma.
#include <metal_stdlib>
#pragma float_control(precise, on)
using namespace metal;
kernel void k(device float *a) { a[0] = a[1] + a[2]; }
