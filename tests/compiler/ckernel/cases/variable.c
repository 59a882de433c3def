//@ check
//? unsupported
//: 5:12: error: variable 'counter' outlives the function and can change, which is not supported in kernels: make it const or threadgroup
#include <tombac/kernel.h>
static int counter;
kernel void k(int *x) { x[0] = counter++; }
