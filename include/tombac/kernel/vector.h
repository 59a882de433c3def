/* Geometry of vectors of float and half. Sums are taken from left to right. */
#ifndef TOMBAC_KERNEL_VECTOR_H
#define TOMBAC_KERNEL_VECTOR_H

#define __TB_GEOMETRY(T, U)                                                                                  \
    __TB_CONST_FN T dot(T##2 v, T##2 w) { return v.x * w.x + v.y * w.y; }                                    \
    __TB_CONST_FN T dot(T##3 v, T##3 w) { return v.x * w.x + v.y * w.y + v.z * w.z; }                        \
    __TB_CONST_FN T dot(T##4 v, T##4 w) { return v.x * w.x + v.y * w.y + v.z * w.z + v.w * w.w; }            \
    __TB_CONST_FN T##3 cross(T##3 v, T##3 w)                                                                 \
    {                                                                                                        \
        return (T##3){v.y * w.z - v.z * w.y, v.z * w.x - v.x * w.z, v.x * w.y - v.y * w.x};                  \
    }                                                                                                        \
    __TB_GEOMETRY_OF(T, T##2)                                                                                \
    __TB_GEOMETRY_OF(T, T##3)                                                                                \
    __TB_GEOMETRY_OF(T, T##4)
#define __TB_GEOMETRY_OF(T, V)                                                                               \
    __TB_CONST_FN T length_squared(V v) { return dot(v, v); }                                                \
    __TB_CONST_FN T length(V v) { return sqrt(dot(v, v)); }                                                  \
    __TB_CONST_FN T distance(V v, V w) { return length(v - w); }                                             \
    __TB_CONST_FN V normalize(V v) { return v * rsqrt(dot(v, v)); }
__TB_FOR_FLOATS(__TB_GEOMETRY)
#undef __TB_GEOMETRY
#undef __TB_GEOMETRY_OF
#endif
