//@ check
//? unsupported
//: 8:22: error: a function constant of type 'struct pair' is not supported: it is bool, an integer, half, float or a vector of these
#include <tombac/kernel.h>
struct pair {
    int a, b;
};
function_constant(3) struct pair both;
kernel void k(int *x) { x[0] = both.a; }
