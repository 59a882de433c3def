//@ check
//? unsupported
//: 7:5: error: type 'double' is not supported in kernels: use float
#include <tombac/kernel.h>
kernel void k(float *x)
{
    double d = 1;
    x[0] = (float)d;
}
