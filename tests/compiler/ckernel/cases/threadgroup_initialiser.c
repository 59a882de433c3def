//@ check
//? unsupported
//: 7:26: error: a threadgroup variable cannot be initialised: its threads share it
#include <tombac/kernel.h>
kernel void k(int *x)
{
    threadgroup int a[2] = {1, 2};
    x[0] = a[0];
}
