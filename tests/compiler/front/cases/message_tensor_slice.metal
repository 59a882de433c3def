//@ check
//@ std metal4.0
//? source error
//: 11:40: error: slice takes one index for each dimension of the tensor
#include <metal_stdlib>
#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;
typedef tensor<device half, dextents<int, 2>> matrix_t;
kernel void k(matrix_t a) { auto s = a.slice(1); s[0, 0] = 1; }
