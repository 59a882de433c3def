/* What the precompiled header is made of: the whole library, once, without its macros. */
#pragma once
#include <metal_stdlib>
#include <simd/simd.h>
#include <__tombac/async_copy.h>
#include <__tombac/private.h>
