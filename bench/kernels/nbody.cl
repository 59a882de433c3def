kernel void nbody(global const float4 *bodies, global float4 *accelerations, uint n, float softening)
{
    uint i = get_global_id(0);
    float4 here = bodies[i], sum = 0.0f;
    for (uint j = 0; j < n; j++) {
        float4 other = bodies[j];
        float4 d = other - here;
        float inverse = rsqrt(d.x * d.x + d.y * d.y + d.z * d.z + softening);
        sum += d * (other.w * inverse * inverse * inverse);
    }
    accelerations[i] = (float4)(sum.xyz, 0.0f);
}
