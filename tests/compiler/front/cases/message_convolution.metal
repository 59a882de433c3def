//@ check
//@ std metal4.0
//? unsupported
//: 14:46: error: convolution2d is not supported
#include <metal_stdlib>
#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;
typedef tensor<device half, dextents<int, 2>> matrix_t;
kernel void k(matrix_t a, matrix_t b, matrix_t c)
{
    constexpr convolution2d_descriptor desc(int4(1), int4(1), int2(3));
    convolution2d<desc, execution_simdgroup> op;
    op.run(a, b, c);
}
