//@ rewrite
//= #pragma clang fp reassociate(on) reciprocal(on) contract(fast)
//= #pragma clang fp reassociate(off) reciprocal(off) contract(on)
//= #pragma clang fp reassociate(off) reciprocal(on) contract(fast)
//= #pragma clang fp contract(off)
//= #pragma unroll
//= #pragma unroll(4)
//= #pragma clang loop unroll_count(2)
//! METAL
//! unroll(N)
#pragma METAL fp math_mode(safe)
#pragma METAL fp math_mode(relaxed)
#pragma METAL fp contract(off)
#pragma METAL internals : enable
void f() {
#pragma unroll(N * 2)
    for (;;) ;
#pragma unroll(4)
    for (;;) ;
#pragma clang loop unroll_count(2)
    for (;;) ;
}
