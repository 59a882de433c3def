//@ check
//@ std metal4.0
//? source error
//: 11:58: error: the elements of tensor 'a', a kernel's parameter, must be in device or constant memory
#include <metal_stdlib>
#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;
typedef tensor<device half, dextents<int, 2>> matrix_t;
kernel void k(tensor<threadgroup half, dextents<int, 2>> a) { a[1, 1] = 2; }
