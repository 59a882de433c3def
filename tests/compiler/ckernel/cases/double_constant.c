//@ check
//? unsupported
//: 7:13: error: the constant 0.5 is a double, which is not supported in kernels: write 0.5f
#include <tombac/kernel.h>
kernel void k(float *x)
{
    x[0] *= 0.5;
}
