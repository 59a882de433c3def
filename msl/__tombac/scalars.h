/* Metal's scalar types: half is clang's _Float16; bfloat is a class of 16 bits whose arithmetic is float
 * arithmetic rounded to nearest even, so no bfloat type reaches the IR.
 *
 * bfloat converts implicitly to float, and (more leniently than Metal) from float, half and integers: the
 * rewriter's wrapped conditionals need that. bfloat with bfloat or an integer gives bfloat; with half or
 * float it gives float, as in Metal. */
#pragma once
#include <__tombac/core.h>

typedef _Float16 half;
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long int64_t;
typedef unsigned long uint64_t;
typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef __INTPTR_TYPE__ intptr_t;
typedef __UINTPTR_TYPE__ uintptr_t;
typedef decltype(nullptr) nullptr_t;

template <bool B> struct __tb_if {
};
template <> struct __tb_if<true> {
    typedef int type;
};
template <typename T> constexpr bool __tb_integer = __is_integral(T);
template <typename T>
constexpr bool __tb_float = __is_same(T, float) || __is_same(T, half) || __is_same(T, double);

struct bfloat {
    unsigned short __bits;

    bfloat() = default;
    template <typename U, typename = typename __tb_if<__tb_integer<U> || __tb_float<U>>::type>
    __TB_CONST_FN bfloat(U value) : __bits(__round(float(value)))
    {
    }
    /* From a class that converts to float (a user's number type). */
    template <typename U,
              typename = typename __tb_if<__is_class(U) && !__is_same(U, bfloat) &&
                                          __is_convertible(U, float)>::type,
              typename = void>
    __TB_CONST_FN bfloat(U value) : __bits(__round(float(value)))
    {
    }
    __TB_CONST_FN operator float() const { return __builtin_bit_cast(float, unsigned(__bits) << 16); }

    /* Round to nearest even; a NaN keeps its high bits and becomes quiet. */
    static __TB_CONST_FN unsigned short __round(float value)
    {
        unsigned bits = __builtin_bit_cast(unsigned, value);
        unsigned rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
        return (unsigned short)((bits & 0x7fffffffu) > 0x7f800000u ? (bits >> 16) | 0x40u : rounded);
    }
    static __TB_CONST_FN bfloat __from_bits(unsigned short bits) { return __builtin_bit_cast(bfloat, bits); }

    friend __TB_CONST_FN bfloat operator+(bfloat a) { return a; }
    friend __TB_CONST_FN bfloat operator-(bfloat a)
    {
        return __from_bits((unsigned short)(a.__bits ^ 0x8000u));
    }
#define __TB_ARITHMETIC(OP)                                                                                  \
    friend __TB_CONST_FN bfloat operator OP(bfloat a, bfloat b) { return bfloat(float(a) OP float(b)); }     \
    template <typename U, typename = typename __tb_if<__tb_integer<U>>::type>                                \
    friend __TB_CONST_FN bfloat operator OP(bfloat a, U b)                                                   \
    {                                                                                                        \
        return bfloat(float(a) OP float(b));                                                                 \
    }                                                                                                        \
    template <typename U, typename = typename __tb_if<__tb_integer<U>>::type>                                \
    friend __TB_CONST_FN bfloat operator OP(U a, bfloat b)                                                   \
    {                                                                                                        \
        return bfloat(float(a) OP float(b));                                                                 \
    }                                                                                                        \
    template <typename U, typename = typename __tb_if<__tb_float<U>>::type, typename = void>                 \
    friend __TB_CONST_FN float operator OP(bfloat a, U b)                                                    \
    {                                                                                                        \
        return float(a) OP float(b);                                                                         \
    }                                                                                                        \
    template <typename U, typename = typename __tb_if<__tb_float<U>>::type, typename = void>                 \
    friend __TB_CONST_FN float operator OP(U a, bfloat b)                                                    \
    {                                                                                                        \
        return float(a) OP float(b);                                                                         \
    }                                                                                                        \
    template <typename U> friend __TB_CONST_FN bfloat &operator OP##=(bfloat &a, U b)                     \
    {                                                                                                        \
        a = bfloat(float(a) OP float(b));                                                                    \
        return a;                                                                                            \
    }
    __TB_ARITHMETIC(+)
    __TB_ARITHMETIC(-)
    __TB_ARITHMETIC(*)
    __TB_ARITHMETIC(/)
#undef __TB_ARITHMETIC
#define __TB_COMPARE(OP)                                                                                     \
    friend __TB_CONST_FN bool operator OP(bfloat a, bfloat b) { return float(a) OP float(b); }               \
    template <typename U, typename = typename __tb_if<__tb_integer<U> || __tb_float<U>>::type>               \
    friend __TB_CONST_FN bool operator OP(bfloat a, U b)                                                     \
    {                                                                                                        \
        return float(a) OP float(b);                                                                         \
    }                                                                                                        \
    template <typename U, typename = typename __tb_if<__tb_integer<U> || __tb_float<U>>::type>               \
    friend __TB_CONST_FN bool operator OP(U a, bfloat b)                                                     \
    {                                                                                                        \
        return float(a) OP float(b);                                                                         \
    }
    __TB_COMPARE(==)
    __TB_COMPARE(!=)
    __TB_COMPARE(<)
    __TB_COMPARE(>)
    __TB_COMPARE(<=)
    __TB_COMPARE(>=)
#undef __TB_COMPARE
    __TB_CONST_FN bfloat &operator++() { return *this = bfloat(float(*this) + 1.0f); }
    __TB_CONST_FN bfloat &operator--() { return *this = bfloat(float(*this) - 1.0f); }
    __TB_CONST_FN bfloat operator++(int)
    {
        bfloat old = *this;
        ++*this;
        return old;
    }
    __TB_CONST_FN bfloat operator--(int)
    {
        bfloat old = *this;
        --*this;
        return old;
    }
};
static_assert(sizeof(bfloat) == 2 && alignof(bfloat) == 2);

namespace metal
{
using ::bfloat;
using ::int16_t;
using ::int32_t;
using ::int64_t;
using ::int8_t;
using ::intptr_t;
using ::nullptr_t;
using ::ptrdiff_t;
using ::size_t;
using ::uchar;
using ::uint;
using ::uint16_t;
using ::uint32_t;
using ::uint64_t;
using ::uint8_t;
using ::uintptr_t;
using ::ulong;
using ::ushort;
} // namespace metal
