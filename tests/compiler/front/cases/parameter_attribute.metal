//@ check k
//? source error
//: 4:36: error: kernel parameter 'i' has no attribute that says what it receives; a value from the host is a reference, as constant int &n
kernel void k(device float *a, int i) {}
