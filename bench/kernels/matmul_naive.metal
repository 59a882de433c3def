// C = A x B, square and row-major, one thread for each element of C.
#include <metal_stdlib>
using namespace metal;

kernel void matmul_naive(device const float *A [[buffer(0)]],
                         device const float *B [[buffer(1)]],
                         device float *C [[buffer(2)]],
                         constant uint &n [[buffer(3)]],
                         uint2 at [[thread_position_in_grid]])
{
    float sum = 0.0f;
    for (uint k = 0; k < n; k++) sum += A[at.y * n + k] * B[k * n + at.x];
    C[at.y * n + at.x] = sum;
}
