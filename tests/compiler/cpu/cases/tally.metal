// Which arguments a kernel only counts in (src/compiler/cpu/tally.c), and what the object says about them.
#include <metal_stdlib>
using namespace metal;

// RUN counts: emit --what simd --target x86-64-v4 --kernel counts
// CHECK counts: @tombac_cpu_tallies = constant \[32 x i8\] c"\\00\\01\\02\\03\\04(\\00){27}"
// RUN no-lock: emit --what asm --engine cpu --target x86-64-v4 --kernel one_buffer
// CHECK no-lock: (\s*incl\s+\(%r\w+\)\n.*\n){30}
// CHECK no-lock: lock\s+(incl|addl)
kernel void counts(device const uint *in, device atomic_uint *a, device atomic_uint *b, device atomic_int *c, device atomic_uint *d,
                   uint i [[thread_position_in_grid]])
{
    uint x = in[i];
    atomic_fetch_add_explicit(&a[x & 15], x, memory_order_relaxed);
    if (x & 16) atomic_fetch_sub_explicit(&a[16], 1u, memory_order_relaxed);
    atomic_fetch_or_explicit(&b[x & 3], x, memory_order_relaxed);
    for (uint k = 0; k < x; k++) atomic_fetch_xor_explicit(&c[k & 7], int(x), memory_order_relaxed);
    atomic_fetch_max_explicit(d, x, memory_order_relaxed);
}
kernel void one_buffer(device const uint *in, device atomic_uint *bins, uint i [[thread_position_in_grid]])
{
    atomic_fetch_add_explicit(&bins[in[i] & 255], 1u, memory_order_relaxed);
}

// The old value is needed.
// RUN needed: emit --what simd --target x86-64-v4 --kernel needed
// CHECK needed: atomicrmw
// NOT needed: tombac_cpu_tallies
kernel void needed(device uint *out, device atomic_uint *bins, uint i [[thread_position_in_grid]])
{
    out[i] = atomic_fetch_add_explicit(&bins[i & 7], 1u, memory_order_relaxed);
}

// Read elsewhere in the kernel, or stored to.
// RUN read: emit --what simd --target x86-64-v4 --kernel also_read
// CHECK read: atomicrmw
// NOT read: tombac_cpu_tallies
kernel void also_read(device uint *out, device atomic_uint *bins, uint i [[thread_position_in_grid]])
{
    atomic_fetch_add_explicit(&bins[i & 7], 1u, memory_order_relaxed);
    out[i] = atomic_load_explicit(&bins[8], memory_order_relaxed);
}
// RUN stored: emit --what simd --target x86-64-v4 --kernel also_stored
// CHECK stored: atomicrmw
// NOT stored: tombac_cpu_tallies
kernel void also_stored(device atomic_uint *bins, uint i [[thread_position_in_grid]])
{
    atomic_fetch_add_explicit(&bins[i & 7], 1u, memory_order_relaxed);
    atomic_store_explicit(&bins[8 + i], 1u, memory_order_relaxed);
}

// Operations that do not go together, or whose neutral element is not zero; floats, whose order is seen.
// RUN mixed: emit --what simd --target x86-64-v4 --kernel mixed
// CHECK mixed: atomicrmw
// NOT mixed: tombac_cpu_tallies
kernel void mixed(device atomic_uint *a, device atomic_uint *b, device atomic_int *c, device atomic_float *d, uint i [[thread_position_in_grid]])
{
    atomic_fetch_add_explicit(&a[i & 7], 1u, memory_order_relaxed);
    atomic_fetch_or_explicit(&a[i & 7], 1u, memory_order_relaxed);
    atomic_fetch_min_explicit(&b[i & 7], i, memory_order_relaxed);
    atomic_fetch_max_explicit(&c[i & 7], int(i), memory_order_relaxed);
    atomic_fetch_add_explicit(&d[i & 7], 1.0f, memory_order_relaxed);
}

// One of two buffers, as a thread chooses.
// RUN chosen: emit --what simd --target x86-64-v4 --kernel chosen
// CHECK chosen: atomicrmw
// NOT chosen: tombac_cpu_tallies
kernel void chosen(device atomic_uint *a, device atomic_uint *b, uint i [[thread_position_in_grid]])
{
    atomic_fetch_add_explicit((i & 32 ? a : b) + (i & 7), 1u, memory_order_relaxed);
}

// A fence: other threadgroups could take what they see elsewhere as a sign that the count is there.
// RUN fence: emit --what simd --target x86-64-v4 --kernel fenced
// CHECK fence: atomicrmw
// NOT fence: tombac_cpu_tallies
kernel void fenced(device atomic_uint *bins, device atomic_uint *flag, uint i [[thread_position_in_grid]])
{
    atomic_fetch_add_explicit(&bins[i & 7], 1u, memory_order_relaxed);
    atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_device);
    atomic_store_explicit(flag, 1u, memory_order_relaxed);
}

// A pointer out of memory could lead to the same words.
struct place { device uint *words; };
// RUN pointer: emit --what simd --target x86-64-v4 --kernel by_pointer
// CHECK pointer: atomicrmw
// NOT pointer: tombac_cpu_tallies
kernel void by_pointer(device atomic_uint *bins, device const place *places, device uint *out, uint i [[thread_position_in_grid]])
{
    atomic_fetch_add_explicit(&bins[i & 7], 1u, memory_order_relaxed);
    out[i] = places[0].words[i];
}
