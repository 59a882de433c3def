//@ check
//? source error
//: 5:20: error: a pointer to a pointer cannot be a kernel's parameter
#include <tombac/kernel.h>
kernel void k(int **x) { x[0][0] = 1; }
