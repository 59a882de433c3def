// Running sums of rows; a block of 256 takes a row, 256 elements at a time.
__device__ static inline float inclusive_sum(float x, unsigned lane)
{
    for (int distance = 1; distance < 32; distance *= 2) {
        float before = __shfl_up_sync(0xffffffff, x, distance);
        if (lane >= distance) x += before;
    }
    return x;
}

extern "C" __global__ void __launch_bounds__(256)
    scan(const float *__restrict__ in, float *__restrict__ out, unsigned columns)
{
    __shared__ float totals[8];
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const float *x = in + blockIdx.x * columns + threadIdx.x;
    float *y = out + blockIdx.x * columns + threadIdx.x;
    float carry = 0.0f;
    for (unsigned first = 0; first < columns; first += 256) {
        float sum = inclusive_sum(x[first], lane);
        if (lane == 31) totals[warp] = sum;
        __syncthreads();
        float all = inclusive_sum(lane < 8 ? totals[lane] : 0.0f, lane);
        float before = __shfl_sync(0xffffffff, all, warp ? warp - 1 : 0);
        y[first] = carry + (warp ? before : 0.0f) + sum;
        carry += __shfl_sync(0xffffffff, all, 7);
        __syncthreads();
    }
}
