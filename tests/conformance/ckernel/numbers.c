/* Mathematics, integers, vectors. */
#include <math.h>
#include <tombac/kernel.h>

kernel void functions(const float *in, const float *with, float *out)
{
    uint i = thread_position_in_grid().x, n = threads_per_grid().x, k = 0;
    float x = in[i], y = with[i], c, w;
    int e;
#define ONE(X) out[i + (k++) * n] = (X);
    ONE(sinf(x))
    ONE(cosf(x))
    ONE(tanf(x))
    ONE(expf(x))
    ONE(exp2f(x))
    ONE(logf(y))
    ONE(log2f(y))
    ONE(log10f(y))
    ONE(atanf(x))
    ONE(atan2f(x, y))
    ONE(powf(y, x))
    ONE(tanhf(x))
    ONE(sinhf(x))
    ONE(coshf(x))
    ONE(asinhf(x))
    ONE(sin(x))
    ONE(precise_exp(x))
    ONE(sincosf(x, &c) * 0.0f + c)
    ONE(frexpf(y, &e) * 0.0f + (float)e)
    ONE(modff(x, &w) * 0.0f + w)
    ONE(fmodf(x, y))
    ONE(ldexpf(x, 3))
    ONE(rsqrtf(y))
    ONE(sqrt(y))
#undef ONE
}

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

#define INTEGER(T)                                                                                           \
    kernel void integer_##T(const T *in, const T *with, T *out)                                             \
    {                                                                                                        \
        uint i = thread_position_in_grid().x, n = threads_per_grid().x;                                      \
        T x = in[i], y = with[i];                                                                            \
        out[i] = addsat(x, y);                                                                               \
        out[i + n] = subsat(x, y);                                                                           \
        out[i + 2 * n] = mulhi(x, y);                                                                        \
        out[i + 3 * n] = (T)absdiff(x, y);                                                                   \
        out[i + 4 * n] = hadd(x, y);                                                                         \
        out[i + 5 * n] = rotate(x, (T)5);                                                                    \
        out[i + 6 * n] = reverse_bits(x);                                                                    \
        out[i + 7 * n] = extract_bits(x, 3, 4);                                                              \
        out[i + 8 * n] = insert_bits(x, y, 2, 3);                                                            \
        out[i + 9 * n] = (T)(popcount(x) + clz(x) + ctz(x));                                                 \
    }
for_each_type(INTEGER, char, uchar, short, ushort, int, uint, long, ulong)
