//@ check
//? source error
//: 5:8: error: a kernel is a function that returns void: expected 'void' or an attribute of kernels
#include <tombac/kernel.h>
kernel int k(int *x) { return x[0]; }
