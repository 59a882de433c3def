//@ check
//? source error
//: 5:25: error: 'threads_required' takes one to three constants from 1 to 1024
#include <tombac/kernel.h>
kernel threads_required(2048) void k(int *x) { x[0] = 1; }
