/* Types of kernels on the device: scalars, vectors of 2 to 4, packed vectors, and the attributes that the
 * other headers put on functions. */
#ifndef TOMBAC_KERNEL_TYPES_H
#define TOMBAC_KERNEL_TYPES_H

#define __TB_FN static inline __attribute__((always_inline, overloadable, unused))
#define __TB_CONST_FN static inline __attribute__((always_inline, overloadable, unused, const))
#define __TB_PURE __attribute__((nothrow, const, noconvergent))
#define __TB_CONVERGENT __attribute__((nothrow, convergent))

typedef _Float16 half;
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long int64_t;
typedef unsigned long uint64_t;
typedef unsigned long size_t;
typedef long ptrdiff_t;
typedef long intptr_t;
typedef unsigned long uintptr_t;

/* X(type), X(type, unsigned type of its size) */
#define __TB_FOR_INTEGERS(X)                                                                                 \
    X(char, uchar)                                                                                           \
    X(uchar, uchar) X(short, ushort) X(ushort, ushort) X(int, uint) X(uint, uint) X(long, ulong) X(ulong, ulong)
#define __TB_FOR_FLOATS(X) X(half, ushort) X(float, uint)
#define __TB_FOR_SCALARS(X) __TB_FOR_INTEGERS(X) __TB_FOR_FLOATS(X)

/* Elements are v.x, v.y, v.z, v.w or v[i]; swizzles are v.xy, v.zyx, ...; (float4){1, 2, 3, 4} makes one. Three
 * elements take the room of four. */
#define __TB_VECTORS(T, U)                                                                                   \
    typedef T T##2 __attribute__((ext_vector_type(2)));                                                      \
    typedef T T##3 __attribute__((ext_vector_type(3)));                                                      \
    typedef T T##4 __attribute__((ext_vector_type(4)));
__TB_FOR_SCALARS(__TB_VECTORS)
#undef __TB_VECTORS

/* Packed vectors lie without gaps and with the alignment of an element; unpack() and pack() convert. */
#define __TB_PACKED(T, U)                                                                                    \
    typedef struct packed_##T##2 {                                                                           \
        T x, y;                                                                                              \
    } packed_##T##2;                                                                                         \
    typedef struct packed_##T##3 {                                                                           \
        T x, y, z;                                                                                           \
    } packed_##T##3;                                                                                         \
    typedef struct packed_##T##4 {                                                                           \
        T x, y, z, w;                                                                                        \
    } packed_##T##4;                                                                                         \
    __TB_CONST_FN T##2 unpack(packed_##T##2 v) { return (T##2){v.x, v.y}; }                                  \
    __TB_CONST_FN T##3 unpack(packed_##T##3 v) { return (T##3){v.x, v.y, v.z}; }                             \
    __TB_CONST_FN T##4 unpack(packed_##T##4 v) { return (T##4){v.x, v.y, v.z, v.w}; }                        \
    __TB_CONST_FN packed_##T##2 pack(T##2 v) { return (packed_##T##2){v.x, v.y}; }                           \
    __TB_CONST_FN packed_##T##3 pack(T##3 v) { return (packed_##T##3){v.x, v.y, v.z}; }                      \
    __TB_CONST_FN packed_##T##4 pack(T##4 v) { return (packed_##T##4){v.x, v.y, v.z, v.w}; }
__TB_FOR_SCALARS(__TB_PACKED)
#undef __TB_PACKED

/* Brain floating point is a format of memory; arithmetic is float's. */
typedef struct bfloat {
    ushort bits;
} bfloat;
__TB_CONST_FN float float_from_bfloat(bfloat x) { return __builtin_bit_cast(float, (uint)x.bits << 16); }
/* To nearest, ties to even; a NaN keeps its high bits and becomes quiet. */
__TB_CONST_FN bfloat bfloat_from_float(float x)
{
    uint bits = __builtin_bit_cast(uint, x), rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
    return (bfloat){(ushort)(nan ? bits >> 16 | 0x40u : rounded)};
}

/* The bits of a value of the same size, as in __builtin_bit_cast(uint, x): as_type(uint, x). */
#define as_type(T, x) __builtin_bit_cast(T, x)
#endif
