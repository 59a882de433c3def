/* Vectors: operators, swizzles, functions of their elements. Of host compilers only clang has the former, none the latter. */
#include <tombac/kernel.h>

kernel void vectors(const float4 *in, float4 *out, packed_float3 *packed, half4 *halves, float4 add)
{
    uint i = thread_position_in_grid().x, n = threads_per_grid().x;
    float4 v = in[i], w = (float4){1, 2};
    out[i] = v.wzyx * 2 + w;
    float4 u = v;
    u.xz = v.yw;
    u.y += add.y;
    u[3] = (float)i;
    out[i + n] = u;
    float3 c = cross(v.xyz, (float3){1, 0, 2});
    packed[i] = pack(c + unpack(packed[i]));
    out[i + 2 * n] = (float4){dot(v, add), length(v.xy), fmax(v, add).y, min(v, add).z};
    out[i + 3 * n] = sqrt(fabs(v)) + floor(v) + (float4){clamp(v.x, -1.0f, 1.0f), 0, 0, v.x < v.y ? 1.0f : 2.0f};
    halves[i] = (half4){(half)v.x, (half)v.y, (half)2.0f, (half)v.w} * (half)2.0f;
    int4 a = {(int)i, 2, 3, 4};
    uint2 b = {i, i + 1};
    a.xy += (int2){(int)b.y, (int)b.x};
    out[i + 4 * n] = (float4){(float)a.x, (float)a.y, (float)(a.z << 2), (float)simd_sum(b).x};
}
