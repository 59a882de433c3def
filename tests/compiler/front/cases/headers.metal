//@ check
//@ std metal4.0
//! error
// Every header that sources name.
#include <metal_array>
#include <metal_assert>
#include <metal_atomic>
#include <metal_command_buffer>
#include <metal_common>
#include <metal_compute>
#include <metal_config>
#include <metal_cooperative_tensor>
#include <metal_extended_vector>
#include <metal_geometric>
#include <metal_graphics>
#include <metal_imageblocks>
#include <metal_integer>
#include <metal_interpolate>
#include <metal_limits>
#include <metal_logging>
#include <metal_math>
#include <metal_matrix>
#include <metal_mesh>
#include <metal_pack>
#include <metal_quadgroup>
#include <metal_raytracing>
#include <metal_relational>
#include <metal_simdgroup>
#include <metal_simdgroup_async>
#include <metal_simdgroup_matrix>
#include <metal_stdlib>
#include <metal_tensor>
#include <metal_texture>
#include <metal_type_traits>
#include <metal_types>
#include <metal_uniform>
#include <metal_visible_function_table>
using namespace metal;
kernel void k(device float *a)
{
    a[0] = sqrt(a[0]);
}
