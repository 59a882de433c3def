#include <tombac/kernel.h>
#include <tombac/ndrange.h>
// Memory behind a read-only parameter is nobody else's: its loads are invariant, one is enough for two uses around a store.
// RUN kept: emit --what ir --kernel kept
// CHECK kept: define void @tombac.kernel\(ptr addrspace\(1\) noalias readonly %0, ptr addrspace\(1\) %1\)
// RUN kept-code: emit --what simd --kernel kept
// CHECK kept-code: store float %(\d+),[^\n]*\n[^\n]*\n\s*store float %\1,
kernel void kept(read_only(float) x, float *y)
{
    y[0] = x[0];
    y[1] = x[0];
}

// Without it the store may have changed it.
// RUN again: emit --what ir --kernel again
// CHECK again: define void @tombac.kernel\(ptr addrspace\(1\) %0, ptr addrspace\(1\) %1\)
// RUN again-code: emit --what simd --kernel again
// CHECK again-code: store float %\d+
// NOT again-code: store float %(\d+),[^\n]*\n[^\n]*\n\s*store float %\1,
kernel void again(const float *x, float *y)
{
    y[0] = x[0];
    y[1] = x[0];
}

// The hint unrolls: no loop is left.
// RUN unrolled: emit --what simd --kernel unrolled
// CHECK unrolled: (load float[^\n]*\n[\s\S]*){4}
// NOT unrolled: \bphi\b
kernel void unrolled(read_only(float) x, float *y)
{
    float sum = 0.0f;
    unroll_all for (uint k = 0; k < 4; k++) sum = sum * x[k] + 1.0f;
    y[0] = sum;
}
