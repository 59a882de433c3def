//@ check
//? source error
//: 10:46: error: member reference base type 'float' is not a structure or union
//: 13:12: note: in instantiation of function template specialization 'twice<float>' requested here
//: 14:5: error: no matching function for call to 'helper'
//: 11:7: note: candidate function not viable: cannot pass pointer to address space 'constant' as a pointer to address space 'device' in 1st argument
//: 15:5: error: no matching function for call to 'clamp'
//! share/tombac
#include <metal_stdlib>
template <typename T> T twice(T x) { return x.foo; }
float helper(device float *p) { return *p; }
kernel void k(device float *a, constant float *b) {
    a[0] = twice(1.0);
    helper(b);
    metal::clamp(a, b);
}
