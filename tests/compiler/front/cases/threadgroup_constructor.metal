//@ check k
//? source error
//: 6:48: error: variables in threadgroup memory cannot be initialised by a constructor
// The constructor would have to run once per threadgroup; Metal has no such thing.
struct S { float x; S() : x(3) {} };
kernel void k(device float *a) { threadgroup S shared[4]; a[0] = shared[0].x; }
