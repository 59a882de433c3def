//@ check
//? unsupported
//: 7:14: error: 'malloc' is not supported in kernels: there is no heap on a device
#include <tombac/kernel.h>
kernel void k(int *x)
{
    int *p = malloc(4);
    x[0] = *p;
}
