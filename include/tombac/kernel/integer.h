/* Functions of integers of all widths. Nothing here is undefined: sums wrap or saturate as their names say, clz
 * and ctz of zero are the width, rotation counts are taken modulo the width. */
#ifndef TOMBAC_KERNEL_INTEGER_H
#define TOMBAC_KERNEL_INTEGER_H

/* W is a wider type of the same signedness, LOW and HIGH the ends of T's range. */
#define __TB_INTEGER(T, U)                                                                                   \
    __TB_CONST_FN T min(T x, T y) { return y < x ? y : x; }                                                  \
    __TB_CONST_FN T max(T x, T y) { return x < y ? y : x; }                                                  \
    __TB_CONST_FN T clamp(T x, T low, T high) { return min(max(x, low), high); }                             \
    __TB_CONST_FN T rotate(T x, T count)                                                                     \
    {                                                                                                        \
        uint width = sizeof(T) * 8, n = (uint)count & (width - 1);                                           \
        return (T)(n ? (U)((U)x << n) | (U)((U)x >> (width - n)) : (U)x);                                    \
    }                                                                                                        \
    __TB_CONST_FN T popcount(T x) { return (T)__builtin_popcountg((U)x); }                                   \
    __TB_CONST_FN T clz(T x) { return (T)__builtin_clzg((U)x, (int)sizeof(T) * 8); }                         \
    __TB_CONST_FN T ctz(T x) { return (T)__builtin_ctzg((U)x, (int)sizeof(T) * 8); }                         \
    __TB_CONST_FN T reverse_bits(T x) { return (T)__builtin_elementwise_bitreverse((U)x); }                  \
    __TB_CONST_FN U absdiff(T x, T y) { return x < y ? (U)((U)y - (U)x) : (U)((U)x - (U)y); }                \
    __TB_CONST_FN T addsat(T x, T y) { return __builtin_elementwise_add_sat(x, y); }                         \
    __TB_CONST_FN T subsat(T x, T y) { return __builtin_elementwise_sub_sat(x, y); }                         \
    __TB_CONST_FN T hadd(T x, T y) { return (T)((T)(x & y) + (T)((T)(x ^ y) >> 1)); }                        \
    __TB_CONST_FN T rhadd(T x, T y) { return (T)((T)(x | y) - (T)((T)(x ^ y) >> 1)); }                       \
    __TB_CONST_FN T extract_bits(T x, uint offset, uint bits)                                                \
    {                                                                                                        \
        uint width = sizeof(T) * 8;                                                                          \
        if (bits == 0 || offset >= width) return 0;                                                          \
        uint count = bits > width - offset ? width - offset : bits;                                          \
        return (T)((T)((U)x << (width - count - offset)) >> (width - count));                                \
    }                                                                                                        \
    __TB_CONST_FN T insert_bits(T base, T insert, uint offset, uint bits)                                    \
    {                                                                                                        \
        uint width = sizeof(T) * 8;                                                                          \
        if (bits == 0 || offset >= width) return base;                                                       \
        uint count = bits > width - offset ? width - offset : bits;                                          \
        U mask = (U)((U)((U)-1 >> (width - count)) << offset);                                               \
        return (T)(((U)base & (U)~mask) | ((U)((U)insert << offset) & mask));                                \
    }
__TB_FOR_INTEGERS(__TB_INTEGER)
#undef __TB_INTEGER

#define __TB_MAGNITUDE(T, U)                                                                                 \
    __TB_CONST_FN T abs(T x) { return x < 0 ? (T)((U)0 - (U)x) : x; }
__TB_MAGNITUDE(char, uchar)
__TB_MAGNITUDE(short, ushort)
__TB_MAGNITUDE(int, uint)
__TB_MAGNITUDE(long, ulong)
#undef __TB_MAGNITUDE

/* ---- High halves of products ---- */
#define __TB_HIGH(T, WIDE)                                                                                   \
    __TB_CONST_FN T mulhi(T x, T y) { return (T)(((WIDE)x * (WIDE)y) >> (sizeof(T) * 8)); }
__TB_HIGH(char, int)
__TB_HIGH(uchar, uint)
__TB_HIGH(short, int)
__TB_HIGH(ushort, uint)
__TB_HIGH(int, long)
__TB_HIGH(uint, ulong)
#undef __TB_HIGH
__TB_CONST_FN ulong mulhi(ulong x, ulong y)
{
    ulong xl = x & 0xffffffffu, xh = x >> 32, yl = y & 0xffffffffu, yh = y >> 32;
    ulong low = xl * yl, middle1 = xh * yl + (low >> 32), middle2 = xl * yh + (middle1 & 0xffffffffu);
    return xh * yh + (middle1 >> 32) + (middle2 >> 32);
}
__TB_CONST_FN long mulhi(long x, long y)
{
    return (long)(mulhi((ulong)x, (ulong)y) - (x < 0 ? (ulong)y : 0) - (y < 0 ? (ulong)x : 0));
}

/* The low 24 bits of each factor, the low 32 of the product. */
__TB_CONST_FN int mul24(int x, int y)
{
    return (int)((uint)((int)((uint)x << 8) >> 8) * (uint)((int)((uint)y << 8) >> 8));
}
__TB_CONST_FN uint mul24(uint x, uint y) { return (x & 0xffffffu) * (y & 0xffffffu); }
__TB_CONST_FN int mad24(int x, int y, int z) { return (int)((uint)mul24(x, y) + (uint)z); }
__TB_CONST_FN uint mad24(uint x, uint y, uint z) { return mul24(x, y) + z; }
#endif
