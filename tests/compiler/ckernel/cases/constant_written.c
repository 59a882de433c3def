//@ check
//? source error
//: 8:5: error: function constant 'radius' cannot be changed, nor its address be taken
#include <tombac/kernel.h>
function_constant(0) uint radius;
kernel void k(uint *x)
{
    radius += x[0];
}
