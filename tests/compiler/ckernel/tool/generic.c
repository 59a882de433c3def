#include <stdatomic.h>
#include <tombac/kernel.h>
// Generic pointers of helpers cost nothing: every access is to the memory that the pointer comes from, whether it was
// passed, chosen or advanced in a loop.
// RUN spaces: emit --what ir --kernel spaces
// NOT spaces: load \w+, ptr %
// NOT spaces: store \w+ %?[\w.]+, ptr %
// NOT spaces: addrspacecast
// CHECK spaces: load float, ptr addrspace\(1\)
// CHECK spaces: ptr addrspace\(3\)
static float sum(const float *x, uint n)
{
    float s = 0;
    for (const float *p = x; p < x + n; p++) s += *p;
    return s;
}
static void put(float *to, float value)
{
    *to = value;
}
kernel void spaces(const float *x, float *y, threadgroup float *scratch, uint n)
{
    threadgroup float tile[8];
    uint t = thread_index_in_threadgroup();
    put(tile + t, x[t]);
    put(scratch + t, x[t]);
    threadgroup_barrier(mem_threadgroup);
    const float *from = n > 4 ? x : y;
    put(y + t, sum(x, n) + sum(tile, 8) + sum(scratch, 8) + sum(from, n));
}

// By-value parameters are read-only memory that no other argument overlaps: loads of them are invariant.
// RUN invariant: emit --what ir --kernel invariant
// CHECK invariant: define void @tombac.kernel\(ptr addrspace\(1\) noalias nonnull readonly dereferenceable\(4\) %0
// RUN invariant-code: emit --what reflection --kernel invariant
// CHECK invariant-code: "name": "n",\s+"kind": "constant"
// CHECK invariant-code: "reference": true
kernel void invariant(uint n, float *x)
{
    for (uint i = 0; i < n; i++) x[i] += 1;
}

// Vectors reach the engines as scalars.
// RUN vectors: emit --what ir --kernel vectors
// CHECK vectors: fmul
// NOT vectors: (load|store|fmul|shufflevector) [^\n]*<4 x float>
kernel void vectors(float4 *x)
{
    uint i = thread_position_in_grid().x;
    x[i] = (x[i] * x[i].wzyx).yxwz;
}

// Attributes and contracts reach the manifest; a slice brings its own contract.
// RUN attributes: emit --what reflection --kernel attributes
// CHECK attributes: "max_total_threads_per_threadgroup": 64
// CHECK attributes: "required_threads_per_threadgroup": \[\s*32,\s*2,\s*1\s*\]
// CHECK attributes: "requires": \[\s*"len\(x\) == len\(y\)",\s*"n > 0",\s*"s_count <= len\(s\)"
kernel requires(len(x) == len(y), n > 0) threads_at_most(64) threads_required(32, 2) math_mode(safe)
void attributes(const float *x, float *y, uint n, slice(float) s)
{
    y[0] = x[0] * x[1] + x[2] + (float)n + s.pointer[0];
}
// The kernel's own mode is that of its code: nothing is reassociated or contracted.
// RUN safe: emit --what ir --kernel attributes
// NOT safe: reassoc
// CHECK safe: fadd

// So do atomic operations: in threadgroup memory they are cheap, and on no device are they generic.
// RUN atomics: emit --what ir --kernel atomics
// CHECK atomics: atomicrmw volatile add ptr addrspace\(3\)
// CHECK atomics: atomicrmw volatile umax ptr addrspace\(1\)
// CHECK atomics: cmpxchg weak volatile ptr addrspace\(1\)
// NOT atomics: (atomicrmw|cmpxchg)[ a-z]* ptr %
// NOT atomics: tombac\.volatile
kernel void atomics(const uint *x, atomic_uint *y)
{
    threadgroup atomic_uint counts[8];
    uint t = thread_index_in_threadgroup();
    atomic_fetch_add_explicit(&counts[x[t] & 7], 1u, memory_order_relaxed);
    threadgroup_barrier(mem_threadgroup);
    atomic_fetch_max_explicit(y, atomic_load_explicit(&counts[t & 7], memory_order_relaxed), memory_order_relaxed);
    uint expected = 3;
    atomic_compare_exchange_weak_explicit(y, &expected, 4u, memory_order_relaxed, memory_order_relaxed);
}

// Enumerators and other integer constants of the file are values in contracts, unless a parameter has their name; enumerations are integers.
// RUN contracts: emit --what reflection --kernel contracts
// CHECK contracts: "requires": \[\s*"n <= 64",\s*"s == 4 \|\| s == \(-1\)",\s*"SQUARE > 0.5f && p.scale < 8 \* 2",\s*"len\(x\) >= 64 - n"\s*\]
// CHECK contracts: "name": "s",[\s\S]*"type": "shape",\s*"scalar": "i32"
enum shape { NONE = -1, ROUND = 4 };
enum { LIMIT = 64, SQUARE = 9, scale = 5 };
static const int eight = 8;
struct settings {
    float scale;
};
kernel requires(n <= LIMIT, s == ROUND || s == NONE, SQUARE > 0.5f && p.scale < eight * 2, len(x) >= LIMIT - n)
void contracts(uint n, enum shape s, float SQUARE, struct settings p, float *x)
{
    x[0] = SQUARE + (float)n + (float)s + p.scale;
}
