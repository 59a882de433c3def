//@ check
//@ std metal4.0
//? source error
//: 11:147: error: the result of matmul2d is int for 8-bit integers only
#include <metal_stdlib>
#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;
typedef tensor<device half, dextents<int, 2>> matrix_t;
kernel void k(matrix_t a, matrix_t b, tensor<device int, dextents<int, 2>> c) { matmul2d<matmul2d_descriptor(16, 16), execution_simdgroup> op; op.run(a, b, c); }
