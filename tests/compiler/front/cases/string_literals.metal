//@ check
//! error
// A literal is in constant memory: arguments, initialisers, results; where no address space is asked for, it stays.
#include <metal_stdlib>
using namespace metal;
int f(const constant char *s, int n) { return s[n]; }
template <typename T> int g(constant char *s, T n) { return s[n]; }
constant char *name() { return "one"; }
namespace words {
int first(constant const char *s, int n) { return s[0] + n; }
}
template <typename... T> int all(T... parts) { return (0 + ... + f(parts, 0)); }
template <typename... T> int outer(T... parts) { return all(parts...); }
kernel void k(device int *o)
{
    constant char *t = "xyz";
    const constant char *u = "q";
    o[0] = f("wom", 1) + g("abc" "d", 2) + t[2] + u[0] + name()[0];
    o[1] = sizeof("abcd");
    o[2] = all("deduced", "a" "b", name()) + outer("through two templates");
    o[3] = ::words::first(__func__, 1) + words::first(__FILE__, __LINE__);
}
