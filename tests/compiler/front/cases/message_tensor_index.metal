//@ check
//@ std metal4.0
//? source error
//: 12:30: error: a tensor takes one index for each of its dimensions, as in t[i, j]
//: 12:40: error: a tensor takes one index for each of its dimensions, as in t[i, j]
#include <metal_stdlib>
#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;
typedef tensor<device half, dextents<int, 2>> matrix_t;
kernel void k(matrix_t a) { a[1] = 2; a[0, 1, 2] = 3; }
