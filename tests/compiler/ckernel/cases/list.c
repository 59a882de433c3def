//@ list
//= kernel many many line 29 column 74
//= required 16 2 1
//= buffer p 0 constant const & params at 30:19
//= buffer in 1 device const * float at 30:35
//= buffer out 2 device * float at 30:45
//= buffer rows 3 device * int at 30:58
//= buffer s 4 device const * half at 30:86
//= buffer s_count 5 constant const & ulong at 30:86
//= threadgroup scratch 0 threadgroup * float at 30:108
//= buffer n 6 constant const & uint at 31:10
//= threadgroup more 1 threadgroup * int at 31:30
//= kernel few few line 34 column 50
//= max 128
//= kernel copy_float copy_float line 38 column 1
//= buffer in 0 device const * float at 38:15
//= buffer out 1 device * float at 38:28
//= kernel copy_int copy_int line 38 column 28
//= buffer in 0 device const * int at 38:28
//= buffer out 1 device * int at 38:33
//= kernel copy_uchar copy_uchar line 38 column 33
//= buffer in 0 device const * uchar at 38:33
//= buffer out 1 device * uchar at 38:38
#include <tombac/kernel.h>
struct params {
    float4 scale;
    uint n;
};
kernel requires(len(in) == len(out), n > 0) threads_required(16, 2) void many(
    struct params p, const float *in, float out[], int (*rows)[4], slice_const(half) s, threadgroup float *scratch,
    uint n, threadgroup int *more)
{
}
kernel threads_at_most(128) math_mode(safe) void few(void)
{
}
#define COPY(T) kernel void copy_##T(const T *in, T *out) { out[0] = in[0]; }
for_each_type(COPY, float, int, uchar)
