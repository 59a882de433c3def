//@ check
//? source error
//: 5:33: error: is_function_constant_defined takes the name of a function constant of this file
#include <tombac/kernel.h>
kernel void k(uint *x) { x[0] = is_function_constant_defined(radius); }
