//@ check
//? source error
//: 6:13: error: kernel 'k' is defined twice
#include <tombac/kernel.h>
kernel void k(int *x) { x[0] = 1; }
kernel void k(int *y) { y[0] = 1; }
