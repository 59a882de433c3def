// Accelerations of n bodies by each other; the inner loop reads the same body in all threads.
#include <metal_stdlib>
using namespace metal;

kernel void nbody(device const float4 *bodies [[buffer(0)]], // position, mass
                  device float4 *accelerations [[buffer(1)]],
                  constant uint &n [[buffer(2)]],
                  constant float &softening [[buffer(3)]],
                  uint i [[thread_position_in_grid]])
{
    float3 here = bodies[i].xyz, sum = 0.0f;
    for (uint j = 0; j < n; j++) {
        float4 other = bodies[j];
        float3 d = other.xyz - here;
        float inverse = rsqrt(dot(d, d) + softening);
        sum += d * (other.w * inverse * inverse * inverse);
    }
    accelerations[i] = float4(sum, 0.0f);
}
