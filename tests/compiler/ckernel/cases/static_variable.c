//@ check
//? unsupported
//: 7:16: error: variable 'calls' outlives the function and can change, which is not supported in kernels: make it const or threadgroup
#include <tombac/kernel.h>
kernel void k(int *x)
{
    static int calls = 0;
    x[0] = calls++;
}
