//@ list
//= constant has_mask 7 bool 1 x 1
//= constant scale 8 float4 12 x 4
//= kernel implicit implicit line 27 column 13
//= buffer a 0 device const * float at 27:42
//= buffer b 2 constant const & args at 27:60
//= buffer c 1 device * half4 at 28:20
//= buffer d 3 device const * int if has_mask at 28:41
//= threadgroup s 0 threadgroup * float at 29:24
//= threadgroup t 1 threadgroup * int at 29:44
//= position gid thread_position_in_grid uint3 at 30:11
//= position lane thread_index_in_simdgroup ushort at 30:51
//= kernel shown named line 32 column 126
//= max 96
//= required 32 2 1
//= buffer p 5 device * metal::vec<float, 2> at 32:161
//= buffer q 6 constant const & float[4] at 33:22
//= buffer r 0 constant const * int at 33:68
//= kernel t_half t line 37 column 46
//= buffer a 0 device * T at 36:47
//= position n threads_per_grid uint at 36:55
#include <metal_stdlib>
#define SCALE 8
constant bool has_mask [[function_constant(7)]];
constant float4 scale [[function_constant(SCALE)]];
enum index : int { base = 3, first = base + 2, second };
kernel void implicit(device const float *a, constant args &b [[buffer(2)]],
     device half4 *c, const device int *d [[function_constant(has_mask)]]
  , threadgroup float *s, threadgroup int *t,
    uint3 gid [[thread_position_in_grid]], ushort lane [[thread_index_in_simdgroup]]) {}
constant int threads = 48;
[[kernel, host_name("shown"), max_total_threads_per_threadgroup(threads * 2), required_threads_per_threadgroup(32, 2)]] void named(device metal::vec<float, 2> *p [[buffer(first)]],
    constant float (&q)[4] [[buffer(index::second)]], constant int r[4]) {}
template <typename T> kernel void never(device T *a) {}
kernel void declared(device int *a);
template <typename T> kernel void t(device T *a, uint n [[threads_per_grid]]) {}
template [[host_name("t_half")]] kernel void t<half>(device half *a, uint n);
