// Integer arithmetic and Metal's integer functions, for every integer type.
#include <metal_stdlib>
using namespace metal;

constant constexpr uint RESULTS = 48;

template <typename T>
static void functions(device T *o, T a, T b, T c)
{
    o[0] = T(a + b);
    o[1] = T(a - b);
    o[2] = T(a * b);
    o[3] = T(a & b);
    o[4] = T(a | b);
    o[5] = T(a ^ b);
    o[6] = T(~a);
    o[7] = T(-a);
    o[8] = min(a, b);
    o[9] = max(a, b);
    o[10] = min3(a, b, c);
    o[11] = max3(a, b, c);
    o[12] = median3(a, b, c);
    o[13] = clamp(a, min(b, c), max(b, c));
    o[14] = T(abs(a));
    o[15] = T(absdiff(a, b));
    o[16] = addsat(a, b);
    o[17] = subsat(a, b);
    o[18] = hadd(a, b);
    o[19] = rhadd(a, b);
    o[20] = mulhi(a, b);
    o[21] = madhi(a, b, c);
    o[22] = madsat(a, b, c);
    o[23] = clz(a);
    o[24] = ctz(a);
    o[25] = popcount(a);
    o[26] = reverse_bits(a);
    o[27] = rotate(a, b);
}

// `k` is below the width, `n` is a number of bits so that k + n fits; `d` is a divisor that is neither 0 nor -1.
template <typename T>
static void counted(device T *o, T a, T b, T d, uint k, uint n)
{
    o[28] = T(a << k);
    o[29] = T(a >> k);
    o[30] = T(a / d);
    o[31] = T(a % d);
    o[32] = extract_bits(a, k, n);
    o[33] = insert_bits(a, b, k, n);
    o[34] = a < b;
    o[35] = a >= b;
    o[36] = a == b;
    T x = a;
    x += b;
    x *= 3;
    x -= d;
    o[37] = x++;
    o[38] = --x;
    x <<= 1;
    x ^= b;
    o[39] = x;
    o[40] = select(a, b, a < d);
    o[41] = (a && b) || !d;
    vec<T, 4> v = vec<T, 4>(a, b, d, a) * vec<T, 4>(b, b, a, d) + vec<T, 4>(d);
    o[42] = v.x;
    o[43] = v.w;
    vec<T, 2> s = max(vec<T, 2>(a, b), vec<T, 2>(b, d));
    o[44] = s.x;
    o[45] = s.y;
    o[46] = T(popcount(vec<T, 2>(a, b)).y);
    o[47] = T(any(vec<T, 3>(a, b, d) < vec<T, 3>(b, d, a))) + T(2) * T(all(vec<T, 2>(a, b) != vec<T, 2>(d)));
}

#define INTEGER(T)                                                                                            \
    kernel void integer_##T(device T *out [[buffer(0)]], const device T *in [[buffer(1)]],                    \
        const device uchar *counts [[buffer(2)]], uint i [[thread_position_in_grid]])                         \
    {                                                                                                         \
        device T *o = out + RESULTS * i;                                                                      \
        functions<T>(o, in[4 * i], in[4 * i + 1], in[4 * i + 2]);                                             \
        counted<T>(o, in[4 * i], in[4 * i + 1], in[4 * i + 3], counts[2 * i], counts[2 * i + 1]);             \
    }
INTEGER(char)
INTEGER(uchar)
INTEGER(short)
INTEGER(ushort)
INTEGER(int)
INTEGER(uint)
INTEGER(long)
INTEGER(ulong)

kernel void products_24(device int *out [[buffer(0)]], const device int *in [[buffer(1)]], uint i [[thread_position_in_grid]])
{
    int a = in[3 * i] << 8 >> 8, b = in[3 * i + 1] << 8 >> 8, c = in[3 * i + 2];
    uint ua = uint(in[3 * i]) >> 8, ub = uint(in[3 * i + 1]) >> 8;
    out[4 * i] = mul24(a, b);
    out[4 * i + 1] = mad24(a, b, c);
    out[4 * i + 2] = int(mul24(ua, ub));
    out[4 * i + 3] = int(mad24(ua, ub, uint(c)));
}

// Conversions between integer types and from and to float.
kernel void convert(device long *out [[buffer(0)]], const device long *in [[buffer(1)]], const device float *floats [[buffer(2)]],
    device float *rounded [[buffer(3)]], uint i [[thread_position_in_grid]])
{
    long v = in[i];
    float f = floats[i];
    device long *o = out + 12 * i;
    o[0] = char(v);
    o[1] = uchar(v);
    o[2] = short(v);
    o[3] = ushort(v);
    o[4] = int(v);
    o[5] = uint(v);
    o[6] = long(uint4(int4(int(v))).z);
    o[7] = bool(v & 255);
    o[8] = int(f);
    o[9] = uint(fabs(f));
    o[10] = long(f);
    o[11] = short(f / 65536.0f);
    rounded[6 * i] = float(v);
    rounded[6 * i + 1] = float(ulong(v));
    rounded[6 * i + 2] = float(int(v));
    rounded[6 * i + 3] = float(uint(v));
    rounded[6 * i + 4] = float(short(v));
    rounded[6 * i + 5] = float4(int4(int(v)))[1];
}

// Usual arithmetic conversions: small types become int, int meets uint.
kernel void promotion(device int *out [[buffer(0)]], const device uchar *in [[buffer(1)]], uint i [[thread_position_in_grid]])
{
    uchar a = in[2 * i], b = in[2 * i + 1];
    char c = char(a);
    ushort s = ushort(a) << 8 | b;
    out[8 * i] = a - b;
    out[8 * i + 1] = a + b;
    out[8 * i + 2] = ~a;
    out[8 * i + 3] = c >> 1;
    out[8 * i + 4] = (a << 24) >> 24;
    out[8 * i + 5] = int(s * 3u / 7u);
    out[8 * i + 6] = (int(a) - 200 < b) + 2 * (uint(int(a) - 200) < b);
    out[8 * i + 7] = a > b ? a : -1;
}

// Shift counts beyond the width count modulo the width of the (promoted) left operand.
kernel void shifts(device ulong *out [[buffer(0)]], const device ulong *in [[buffer(1)]], const device uint *counts [[buffer(2)]],
    uint i [[thread_position_in_grid]])
{
    ulong v = in[i];
    uint n = counts[i];
    device ulong *o = out + 8 * i;
    o[0] = uint(v) << n;
    o[1] = uint(v) >> n;
    o[2] = ulong(long(int(v) >> n));
    o[3] = v << n;
    o[4] = v >> n;
    o[5] = ulong(long(v) >> n);
    o[6] = (uint4(uint(v)) << uint4(n, 1, 2, 3)).x;
    uint x = uint(v);
    x <<= n;
    x >>= n;
    o[7] = x;
}
