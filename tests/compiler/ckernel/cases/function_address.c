//@ check
//? unsupported
//: 8:14: error: the address of function 'one' is taken; pointers to functions are not supported in kernels
#include <tombac/kernel.h>
static int one(int n) { return n; }
kernel void k(int *x)
{
    auto f = one;
    x[0] = 1;
}
