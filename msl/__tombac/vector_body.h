/* The body of vec<T, N> and packed_vec<T, N>, included once per N with these macros set:
 *   __TB_N                     number of elements
 *   __TB_LANES(F, ...)         F(x, ...), F(y, ...), ... one per element
 *   __TB_FIELDS(T)             the elements, each under its two names
 * Every operation names its elements one by one: no loops, no indexing, so that SROA alone makes registers of
 * vectors. Operators are hidden friends: argument-dependent lookup finds them for packed vectors and scalars
 * too, because both convert to vec implicitly. */

#define __TB_FROM(C, ...) C(__##C)
#define __TB_TAKE(C, ...) T __##C
#define __TB_SPLAT(C, ...) C(value)
#define __TB_SPLAT_CAST(C, ...) C(T(value))
#define __TB_CONVERT(C, ...) C(T(other.C))
#define __TB_COPY(C, ...) C(other.C)
/* A list {a, b}: elements in order, then zeros, wherever it stands (in structs and arrays too). What is too long is
 * seen by clang where the elements are constants, else by ir/, because the call below stays. */
#define __TB_PLACE_x 0
#define __TB_PLACE_y 1
#define __TB_PLACE_z 2
#define __TB_PLACE_w 3
#define __TB_ITEM(C, ...) C(__item<__TB_N, __TB_PLACE_##C>(list))
#define __TB_LIST_LIMIT                                                                                      \
    __attribute__((diagnose_if(list.size() > __TB_N, "a list for a vector has too many elements", "error")))

