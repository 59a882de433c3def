//@ check
//? source error
//: 6:1: error: function constant 3 is declared twice
#include <tombac/kernel.h>
function_constant(3) uint radius;
function_constant(1 + 2) uint other;
kernel void k(uint *x) { x[0] = radius + other; }
