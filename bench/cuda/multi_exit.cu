// Integer work with early returns, breaks out of two levels, and continues.
extern "C" __global__ void __launch_bounds__(256)
    multi_exit(const int *__restrict__ in, int *__restrict__ out, int steps)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = in[i], sum = 0;
    if (value == 7777) {
        out[i] = -1;
        return;
    }
    for (int k = 0; k < steps; k++) {
        if (value & 1) {
            value = value * 3 + 1;
            if (value > 100000) break;
        } else {
            value /= 2;
            if (value % 5 == 0) {
                sum += 2;
                continue;
            }
        }
        if (value == 1) {
            if (sum > 50) {
                out[i] = sum * 1000;
                return;
            }
            break;
        }
        bool wrapped = false;
        for (int q = 0; q < (value & 3); q++) {
            sum += q * value;
            if (sum > (1 << 20)) {
                sum -= 1 << 20;
                wrapped = true;
                break;
            }
        }
        if (wrapped) continue;
        sum ^= k;
    }
    out[i] = sum + value;
}
