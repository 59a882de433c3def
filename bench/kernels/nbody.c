/* nbody.metal in C. */
#include <math.h>
#include <tombac/kernel.h>

kernel void nbody(const float4 *bodies, float4 *accelerations, uint n, float softening)
{
    uint i = thread_position_in_grid().x;
    float3 here = bodies[i].xyz, sum = {0, 0, 0};
    for (uint j = 0; j < n; j++) {
        float4 other = bodies[j];
        float3 d = other.xyz - here;
        float inverse = rsqrtf(dot(d, d) + softening);
        sum += d * (other.w * inverse * inverse * inverse);
    }
    accelerations[i] = (float4){sum.x, sum.y, sum.z, 0.0f};
}
