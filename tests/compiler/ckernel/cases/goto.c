//@ check
//? unsupported
//: 8:21: error: 'goto' is not supported in kernels
#include <tombac/kernel.h>
kernel void k(int *x)
{
again:
    if (x[0]++ < 4) goto again;
}
