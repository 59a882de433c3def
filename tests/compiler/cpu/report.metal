// What the vectoriser says about itself: `// report: A; B` names the decisions of this line, in the first form of the code.
#include <metal_stdlib>
using namespace metal;

struct sizes { uint width, n; };

kernel void accesses(device float *out [[buffer(0)]], const device float *in [[buffer(1)]], const device uint *table [[buffer(2)]],
    constant sizes &s [[buffer(3)]], const device float4 *wide [[buffer(4)]], const device uchar *bytes [[buffer(5)]],
    device volatile uint *seen [[buffer(6)]], uint i [[thread_position_in_grid]])
{
    uint base = table[i];              // report: contiguous
    uint n = s.n;                      // report: uniform
    float4 w = wide[i];                // report: interleaved
    float x = in[base];                // report: gather
    x += in[i * s.width];              // report: gather; uniform
    x += in[i / n + 3];                // report: gather; division
    x += in[i * 64];                   // report: interleaved
    x += bytes[base];                  // report: lane loop
    seen[i] = n;                       // report: lane loop
    out[base] = x + w.x * w.y * w.z;   // report: scatter
    out[n] = x;                        // report: uniform
}

kernel void flow(device int *out [[buffer(0)]], const device int *in [[buffer(1)]], constant uint &n [[buffer(2)]],
    uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]])
{
    threadgroup int tile[256];
    int x = in[i];                     // report: contiguous
    if (n > 5) {                       // report: uniform; uniform branch
        out[i] = 1;                    // report: contiguous
    }
    while (x > 7) x = (x >> 1) - in[x & 1]; // report: divergent branch; divergent loop; gather
    if (x & 1)                         // report: divergent branch
        out[i + 512] = x;              // report: contiguous
    tile[t] = x;                       // report: contiguous
    threadgroup_barrier(mem_flags::mem_threadgroup); // report: barrier
    x += tile[t ^ 1];                  // report: interleaved
    x += simd_sum(x);                  // report: collective
    out[i] = x;                        // report: contiguous
}

kernel void updates(device atomic_uint *counts [[buffer(0)]], const device uint *in [[buffer(1)]], device atomic_uint *least [[buffer(2)]],
    uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]])
{
    threadgroup atomic_uint local[64];
    if (t < 64)                        // report: uniform branch
        atomic_store_explicit(&local[t], 0, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup); // report: barrier
    uint bin = in[i] & 63;             // report: contiguous
    atomic_fetch_add_explicit(&local[bin], 1, memory_order_relaxed);   // report: atomic lane loop
    atomic_fetch_add_explicit(&counts[bin], 1, memory_order_relaxed);  // report: atomic tally
    atomic_fetch_min_explicit(&least[bin], i, memory_order_relaxed);   // report: atomic locked
    atomic_fetch_add_explicit(&counts[64], 1, memory_order_relaxed);   // report: atomic combined
    ulong q = (ulong(in[i + 64]) << 33) / (in[i + 128] + 1ul);         // report: contiguous; 64-bit division
    threadgroup_barrier(mem_flags::mem_threadgroup); // report: barrier
    atomic_fetch_add_explicit(&counts[65 + (q & 1)], atomic_load_explicit(&local[0], memory_order_relaxed), memory_order_relaxed); // report: atomic tally; lane loop
}
