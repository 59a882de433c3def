//@ check
//@ std metal4.0
//? source error
//: 11:55: error: a tensor holds half, bfloat, float or integers
#include <metal_stdlib>
#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;
typedef tensor<device half, dextents<int, 2>> matrix_t;
kernel void k(tensor<device float3, dextents<int, 2>> a, device float *b) { b[0] = a[1, 1].x; }
