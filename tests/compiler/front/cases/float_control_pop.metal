//@ rewrite
//? source error
//: 8:1: error: float_control(pop) without a push before it
#include <metal_stdlib>
#pragma float_control(push)
using namespace metal;
#pragma float_control(pop)
#pragma float_control(pop)
