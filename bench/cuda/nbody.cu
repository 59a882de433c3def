// Accelerations of n bodies by each other; the inner loop reads the same body in all threads.
extern "C" __global__ void __launch_bounds__(256)
    nbody(const float4 *__restrict__ bodies, float4 *__restrict__ accelerations, unsigned n, float softening)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 here = bodies[i];
    float x = 0.0f, y = 0.0f, z = 0.0f;
    for (unsigned j = 0; j < n; j++) {
        float4 other = bodies[j];
        float dx = other.x - here.x, dy = other.y - here.y, dz = other.z - here.z;
        float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + softening);
        float factor = other.w * inverse * inverse * inverse;
        x += dx * factor;
        y += dy * factor;
        z += dz * factor;
    }
    accelerations[i] = make_float4(x, y, z, 0.0f);
}
