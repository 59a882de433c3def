#include <metal_stdlib>
#include <metal_array>
#include <metal_atomic>
#include <metal_common>
#include <metal_compute>
#include <metal_config>
#include <metal_extended_vector>
#include <metal_geometric>
#include <metal_integer>
#include <metal_limits>
#include <metal_logging>
#include <metal_math>
#include <metal_matrix>
#include <metal_pack>
#include <metal_quadgroup>
#include <metal_relational>
#include <metal_simdgroup>
#include <metal_simdgroup_matrix>
#include <metal_texture>
#include <metal_type_traits>
#include <metal_types>
#include <metal_uniform>
#include <simd/simd.h>
#include <stdint.h>
#include <cstdint>
#include <stddef.h>
#include <TargetConditionals.h>
#if !TARGET_OS_OSX || TARGET_OS_IPHONE || INT_MAX != 2147483647 || UINT_MAX != 4294967295u || CHAR_BIT != 8
#error a macro is wrong
#endif
METAL_FUNC M_PI_F FLT_MAX HALF_MAX MAXFLOAT INFINITY NAN __METAL_MAYBE_FAST_MATH__ assert(a < b)
