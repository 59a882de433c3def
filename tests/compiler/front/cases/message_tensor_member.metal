//@ check
//@ std metal4.0
//? source error
//: 11:31: error: no member named 'foo' in 'tensor<device half, extents<int, dynamic_extent, dynamic_extent>, tensor_handle>'
#include <metal_stdlib>
#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;
typedef tensor<device half, dextents<int, 2>> matrix_t;
kernel void k(matrix_t a) { a.foo(); }
