//@ check k
//? source error
//: 4:22: error: kernel parameter 'a' must be a pointer or reference in device, constant or threadgroup memory
kernel void k(float *a) {}
