//@ check
//? source error
//: 5:41: error: this '{' is never closed: expected '}'
//! kernel k
kernel void k(device float *a) { if (a) { a[0] = 1; 
