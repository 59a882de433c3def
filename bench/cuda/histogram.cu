// Counts of byte values: by atomics on device memory, and on shared memory that is merged at the end.
extern "C" __global__ void __launch_bounds__(256)
    histogram(const unsigned char *__restrict__ image, unsigned *__restrict__ bins, unsigned threads)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    for (unsigned k = 0; k < 16; k++) atomicAdd(&bins[image[i + k * threads]], 1u);
}

extern "C" __global__ void __launch_bounds__(256)
    histogram_local(const unsigned char *__restrict__ image, unsigned *__restrict__ bins, unsigned threads)
{
    __shared__ unsigned counts[256];
    unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    counts[t] = 0;
    __syncthreads();
    for (unsigned k = 0; k < 64; k++) atomicAdd(&counts[image[i + k * threads]], 1u);
    __syncthreads();
    atomicAdd(&bins[t], counts[t]);
}
