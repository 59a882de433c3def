// How the cpu engine multiplies matrices: each case is a property of the code that was measured to matter.
#include <metal_stdlib>
#include <metal_simdgroup_matrix>
using namespace metal;

// Sums stay in registers: multiplications take a broadcast element of memory and a row of memory, without permutes (of
// which there are some where results leave the loop, behind it) and without the stack.
// RUN sums: emit --what asm --engine cpu --target x86-64-v4 --kernel sums
// CHECK sums: (vbroadcastss[^\n]*\n\s*vfmadd\w+ps[^\n]*\n\s*vfmadd\w+ps[^\n]*\n\s*){4}
// NOT sums: vfmadd\w+ps[^\n]*\(%r[sb]p\)
// The loop's sums have one place in the context, in which they are as rows: 8 vectors stored at the start, 8 behind each
// step.
// RUN places: emit --what simd --target x86-64-v4 --kernel sums
// CHECK places: step.rows0(?:(?!define|store <32 x float>)[\s\S])*(?:store <32 x float>(?:(?!store <32 x float>|define)[\s\S])*){16}
// NOT places: step.rows0(?:(?!define|store <32 x float>)[\s\S])*(?:store <32 x float>(?:(?!store <32 x float>|define)[\s\S])*){17}
kernel void sums(device const int *A, device const int *B, device float *C, constant uint &n,
                 uint group [[threadgroup_position_in_grid]], uint t [[thread_index_in_simdgroup]])
{
    threadgroup float a[8 * 32], b[32 * 32];
    threadgroup int *ia = (threadgroup int *)a, *ib = (threadgroup int *)b;
    simdgroup_float8x8 sum[4], left, right;
    for (uint j = 0; j < 4; j++) sum[j] = simdgroup_float8x8(0);
    for (uint first = 0; first < n; first += 32) {
        for (uint i = 0; i < 8; i++) ia[i * 32 + t] = A[i * n + first + t];
        for (uint i = 0; i < 32; i++) ib[i * 32 + t] = B[(first + i) * 32 + t];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint k = 0; k < 32; k += 8) {
            simdgroup_load(left, a + k, 32);
            for (uint j = 0; j < 4; j++) {
                simdgroup_load(right, b + k * 32 + 8 * j, 32);
                simdgroup_multiply_accumulate(sum[j], left, right, sum[j]);
            }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    for (uint j = 0; j < 4; j++) simdgroup_store(sum[j], C + group * 256 + 8 * j, 32);
}

// Halves are converted once, eight or sixteen at a time.
// RUN halves: emit --what simd --target x86-64-v4 --kernel halves
// CHECK halves: (fpext <16 x half>(?:(?!define|fpext <8|fpext <32)[\s\S])*){12}
// NOT halves: fpext( \w+)* half
kernel void halves(device const half *A, device const half *B, device float *C)
{
    simdgroup_half8x8 left, right[2];
    simdgroup_float8x8 sum[2];
    simdgroup_load(left, A, 8);
    for (uint j = 0; j < 2; j++) {
        simdgroup_load(right[j], B + 8 * j, 16);
        simdgroup_multiply(sum[j], left, right[j]);
    }
    for (uint j = 0; j < 2; j++) simdgroup_store(sum[j], C + 8 * j, 16);
}

// A branch that lanes take differently before an inner loop does not divide the loop around it.
// RUN inner-loop: emit --what simd --target x86-64-v4 --kernel inner_loop
// NOT inner-loop: step.rows0(?:(?!define)[\s\S])*load <32 x i1>
kernel void inner_loop(device float *x, constant uint &n, uint t [[thread_index_in_threadgroup]])
{
    threadgroup float shared[1024];
    for (uint i = 0; i < n; i++) {
        for (uint j = t; j < 1024; j += 64) shared[j] = x[j];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        x[t] += shared[(t + 1) % 64];
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
}

// Elements that lanes hold by columns go to rows of a tile: the address comes from short arithmetic, as a shift of a
// shifted sum, and is strided all the same. No lane is stored by itself.
// RUN staging: emit --what simd --target x86-64-v4 --kernel staging
// CHECK staging: store <8 x (i16|half)>
// NOT staging: step.rows0(?:(?!define)[\s\S])*(extractelement|store half)
kernel void staging(device const half *in, device half *out, ushort t [[thread_index_in_threadgroup]])
{
    threadgroup half tile[4096];
    threadgroup half *base = tile;
    for (short i = 0; i < 16; i++) {
        const short sx = 2 * (t % 2) + i / 8, sy = (t / 2) / 8, lx = (t / 2) % 8, ly = i % 8, ib = 8 * sx + sy;
        *(base + 64 * ib + 8 * ly + lx) = in[t * 16 + i];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (ushort i = 0; i < 16; i++) out[128 * i + t] = tile[128 * i + t];
}
