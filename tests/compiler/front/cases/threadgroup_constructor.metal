//@ check k
//? unsupported
//: 6:13: error: kernel 'k' uses a threadgroup or static variable that needs a constructor to run, which is not supported
// The constructor would have to run once per threadgroup; Metal has no such thing.
struct S { float x; S() : x(3) {} };
kernel void k(device float *a) { threadgroup S shared[4]; a[0] = shared[0].x; }
