/* <simd/simd.h>: the names that structures shared with a host program use for Metal's types. */
#pragma once
#ifdef __TOMBAC_MACROS_ONLY__
#include <__tombac/macros.h>
#else
#include <metal_types>

/* NAME is simd's name of the element type T. */
#define __TB_SIMD(T, NAME)                                                                                   \
    typedef T simd_##NAME##1;                                                                                \
    typedef T##2 simd_##NAME##2, vector_##NAME##2;                                                           \
    typedef T##3 simd_##NAME##3, vector_##NAME##3;                                                           \
    typedef T##4 simd_##NAME##4, vector_##NAME##4;                                                           \
    namespace simd                                                                                           \
    {                                                                                                        \
    typedef T NAME##1;                                                                                       \
    typedef T##2 NAME##2;                                                                                    \
    typedef T##3 NAME##3;                                                                                    \
    typedef T##4 NAME##4;                                                                                    \
    typedef packed_##T##2 packed_##NAME##2;                                                                  \
    typedef packed_##T##3 packed_##NAME##3;                                                                  \
    typedef packed_##T##4 packed_##NAME##4;                                                                  \
    }
#define __TB_SIMD_SAME(T) __TB_SIMD(T, T)
__TB_FOR_INTEGERS(__TB_SIMD_SAME)
__TB_FOR_FLOATS(__TB_SIMD_SAME)
#undef __TB_SIMD_SAME
#undef __TB_SIMD

#define __TB_SIMD_MATRIX(T, C, R)                                                                            \
    typedef T##C##x##R simd_##T##C##x##R, matrix_##T##C##x##R;                                               \
    namespace simd                                                                                           \
    {                                                                                                        \
    using ::T##C##x##R;                                                                                      \
    }
#define __TB_SIMD_MATRICES(T)                                                                                \
    __TB_SIMD_MATRIX(T, 2, 2)                                                                                \
    __TB_SIMD_MATRIX(T, 2, 3)                                                                                \
    __TB_SIMD_MATRIX(T, 2, 4) __TB_SIMD_MATRIX(T, 3, 2) __TB_SIMD_MATRIX(T, 3, 3) __TB_SIMD_MATRIX(T, 3, 4)  \
        __TB_SIMD_MATRIX(T, 4, 2) __TB_SIMD_MATRIX(T, 4, 3) __TB_SIMD_MATRIX(T, 4, 4)
__TB_FOR_FLOATS(__TB_SIMD_MATRICES)
#undef __TB_SIMD_MATRICES
#undef __TB_SIMD_MATRIX
#endif
