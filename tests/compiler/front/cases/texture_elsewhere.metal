//@ check plain
//! error
// Textures, samplers and other stages in the file do not matter to a kernel that uses none of them.
#include <metal_stdlib>
using namespace metal;
struct Stage { float4 position [[position]]; };
struct Arguments { texture2d<float> image; device float *out; };
vertex Stage vertices(uint i [[vertex_id]]) { Stage s; s.position = 0; return s; }
fragment half4 pixels(Stage in [[stage_in]], texture2d<half> t [[texture(0)]], sampler s [[sampler(0)]]) { return t.sample(s, 0); }
static float4 fetch(texture2d<float> t, uint2 p) { return t.read(p); }
kernel void blur(texture2d<float> t [[texture(0)]], device float4 *a) { a[0] = fetch(t, 0); }
kernel void plain(device float *a, uint i [[thread_position_in_grid]]) { a[i] = 1; }
