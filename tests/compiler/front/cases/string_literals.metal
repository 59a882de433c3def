//@ check
// A literal is in constant memory: arguments, initialisers, results; where no address space is asked for, it stays.
#include <metal_stdlib>
using namespace metal;
int f(const constant char *s, int n) { return s[n]; }
template <typename T> int g(constant char *s, T n) { return s[n]; }
constant char *name() { return "one"; }
kernel void k(device int *o)
{
    constant char *t = "xyz";
    const constant char *u = "q";
    o[0] = f("wom", 1) + g("abc" "d", 2) + t[2] + u[0] + name()[0];
    o[1] = sizeof("abcd");
}
