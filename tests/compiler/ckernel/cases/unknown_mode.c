//@ check
//? source error
//: 5:8: error: math_mode takes fast, relaxed or safe
#include <tombac/kernel.h>
kernel math_mode(exact) void k(int *x) { x[0] = 1; }
