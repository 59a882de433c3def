/* Private functions of Apple's headers (`__metal_...`) that MLX and its copies call directly. The last
 * argument of a mathematical one says which form: 0 precise, 1 fast, 2 as the compilation says (the
 * __METAL_..._MATH__ macros). */
#pragma once
#include <metal_stdlib>

#define __TB_PRIVATE1(NAME)                                                                                  \
    __TB_FN float __metal_##NAME(float x, int form)                                                          \
    {                                                                                                        \
        return form == 2 ? metal::NAME(x) : form ? metal::fast::NAME(x) : metal::precise::NAME(x);           \
    }
__TB_MATH1(__TB_PRIVATE1)
#undef __TB_PRIVATE1
#define __TB_PRIVATE2(NAME)                                                                                  \
    __TB_FN float __metal_##NAME(float x, float y, int form)                                                 \
    {                                                                                                        \
        return form == 2 ? metal::NAME(x, y) : form ? metal::fast::NAME(x, y) : metal::precise::NAME(x, y);  \
    }
__TB_PRIVATE2(atan2)
__TB_PRIVATE2(divide)
__TB_PRIVATE2(fmod)
__TB_PRIVATE2(pow)
__TB_PRIVATE2(powr)
#undef __TB_PRIVATE2
__TB_FN float __metal_nextafter(float x, float y) { return metal::nextafter(x, y); }
__TB_FN float __metal_ldexp(float x, int k, int form) { return metal::ldexp(x, k); }
__TB_FN float __metal_frexp(float x, int *exponent) { return metal::frexp(x, *exponent); }

/* The same in every form. */
#define __TB_EXACT1(NAME)                                                                                    \
    __TB_FN float __metal_##NAME(float x, int form) { return metal::NAME(x); }
__TB_EXACT1(fabs)
__TB_EXACT1(ceil)
__TB_EXACT1(floor)
__TB_EXACT1(fract)
__TB_EXACT1(rint)
__TB_EXACT1(round)
__TB_EXACT1(sqrt)
__TB_EXACT1(trunc)
__TB_EXACT1(saturate)
#undef __TB_EXACT1
__TB_FN float __metal_fmin(float x, float y, int form) { return metal::fmin(x, y); }
__TB_FN float __metal_fmax(float x, float y, int form) { return metal::fmax(x, y); }
__TB_FN float __metal_fmin3(float x, float y, float z, int form) { return metal::fmin3(x, y, z); }
__TB_FN float __metal_fmax3(float x, float y, float z, int form) { return metal::fmax3(x, y, z); }
__TB_FN float __metal_fmedian3(float x, float y, float z, int form) { return metal::fmedian3(x, y, z); }
__TB_FN float __metal_fma(float x, float y, float z) { return metal::fma(x, y, z); }
__TB_FN float __metal_copysign(float x, float y) { return metal::copysign(x, y); }

/* ---- SIMD-groups ---- */
template <typename T> __TB_FN T __metal_get_thread_index_in_simdgroup(T) { return T(__tombac::lane()); }
template <typename T> __TB_CONST_FN T __metal_get_simdgroup_size(T) { return T(32); }
#define __TB_PRIVATE_GROUP(P)                                                                                \
    __TB_REDUCTIONS(__TB_REDUCE_##P)                                                                         \
    __TB_BITWISE(__TB_REDUCE_##P)                                                                            \
    __TB_SHUFFLES(__TB_SHUFFLE_##P)                                                                          \
    __TB_REDUCE_##P(broadcast_first) __TB_FILL_##P(shuffle_and_fill_up) __TB_FILL_##P(shuffle_and_fill_down)
#define __TB_REDUCE_ONE(NAME)                                                                                \
    template <typename T> __TB_FN T __metal_##NAME(T data) { return metal::NAME(data); }
#define __TB_SHUFFLE_ONE(NAME)                                                                               \
    template <typename T> __TB_FN T __metal_##NAME(T data, ushort lane) { return metal::NAME(data, lane); }
#define __TB_FILL_ONE(NAME)                                                                                  \
    template <typename T> __TB_FN T __metal_##NAME(T data, T filling, ushort delta, ushort modulo)           \
    {                                                                                                        \
        return metal::NAME(data, filling, delta, modulo);                                                    \
    }
#define __TB_REDUCE_simd(NAME) __TB_REDUCE_ONE(simd_##NAME)
#define __TB_REDUCE_quad(NAME) __TB_REDUCE_ONE(quad_##NAME)
#define __TB_SHUFFLE_simd(NAME) __TB_SHUFFLE_ONE(simd_##NAME)
#define __TB_SHUFFLE_quad(NAME) __TB_SHUFFLE_ONE(quad_##NAME)
#define __TB_FILL_simd(NAME) __TB_FILL_ONE(simd_##NAME)
#define __TB_FILL_quad(NAME) __TB_FILL_ONE(quad_##NAME)
__TB_PRIVATE_GROUP(simd)
__TB_PRIVATE_GROUP(quad)
#undef __TB_PRIVATE_GROUP
#undef __TB_REDUCE_ONE
#undef __TB_SHUFFLE_ONE
#undef __TB_FILL_ONE
#undef __TB_REDUCE_simd
#undef __TB_REDUCE_quad
#undef __TB_SHUFFLE_simd
#undef __TB_SHUFFLE_quad
#undef __TB_FILL_simd
#undef __TB_FILL_quad
/* a x b + c, rounded to the elements of the last argument, which is a type only. */
template <typename A, typename B, typename C, typename D>
__TB_FN metal::vec<D, 64> __metal_simdgroup_matrix_8x8_multiply_accumulate(metal::vec<A, 64> a, metal::vec<B, 64> b,
                                                                           metal::vec<C, 64> c, metal::vec<D, 64>)
{
    __tombac::__pair sum =
        __tombac::matrix_multiply_accumulate(float(a.__lane.x), float(a.__lane.y), float(b.__lane.x), float(b.__lane.y),
                                             float(c.__lane.x), float(c.__lane.y));
    return {metal::vec<D, 2>(D(sum.x), D(sum.y))};
}
/* MLX defines simd_xor of bfloat through float. Metal has no such operation: it may be compiled, not reached.
 */
__TB_FN float __metal_simd_xor(float data)
{
    __tombac::unsupported("simd_xor of floating-point numbers");
    return data;
}
