// A Gaussian blur in two passes, rows and then columns. The weights are the host's; a pixel past an edge is the edge's.
#include <metal_stdlib>
using namespace metal;

struct blur {
    uint width, height, radius;
    float weights[17]; // of distances 0 to radius; radius is at most 16
};

static float4 gather(device const float4 *in, constant blur &b, uint2 at, int2 step)
{
    float4 sum = b.weights[0] * in[at.y * b.width + at.x];
    for (int k = 1; k <= int(b.radius); k++) {
        int2 low = max(int2(at) - k * step, int2(0));
        int2 high = min(int2(at) + k * step, int2(b.width - 1, b.height - 1));
        sum += b.weights[k] * (in[low.y * int(b.width) + low.x] + in[high.y * int(b.width) + high.x]);
    }
    return sum;
}

[[tombac::requires("len(in) == len(out)")]]
kernel void load(device const uchar4 *in, device float4 *out, uint i [[thread_position_in_grid]])
{
    out[i] = float4(in[i]) / 255.0f;
}

[[tombac::requires("len(in) == len(out)"), tombac::requires("len(in) == b.width * b.height"), tombac::requires("b.radius <= 16")]]
kernel void rows(device const float4 *in, device float4 *out, constant blur &b, uint2 at [[thread_position_in_grid]])
{
    out[at.y * b.width + at.x] = gather(in, b, at, int2(1, 0));
}

[[tombac::requires("len(in) == len(out)"), tombac::requires("len(in) == b.width * b.height"), tombac::requires("b.radius <= 16")]]
kernel void columns(device const float4 *in, device float4 *out, constant blur &b, uint2 at [[thread_position_in_grid]])
{
    out[at.y * b.width + at.x] = gather(in, b, at, int2(0, 1));
}

[[tombac::requires("len(in) == len(out)")]]
kernel void store(device const float4 *in, device uchar4 *out, uint i [[thread_position_in_grid]])
{
    out[i] = uchar4(rint(saturate(in[i]) * 255.0f));
}