template <typename T> struct alignas(sizeof(T) * (__TB_N == 2 ? 2 : 4)) vec<T, __TB_N> {
    typedef T value_type;
    typedef typename __element_arithmetic<T>::type __arithmetic;
    static constexpr int __size = __TB_N;
    __TB_FIELDS(T)

    vec() = default;
    __TB_CONST_FN vec(T value) : __TB_LANES(__TB_SPLAT) {}
    /* Scalars whose conversion to T is already a class's: to and from bfloat, from user types. */
    template <typename U, enable_if_t<__spreads_v<U, T>, int> = 0>
    __TB_CONST_FN vec(U value) : __TB_LANES(__TB_SPLAT_CAST)
    {
    }
    __TB_CONST_FN vec(__TB_LANES(__TB_TAKE)) : __TB_LANES(__TB_FROM) {}
    __TB_CONST_FN vec(std::initializer_list<T> list) __TB_LIST_LIMIT : __TB_LANES(__TB_ITEM) {}
#if __TB_N == 3
    __TB_TWO_PARTS(2, 1) __TB_CONST_FN vec(A a, B b) : vec(a.x, a.y, T(b)) {}
    __TB_TWO_PARTS(1, 2) __TB_CONST_FN vec(A a, B b) : vec(T(a), b.x, b.y) {}
#elif __TB_N == 4
    __TB_TWO_PARTS(2, 2) __TB_CONST_FN vec(A a, B b) : vec(a.x, a.y, b.x, b.y) {}
    __TB_TWO_PARTS(3, 1) __TB_CONST_FN vec(A a, B b) : vec(a.x, a.y, a.z, T(b)) {}
    __TB_TWO_PARTS(1, 3) __TB_CONST_FN vec(A a, B b) : vec(T(a), b.x, b.y, b.z) {}
    __TB_THREE_PARTS(2, 1, 1) __TB_CONST_FN vec(A a, B b, C c) : vec(a.x, a.y, T(b), T(c)) {}
    __TB_THREE_PARTS(1, 2, 1) __TB_CONST_FN vec(A a, B b, C c) : vec(T(a), b.x, b.y, T(c)) {}
    __TB_THREE_PARTS(1, 1, 2) __TB_CONST_FN vec(A a, B b, C c) : vec(T(a), T(b), c.x, c.y) {}
#endif
    template <typename U> __TB_CONST_FN explicit vec(vec<U, __TB_N> other) : __TB_LANES(__TB_CONVERT) {}
    template <typename U>
    __TB_CONST_FN explicit vec(__packed_vec<vec<U, __TB_N>> other) : __TB_LANES(__TB_CONVERT)
    {
    }

#include <__tombac/vector_access.h>

#define __TB_BINARY_LANE(C, OP) T(a.C OP b.C)
#define __TB_BINARY(OP)                                                                                      \
    friend __TB_CONST_FN vec operator OP(vec a, vec b) { return vec(__TB_LANES(__TB_BINARY_LANE, OP)); }     \
    __TB_ASSIGN(OP)
#define __TB_ASSIGN(OP)                                                                                      \
    friend __TB_CONST_FN vec &operator OP##=(vec &a, vec b) { return a = a OP b; }
    __TB_BINARY(/)
    __TB_BINARY(%)
    __TB_BINARY(&)
    __TB_BINARY(|)
    __TB_BINARY(^)
/* Sums and products wrap, those of ushort must not overflow int; shift counts count modulo the width, bits leave on the
 * left without overflow. */
#define __TB_WRAPPING_LANE(C, OP) T((__arithmetic)a.C OP(__arithmetic) b.C)
#define __TB_WRAPPING(OP)                                                                                    \
    friend __TB_CONST_FN vec operator OP(vec a, vec b) { return vec(__TB_LANES(__TB_WRAPPING_LANE, OP)); }   \
    __TB_ASSIGN(OP)
    __TB_WRAPPING(+)
    __TB_WRAPPING(-)
    __TB_WRAPPING(*)
#define __TB_SHIFT_LANE(C, OP) T(a.C OP(b.C &T(sizeof(T) * 8 - 1)))
#define __TB_SHIFT_LEFT_LANE(C, ...) T((__make_unsigned(T))a.C << (b.C & T(sizeof(T) * 8 - 1)))
    friend __TB_CONST_FN vec operator<<(vec a, vec b) { return vec(__TB_LANES(__TB_SHIFT_LEFT_LANE)); }
    friend __TB_CONST_FN vec operator>>(vec a, vec b) { return vec(__TB_LANES(__TB_SHIFT_LANE, >>)); }
    __TB_ASSIGN(<<)
    __TB_ASSIGN(>>)
/* Counts may be integers of another type. */
#define __TB_SHIFT(OP)                                                                                       \
    template <typename U, enable_if_t<__is_integral(T) && __is_integral(U) && !__is_same(T, U), int> = 0>    \
    friend __TB_CONST_FN vec operator OP(vec a, vec<U, __TB_N> b)                                            \
    {                                                                                                        \
        return a OP vec(b);                                                                                  \
    }                                                                                                        \
    template <typename U, enable_if_t<__is_integral(T) && __is_integral(U) && !__is_same(T, U), int> = 0>    \
    friend __TB_CONST_FN vec &operator OP##=(vec &a, vec<U, __TB_N> b)                                       \
    {                                                                                                        \
        return a = a OP vec(b);                                                                              \
    }
    __TB_SHIFT(<<)
    __TB_SHIFT(>>)

#define __TB_UNARY_LANE(C, OP) T(OP a.C)
    friend __TB_CONST_FN vec operator+(vec a) { return a; }
#define __TB_NEGATED_LANE(C, ...) T(-(__arithmetic)a.C)
    friend __TB_CONST_FN vec operator-(vec a) { return vec(__TB_LANES(__TB_NEGATED_LANE)); }
    friend __TB_CONST_FN vec operator~(vec a) { return vec(__TB_LANES(__TB_UNARY_LANE, ~)); }
#define __TB_NOT_LANE(C, ...) !a.C
    friend __TB_CONST_FN vec<bool, __TB_N> operator!(vec a)
    {
        return vec<bool, __TB_N>(__TB_LANES(__TB_NOT_LANE));
    }

#define __TB_COMPARE_LANE(C, OP) (a.C OP b.C)
#define __TB_COMPARE(OP)                                                                                     \
    friend __TB_CONST_FN vec<bool, __TB_N> operator OP(vec a, vec b)                                         \
    {                                                                                                        \
        return vec<bool, __TB_N>(__TB_LANES(__TB_COMPARE_LANE, OP));                                         \
    }
    __TB_COMPARE(==)
    __TB_COMPARE(!=)
    __TB_COMPARE(<)
    __TB_COMPARE(>)
    __TB_COMPARE(<=)
    __TB_COMPARE(>=)
#define __TB_LOGIC_LANE(C, OP) bool(bool(a.C) OP bool(b.C))
#define __TB_LOGIC(OP)                                                                                       \
    friend __TB_CONST_FN vec<bool, __TB_N> operator OP##OP(vec a, vec b)                                     \
    {                                                                                                        \
        return vec<bool, __TB_N>(__TB_LANES(__TB_LOGIC_LANE, OP));                                           \
    }
    __TB_LOGIC(&)
    __TB_LOGIC(|)

    friend __TB_CONST_FN vec &operator++(vec &a) { return a = a + vec(T(1)); }
    friend __TB_CONST_FN vec &operator--(vec &a) { return a = a - vec(T(1)); }
    friend __TB_CONST_FN vec operator++(vec &a, int)
    {
        vec old = a;
        a = a + vec(T(1));
        return old;
    }
    friend __TB_CONST_FN vec operator--(vec &a, int)
    {
        vec old = a;
        a = a - vec(T(1));
        return old;
    }
};

