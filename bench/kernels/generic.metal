// What a generic pointer costs where its memory is known only when the kernel runs (docs/coverage.md): the same walk over 4096
// numbers through a pointer that the compiler resolves, and through one that it cannot.
#include <metal_stdlib>
using namespace metal;

float walk(const float *p, uint n)
{
    float sum = 0;
    for (uint k = 0; k < n; k++) sum += p[k & 1023] * float(k);
    return sum;
}

kernel void resolved(device float *out, device const float *in, constant uint &shared_wanted, threadgroup float *shared,
                     uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]])
{
    for (uint k = t; k < 1024; k += 256) shared[k] = in[k];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = walk(in, 4096) + float(shared_wanted);
}

kernel void unresolved(device float *out, device const float *in, constant uint &shared_wanted, threadgroup float *shared,
                       uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]])
{
    for (uint k = t; k < 1024; k += 256) shared[k] = in[k];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = walk(shared_wanted ? (const float *)shared : (const float *)in, 4096) + float(shared_wanted);
}

kernel void branched(device float *out, device const float *in, constant uint &shared_wanted, threadgroup float *shared,
                     uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]])
{
    for (uint k = t; k < 1024; k += 256) shared[k] = in[k];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const float *p = shared_wanted ? (const float *)shared : (const float *)in;
    device const float *d = addrspace_cast<device const float *>(p);
    out[i] = (d ? walk(d, 4096) : walk(static_cast<threadgroup const float *>(p), 4096)) + float(shared_wanted);
}
