/* What the precompiled headers are made of: the whole library, once, without its macros. */
#pragma once
#include <metal_stdlib>
#include <metal_cooperative_tensor>
#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
#include <simd/simd.h>
#include <__tombac/async_copy.h>
#include <__tombac/private.h>