/* Packed: the same elements with the alignment of one. Computes as vec, through the implicit conversions. */
template <typename T> struct __packed_vec<vec<T, __TB_N>> {
    typedef T value_type;
    typedef vec<T, __TB_N> __vector;
    static constexpr int __size = __TB_N;
    __TB_FIELDS(T)

    __packed_vec() = default;
    __TB_CONST_FN __packed_vec(__vector other) : __TB_LANES(__TB_COPY) {}
    __TB_CONST_FN __packed_vec(T value) : __TB_LANES(__TB_SPLAT) {}
    template <typename U, enable_if_t<__spreads_v<U, T>, int> = 0>
    __TB_CONST_FN __packed_vec(U value) : __TB_LANES(__TB_SPLAT_CAST)
    {
    }
    __TB_CONST_FN __packed_vec(__TB_LANES(__TB_TAKE)) : __TB_LANES(__TB_FROM) {}
    __TB_CONST_FN __packed_vec(std::initializer_list<T> list) __TB_LIST_LIMIT : __TB_LANES(__TB_ITEM) {}
#if __TB_N == 3
    __TB_TWO_PARTS(2, 1) __TB_CONST_FN __packed_vec(A a, B b) : __packed_vec(a.x, a.y, T(b)) {}
    __TB_TWO_PARTS(1, 2) __TB_CONST_FN __packed_vec(A a, B b) : __packed_vec(T(a), b.x, b.y) {}
#elif __TB_N == 4
    __TB_TWO_PARTS(2, 2) __TB_CONST_FN __packed_vec(A a, B b) : __packed_vec(a.x, a.y, b.x, b.y) {}
    __TB_TWO_PARTS(3, 1) __TB_CONST_FN __packed_vec(A a, B b) : __packed_vec(a.x, a.y, a.z, T(b)) {}
    __TB_TWO_PARTS(1, 3) __TB_CONST_FN __packed_vec(A a, B b) : __packed_vec(T(a), b.x, b.y, b.z) {}
    __TB_THREE_PARTS(2, 1, 1) __TB_CONST_FN __packed_vec(A a, B b, C c) : __packed_vec(a.x, a.y, T(b), T(c)) {}
    __TB_THREE_PARTS(1, 2, 1) __TB_CONST_FN __packed_vec(A a, B b, C c) : __packed_vec(T(a), b.x, b.y, T(c)) {}
    __TB_THREE_PARTS(1, 1, 2) __TB_CONST_FN __packed_vec(A a, B b, C c) : __packed_vec(T(a), T(b), c.x, c.y) {}
#endif
    template <typename U> __TB_CONST_FN explicit __packed_vec(vec<U, __TB_N> other) : __TB_LANES(__TB_CONVERT)
    {
    }
    template <typename U>
    __TB_CONST_FN explicit __packed_vec(__packed_vec<vec<U, __TB_N>> other) : __TB_LANES(__TB_CONVERT)
    {
    }
#define __TB_NAME(C, ...) C
    __TB_CONST_FN operator __vector() const { return __vector(__TB_LANES(__TB_NAME)); }

#include <__tombac/vector_access.h>

#define __TB_PACKED_ASSIGN(OP)                                                                               \
    friend __TB_CONST_FN __packed_vec &operator OP##=(__packed_vec &a, __vector b)                        \
    {                                                                                                        \
        return a = __packed_vec(__vector(a) OP b);                                                           \
    }
    __TB_PACKED_ASSIGN(+)
    __TB_PACKED_ASSIGN(-)
    __TB_PACKED_ASSIGN(*)
    __TB_PACKED_ASSIGN(/)
    __TB_PACKED_ASSIGN(%)
    __TB_PACKED_ASSIGN(&)
    __TB_PACKED_ASSIGN(|)
    __TB_PACKED_ASSIGN(^)
    __TB_PACKED_ASSIGN(<<)
    __TB_PACKED_ASSIGN(>>)
    friend __TB_CONST_FN __packed_vec &operator++(__packed_vec &a) { return a += __vector(T(1)); }
    friend __TB_CONST_FN __packed_vec &operator--(__packed_vec &a) { return a -= __vector(T(1)); }
    friend __TB_CONST_FN __packed_vec operator++(__packed_vec &a, int)
    {
        __packed_vec old = a;
        a += __vector(T(1));
        return old;
    }
    friend __TB_CONST_FN __packed_vec operator--(__packed_vec &a, int)
    {
        __packed_vec old = a;
        a -= __vector(T(1));
        return old;
    }
};

#undef __TB_FROM
#undef __TB_TAKE
#undef __TB_SPLAT
#undef __TB_SPLAT_CAST
#undef __TB_CONVERT
#undef __TB_COPY
#undef __TB_PLACE_x
#undef __TB_PLACE_y
#undef __TB_PLACE_z
#undef __TB_PLACE_w
#undef __TB_ITEM
#undef __TB_LIST_LIMIT
#undef __TB_BINARY_LANE
#undef __TB_BINARY
#undef __TB_ASSIGN
#undef __TB_PRODUCT_LANE
#undef __TB_WRAPPING_LANE
#undef __TB_WRAPPING
#undef __TB_NEGATED_LANE
#undef __TB_SHIFT_LANE
#undef __TB_SHIFT_LEFT_LANE
#undef __TB_SHIFT
#undef __TB_UNARY_LANE
#undef __TB_NOT_LANE
#undef __TB_COMPARE_LANE
#undef __TB_COMPARE
#undef __TB_LOGIC_LANE
#undef __TB_LOGIC
#undef __TB_NAME
#undef __TB_PACKED_ASSIGN
#undef __TB_N
#undef __TB_LANES
#undef __TB_FIELDS
