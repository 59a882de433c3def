//@ check
//@ std metal4.0
//? unsupported
//: 11:61: error: tensors of int4b_format are not supported
#include <metal_stdlib>
#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;
typedef tensor<device half, dextents<int, 2>> matrix_t;
kernel void k(tensor<device int4b_format, dextents<int, 2>> a) {}
