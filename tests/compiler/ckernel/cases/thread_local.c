//@ check
//? unsupported
//: 5:8: error: 'thread_local' is not supported in kernels: a variable in a function is each thread's own
#include <tombac/kernel.h>
static thread_local int counter;
kernel void k(int *x) { x[0] = counter; }
