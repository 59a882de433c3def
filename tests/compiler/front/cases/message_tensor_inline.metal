//@ check
//@ std metal4.0
//? source error
//: 11:53: error: a tensor with 'tensor_inline' is made in a kernel; a kernel's parameter is a tensor_handle
#include <metal_stdlib>
#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;
typedef tensor<device half, dextents<int, 2>> matrix_t;
kernel void k(tensor<device half, dextents<int, 2>, tensor_inline> a) { a[1, 1] = 2; }
