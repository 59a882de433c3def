// Running extrema over NaN, zeros and infinities: the cpu engine has a form of its own for them.
#include <metal_stdlib>
using namespace metal;

constant uint VALUES[8] = {0x7fc00000, 0xffc00001, 0x00000000, 0x80000000, 0x7f800000, 0xff800000, 0x3f800000, 0xbf800000};

kernel void extrema(device const uint *which [[buffer(0)]], device uint *out [[buffer(1)]], constant uint &n [[buffer(2)]],
                    uint i [[thread_position_in_grid]])
{
    float most = -INFINITY, least = INFINITY, some = 0.5f;
    for (uint k = 0; k < n; k++) {
        float x = as_type<float>(VALUES[which[i * n + k] & 7]);
        most = max(most, x);
        least = min(least, x);
        if (which[i * n + k] & 8) some = fmax(some, x);
    }
    out[3 * i] = as_type<uint>(most);
    out[3 * i + 1] = as_type<uint>(least);
    out[3 * i + 2] = as_type<uint>(some);
}
