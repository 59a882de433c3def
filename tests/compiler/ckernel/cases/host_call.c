//@ check
//? unsupported
//: 6:32: error: function 'host' has no definition in this file; calling a function of the host is not supported in kernels
#include <tombac/kernel.h>
int host(int);
kernel void k(int *x) { x[0] = host(1); }
