// Sorts blocks of 1024 keys by Batcher's bitonic network in shared memory.
extern "C" __global__ void __launch_bounds__(512) bitonic(const unsigned *__restrict__ in, unsigned *__restrict__ out)
{
    __shared__ unsigned keys[1024];
    unsigned t = threadIdx.x;
    keys[t] = in[blockIdx.x * 1024 + t];
    keys[t + 512] = in[blockIdx.x * 1024 + t + 512];
    for (unsigned size = 2; size <= 1024; size *= 2) {
        for (unsigned distance = size / 2; distance > 0; distance /= 2) {
            __syncthreads();
            unsigned low = 2 * t - (t & (distance - 1)), high = low + distance;
            unsigned a = keys[low], b = keys[high];
            bool descending = (low & size) != 0;
            if ((a > b) != descending) {
                keys[low] = b;
                keys[high] = a;
            }
        }
    }
    __syncthreads();
    out[blockIdx.x * 1024 + t] = keys[t];
    out[blockIdx.x * 1024 + t + 512] = keys[t + 512];
}
