//@ check
//? source error
//: 8:10: error: use of undeclared identifier 'undefined_name'
#include <tombac/kernel.h>
#define SET(p) p[0] = undefined_name
kernel void k(float *x)
{
    SET(x);
}
