// The transpose of a square matrix: directly, and through tiles of 32 x 32 in shared memory by 32 x 8 threads.
extern "C" __global__ void __launch_bounds__(256)
    transpose_naive(const float *__restrict__ in, float *__restrict__ out, unsigned n)
{
    unsigned column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    out[column * n + row] = in[row * n + column];
}

extern "C" __global__ void __launch_bounds__(256)
    transpose_tiled(const float *__restrict__ in, float *__restrict__ out, unsigned n)
{
    __shared__ float tile[32][33];
    unsigned x = threadIdx.x, y = threadIdx.y, left = blockIdx.x * 32, top = blockIdx.y * 32;
    for (unsigned k = 0; k < 32; k += 8) tile[y + k][x] = in[(top + y + k) * n + left + x];
    __syncthreads();
    for (unsigned k = 0; k < 32; k += 8) out[(left + y + k) * n + top + x] = tile[x][y + k];
}
