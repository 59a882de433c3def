/* Vectors on the host: packed ones, geometry, bfloat. Names pick a function by the type of the first
 * argument. */
#ifndef TOMBAC_KERNEL_HOST_VECTOR_H
#define TOMBAC_KERNEL_HOST_VECTOR_H

#define TOMBAC_HOST_PACKING(T)                                                                               \
    TOMBAC_HOST_FN T##2 tombac_host_unpack_##T##2(packed_##T##2 v)                                           \
    {                                                                                                        \
        return (T##2){v.x, v.y};                                                                             \
    }                                                                                                        \
    TOMBAC_HOST_FN T##3 tombac_host_unpack_##T##3(packed_##T##3 v)                                           \
    {                                                                                                        \
        return (T##3){v.x, v.y, v.z};                                                                        \
    }                                                                                                        \
    TOMBAC_HOST_FN T##4 tombac_host_unpack_##T##4(packed_##T##4 v)                                           \
    {                                                                                                        \
        return (T##4){v.x, v.y, v.z, v.w};                                                                   \
    }                                                                                                        \
    TOMBAC_HOST_FN packed_##T##2 tombac_host_pack_##T##2(T##2 v)                                             \
    {                                                                                                        \
        return (packed_##T##2){v.x, v.y};                                                                    \
    }                                                                                                        \
    TOMBAC_HOST_FN packed_##T##3 tombac_host_pack_##T##3(T##3 v)                                             \
    {                                                                                                        \
        return (packed_##T##3){v.x, v.y, v.z};                                                               \
    }                                                                                                        \
    TOMBAC_HOST_FN packed_##T##4 tombac_host_pack_##T##4(T##4 v)                                             \
    {                                                                                                        \
        return (packed_##T##4){v.x, v.y, v.z, v.w};                                                          \
    }
TOMBAC_HOST_PACKING(char)
TOMBAC_HOST_PACKING(uchar)
TOMBAC_HOST_PACKING(short)
TOMBAC_HOST_PACKING(ushort)
TOMBAC_HOST_PACKING(int)
TOMBAC_HOST_PACKING(uint)
TOMBAC_HOST_PACKING(long)
TOMBAC_HOST_PACKING(ulong)
TOMBAC_HOST_PACKING(half)
TOMBAC_HOST_PACKING(float)
#undef TOMBAC_HOST_PACKING
#define TOMBAC_HOST_BY_VECTOR(PREFIX, FN, T)                                                                 \
    PREFIX##T##2 : tombac_host_##FN##_##T##2,                                                                \
                   PREFIX##T##3 : tombac_host_##FN##_##T##3,                                                 \
                                  PREFIX##T##4 : tombac_host_##FN##_##T##4
#define TOMBAC_HOST_BY_VECTORS(PREFIX, FN)                                                                   \
    TOMBAC_HOST_BY_VECTOR(PREFIX, FN, char), TOMBAC_HOST_BY_VECTOR(PREFIX, FN, uchar),                       \
        TOMBAC_HOST_BY_VECTOR(PREFIX, FN, short), TOMBAC_HOST_BY_VECTOR(PREFIX, FN, ushort),                 \
        TOMBAC_HOST_BY_VECTOR(PREFIX, FN, int), TOMBAC_HOST_BY_VECTOR(PREFIX, FN, uint),                     \
        TOMBAC_HOST_BY_VECTOR(PREFIX, FN, long), TOMBAC_HOST_BY_VECTOR(PREFIX, FN, ulong),                   \
        TOMBAC_HOST_BY_VECTOR(PREFIX, FN, half), TOMBAC_HOST_BY_VECTOR(PREFIX, FN, float)
#define pack(...) _Generic((__VA_ARGS__), TOMBAC_HOST_BY_VECTORS(, pack))(__VA_ARGS__)
#define unpack(...) _Generic((__VA_ARGS__), TOMBAC_HOST_BY_VECTORS(packed_, unpack))(__VA_ARGS__)

/* ---- Geometry: sums from left to right, as on devices ---- */
#define TOMBAC_HOST_GEOMETRY(T)                                                                              \
    TOMBAC_HOST_FN T tombac_host_dot_##T##2(T##2 v, T##2 w)                                                  \
    {                                                                                                        \
        return (T)(v.x * w.x + v.y * w.y);                                                                   \
    }                                                                                                        \
    TOMBAC_HOST_FN T tombac_host_dot_##T##3(T##3 v, T##3 w)                                                  \
    {                                                                                                        \
        return (T)(v.x * w.x + v.y * w.y + v.z * w.z);                                                       \
    }                                                                                                        \
    TOMBAC_HOST_FN T tombac_host_dot_##T##4(T##4 v, T##4 w)                                                  \
    {                                                                                                        \
        return (T)(v.x * w.x + v.y * w.y + v.z * w.z + v.w * w.w);                                           \
    }                                                                                                        \
    TOMBAC_HOST_FN T##3 tombac_host_cross_##T##3(T##3 v, T##3 w)                                             \
    {                                                                                                        \
        return (T##3){v.y * w.z - v.z * w.y, v.z * w.x - v.x * w.z, v.x * w.y - v.y * w.x};                  \
    }                                                                                                        \
    TOMBAC_HOST_LENGTHS(T, T##2, TOMBAC_HOST_EVERY2)                                                         \
    TOMBAC_HOST_LENGTHS(T, T##3, TOMBAC_HOST_EVERY3)                                                         \
    TOMBAC_HOST_LENGTHS(T, T##4, TOMBAC_HOST_EVERY4)
#define TOMBAC_HOST_EVERY2(X) X(x), X(y)
#define TOMBAC_HOST_EVERY3(X) X(x), X(y), X(z)
#define TOMBAC_HOST_EVERY4(X) X(x), X(y), X(z), X(w)
#define TOMBAC_HOST_MINUS(e) v.e - w.e
#define TOMBAC_HOST_TIMES(e) v.e *root
#define TOMBAC_HOST_LENGTHS(T, V, EVERY)                                                                     \
    TOMBAC_HOST_FN T tombac_host_length_squared_##V(V v)                                                     \
    {                                                                                                        \
        return tombac_host_dot_##V(v, v);                                                                    \
    }                                                                                                        \
    TOMBAC_HOST_FN T tombac_host_length_##V(V v)                                                             \
    {                                                                                                        \
        return (T)(sqrtf)((float)tombac_host_dot_##V(v, v));                                                 \
    }                                                                                                        \
    TOMBAC_HOST_FN T tombac_host_distance_##V(V v, V w)                                                      \
    {                                                                                                        \
        return tombac_host_length_##V((V){EVERY(TOMBAC_HOST_MINUS)});                                        \
    }                                                                                                        \
    TOMBAC_HOST_FN V tombac_host_normalize_##V(V v)                                                          \
    {                                                                                                        \
        T root = (T)tombac_host_rsqrt((float)tombac_host_dot_##V(v, v));                                     \
        return (V){EVERY(TOMBAC_HOST_TIMES)};                                                                \
    }
TOMBAC_HOST_GEOMETRY(half)
TOMBAC_HOST_GEOMETRY(float)
#undef TOMBAC_HOST_GEOMETRY
#undef TOMBAC_HOST_LENGTHS
#undef TOMBAC_HOST_MINUS
#undef TOMBAC_HOST_TIMES
#define TOMBAC_HOST_REAL(v, FN)                                                                              \
    _Generic((v), TOMBAC_HOST_BY_VECTOR(, FN, half), TOMBAC_HOST_BY_VECTOR(, FN, float))
#define dot(v, w) TOMBAC_HOST_REAL(v, dot)(v, w)
#define length(...) TOMBAC_HOST_REAL((__VA_ARGS__), length)(__VA_ARGS__)
#define length_squared(...) TOMBAC_HOST_REAL((__VA_ARGS__), length_squared)(__VA_ARGS__)
#define distance(v, w) TOMBAC_HOST_REAL(v, distance)(v, w)
#define normalize(...) TOMBAC_HOST_REAL((__VA_ARGS__), normalize)(__VA_ARGS__)
#define cross(v, w) _Generic((v), half3: tombac_host_cross_half3, float3: tombac_host_cross_float3)(v, w)

/* ---- Brain floating point is a format of memory ---- */
typedef struct bfloat {
    ushort bits;
} bfloat;
TOMBAC_HOST_FN float float_from_bfloat(bfloat x)
{
    uint bits = (uint)x.bits << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
/* To nearest, ties to even; a NaN keeps its high bits and becomes quiet. */
TOMBAC_HOST_FN bfloat bfloat_from_float(float x)
{
    uint bits;
    memcpy(&bits, &x, sizeof bits);
    bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
    return (bfloat){(ushort)(nan ? bits >> 16 | 0x40u : (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16)};
}
#endif
