//@ check k
//! error
// Metal's library is there without an include, macros, packed types and names in metal:: alike.
METAL_FUNC float half_turn(float x) { return x * M_PI_F + (x > FLT_MAX ? INFINITY : 0); }
void assert(device uint *a) { *a = 1; }
kernel void k(device float *a, constant packed_uint4 &size, device uint *mask, uint i [[thread_position_in_grid]])
{
    packed_uint4 place = size * 2;
    assert(mask);
    a[i] = half_turn(metal::exp(a[i])) + float(place.y + uint32_t(UINT_MAX));
}
using namespace metal;
kernel void other(device float *a) { threadgroup_barrier(mem_flags::mem_device); a[0] = simd_sum(a[0]); }
