// C = A x B by blocks of 128 threads, 64 x 64 of C each, 32 columns of A and rows of B at a time: halves by the matrix
// operations of a warp, floats by a tile of 8 x 4 per thread. Sizes are multiples of 64.
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

#define TILE 64
#define DEPTH 32
#define THREADS 128

extern "C" __global__ void __launch_bounds__(THREADS)
    matmul_simdgroup_half(const __half *__restrict__ A, const __half *__restrict__ B, float *__restrict__ C, unsigned n)
{
    __shared__ __align__(32) __half a[TILE][DEPTH + 16], b[DEPTH][TILE + 16]; // rows lie in different banks
    unsigned t = threadIdx.x, warp = t / 32, row = warp / 2 * 32, column = warp % 2 * 32;
    A += blockIdx.y * TILE * n;
    B += blockIdx.x * TILE;
    C += blockIdx.y * TILE * n + blockIdx.x * TILE;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums[2][2];
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) wmma::fill_fragment(sums[i][j], 0.0f);
    for (unsigned first = 0; first < n; first += DEPTH) {
#pragma unroll
        for (unsigned i = t; i < TILE * DEPTH / 8; i += THREADS) {
            *(uint4 *)&a[i / 4][i % 4 * 8] = *(const uint4 *)(A + i / 4 * n + first + i % 4 * 8);
            *(uint4 *)&b[i / 8][i % 8 * 8] = *(const uint4 *)(B + (first + i / 8) * n + i % 8 * 8);
        }
        __syncthreads();
#pragma unroll
        for (unsigned k = 0; k < DEPTH; k += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> left[2];
            wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> right[2];
            for (int i = 0; i < 2; i++) wmma::load_matrix_sync(left[i], &a[row + 16 * i][k], DEPTH + 16);
            for (int j = 0; j < 2; j++) wmma::load_matrix_sync(right[j], &b[k][column + 16 * j], TILE + 16);
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 2; j++) wmma::mma_sync(sums[i][j], left[i], right[j], sums[i][j]);
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            wmma::store_matrix_sync(C + (row + 16 * i) * n + column + 16 * j, sums[i][j], n, wmma::mem_row_major);
}

extern "C" __global__ void __launch_bounds__(THREADS)
    matmul_simdgroup(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C, unsigned n)
{
    __shared__ __align__(16) float a[DEPTH][TILE + 4], b[DEPTH][TILE]; // A's tile is transposed
    unsigned t = threadIdx.x, row = t / 16 * 8, column = t % 16 * 4;
    A += blockIdx.y * TILE * n;
    B += blockIdx.x * TILE;
    C += blockIdx.y * TILE * n + blockIdx.x * TILE;
    __align__(16) float sums[8][4] = {};
    for (unsigned first = 0; first < n; first += DEPTH) {
#pragma unroll
        for (unsigned i = t; i < TILE * DEPTH / 4; i += THREADS) {
            float4 x = *(const float4 *)(A + i / 8 * n + first + i % 8 * 4);
            a[i % 8 * 4][i / 8] = x.x;
            a[i % 8 * 4 + 1][i / 8] = x.y;
            a[i % 8 * 4 + 2][i / 8] = x.z;
            a[i % 8 * 4 + 3][i / 8] = x.w;
            *(float4 *)&b[i / 16][i % 16 * 4] = *(const float4 *)(B + (first + i / 16) * n + i % 16 * 4);
        }
        __syncthreads();
#pragma unroll
        for (unsigned k = 0; k < DEPTH; k++) {
            __align__(16) float left[8], right[4];
            *(float4 *)&left[0] = *(const float4 *)&a[k][row];
            *(float4 *)&left[4] = *(const float4 *)&a[k][row + 4];
            *(float4 *)&right[0] = *(const float4 *)&b[k][column];
            for (int i = 0; i < 8; i++)
                for (int j = 0; j < 4; j++) sums[i][j] += left[i] * right[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 8; i++) *(float4 *)(C + (row + i) * n + column) = *(const float4 *)&sums[i][0];
}
