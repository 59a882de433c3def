//@ check
//? unsupported
//: 7:42: error: this call of 'even' is recursive; recursion is not supported in kernels
#include <tombac/kernel.h>
static int odd(int n);
static int even(int n) { return n == 0 || odd(n - 1); }
static int odd(int n) { return n != 0 && even(n - 1); }
kernel void k(int *x) { x[0] = even(5); }
