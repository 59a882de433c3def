//@ check
//? unsupported
//: 5:13: error: a pointer to a function is not supported in kernels
#include <tombac/kernel.h>
typedef int (*operation)(int);
kernel void k(int *x) { x[0] = 1; }
