//@ check
//@ std metal3.2
//! error:
// What needs no address space below metal4.1: products and conjunctions, deduced types, lambdas, functions,
// aliases that carry one, `this`.
#include <metal_stdlib>
using namespace metal;
constant int A = 6, B = 3;
constant int product = A * B, both(A & B);
static_assert(A * B == 18, "");
typedef device float *pointer;
using Cell = device float;
typedef void (*callback)(device float *, float);
struct Loader {
    const int stride;
    thread Loader &self;
    array<int, 2 * (3 & 1)> none;
    Loader(int n, thread Loader &s) : stride(A * n / B), self(s) {}
    float scaled(float x) const { return x * stride; }
    template <typename T> void put(T &x, T *p, T &&q) { x = *p * stride; }
};
template <typename T, typename U = decltype(A * B)> METAL_FUNC T twice(T x) { return x * 2; }
template <typename T> METAL_FUNC device T &at(device T *p, int i = A * B) { return p[i]; }
template <void (*F)(device float *, float)> void apply(device float *p, float x) { F(p, x); }
void write(device float *p, float x) { *p = x; }
int mask(int a, int b, bool c, bool d)
{
    int e = a & b;
    auto &f = e;
    auto g = [](float x, thread float &y) { return x * y; };
    c &&d;
    if (a * b > 3 && c) e = a * b, f = a & b;
    for (int i = 0; i < a * b; i++) f += i;
    float h = 2;
    return int(g(h, h)) * e;
}
kernel void k(device float *out, constant float &s, uint i [[thread_position_in_grid]])
{
    Cell *c = out;
    pointer p = out;
    p[0] = 1;
    device float &r = at(out + i, 0);
    apply<write>(c, r * s);
    float x = twice(s), y = (float)A * B;
    out[i] = x * y;
}
