// What becomes of a kernel when the values of its constant arguments and the size of its threadgroups are known.
#include <metal_stdlib>
using namespace metal;

struct arguments {
    int width;         // 0
    short factor;      // 4
    float scale;       // 8
    ulong stride;      // 16
    int table[4];      // 24
};

// A stride in bytes that is the size of an element: one wide access instead of 32 lanes' own.
// RUN gathers: emit --what simd --target x86-64-v4 --kernel strided
// CHECK gathers: masked.gather
// RUN stride: emit --what simd --target x86-64-v4 --kernel strided --argument 1=0x10000000030000000000c03f0000000004000000000000000100000002000000030000000400000000000000 --threadgroup 64,1,1
// NOT stride: masked.gather
// CHECK stride: load <(16|32) x float>
// RUN other-stride: emit --what simd --target x86-64-v4 --kernel strided --argument 1=0x10000000030000000000c03f0000000008000000000000000100000002000000030000000400000000000000 --threadgroup 64,1,1
// NOT other-stride: load <32 x float>
// Loads of what lies behind the bytes that were given stay.
// RUN short: emit --what simd --target x86-64-v4 --kernel strided --argument 1=0x100000000300 --threadgroup 64,1,1
// CHECK short: masked.gather
kernel void strided(device const char *in, constant arguments &a, device float *out, uint i [[thread_position_in_grid]])
{
    out[i] = *(device const float *)(in + i * a.stride);
}

// Floats are constants, too: scale is 1.5, table[2] is 3, width * factor is 48; nothing is read from the block any more.
// RUN values: emit --what simd --target x86-64-v4 --kernel values --argument 1=0x10000000030000000000c03f0000000004000000000000000100000002000000030000000400000000000000
// CHECK values: float 1\.500000e\+00
// NOT values: load (i16|i32|float), ptr addrspace\(1\) %
// CHECK values: 4\.800000e\+01
kernel void values(device const float *in, constant arguments &a, device float *out, uint i [[thread_position_in_grid]])
{
    if (a.table[2] == 3) out[i] = in[i] * a.scale + a.width * a.factor;
    else out[i] = sin(in[i]);
}

// No argument of that index in constant memory; and only for the cpu engine.
// RUN device FAILS 2: emit --what simd --kernel strided --argument 0=0x00
// CHECK device: no argument in constant memory with index 0
// RUN none FAILS 2: emit --what simd --kernel strided --argument 7=0x00
// CHECK none: no argument in constant memory with index 7
// RUN check FAILS 2: emit --what asm --engine check --kernel strided --argument 1=0x00
// CHECK check: only the engines cpu and cuda specialise
// RUN size FAILS 2: emit --what simd --kernel strided --threadgroup 64,0,1
// CHECK size: --threadgroup takes X,Y,Z
// RUN large FAILS 2: emit --what simd --kernel strided --threadgroup 64,64,1
// CHECK large: --threadgroup takes X,Y,Z

// Threadgroups of a known size need one variant of the code only; without partial SIMD-groups, none with masks.
// RUN all-sizes: emit --what asm --engine cpu --target x86-64-v4 --kernel reversed
// CHECK all-sizes: \{%k[1-7]\}
// RUN one-size: emit --what asm --engine cpu --target x86-64-v4 --kernel reversed --threadgroup 32,4,1
// NOT one-size: \{%k[1-7]\}
// NOT one-size: \bdivl\b
// CHECK one-size: tombac_cpu_threadgroup
// RUN odd-size: emit --what asm --engine cpu --target x86-64-v4 --kernel reversed --threadgroup 20,3,1
// CHECK odd-size: \{%k[1-7]\}
kernel void reversed(device float *data, uint i [[thread_index_in_threadgroup]], uint n [[threads_per_threadgroup]])
{
    threadgroup float values[1024];
    values[i] = data[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    data[i] = values[n - 1 - i];
}

// Fused once and for all in the block of the source; no flag survives on arithmetic, so that nothing rounds differently later.
// RUN fused: emit --what simd --target x86-64-v4 --kernel fused
// CHECK fused: llvm\.fma\.v32f32
// NOT fused: f(add|mul|sub|div) (reassoc|contract|arcp|afn|nsz|fast)
// RUN safe: emit --what simd --math safe --target x86-64-v4 --kernel apart
// NOT safe: llvm\.fma
// CHECK safe: fmul
kernel void fused(device const float *a, device const float *b, device float *c, uint i [[thread_position_in_grid]])
{
    c[i] = a[i] * b[i] - c[i];
}
kernel void apart(device const float *a, device const float *b, device float *c, uint i [[thread_position_in_grid]])
{
    float product = a[i] * b[i];
    c[i] = product + c[i];
}

// A bound that is a multiple of the SIMD-group is one for all its lanes: no masks. Another keeps them together up to their last
// iteration, although nothing decides any more whether the loop is entered.
// RUN round: emit --what simd --target x86-64-v4 --kernel strides --argument 2=0x00100000 --threadgroup 256,1,1
// CHECK round: load <32 x float>
// NOT round: masked.load
// NOT round: icmp ult <32 x i
// RUN not-round: emit --what simd --target x86-64-v4 --kernel strides --argument 2=0xe8030000 --threadgroup 256,1,1
// CHECK not-round: = load <32 x float>
// CHECK not-round: masked.load
kernel void strides(device const float *in, device float *out, constant uint &count, uint t [[thread_index_in_threadgroup]],
                    uint threads [[threads_per_threadgroup]], uint group [[threadgroup_position_in_grid]])
{
    for (uint i = t; i < count; i += threads) out[group * count + i] = sqrt(in[i]);
}

// A stride and a bound that are known bound the iterations, wherever a thread starts: no safe point. With the stride alone the
// loop looks in one iteration of 128, although its counter differs from thread to thread.
// RUN bounded-stride: emit --what simd --target x86-64-v4 --kernel sum_by_stride --argument 2=0x00100000 --threadgroup 256,1,1
// CHECK bounded-stride: load <32 x float>
// NOT bounded-stride: tombac_cpu_stop
// RUN long-stride: emit --what simd --target x86-64-v4 --kernel sum_by_stride --argument 2=0xffffffff --threadgroup 256,1,1
// CHECK long-stride: tombac_cpu_stop
// RUN counted-stride: emit --what simd --target x86-64-v4 --kernel sum_by_stride --threadgroup 256,1,1
// CHECK counted-stride: and i32 %\w+, 32512
// CHECK counted-stride: tombac_cpu_stop
kernel void sum_by_stride(device const float *in [[buffer(0)]], device float *out [[buffer(1)]], constant uint &n [[buffer(2)]],
                          uint t [[thread_index_in_threadgroup]], uint threads [[threads_per_threadgroup]])
{
    float sum = 0;
    for (uint i = t; i < n; i += threads) sum += in[i];
    out[t] = sum;
}
