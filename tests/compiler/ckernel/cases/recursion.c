//@ check
//? unsupported
//: 7:24: error: this call of 'fib' is recursive; recursion is not supported in kernels
#include <tombac/kernel.h>
static int fib(int n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}
kernel void k(int *x) { x[0] = fib(5); }
