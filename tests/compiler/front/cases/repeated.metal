//@ check
//? source error
// One mistake in a template is one error, however many instantiations there are; a mistake in ?: is one at the '?'.
//: 10:46: error: member reference base type 'float' is not a structure or union
//: 15:54: error: incompatible operand types of '?:'
//: 16:14: error: assigning to 'float' from incompatible type 'float4'
//! 'half'
#include <metal_stdlib>
using namespace metal;
template <typename T> T twice(T x) { return x.foo() * 2; }
template <typename T> kernel void k(device T *a)
{
    a[0] = twice(a[0]);
}
kernel void t(device float *a) { float4 v = a[0] > 0 ? float4(1) : float3(2); a[0] = v.x;
    a[0] = v.xyzw; }
template [[host_name("kf")]] kernel void k<float>(device float *);
template [[host_name("ki")]] kernel void k<int>(device int *);
template [[host_name("kh")]] kernel void k<half>(device half *);
