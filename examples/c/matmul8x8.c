/* Many products of 8 x 8 matrices, one by each SIMD-group, whose 32 threads hold two elements each of every
 * matrix. */
#include <tombac/kernel.h>

kernel threads_required(32)
    requires(len(a) == len(c), len(b) == len(c)) void matmul8x8(const float *a, const float *b, float *c)
{
    size_t first = (size_t)threadgroup_position_in_grid().x * 64;
    simdgroup_float8x8 left, right, product;
    simdgroup_load(&left, a + first, 8);
    simdgroup_load(&right, b + first, 8);
    simdgroup_multiply(&product, left, right);
    simdgroup_store(product, c + first, 8);
}
