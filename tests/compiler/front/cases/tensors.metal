//@ list
//@ std metal4.0
//= constant has_d 0 bool 1 x 1
//= kernel k k line 17 column 13
//= buffer a 3 device const * tensor<const device float, dextents<int, 3>> at 17:60
//= buffer b 0 device * matrix_t at 17:86
//= buffer c 1 constant const * vector_t<int> at 18:19
//= buffer d 5 device * metal::tensor<device int, dextents<uint, 1>> if has_d at 18:67
//= buffer e 2 device * matrix_t at 19:22
//= position i thread_position_in_grid uint at 19:30
#include <metal_stdlib>
#include <metal_tensor>
using namespace metal;
constant bool has_d [[function_constant(0)]];
typedef tensor<device half, dextents<int, 2>> matrix_t;
template <typename T> using vector_t = tensor<constant T, extents<short, 3>>;
kernel void k(tensor<const device float, dextents<int, 3>> a [[buffer(3)]], matrix_t b,
    vector_t<int> c, metal::tensor<device int, dextents<uint, 1>> d [[buffer(5), function_constant(has_d)]],
    device matrix_t *e, uint i [[thread_position_in_grid]]) {}
