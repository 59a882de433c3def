// Arithmetic in half and bfloat: one operation, one rounding.
#include <metal_stdlib>
using namespace metal;

constant constexpr uint RESULTS = 16;

kernel void half_arithmetic(device half *out [[buffer(0)]], const device half *in [[buffer(1)]], device uint *flags [[buffer(2)]],
    uint i [[thread_position_in_grid]])
{
    half a = in[3 * i], b = in[3 * i + 1], c = in[3 * i + 2];
    device half *o = out + RESULTS * i;
    o[0] = a + b;
    o[1] = a - b;
    o[2] = a * b;
    o[3] = a / b;
    o[4] = fma(a, b, c);
    o[5] = -a;
    o[6] = abs(b);
    o[7] = min(a, b);
    o[8] = max(a, b);
    o[9] = sqrt(abs(a));
    o[10] = floor(a);
    o[11] = rint(a);
    half2 v = half2(a, b) * half2(b, c);
    o[12] = v.x;
    o[13] = v.y;
    half s = a;
    s += c;
    o[14] = s;
    o[15] = half(float(a) * float(b) + float(c));
    flags[i] = (a < b) | (a <= b) << 1 | (a == b) << 2 | (a != b) << 3 | (a > b) << 4 | (a >= b) << 5;
}

kernel void bfloat_arithmetic(device bfloat *out [[buffer(0)]], const device bfloat *in [[buffer(1)]], device uint *flags [[buffer(2)]],
    uint i [[thread_position_in_grid]])
{
    bfloat a = in[3 * i], b = in[3 * i + 1], c = in[3 * i + 2];
    device bfloat *o = out + RESULTS * i;
    o[0] = a + b;
    o[1] = a - b;
    o[2] = a * b;
    o[3] = a / b;
    o[4] = bfloat(float(b) * float(c));
    o[5] = -a;
    o[6] = bfloat(fabs(float(b)));
    o[7] = a < b ? a : b;
    o[8] = a > b ? a : b;
    bfloat s = a;
    s += c;
    o[9] = s;
    s = a;
    s *= c;
    o[10] = s;
    bfloat2 v = bfloat2(a, b) + bfloat2(b, c);
    o[11] = v.x;
    o[12] = v.y;
    o[13] = static_cast<bfloat>(half(2.5h));
    o[14] = bfloat(int(17));
    o[15] = as_type<bfloat>(ushort(0x3f80));
    flags[i] = (a < b) | (a <= b) << 1 | (a == b) << 2 | (a != b) << 3 | (a > b) << 4 | (a >= b) << 5;
}

// Conversions from float, to integers and back.
kernel void conversions(device ushort *out [[buffer(0)]], const device float *in [[buffer(1)]], device float *wide [[buffer(2)]],
    device int *integers [[buffer(3)]], uint i [[thread_position_in_grid]])
{
    half h = half(in[i]);
    bfloat b = bfloat(in[i]);
    out[2 * i] = as_type<ushort>(h);
    out[2 * i + 1] = as_type<ushort>(b);
    wide[2 * i] = float(h);
    wide[2 * i + 1] = float(b);
    float f = clamp(in[i], -30000.0f, 30000.0f);
    integers[4 * i] = int(half(f));
    integers[4 * i + 1] = int(bfloat(f));
    integers[4 * i + 2] = short(half(f));
    integers[4 * i + 3] = as_type<short>(half(int(f) * 3));
}

// Every half, widened.
kernel void widen_all(device float *out [[buffer(0)]], device float4 *vectors [[buffer(1)]], const device half4 *in [[buffer(2)]],
    uint i [[thread_position_in_grid]])
{
    out[i] = float(as_type<half>(ushort(i)));
    if (i % 4 == 0) vectors[i / 4] = float4(in[i / 4]);
}

// Numbers that 8 or 16 neighbouring threads share.
template <typename T> void share(device T *o, const device T *in)
{
    T a = in[0], b = in[1], c = in[2];
    o[0] = a + b;
    o[1] = a - c;
    o[2] = -(b * c);
    o[3] = T(float(a) * float(c));
}

kernel void half_shared(device half *out [[buffer(0)]], const device half *in [[buffer(1)]], uint i [[thread_position_in_grid]],
    uint t [[thread_index_in_threadgroup]])
{
    share(out + 8 * i, in + 3 * (t / 8));
    share(out + 8 * i + 4, in + 3 * (t / 16));
}

kernel void bfloat_shared(device bfloat *out [[buffer(0)]], const device bfloat *in [[buffer(1)]], uint i [[thread_position_in_grid]],
    uint t [[thread_index_in_threadgroup]])
{
    share(out + 8 * i, in + 3 * (t / 8));
    share(out + 8 * i + 4, in + 3 * (t / 16));
}
