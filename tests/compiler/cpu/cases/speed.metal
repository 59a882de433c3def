// What the cpu engine must not make: each case is a property of the code that was measured to matter.
#include <metal_stdlib>
using namespace metal;

// Atomics on threadgroup memory take no lock, on device memory they do.
// RUN local-atomics: emit --what asm --engine cpu --target x86-64-v4 --kernel local_atomics
// CHECK local-atomics: tombac_cpu_threadgroup
// NOT local-atomics: \block\b
// NOT local-atomics: \bxchg[lq]\s.*\(
// RUN device-atomics: emit --what asm --engine cpu --target x86-64-v4 --kernel device_atomics
// CHECK device-atomics: \block\s+(add|inc)
// ... one for all lanes that meet at an address, and threadgroup memory none under a mask either.
// RUN meeting: emit --what simd --target x86-64-v4 --kernel device_atomics
// CHECK meeting: icmp eq <32 x i64>
// RUN masked-local: emit --what asm --engine cpu --target x86-64-v4 --kernel masked_local
// CHECK masked-local: (\s*incl\s+\(%r\w+\)\n.*\n){30}
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
kernel void masked_local(device const uint *in, device uint *out, uint i [[thread_index_in_threadgroup]])
{
    threadgroup atomic_uint bins[256];
    if (in[i] < 256) atomic_fetch_add_explicit(&bins[in[i]], 1u, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = atomic_load_explicit(&bins[i], memory_order_relaxed);
}
kernel void device_atomics(device const uint *in, device atomic_uint *bins, uint i [[thread_position_in_grid]])
{
    atomic_fetch_add_explicit(&bins[in[i] & 255], 1u, memory_order_relaxed);
}

// All lanes on one address make one update.
// RUN one-address: emit --what simd --target x86-64-v4 --kernel one_address
// CHECK one-address: = call i32 @llvm.vector.reduce.add
// CHECK one-address: ^\s+%\w+ = atomicrmw volatile add
// NOT one-address: @llvm.cttz
kernel void one_address(device const uint *in, device atomic_uint *total, uint i [[thread_position_in_grid]])
{
    atomic_fetch_add_explicit(total, in[i], memory_order_relaxed);
}

// Makes a kernel so large that its steps stay functions.
static uint bulk(uint x)
{
    for (uint k = 0; k < 48; k++) x = x * x + k;
    return x;
}

// A loop around a threadgroup barrier stays one: a step returns 0 at the end or 1 at the only barrier in the code.
// RUN barrier-loop: emit --what simd --target x86-64-v4 --kernel barrier_loop
// CHECK barrier-loop: define internal range\(i32 0, 2\) i32 @tombac.step.rows0
kernel void barrier_loop(device uint *out, uint i [[thread_index_in_threadgroup]])
{
    threadgroup uint shared[1024];
    uint sum = i;
    for (uint k = 0; k < 6; k++) {
        shared[i ^ k] = sum;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        sum += shared[i];
    }
    out[i] = bulk(sum);
}

// A loop that copies few collectives is unrolled, one that would copy many is not.
// RUN few-collectives: emit --what simd --target x86-64-v4 --kernel few_collectives
// CHECK few-collectives: (shufflevector <32 x float>[^@]*){5}
// RUN many-collectives: emit --what simd --target x86-64-v4 --kernel many_collectives
// CHECK many-collectives: icmp \w+ i\d+ %\w+, 40$
kernel void few_collectives(device float *out, uint i [[thread_position_in_grid]])
{
    float x = out[i];
    for (ushort d = 16; d > 0; d /= 2) x += simd_shuffle_xor(x, d);
    out[i] = x;
}
kernel void many_collectives(device uint *out, constant ushort *distances, uint i [[thread_position_in_grid]])
{
    uint x = out[i];
    for (uint j = 0; j < 40; j++) {
        x += simd_shuffle_down(x, distances[j]);
        x ^= simd_shuffle_up(x, distances[j]);
    }
    out[i] = x;
}

// What positions and arguments give is made again behind a barrier: nothing is kept in the context (parameter 4 here).
// RUN made-again: emit --what simd --target x86-64-v4 --kernel made_again
// CHECK made-again: define internal .*@tombac.step.rows0\(ptr addrspace\(1\) %0, (ptr|i32) [\w() ]*%1, i32 %2, ptr [\w ]*%3, ptr [-"\w ]*%4
// NOT made-again: (store|load|getelementptr) .*ptr %4[ ,]
kernel void made_again(device uint *out, uint i [[thread_index_in_threadgroup]])
{
    threadgroup uint shared[1056];
    uint row = 4 * i + 3;
    shared[i] = out[row];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[row] = bulk(shared[i + 7]);
}

// What did not change since it was restored is not stored again: `step`, which alone has 64 bits, is stored once.
// RUN unchanged: emit --what simd --target x86-64-v4 --kernel unchanged
// CHECK unchanged: define internal .*@tombac.step.rows0
// CHECK unchanged: store <32 x i64> .*, align 64
// NOT unchanged: rows0(?:(?!\n})[\s\S])*store <32 x i64> .*, align 64(?:(?!\n})[\s\S])*store <32 x i64> .*, align 64
kernel void unchanged(device ulong *out, constant uint &n, uint i [[thread_index_in_threadgroup]])
{
    threadgroup uint shared[1056];
    ulong step = out[i];
    uint sum = 0;
    shared[i] = uint(step);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = 0; k < n; k++) {
        sum += shared[(i + k) & 1023];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    out[i] = step * bulk(sum);
}

// A running maximum is one instruction, NaN in the data or not.
// RUN maximum: emit --what asm --engine cpu --target x86-64-v4 --math safe --kernel maximum
// CHECK maximum: vmaxps
// NOT maximum: vcmpunord
kernel void maximum(device const float *in, device float *out, constant uint &n, uint i [[thread_position_in_grid]])
{
    float m = -INFINITY;
    for (uint k = 0; k < n; k++) m = max(m, in[i + k * 64]);
    out[i] = m;
}

// A loop that lanes leave one by one has a first part without masks, which ends when the first lane may leave.
// RUN all-lanes: emit --what simd --target x86-64-v4 --kernel row_sum
// CHECK all-lanes: = call i32 @llvm.usub.sat.i32\(i32 %\w+, i32 31\)
// CHECK all-lanes: = load <32 x float>, ptr
kernel void row_sum(device const float *in, device float *out, constant uint &n, uint i [[thread_position_in_grid]],
                    uint threads [[threads_per_grid]])
{
    float sum = 0;
    for (uint k = i; k < n; k += threads) sum += in[k];
    out[i] = sum;
}

// Threadgroups of one row divide by nothing: both divisions of the object are in branches of their own.
// RUN no-division: emit --what simd --target x86-64-v4 --kernel copy
// CHECK no-division: br i1 %\w+, label %\w+, label %(\w+)\n\n\1: .*\n.*add.*\n.*= udiv i32 %\w+, %\w+\n  br label
// CHECK no-division: br i1 %\w+, label %(\w+), label %\w+\n\n\1: .*\n.*add.*\n.*= udiv i32 %\w+, %\w+\n  br label
// NOT no-division: udiv[\s\S]*udiv[\s\S]*udiv
kernel void copy(device const float *in, device float *out, uint i [[thread_position_in_grid]])
{
    out[i] = in[i];
}

// Indices that differ by constants share one extension, although their sums may wrap; the constants are in the addresses.
// RUN one-extension: emit -std=metal4.0 --what simd --target x86-64-v4 --kernel stencil
// CHECK one-extension: = zext i32 %\w+ to i64
// CHECK one-extension: getelementptr i8, ptr addrspace\(1\) %\w+, i64 -\d+
// NOT one-extension: (= zext i32 %\w+ to i64[\s\S]*){3}
kernel void stencil(device const float *in, device float *out, constant uint &first [[buffer(2)]],
                    uint i [[thread_position_in_grid]])
{
    uint at = i + first;
    out[i] = in[at - 1] + in[at] + in[at + 1] + in[at + 7];
}

// Steps of small kernels are inlined; and lanes that enter a block by its only edge are not added to any that wait there, so
// that no mask lives across the barrier.
// RUN small-steps: emit --what simd --target x86-64-v4 --kernel tree
// CHECK small-steps: define void @tombac_cpu_threadgroup
// NOT small-steps: @tombac.step
// NOT small-steps: (load|store) <32 x i1>
kernel void tree(device float *out, uint t [[thread_index_in_threadgroup]], uint threads [[threads_per_threadgroup]])
{
    threadgroup float part[1024];
    part[t] = out[t];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint half_size = threads / 2; half_size > 0; half_size /= 2) {
        if (t < half_size) part[t] += part[t + half_size];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (t == 0) out[0] = part[0];
}

// Gathers and scatters of 32-bit elements use 32-bit indices, 16 to an instruction, also where the index has 64 bits; but a
// kernel that takes buffers of any size goes on to.
// RUN narrow-gather: emit --what asm --engine cpu --target x86-64-v4 --kernel exchange
// CHECK narrow-gather: vpgatherdd
// CHECK narrow-gather: vpscatterdd
// NOT narrow-gather: vpgatherqd|vpscatterqd|vpmullq
// RUN wide-gather: emit --what asm --engine cpu --target x86-64-v4 --kernel exchange_any
// CHECK wide-gather: vpgatherqd
// NOT wide-gather: tombac_cpu_small_buffers
kernel void exchange(device const uint *in, device const uint *at, device uint *out, constant ulong &stride,
                     constant uint &first, uint i [[thread_position_in_grid]])
{
    uint x = at[i + first];
    out[x] = in[ulong(x) * stride + 3];
}
kernel void exchange_any(device const uint *in, device const uint *at, device uint *out, constant ulong &stride,
                         uint i [[thread_position_in_grid]])
{
    uint x = at[i];
    out[x] = in[ulong(x) * stride + 3];
}

// Runs of halves, which all become floats: by whole registers, all accesses in one group, through casts of the address. Short ones
// are converted where they are loaded, and permuted then. Of long ones words are put in order first, those of even lanes and of
// odd lanes apart, and blended. Runs of 16-bit numbers are put in order as words.
// RUN half-runs: emit --what simd --target x86-64-v4 --threadgroup 128,1,1 --kernel half_runs
// CHECK half-runs: (%\d+) = load <16 x half>[^\n]*\n\s*%\d+ = fpext <16 x half> \1 to <16 x float>
// NOT half-runs: shufflevector <\d+ x (half|i16)>
// RUN half-rows: emit --what simd --target x86-64-v4 --threadgroup 128,1,1 --kernel half_rows
// CHECK half-rows: load <8 x i32>
// CHECK half-rows: fpext <32 x half>
// NOT half-rows: load <(4|8) x (half|i16)>
// NOT half-rows: load (half|i16),
// NOT half-rows: shufflevector <\d+ x (half|i16)>
// RUN half-rows-asm: emit --what asm --engine cpu --target x86-64-v4 --threadgroup 128,1,1 --kernel half_rows
// NOT half-rows-asm: vperm[it]2w|vpmovdw
// RUN half-words: emit --what simd --target x86-64-v4 --threadgroup 128,1,1 --kernel half_words
// CHECK half-words: load <16 x i32>
// NOT half-words: load <(4|8) x (half|i16|i32)>
kernel void half_runs(device const half4 *in, device float *out, uint i [[thread_index_in_threadgroup]])
{
    out[i] = dot(float4(in[i]), float4(1, 2, 3, 4));
}
kernel void half_rows(device const half4 *in, device float *out, uint i [[thread_index_in_threadgroup]])
{
    float sum = 0;
    for (short k = 0; k < 4; k++) sum += dot(float4(in[i * 4 + k]), float4(1, 2, 3, 4));
    out[i] = sum;
}
kernel void half_words(device const ushort4 *in, device uint *out, uint i [[thread_index_in_threadgroup]])
{
    uint sum = 0;
    for (short k = 0; k < 4; k++) sum += in[i * 4 + k].x * 3u + in[i * 4 + k].y * 5u + in[i * 4 + k].z * 7u + in[i * 4 + k].w;
    out[i] = sum;
}

// Runs as long as a register come in halves: inserts from memory do the work of a round of permutes. What the registers do not
// hold lies within cache lines.
// RUN float-rows: emit --what simd --target x86-64-v4 --threadgroup 128,1,1 --kernel float_rows
// CHECK float-rows: load <8 x float>
// NOT float-rows: load <16 x float>
// RUN aligned-stack: emit --what asm --engine cpu --target x86-64-v4 --threadgroup 128,1,1 --kernel float_rows
// CHECK aligned-stack: andq\s+\$-64, %rsp
kernel void float_rows(device const float4 *a, device const float4 *b, device float *out, uint i [[thread_index_in_threadgroup]])
{
    float sum = 0;
    for (short k = 0; k < 4; k++) sum += dot(a[i * 4 + k], b[i * 4 + k]);
    out[i] = sum;
}

// All lanes leave a loop together if the numbers that they count from lie in one aligned stretch and the bound begins another.
// RUN together: emit --what simd --target x86-64-v4 --threadgroup 256,1,1 --kernel together
// NOT together: <32 x i1>
// RUN apart: emit --what simd --target x86-64-v4 --threadgroup 256,1,1 --kernel apart
// CHECK apart: <32 x i1>
kernel void together(device const float *in, device float *out, uint t [[thread_position_in_threadgroup]], uint g [[threadgroup_position_in_grid]])
{
    float sum = 0;
    for (uint i = t; i < 768; i += 256) sum += in[g * 1024 + i];
    if (int(g << 8) + int(t) <= 4095) out[g * 256 + t] = sum;
}
kernel void apart(device const float *in, device float *out, uint t [[thread_position_in_threadgroup]], uint g [[threadgroup_position_in_grid]])
{
    float sum = 0;
    for (uint i = t; i < 760; i += 256) sum += in[g * 1024 + i];
    out[g * 256 + t] = sum;
}

// The extremum of halves over the lanes is found in floats: x86 has none of halves, and LLVM would call fmaxf.
// RUN half-max: emit --what asm --engine cpu --target x86-64-v4 --kernel half_max
// NOT half-max: fm(ax|in)f
// RUN half-max-v3: emit --what asm --engine cpu --target x86-64-v3 --kernel half_max
// NOT half-max-v3: fm(ax|in)f
kernel void half_max(device const half *in, device half *out, uint i [[thread_position_in_grid]])
{
    out[i] = simd_max(in[i]) - simd_min(in[i ^ 1]) + quad_max(in[i ^ 2]);
}

// What all threads of a threadgroup compute from its position is computed once, not for each SIMD-group.
// RUN once: emit --what simd --target x86-64-v4 --threadgroup 256,1,1 --kernel once
// NOT once: (sdiv i32[\s\S]*){2}
kernel void once(device const float *in, device half *out, uint t [[thread_position_in_threadgroup]], uint2 g [[threadgroup_position_in_grid]])
{
    if (g.x >= 1000) return;
    int row = int(g.y) / 7;
    out[row * 256 + t] = half(in[g.x * 256 + t]);
}

// What a loop divides by and does not change is divided once.
// RUN reciprocal: emit --what simd --target x86-64-v4 --kernel normalise
// NOT reciprocal: fdiv <(8|16|32) x float>
// CHECK reciprocal: fdiv float
kernel void normalise(device float *x, constant uint &count, constant float &sum, uint t [[thread_index_in_threadgroup]],
                      uint threads [[threads_per_threadgroup]])
{
    float scale = 1.0f / sum;
    for (uint i = t; i < count; i += threads) x[i] *= scale;
}

// Floats that eight lanes share are computed for all four blocks of lanes by one short vector.
// RUN shared-scales: emit --what simd --target x86-64-v4 --kernel shared_scales
// CHECK shared-scales: fpext [\w ]*<4 x half> %\w+ to <4 x float>
// CHECK shared-scales: fmul <4 x float>
// NOT shared-scales: fpext half
kernel void shared_scales(device const half *scales, device const float *x, device float *y, constant float &factor,
                          uint lane [[thread_index_in_simdgroup]], uint i [[thread_position_in_grid]])
{
    y[i] = x[i] * (float(scales[lane / 8]) * factor);
}
