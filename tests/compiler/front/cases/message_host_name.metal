//@ check
//@ warnings
//: 8:22: warning: this instantiation of kernel 'fill' has no [[host_name("...")]]: the host cannot find it
#include <metal_stdlib>
using namespace metal;
template <typename T> kernel void fill(device T *o) { o[0] = T(1); }
template [[host_name("fill_float")]] kernel void fill<float>(device float *);
template kernel void fill<int>(device int *);
template <typename T> T twice(T x) { return x * 2; }
template int twice<int>(int);
