//@ check near
//! error
// What is left of a large source compiles; an error in what the kernel cannot name does not concern it.
#include <metal_stdlib>
using namespace metal;
#define P(a) inline int padding_##a(int x) { for (int i = 0; i < x; i++) { x = x * 3 + i; } return x; }
#define P5(a) P(a##0) P(a##1) P(a##2) P(a##3) P(a##4)
#define P25(a) P5(a##0) P5(a##1) P5(a##2) P5(a##3) P5(a##4)
#define P125(a) P25(a##0) P25(a##1) P25(a##2) P25(a##3) P25(a##4)
P125(a) P125(b)
struct s { int x; int method(); };
constexpr int constructed(int x) { return x * x; }
constant int deeper = constructed(3);
int called(int x) { return x + deeper; }
int called(float x) { return 7; }
int unused_one(int x) { return undeclared(x); }
typedef decltype(unused_one(1)) unused_type;
using unused_alias = unused_type;
template <typename T> unused_alias unused_template(T x) { return unused_one(int(x)); }
int operand() { return 1; }
int specialised() { return 2; }
template <typename T> T generic(T x) { return x + operand(); }
template <> int generic<int>(int x) { return x - specialised(); }
int added() { return 5; }
s operator+(s a, s b) { s r = {a.x + b.x + added()}; return r; }
unsigned operator""_more(unsigned long long x) { return unsigned(x) + 1; }
namespace metal { int abs(s v) { return v.x; } }
threadgroup int *begin(threadgroup s &v) { return &v.x; }
namespace other { int imported(int x) { return x ^ 3; } }
using other::imported;
typedef decltype(called(1)) number;
constexpr int asserted() { return 4; }
static_assert(asserted() == 4, "");
typedef enum { first_of, second_of } numbered;
int of_method() { return 9; }
int s::method() { return x + of_method(); }
kernel void far(device int *a) { a[0] = unused_one(a[1]) + unused_template(2.0f); }
kernel void near(device int *a, uint i [[thread_position_in_grid]])
{
    number n = called(a[i]) + generic(a[i]) + imported(second_of);
    a[i] = n + int(4_more);
}
