/* N bodies that attract each other: a step of time, every pair computed (L. Nyland, M. Harris, J. Prins,
 * "Fast N-body simulation with CUDA", GPU Gems 3, 2007).
 *
 * A thread has one body; all bodies pass by it in tiles, which the threadgroup loads into its memory
 * together. A body is a float4, its mass in w. The acceleration by a body at distance d is mass d / (|d|^2 +
 * softening)^(3/2), so that a body does not pull at itself. The step is Euler's half-implicit one: velocity
 * first, then place by the new velocity. */
#include <math.h>
#include <tombac/kernel.h>

enum { TILE = 256 };

kernel threads_required(TILE)
    requires(len(bodies) >= n, len(velocities) >= n, len(moved) >= n) void nbody_step(
        const float4 *bodies, float4 *velocities, float4 *moved, uint n, float softening, float time)
{
    threadgroup float4 tile[TILE];
    uint t = thread_index_in_threadgroup(), own = thread_position_in_grid().x;
    float4 body = own < n ? bodies[own] : (float4){0, 0, 0, 0};
    float x = 0.0f, y = 0.0f, z = 0.0f;
    for (uint first = 0; first < n; first += TILE) {
        tile[t] = first + t < n ? bodies[first + t] : (float4){0, 0, 0, 0}; /* no mass, no pull */
        threadgroup_barrier(mem_threadgroup);
        for (uint i = 0; i < TILE; i++) {
            float dx = tile[i].x - body.x, dy = tile[i].y - body.y, dz = tile[i].z - body.z;
            float inverse = rsqrtf(fmaf(dx, dx, fmaf(dy, dy, fmaf(dz, dz, softening))));
            float pull = tile[i].w * inverse * inverse * inverse;
            x = fmaf(pull, dx, x);
            y = fmaf(pull, dy, y);
            z = fmaf(pull, dz, z);
        }
        threadgroup_barrier(mem_threadgroup);
    }
    if (own >= n) return;
    float4 v = velocities[own];
    v.x = fmaf(time, x, v.x);
    v.y = fmaf(time, y, v.y);
    v.z = fmaf(time, z, v.z);
    velocities[own] = v;
    moved[own] = (float4){fmaf(time, v.x, body.x), fmaf(time, v.y, body.y), fmaf(time, v.z, body.z), body.w};
}
