//@ check
//@ warnings
//: 18:45: warning: not all threads of a threadgroup may come to this barrier, which waits for all
//: 18:19: note: 'last' in this condition differs between them
//: 22:9: warning: not all threads of a threadgroup may come to this barrier, which waits for all
//: 20:26: note: 'at' in this condition differs between them
//: 26:9: warning: not all threads of a threadgroup may come to this barrier, which waits for all
//: 23:9: note: 'i' in this condition differs between them
// The name varies by way of a variable, of a loop's start, of an else; barriers before and behind are fine.
#include <metal_stdlib>
using namespace metal;
kernel void k(device uint *o, uint i [[thread_position_in_threadgroup]], uint lane [[thread_index_in_simdgroup]],
              uint size [[threads_per_threadgroup]])
{
    uint at = i, last = size - 1;
    last -= lane;
    threadgroup_barrier(mem_flags::mem_device);
    while (size > last) { last++; if (size) threadgroup_barrier(mem_flags::mem_device); }
    threadgroup_barrier(mem_flags::mem_device);
    for (uint n = 0; n < at; n++)
    {
        threadgroup_barrier(mem_flags::mem_threadgroup); }
    if (i > 3)
        o[i] = 1;
    else if (size > 4)
        threadgroup_barrier(mem_flags::mem_threadgroup);
    threadgroup_barrier(mem_flags::mem_threadgroup);
}
