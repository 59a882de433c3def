//@ check
//@ std metal4.0
//? source error
//: 15:17: error: cooperative tensors as inputs need the scope execution_simdgroup, and an inner dimension that is no dynamic extent
//: 16:8: error: cooperative tensors as inputs need the scope execution_simdgroup, and an inner dimension that is no dynamic extent
#include <metal_stdlib>
#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;
typedef tensor<device half, dextents<int, 2>> matrix_t;
kernel void k(matrix_t a, matrix_t b, matrix_t c)
{
    matmul2d<matmul2d_descriptor(16, 16, 16), execution_simdgroups<4>> op;
    auto x = op.get_left_input_cooperative_tensor<half, half, float>();
    op.run(x, b, c);
}
