/* 8x8 matrices spread over a SIMD-group, two elements per lane (docs/operations.md). Products are computed in
 * float and rounded once to the destination's type. All 32 lanes must take part. */
#ifndef TOMBAC_KERNEL_MATRIX_H
#define TOMBAC_KERNEL_MATRIX_H

__TB_CONVERGENT float2 __tombac_c_matrix_fma(float, float, float, float, float, float) __asm__(
    "__tombac_matrix_multiply_accumulate.f32");
__TB_PURE uint __tombac_c_matrix_row(void) __asm__("__tombac_matrix_row");
__TB_PURE uint __tombac_c_matrix_column(void) __asm__("__tombac_matrix_column");

typedef struct simdgroup_float8x8 {
    float2 elements; /* this lane's two */
} simdgroup_float8x8;
typedef struct simdgroup_half8x8 {
    half2 elements;
} simdgroup_half8x8;

/* Element (row, column) is source[row * stride + column], or source[column * stride + row] where `transpose`. */
#define __TB_MATRIX(T)                                                                                       \
    __TB_FN void simdgroup_load(simdgroup_##T##8x8 *m, const T *source, ulong stride, bool transpose)        \
    {                                                                                                        \
        ulong row = __tombac_c_matrix_row(), column = __tombac_c_matrix_column();                            \
        m->elements.x = transpose ? source[column * stride + row] : source[row * stride + column];           \
        m->elements.y = transpose ? source[(column + 1) * stride + row] : source[row * stride + column + 1]; \
    }                                                                                                        \
    __TB_FN void simdgroup_store(simdgroup_##T##8x8 m, T *destination, ulong stride, bool transpose)         \
    {                                                                                                        \
        ulong row = __tombac_c_matrix_row(), column = __tombac_c_matrix_column();                            \
        destination[transpose ? column * stride + row : row * stride + column] = m.elements.x;               \
        destination[transpose ? (column + 1) * stride + row : row * stride + column + 1] = m.elements.y;     \
    }                                                                                                        \
    __TB_FN void simdgroup_load(simdgroup_##T##8x8 *m, const T *source, ulong stride)                        \
    {                                                                                                        \
        simdgroup_load(m, source, stride, false);                                                            \
    }                                                                                                        \
    __TB_FN void simdgroup_store(simdgroup_##T##8x8 m, T *destination, ulong stride)                         \
    {                                                                                                        \
        simdgroup_store(m, destination, stride, false);                                                      \
    }                                                                                                        \
    __TB_FN simdgroup_##T##8x8 simdgroup_filled_##T##8x8(T value)                                            \
    {                                                                                                        \
        return (simdgroup_##T##8x8){(T##2){value, value}};                                                   \
    }                                                                                                        \
    __TB_FN simdgroup_##T##8x8 simdgroup_diagonal_##T##8x8(T value)                                          \
    {                                                                                                        \
        uint row = __tombac_c_matrix_row(), column = __tombac_c_matrix_column();                             \
        return (simdgroup_##T##8x8){                                                                         \
            (T##2){row == column ? value : (T)0, row == column + 1 ? value : (T)0}};                         \
    }
__TB_MATRIX(float)
/* cppcheck-suppress ctunullpointer ; it takes a matrix by value and one by address for the same parameter */
__TB_MATRIX(half)
#undef __TB_MATRIX

/* *d = a x b + c, and *d = a x b */
#define __TB_MULTIPLY(D, F)                                                                                  \
    __TB_FN void simdgroup_multiply_accumulate(                                                              \
        simdgroup_##D##8x8 *d, simdgroup_##F##8x8 a, simdgroup_##F##8x8 b, simdgroup_##D##8x8 c)             \
    {                                                                                                        \
        float2 sum = __tombac_c_matrix_fma((float)a.elements.x, (float)a.elements.y, (float)b.elements.x,    \
            (float)b.elements.y, (float)c.elements.x, (float)c.elements.y);                                  \
        d->elements = (D##2){(D)sum.x, (D)sum.y};                                                            \
    }                                                                                                        \
    __TB_FN void simdgroup_multiply(simdgroup_##D##8x8 *d, simdgroup_##F##8x8 a, simdgroup_##F##8x8 b)       \
    {                                                                                                        \
        simdgroup_multiply_accumulate(d, a, b, simdgroup_filled_##D##8x8((D)0));                             \
    }
__TB_MULTIPLY(float, float)
__TB_MULTIPLY(float, half)
__TB_MULTIPLY(half, half)
#undef __TB_MULTIPLY
#endif
