/* Mathematical functions: C's names with f (sqrtf, expf) take float; the names without it (sqrt, exp) take
 * half, float and their vectors, as <tgmath.h>'s do. fast_FN and precise_FN fix the form of a function;
 * otherwise the kernel's math mode decides. A half result is the float one rounded once.
 *
 * What is left to the math library is a call of docs/operations.md; all else is exact and inline. */
#ifndef TOMBAC_KERNEL_MATH_H
#define TOMBAC_KERNEL_MATH_H

/* ---- FN per element ---- */
#define __TB_EACH1(FN, T)                                                                                    \
    __TB_CONST_FN T##2 FN(T##2 v) { return (T##2){FN(v.x), FN(v.y)}; }                                       \
    __TB_CONST_FN T##3 FN(T##3 v) { return (T##3){FN(v.x), FN(v.y), FN(v.z)}; }                              \
    __TB_CONST_FN T##4 FN(T##4 v) { return (T##4){FN(v.x), FN(v.y), FN(v.z), FN(v.w)}; }
#define __TB_EACH2(FN, T)                                                                                    \
    __TB_CONST_FN T##2 FN(T##2 v, T##2 w) { return (T##2){FN(v.x, w.x), FN(v.y, w.y)}; }                     \
    __TB_CONST_FN T##3 FN(T##3 v, T##3 w) { return (T##3){FN(v.x, w.x), FN(v.y, w.y), FN(v.z, w.z)}; }       \
    __TB_CONST_FN T##4 FN(T##4 v, T##4 w)                                                                    \
    {                                                                                                        \
        return (T##4){FN(v.x, w.x), FN(v.y, w.y), FN(v.z, w.z), FN(v.w, w.w)};                               \
    }
#define __TB_EACH3(FN, T)                                                                                    \
    __TB_CONST_FN T##2 FN(T##2 u, T##2 v, T##2 w) { return (T##2){FN(u.x, v.x, w.x), FN(u.y, v.y, w.y)}; }   \
    __TB_CONST_FN T##3 FN(T##3 u, T##3 v, T##3 w)                                                            \
    {                                                                                                        \
        return (T##3){FN(u.x, v.x, w.x), FN(u.y, v.y, w.y), FN(u.z, v.z, w.z)};                              \
    }                                                                                                        \
    __TB_CONST_FN T##4 FN(T##4 u, T##4 v, T##4 w)                                                            \
    {                                                                                                        \
        return (T##4){FN(u.x, v.x, w.x), FN(u.y, v.y, w.y), FN(u.z, v.z, w.z), FN(u.w, v.w, w.w)};           \
    }

/* ---- The math library ---- */
#define __TB_MATH1(X)                                                                                        \
    X(acos)                                                                                                  \
    X(acosh) X(acospi) X(asin) X(asinh) X(asinpi) X(atan) X(atanh) X(atanpi) X(cbrt) X(cos) X(cosh) X(cospi) \
        X(exp) X(exp2) X(exp10) X(expm1) X(log) X(log1p) X(log2) X(log10) X(rsqrt) X(sin) X(sinh) X(sinpi)   \
            X(tan) X(tanh) X(tanpi) X(erf) X(erfc) X(lgamma) X(tgamma)
#define __TB_MATH2(X) X(atan2) X(divide) X(fmod) X(hypot) X(pow) X(powr) X(remainder)
#define __TB_LIBRARY1(FN)                                                                                    \
    __TB_PURE float __tombac_c_##FN(float) __asm__("__tombac_" #FN ".f32");                                  \
    __TB_PURE float fast_##FN(float) __asm__("__tombac_fast_" #FN ".f32");                                   \
    __TB_PURE float precise_##FN(float) __asm__("__tombac_precise_" #FN ".f32");                             \
    static inline __attribute__((always_inline, unused, const)) float FN##f(float x)                         \
    {                                                                                                        \
        return __tombac_c_##FN(x);                                                                           \
    }                                                                                                        \
    __TB_CONST_FN float FN(float x) { return __tombac_c_##FN(x); }                                           \
    __TB_CONST_FN half FN(half x) { return (half)__tombac_c_##FN((float)x); }                                \
    __TB_EACH1(FN, float)                                                                                    \
    __TB_EACH1(FN, half)
__TB_MATH1(__TB_LIBRARY1)
#undef __TB_LIBRARY1
#define __TB_LIBRARY2(FN)                                                                                    \
    __TB_PURE float __tombac_c_##FN(float, float) __asm__("__tombac_" #FN ".f32");                           \
    __TB_PURE float fast_##FN(float, float) __asm__("__tombac_fast_" #FN ".f32");                            \
    __TB_PURE float precise_##FN(float, float) __asm__("__tombac_precise_" #FN ".f32");                      \
    static inline __attribute__((always_inline, unused, const)) float FN##f(float x, float y)                \
    {                                                                                                        \
        return __tombac_c_##FN(x, y);                                                                        \
    }                                                                                                        \
    __TB_CONST_FN float FN(float x, float y) { return __tombac_c_##FN(x, y); }                               \
    __TB_CONST_FN half FN(half x, half y) { return (half)__tombac_c_##FN((float)x, (float)y); }              \
    __TB_EACH2(FN, float)                                                                                    \
    __TB_EACH2(FN, half)
__TB_MATH2(__TB_LIBRARY2)
#undef __TB_LIBRARY2

/* ---- Exact functions ---- */
#define __TB_EXACT1(FN, BUILTIN)                                                                             \
    static inline __attribute__((always_inline, unused, const)) float FN##f(float x)                         \
    {                                                                                                        \
        return __builtin_elementwise_##BUILTIN(x);                                                           \
    }                                                                                                        \
    __TB_CONST_FN float FN(float x) { return __builtin_elementwise_##BUILTIN(x); }                           \
    __TB_CONST_FN half FN(half x) { return __builtin_elementwise_##BUILTIN(x); }                             \
    __TB_EACH1(FN, float)                                                                                    \
    __TB_EACH1(FN, half)
__TB_EXACT1(fabs, abs)
__TB_EXACT1(ceil, ceil)
__TB_EXACT1(floor, floor)
__TB_EXACT1(rint, rint)
__TB_EXACT1(nearbyint, rint)
__TB_EXACT1(round, round)
__TB_EXACT1(trunc, trunc)
__TB_EXACT1(sqrt, sqrt)
#undef __TB_EXACT1

#define __TB_FLOAT_FN static inline __attribute__((always_inline, unused, const))
__TB_CONST_FN bool isnan(float x) { return (__builtin_bit_cast(uint, x) & 0x7fffffffu) > 0x7f800000u; }
__TB_CONST_FN bool isinf(float x) { return (__builtin_bit_cast(uint, x) & 0x7fffffffu) == 0x7f800000u; }
__TB_CONST_FN bool isfinite(float x) { return (__builtin_bit_cast(uint, x) & 0x7fffffffu) < 0x7f800000u; }
__TB_CONST_FN bool signbit(float x) { return __builtin_bit_cast(uint, x) >> 31; }
__TB_CONST_FN bool isnormal(float x)
{
    uint bits = __builtin_bit_cast(uint, x) & 0x7fffffffu;
    return bits >= 0x00800000u && bits < 0x7f800000u;
}
__TB_CONST_FN bool isnan(half x) { return (__builtin_bit_cast(ushort, x) & 0x7fff) > 0x7c00; }
__TB_CONST_FN bool isinf(half x) { return (__builtin_bit_cast(ushort, x) & 0x7fff) == 0x7c00; }
__TB_CONST_FN bool isfinite(half x) { return (__builtin_bit_cast(ushort, x) & 0x7fff) < 0x7c00; }
__TB_CONST_FN bool signbit(half x) { return __builtin_bit_cast(ushort, x) >> 15; }

/* A NaN argument yields the other one. */
__TB_FLOAT_FN float fminf(float x, float y) { return __builtin_fminf(x, y); }
__TB_FLOAT_FN float fmaxf(float x, float y) { return __builtin_fmaxf(x, y); }
__TB_CONST_FN float fmin(float x, float y) { return __builtin_fminf(x, y); }
__TB_CONST_FN float fmax(float x, float y) { return __builtin_fmaxf(x, y); }
__TB_CONST_FN half fmin(half x, half y) { return ((x < y) | isnan(y)) ? x : y; }
__TB_CONST_FN half fmax(half x, half y) { return ((x > y) | isnan(y)) ? x : y; }
__TB_FLOAT_FN float copysignf(float x, float y) { return __builtin_elementwise_copysign(x, y); }
__TB_CONST_FN float copysign(float x, float y) { return __builtin_elementwise_copysign(x, y); }
__TB_CONST_FN half copysign(half x, half y) { return __builtin_elementwise_copysign(x, y); }
__TB_FLOAT_FN float fmaf(float x, float y, float z) { return __builtin_elementwise_fma(x, y, z); }
__TB_CONST_FN float fma(float x, float y, float z) { return __builtin_elementwise_fma(x, y, z); }
/* Rounded once: ir/lower.c expands it. */
__TB_CONST_FN half fma(half x, half y, half z) { return __builtin_elementwise_fma(x, y, z); }
__TB_CONST_FN float fdim(float x, float y) { return x <= y ? 0.0f : x - y; }
__TB_CONST_FN half fdim(half x, half y) { return x <= y ? (half)0.0f : (half)(x - y); }
__TB_FLOAT_FN float fdimf(float x, float y) { return fdim(x, y); }
#define __TB_MORE(T, U)                                                                                      \
    __TB_EACH2(fmin, T)                                                                                      \
    __TB_EACH2(fmax, T)                                                                                      \
    __TB_EACH2(copysign, T)                                                                                  \
    __TB_EACH2(fdim, T)                                                                                      \
    __TB_EACH3(fma, T)                                                                                       \
    __TB_CONST_FN T min(T x, T y) { return fmin(x, y); }                                                     \
    __TB_CONST_FN T max(T x, T y) { return fmax(x, y); }                                                     \
    __TB_CONST_FN T clamp(T x, T low, T high) { return fmin(fmax(x, low), high); }                           \
    __TB_EACH2(min, T)                                                                                       \
    __TB_EACH2(max, T)                                                                                       \
    __TB_EACH3(clamp, T)
__TB_FOR_FLOATS(__TB_MORE)
#undef __TB_MORE

/* ---- Functions of the representation, and those with two results ---- */
__TB_PURE float __tombac_c_nextafter(float, float) __asm__("__tombac_nextafter.f32");
__TB_PURE float __tombac_c_ldexp(float, int) __asm__("__tombac_ldexp.f32");
__TB_PURE int __tombac_c_ilogb(float) __asm__("__tombac_ilogb.f32");
__attribute__((nothrow)) float __tombac_c_sincos(float, float *) __asm__("__tombac_sincos.f32");
__attribute__((nothrow)) float __tombac_c_frexp(float, int *) __asm__("__tombac_frexp.f32");
__attribute__((nothrow)) float __tombac_c_modf(float, float *) __asm__("__tombac_modf.f32");
#define __TB_SECOND_FN static inline __attribute__((always_inline, unused))
__TB_FLOAT_FN float nextafterf(float x, float y) { return __tombac_c_nextafter(x, y); }
__TB_FLOAT_FN float ldexpf(float x, int k) { return __tombac_c_ldexp(x, k); }
__TB_FLOAT_FN float scalbnf(float x, int k) { return __tombac_c_ldexp(x, k); }
__TB_FLOAT_FN int ilogbf(float x) { return __tombac_c_ilogb(x); }
__TB_SECOND_FN float sincosf(float x, float *cosine)
{
    float c, s = __tombac_c_sincos(x, &c);
    *cosine = c;
    return s;
}
__TB_SECOND_FN float frexpf(float x, int *exponent)
{
    int e;
    float m = __tombac_c_frexp(x, &e);
    *exponent = e;
    return m;
}
__TB_SECOND_FN float modff(float x, float *whole)
{
    float w, f = __tombac_c_modf(x, &w);
    *whole = w;
    return f;
}
__TB_CONST_FN float nextafter(float x, float y) { return nextafterf(x, y); }
__TB_CONST_FN float ldexp(float x, int k) { return ldexpf(x, k); }
__TB_CONST_FN int ilogb(float x) { return ilogbf(x); }
__TB_FN float sincos(float x, float *cosine) { return sincosf(x, cosine); }
__TB_FN float frexp(float x, int *exponent) { return frexpf(x, exponent); }
__TB_FN float modf(float x, float *whole) { return modff(x, whole); }
#undef __TB_SECOND_FN
#undef __TB_FLOAT_FN
#undef __TB_MATH1
#undef __TB_MATH2
#endif
