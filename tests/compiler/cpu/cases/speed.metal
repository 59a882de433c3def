// What the cpu engine must not make: each case is a property of the code that was measured to matter.
#include <metal_stdlib>
using namespace metal;

// Atomics on threadgroup memory take no lock, on device memory they do.
// RUN local-atomics: emit --what asm --engine cpu --kernel local_atomics
// CHECK local-atomics: tombac_cpu_threadgroup
// NOT local-atomics: \block\b
// NOT local-atomics: \bxchg[lq]\s.*\(
// RUN device-atomics: emit --what asm --engine cpu --kernel device_atomics
// CHECK device-atomics: \block\s+(add|inc)
kernel void local_atomics(device const uint *in, device uint *out, uint i [[thread_index_in_threadgroup]])
{
    threadgroup atomic_uint bins[256];
    threadgroup atomic_int extreme[256];
    threadgroup atomic_uint total;
    uint x = in[i] & 255;
    atomic_fetch_add_explicit(&bins[x], 1u, memory_order_relaxed);
    atomic_fetch_max_explicit(&extreme[x], int(i), memory_order_relaxed);
    out[i] = atomic_exchange_explicit(&bins[x ^ 1], i, memory_order_relaxed);
    uint expected = x;
    out[i] += atomic_compare_exchange_weak_explicit(&bins[x ^ 2], &expected, i, memory_order_relaxed, memory_order_relaxed);
    out[i] += atomic_fetch_add_explicit(&total, x, memory_order_relaxed);
}
kernel void device_atomics(device const uint *in, device atomic_uint *bins, uint i [[thread_position_in_grid]])
{
    atomic_fetch_add_explicit(&bins[in[i] & 255], 1u, memory_order_relaxed);
}

// All lanes on one address make one update.
// RUN one-address: emit --what simd --kernel one_address
// CHECK one-address: = call i32 @llvm.vector.reduce.add
// CHECK one-address: ^\s+%\w+ = atomicrmw volatile add
// NOT one-address: @llvm.cttz
kernel void one_address(device const uint *in, device atomic_uint *total, uint i [[thread_position_in_grid]])
{
    atomic_fetch_add_explicit(total, in[i], memory_order_relaxed);
}
