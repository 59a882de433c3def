//@ check
//? source error
//: 9:5: error: no matching function for call to 'threadgroup_barrier'
//: 9:5: note: say which memory it orders, as threadgroup_barrier(mem_flags::mem_threadgroup)
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *o)
{
    threadgroup_barrier();
    o[0] = 1;
}
