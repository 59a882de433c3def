//@ check k
//? source error
//: 4:33: error: the index of attribute 'buffer' must be between 0 and 30
kernel void k(device float *a [[buffer(31)]]) {}
