/* Integer functions on the host, with the results that integer.h gives on devices. Each is a family of
 * functions, one for each type, that its name picks by the type of the first argument. */
#ifndef TOMBAC_KERNEL_HOST_INTEGER_H
#define TOMBAC_KERNEL_HOST_INTEGER_H

#define TOMBAC_HOST_INTEGER(x, FN)                                                                           \
    _Generic((x),                                                                                            \
        char: tombac_host_##FN##_char,                                                                       \
        signed char: tombac_host_##FN##_char,                                                                \
        uchar: tombac_host_##FN##_uchar,                                                                     \
        short: tombac_host_##FN##_short,                                                                     \
        ushort: tombac_host_##FN##_ushort,                                                                   \
        int: tombac_host_##FN##_int,                                                                         \
        uint: tombac_host_##FN##_uint,                                                                       \
        long: tombac_host_##FN##_long,                                                                       \
        ulong: tombac_host_##FN##_ulong)

/* W holds sums of two; LOW and HIGH end T's range. */
__extension__ typedef __int128 tombac_host_wide;
#define TOMBAC_HOST_FUNCTIONS(T, U, LOW, HIGH)                                                               \
    TOMBAC_HOST_FN T tombac_host_into_##T(tombac_host_wide x)                                                \
    {                                                                                                        \
        return x<(LOW) ? (T)(LOW) : x>(HIGH) ? (T)(HIGH) : (T)x;                                             \
    }                                                                                                        \
    TOMBAC_HOST_FN T tombac_host_addsat_##T(T x, T y)                                                        \
    {                                                                                                        \
        return tombac_host_into_##T((tombac_host_wide)x + y);                                                \
    }                                                                                                        \
    TOMBAC_HOST_FN T tombac_host_subsat_##T(T x, T y)                                                        \
    {                                                                                                        \
        return tombac_host_into_##T((tombac_host_wide)x - y);                                                \
    }                                                                                                        \
    TOMBAC_HOST_FN T tombac_host_hadd_##T(T x, T y)                                                          \
    {                                                                                                        \
        return (T)(((tombac_host_wide)x + y) >> 1);                                                          \
    }                                                                                                        \
    TOMBAC_HOST_FN T tombac_host_rhadd_##T(T x, T y)                                                         \
    {                                                                                                        \
        return (T)(((tombac_host_wide)x + y + 1) >> 1);                                                      \
    }                                                                                                        \
    TOMBAC_HOST_FN T tombac_host_mulhi_##T(T x, T y)                                                         \
    {                                                                                                        \
        return (T)(((unsigned __int128)(tombac_host_wide)x * (unsigned __int128)(tombac_host_wide)y) >>      \
                   8 * sizeof(T));                                                                           \
    }                                                                                                        \
    TOMBAC_HOST_FN U tombac_host_absdiff_##T(T x, T y)                                                       \
    {                                                                                                        \
        return x < y ? (U)((U)y - (U)x) : (U)((U)x - (U)y);                                                  \
    }                                                                                                        \
    TOMBAC_HOST_FN T tombac_host_rotate_##T(T x, T count)                                                    \
    {                                                                                                        \
        uint width = 8 * sizeof(T), n = (uint)count & (width - 1);                                           \
        return (T)(n ? (U)((U)((U)x << n) | (U)((U)x >> (width - n))) : (U)x);                               \
    }                                                                                                        \
    TOMBAC_HOST_FN T tombac_host_reverse_bits_##T(T x)                                                       \
    {                                                                                                        \
        U from = (U)x, to = 0;                                                                               \
        for (uint i = 0; i < 8 * sizeof(T); i++) to = (U)((U)(to << 1) | ((U)(from >> i) & 1u));             \
        return (T)to;                                                                                        \
    }                                                                                                        \
    TOMBAC_HOST_FN T tombac_host_extract_bits_##T(T x, uint offset, uint bits)                               \
    {                                                                                                        \
        uint width = 8 * sizeof(T);                                                                          \
        if (bits == 0 || offset >= width) return 0;                                                          \
        uint count = bits > width - offset ? width - offset : bits;                                          \
        return (T)((T)((U)x << (width - count - offset)) >> (width - count));                                \
    }                                                                                                        \
    TOMBAC_HOST_FN T tombac_host_insert_bits_##T(T base, T insert, uint offset, uint bits)                   \
    {                                                                                                        \
        uint width = 8 * sizeof(T);                                                                          \
        if (bits == 0 || offset >= width) return base;                                                       \
        uint count = bits > width - offset ? width - offset : bits;                                          \
        U mask = (U)((U)((U) - 1 >> (width - count)) << offset);                                             \
        return (T)(((U)base & (U)~mask) | ((U)((U)insert << offset) & mask));                                \
    }                                                                                                        \
    TOMBAC_HOST_FN T tombac_host_abs_##T(T x)                                                                \
    {                                                                                                        \
        return (T)(x < (T)1 ? (U)((U)0 - (U)x) : (U)x);                                                      \
    }
TOMBAC_HOST_FUNCTIONS(char, uchar, CHAR_MIN, CHAR_MAX)
TOMBAC_HOST_FUNCTIONS(uchar, uchar, 0, UCHAR_MAX)
TOMBAC_HOST_FUNCTIONS(short, ushort, SHRT_MIN, SHRT_MAX)
TOMBAC_HOST_FUNCTIONS(ushort, ushort, 0, USHRT_MAX)
TOMBAC_HOST_FUNCTIONS(int, uint, INT_MIN, INT_MAX)
TOMBAC_HOST_FUNCTIONS(uint, uint, 0, UINT_MAX)
TOMBAC_HOST_FUNCTIONS(long, ulong, LONG_MIN, LONG_MAX)
TOMBAC_HOST_FUNCTIONS(ulong, ulong, 0, ULONG_MAX)
#undef TOMBAC_HOST_FUNCTIONS

#define addsat(x, y) TOMBAC_HOST_INTEGER(x, addsat)(x, y)
#define subsat(x, y) TOMBAC_HOST_INTEGER(x, subsat)(x, y)
#define hadd(x, y) TOMBAC_HOST_INTEGER(x, hadd)(x, y)
#define rhadd(x, y) TOMBAC_HOST_INTEGER(x, rhadd)(x, y)
#define mulhi(x, y) TOMBAC_HOST_INTEGER(x, mulhi)(x, y)
#define absdiff(x, y) TOMBAC_HOST_INTEGER(x, absdiff)(x, y)
#define rotate(x, count) TOMBAC_HOST_INTEGER(x, rotate)(x, count)
#define reverse_bits(x) TOMBAC_HOST_INTEGER(x, reverse_bits)(x)
#define extract_bits(x, offset, bits) TOMBAC_HOST_INTEGER(x, extract_bits)(x, offset, bits)
#define insert_bits(base, insert, offset, bits)                                                              \
    TOMBAC_HOST_INTEGER(base, insert_bits)(base, insert, offset, bits)
#define abs(x) TOMBAC_HOST_INTEGER(x, abs)(x)

#define popcount(x)                                                                                          \
    ((__typeof__(x))__builtin_popcountll(tombac_host_bits((unsigned long long)(x), sizeof(x))))
#define clz(x)                                                                                               \
    ((__typeof__(x))tombac_host_clz(tombac_host_bits((unsigned long long)(x), sizeof(x)), sizeof(x)))
#define ctz(x)                                                                                               \
    ((__typeof__(x))tombac_host_ctz(tombac_host_bits((unsigned long long)(x), sizeof(x)), sizeof(x)))
TOMBAC_HOST_FN unsigned long long tombac_host_bits(unsigned long long x, size_t size)
{
    return x & (~0ull >> (64 - 8 * size));
}
TOMBAC_HOST_FN int tombac_host_clz(unsigned long long x, size_t size)
{
    return x ? __builtin_clzll(x) - (int)(64 - 8 * size) : (int)(8 * size);
}
TOMBAC_HOST_FN int tombac_host_ctz(unsigned long long x, size_t size)
{
    return x ? __builtin_ctzll(x) : (int)(8 * size);
}

/* The low 24 bits of each factor, the low 32 of the product. */
TOMBAC_HOST_FN int tombac_host_mul24_int(int x, int y)
{
    return (int)((uint)((int)((uint)x << 8) >> 8) * (uint)((int)((uint)y << 8) >> 8));
}
TOMBAC_HOST_FN uint tombac_host_mul24_uint(uint x, uint y)
{
    return (x & 0xffffffu) * (y & 0xffffffu);
}
#define mul24(x, y) _Generic((x), int: tombac_host_mul24_int, uint: tombac_host_mul24_uint)(x, y)
#define mad24(x, y, z) ((__typeof__(x))((uint)mul24(x, y) + (uint)(z)))
#endif
