//@ check
//? unsupported
//: 5:23: error: variable arguments are not supported in kernels
#include <tombac/kernel.h>
static int sum(int n, ...) { return n; }
kernel void k(int *x) { x[0] = sum(1, 2); }
