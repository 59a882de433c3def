// Tensors of the host: what tombac run makes of a value's shape.
#include <metal_stdlib>
#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;

kernel void product(tensor<device half, dextents<int, 2>> a [[buffer(0)]], tensor<device half, dextents<int, 2>> b [[buffer(1)]],
                    tensor<device float, dextents<int, 2>> c [[buffer(2)]], uint2 at [[threadgroup_position_in_grid]])
{
    using namespace mpp::tensor_ops;
    matmul2d<matmul2d_descriptor(16, 16), execution_simdgroup> op;
    auto rows = a.slice(0, at.y * 16), columns = b.slice(at.x * 16, 0);
    auto tile = c.slice(at.x * 16, at.y * 16);
    op.run(rows, columns, tile);
}

kernel void shape(tensor<const device uchar, extents<int, dynamic_extent, 3>> t [[buffer(0)]], device int *out [[buffer(1)]])
{
    out[0] = t.get_extent(0);
    out[1] = t.get_stride(1);
    out[2] = t[1, 2];
}
