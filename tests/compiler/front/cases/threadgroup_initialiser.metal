//@ check k
//? source error
//: 4:60: error: variables in threadgroup memory cannot be initialised
kernel void k(device float *a) { threadgroup int counter   = 1; a[0] = counter; }
