//@ rewrite far
//= #pragma clang fp reassociate(on) reciprocal(on) contract(fast)
//= #pragma clang fp reassociate(off) reciprocal(off) contract(on)
// `far` reaches the safe region through a template argument and a function: its module is compiled with safe options.
float careful(float x)
{
#pragma METAL fp math_mode(safe)
    return x * x + 1.0;
}
float between(float x) { return careful(x); }
template <float (*f)(float)> kernel void apply(device float *a) { a[0] = f(a[1]); }
template [[host_name("far")]] kernel void apply<between>(device float *a);
kernel void near(device float *a) { a[0] = a[1] * a[2] + 1.0; }
