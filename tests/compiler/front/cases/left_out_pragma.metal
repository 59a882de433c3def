//@ rewrite near
//! pragma clang fp
//= #pragma clang diagnostic push
// A pragma in the body of a kernel that is left out is about that body; where the body is gone, it would be about all that follows.
kernel void far(device float *a)
{
#pragma METAL fp math_mode(fast)
    a[0] = a[1] * a[2] + 1.0;
#pragma METAL fp contract(off)
}
#pragma clang diagnostic push
kernel void farther(device float *a) { a[0] = 1.0; }
kernel void near(device float *a) { a[0] = a[1] * a[2] + 1.0; }
