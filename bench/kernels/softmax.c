/* softmax.metal in C. */
#include <math.h>
#include <tombac/kernel.h>

kernel void softmax(const float *in, float *out, uint columns)
{
    threadgroup float greatest[32], sums[32];
    uint row = threadgroup_position_in_grid().x, t = thread_index_in_threadgroup(), threads = threads_per_threadgroup().x;
    uint lane = thread_index_in_simdgroup(), simdgroup = simdgroup_index_in_threadgroup(),
         simdgroups = simdgroups_per_threadgroup();
    const float *x = in + row * columns;
    float *y = out + row * columns;

    float top = -INFINITY;
    for (uint i = t; i < columns; i += threads) top = fmax(top, x[i]);
    top = simd_max(top);
    if (lane == 0) greatest[simdgroup] = top;
    threadgroup_barrier(mem_threadgroup);
    top = simd_max(lane < simdgroups ? greatest[lane] : -INFINITY);

    float sum = 0.0f;
    for (uint i = t; i < columns; i += threads) {
        float e = expf(x[i] - top);
        y[i] = e;
        sum += e;
    }
    sum = simd_sum(sum);
    if (lane == 0) sums[simdgroup] = sum;
    threadgroup_barrier(mem_threadgroup);
    sum = simd_sum(lane < simdgroups ? sums[lane] : 0.0f);

    float scale = 1.0f / sum;
    for (uint i = t; i < columns; i += threads) y[i] *= scale;
}
