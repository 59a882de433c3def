//@ check
//? source error
//: 5:22: error: a function constant is one scalar or vector without an initialiser: function_constant(3) uint name;
#include <tombac/kernel.h>
function_constant(3) uint radius = 4;
kernel void k(uint *x) { x[0] = radius; }
