//@ check
//@ std metal3.2
//? source error
//: 6:11: error: 'required_threads_per_threadgroup' needs language version metal4.0 or later; this is metal3.2
#include <metal_stdlib>
[[kernel, required_threads_per_threadgroup(32, 1, 1)]] void k(device int *o) { o[0] = 3; }
