//@ check k
//! error
// A namespace inside another one that is called as the library's, and conditionals that are rewritten with the library's names.
#include <metal_stdlib>
namespace own { namespace metal { namespace detail {
inline uint shift(uint value) { return value == 0 ? 0 : ::metal::clz(value); }
inline float4 choose(device const float4 *a, float4 b, bool c) { return c?*a:b; }
inline uint pick(thread const uint *list, uint i) { uint n = i > 3 ? 1 : list[i]; return n; }
}}}
kernel void k(device uint *a, device const float4 *v, uint i [[thread_position_in_grid]])
{
    uint list[4] = {1, 2, 3, 4};
    a[i] = own::metal::detail::shift(i) + uint(own::metal::detail::choose(v, float4(1), i > 1).x) + own::metal::detail::pick(list, i);
}
