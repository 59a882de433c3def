//@ rewrite
//= #pragma clang fp reassociate(off) reciprocal(off) contract(on)
//= void f();
//= #pragma clang fp reassociate(on) reciprocal(on) contract(fast)
//= void g();
//= #pragma clang fp reassociate(off) reciprocal(off) contract(on)
//= void h();
//! precise,
// The mode before a push comes back with its pop.
#pragma float_control(precise, on, push)
void f();
#pragma float_control(push)
#pragma float_control(precise, off)
void g();
#pragma float_control(pop)
void h();
#pragma float_control(pop)
void i();
