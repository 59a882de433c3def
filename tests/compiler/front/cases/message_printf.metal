//@ check
//? source error
//: 7:34: error: use of undeclared identifier 'printf'
//: 7:34: note: kernels log with os_log_default.log("...") of <metal_logging>, from metal3.2 on
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *o) { printf("%f", o[0]); }
