/* Mathematics and integers. */
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
