//@ check
//? source error
//: 7:12: error: use of undeclared identifier 'y'
#include <tombac/kernel.h>
kernel void k(float *x)
{
    x[0] = y;
}
