/* The functions that exist in three forms; included in namespace metal, metal::fast and metal::precise with
 * __TB_FORM set to the namespace of the operations. In the latter two, scalars are floats alone: any number converts
 * to float there, where in namespace metal an integer leaves the choice between half and float open, as in Metal. */
#ifdef __TB_HALF_SCALARS
#define __TB_MATH_1_HALF(NAME)                                                                               \
    __TB_FN half NAME(half x) { return half(__tombac::__TB_FORM::NAME(float(x))); }
__TB_MATH1(__TB_MATH_1_HALF)
#undef __TB_MATH_1_HALF
#define __TB_MATH_2_HALF(NAME)                                                                               \
    __TB_FN half NAME(half x, half y) { return half(__tombac::__TB_FORM::NAME(float(x), float(y))); }
__TB_MATH_2_HALF(atan2)
__TB_MATH_2_HALF(divide)
__TB_MATH_2_HALF(fmod)
__TB_MATH_2_HALF(pow)
__TB_MATH_2_HALF(powr)
#undef __TB_MATH_2_HALF
__TB_FN half ldexp(half x, int k) { return half(__tombac::__TB_FORM::ldexp(float(x), k)); }
#endif
#define __TB_MATH_1(NAME)                                                                                    \
    __TB_FN float NAME(float x) { return __tombac::__TB_FORM::NAME(x); }                                     \
    __TB_VECTOR1(NAME)
__TB_MATH1(__TB_MATH_1)
#undef __TB_MATH_1

#define __TB_MATH_2(NAME)                                                                                    \
    __TB_FN float NAME(float x, float y) { return __tombac::__TB_FORM::NAME(x, y); }                         \
    __TB_VECTOR2(NAME)
/* The next half is a step in the half's own bits. */
__TB_CONST_FN half nextafter(half x, half y)
{
    short bits = __builtin_bit_cast(short, x);
    if (!(x == x)) return x;
    if (!(y == y)) return y;
    if (x == y) return y;
    if ((bits & 0x7fff) == 0) return __builtin_bit_cast(half, short(y > x ? 0x0001 : 0x8001));
    return __builtin_bit_cast(half, short(bits + ((y > x) == (bits >= 0) ? 1 : -1)));
}
__TB_MATH2(__TB_MATH_2)
#undef __TB_MATH_2

/* ---- Functions with a second result ---- */
__TB_FN float sincos(float x, float &cosine)
{
    float c;
    float s = __tombac::__TB_FORM::sincos(x, &c);
    cosine = c;
    return s;
}
__TB_FN half sincos(half x, half &cosine)
{
    float c;
    float s = __tombac::__TB_FORM::sincos(float(x), &c);
    cosine = half(c);
    return half(s);
}
__TB_FN float modf(float x, float &whole)
{
    float w;
    float f = __tombac::__TB_FORM::modf(x, &w);
    whole = w;
    return f;
}
__TB_FN half modf(half x, half &whole)
{
    float w;
    float f = __tombac::__TB_FORM::modf(float(x), &w);
    whole = half(w);
    return half(f);
}
__TB_FN float frexp(float x, int &exponent)
{
    int e;
    float m = __tombac::__TB_FORM::frexp(x, &e);
    exponent = e;
    return m;
}
__TB_FN half frexp(half x, int &exponent)
{
    int e;
    float m = __tombac::__TB_FORM::frexp(float(x), &e);
    exponent = e;
    return half(m);
}
__TB_FN float ldexp(float x, int k) { return __tombac::__TB_FORM::ldexp(x, k); }
__TB_FN int ilogb(float x) { return __tombac::__TB_FORM::ilogb(x); }
__TB_FN int ilogb(half x) { return __tombac::__TB_FORM::ilogb(float(x)); }
__TB_VECTOR1_TO(int, ilogb)
template <typename A, typename V = __vector_t<A>> __TB_FN V ldexp(A a, vec<int, V::__size> y)
{
    V x(a);
    __TB_MAP2(V, ldexp);
}
template <typename A, typename V = __vector_t<A>> __TB_FN V ldexp(A a, int k)
{
    V x(a);
    vec<int, V::__size> y(k);
    __TB_MAP2(V, ldexp);
}
/* NAME(x, second) per element. */
#define __TB_TWO_RESULTS(NAME, SECOND)                                                                       \
    template <typename A, typename V = __vector_t<A>> __TB_FN V NAME(A a, vec<SECOND, V::__size> &second)    \
    {                                                                                                        \
        V x(a), result;                                                                                      \
        vec<SECOND, V::__size> y;                                                                            \
        result.x = NAME(x.x, y.x);                                                                           \
        result.y = NAME(x.y, y.y);                                                                           \
        if constexpr (V::__size > 2) result.z = NAME(x.z, y.z);                                              \
        if constexpr (V::__size > 3) result.w = NAME(x.w, y.w);                                              \
        second = y;                                                                                          \
        return result;                                                                                       \
    }
__TB_TWO_RESULTS(sincos, typename V::value_type)
__TB_TWO_RESULTS(modf, typename V::value_type)
__TB_TWO_RESULTS(frexp, int)
#undef __TB_TWO_RESULTS
