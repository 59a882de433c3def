/* How a function of scalars becomes one of vectors.
 *
 * __vector_t<A...> is the vector type that the arguments stand for: one vec or packed type among them,
 * scalars otherwise; no type at all for scalars alone or for unlike vectors, so that overload resolution
 * drops the template. Scalars are spread. The scalar overloads must be declared before the vector form is. */
#pragma once
#include <metal_types>

namespace metal
{
template <typename V, typename W> struct __join {
};
template <typename V> struct __join<V, V> {
    typedef V type;
};
template <typename V> struct __join<V, void> {
    typedef V type;
};
template <typename V> struct __join<void, V> {
    typedef V type;
};
template <> struct __join<void, void> {
    typedef void type;
};
template <typename V> struct __some {
    typedef V type;
};
template <> struct __some<void> {
};
template <typename A> using __vof = typename __vector_of<A>::type;
template <typename A, typename B = int, typename C = int, typename D = int>
using __vector_t = typename __some<typename __join<typename __join<__vof<A>, __vof<B>>::type,
                                                   typename __join<__vof<C>, __vof<D>>::type>::type>::type;
/* The same for vectors of floating-point numbers only, and of integers only. */
template <typename V, bool B> struct __if_elements {
};
template <typename V> struct __if_elements<V, true> {
    typedef V type;
};
template <typename V>
using __float_vector_t = typename __if_elements<V, is_floating_point_v<typename V::value_type>>::type;
template <typename V>
using __integer_vector_t = typename __if_elements<V, __is_integral(typename V::value_type)>::type;
} // namespace metal

/* return R(F(x.x), F(x.y), ...) */
#define __TB_MAP1(R, F)                                                                                      \
    if constexpr (V::__size == 2)                                                                            \
        return R(F(x.x), F(x.y));                                                                            \
    else if constexpr (V::__size == 3)                                                                       \
        return R(F(x.x), F(x.y), F(x.z));                                                                    \
    else                                                                                                     \
        return R(F(x.x), F(x.y), F(x.z), F(x.w))
#define __TB_MAP2(R, F)                                                                                      \
    if constexpr (V::__size == 2)                                                                            \
        return R(F(x.x, y.x), F(x.y, y.y));                                                                  \
    else if constexpr (V::__size == 3)                                                                       \
        return R(F(x.x, y.x), F(x.y, y.y), F(x.z, y.z));                                                     \
    else                                                                                                     \
        return R(F(x.x, y.x), F(x.y, y.y), F(x.z, y.z), F(x.w, y.w))
#define __TB_MAP3(R, F)                                                                                      \
    if constexpr (V::__size == 2)                                                                            \
        return R(F(x.x, y.x, z.x), F(x.y, y.y, z.y));                                                        \
    else if constexpr (V::__size == 3)                                                                       \
        return R(F(x.x, y.x, z.x), F(x.y, y.y, z.y), F(x.z, y.z, z.z));                                      \
    else                                                                                                     \
        return R(F(x.x, y.x, z.x), F(x.y, y.y, z.y), F(x.z, y.z, z.z), F(x.w, y.w, z.w))

/* Vector forms of NAME with one, two or three arguments; the result has V's type. */
#define __TB_VECTOR1(NAME)                                                                                   \
    template <typename A, typename V = __vector_t<A>> __TB_CONST_FN V NAME(A a)                              \
    {                                                                                                        \
        V x(a);                                                                                              \
        __TB_MAP1(V, NAME);                                                                                  \
    }
#define __TB_VECTOR2(NAME)                                                                                   \
    template <typename A, typename B, typename V = __vector_t<A, B>> __TB_CONST_FN V NAME(A a, B b)          \
    {                                                                                                        \
        V x(a), y(b);                                                                                        \
        __TB_MAP2(V, NAME);                                                                                  \
    }
#define __TB_VECTOR3(NAME)                                                                                   \
    template <typename A, typename B, typename C, typename V = __vector_t<A, B, C>>                          \
    __TB_CONST_FN V NAME(A a, B b, C c)                                                                      \
    {                                                                                                        \
        V x(a), y(b), z(c);                                                                                  \
        __TB_MAP3(V, NAME);                                                                                  \
    }
/* One argument, result of element type R (int, bool). */
#define __TB_VECTOR1_TO(R, NAME)                                                                             \
    template <typename A, typename V = __vector_t<A>> __TB_CONST_FN vec<R, V::__size> NAME(A a)              \
    {                                                                                                        \
        V x(a);                                                                                              \
        typedef vec<R, V::__size> Result;                                                                    \
        __TB_MAP1(Result, NAME);                                                                             \
    }
