//@ check k
//@ math safe
//@ std macos-metal2.4
//! error
#if __METAL_VERSION__ != 240 || !defined(__METAL_MACOS__) || defined(__HAVE_BFLOAT__)
#error wrong macros
#endif
kernel void k(device float *a) { a[0] = a[1] * a[2] + 1.0; }
