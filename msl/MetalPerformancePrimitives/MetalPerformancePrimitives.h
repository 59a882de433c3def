/* MetalPerformancePrimitives: opens namespace __tombac::mpp as mpp; see __tombac/matmul2d.h. */
#pragma once
#ifdef __TOMBAC_MACROS_ONLY__
#if __METAL_VERSION__ < 400
#error "MetalPerformancePrimitives needs language version metal4.0 or later"
#endif
#include <metal_cooperative_tensor>
#include <metal_tensor>
namespace __tombac
{
namespace mpp
{
namespace tensor_ops
{
}
} // namespace mpp
} // namespace __tombac
namespace mpp
{
namespace tensor_ops
{
using namespace __tombac::mpp::tensor_ops;
}
} // namespace mpp
#else
#if __cplusplus >= 202002L
#include <__tombac/matmul2d.h>
#endif
#endif
