// C = A x B, square and row-major: an element per thread, and tiles in shared memory.
extern "C" __global__ void __launch_bounds__(256)
    matmul_naive(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C, unsigned n)
{
    unsigned column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0.0f;
    for (unsigned k = 0; k < n; k++) sum += A[row * n + k] * B[k * n + column];
    C[row * n + column] = sum;
}

template <unsigned SIZE>
__device__ static inline void multiply(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C, unsigned n)
{
    __shared__ float a[SIZE][SIZE], b[SIZE][SIZE];
    unsigned x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * SIZE + y, column = blockIdx.x * SIZE + x;
    float sum = 0.0f;
    for (unsigned first = 0; first < n; first += SIZE) {
        a[y][x] = A[row * n + first + x];
        b[y][x] = B[(first + y) * n + column];
        __syncthreads();
#pragma unroll
        for (unsigned k = 0; k < SIZE; k++) sum += a[y][k] * b[k][x];
        __syncthreads();
    }
    C[row * n + column] = sum;
}

extern "C" __global__ void __launch_bounds__(256)
    matmul_tiled16(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C, unsigned n)
{
    multiply<16>(A, B, C, n);
}

extern "C" __global__ void __launch_bounds__(1024)
    matmul_tiled32(const float *__restrict__ A, const float *__restrict__ B, float *__restrict__ C, unsigned n)
{
    multiply<32>(A, B, C, n);
}
