//@ check
//? unsupported
//: 5:16: error: type 'long double' is not supported in kernels: use float
#include <tombac/kernel.h>
static float f(long double x) { return (float)x; }
kernel void k(float *x) { x[0] = f(1); }
