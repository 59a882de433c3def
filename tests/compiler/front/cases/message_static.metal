//@ check
//? source error
//: 6:12: error: variable 'counter' at program scope must be in constant memory: 'constant' is missing
#include <metal_stdlib>
using namespace metal;
static int counter = 0;
kernel void k(device int *o) { o[0] = counter++; }
