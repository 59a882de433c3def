// Chains of conditions with cheap and dear branches.
extern "C" __global__ void __launch_bounds__(256) branchy(const float *__restrict__ in, float *__restrict__ out)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = in[i], sum = 0.0f;
    for (int k = 0; k < 32; k++) {
        if (x > 0.5f) {
            if (x > 0.75f)
                sum += x * x;
            else
                sum -= x;
            x = x * 1.75f - 0.5f;
        } else if (x > 0.25f) {
            for (int q = 0; q < 4; q++) sum += sqrtf(x + q);
            x += 0.3125f;
        } else {
            x = x * 2.25f + 0.125f;
        }
        if (x > 2.0f) x -= 2.0f;
    }
    out[i] = sum;
}
