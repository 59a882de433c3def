// Every thread sorts 16 numbers in a private array by insertion.
extern "C" __global__ void __launch_bounds__(256) sort16(const float *__restrict__ in, float *__restrict__ out, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float values[16];
    for (int k = 0; k < 16; k++) values[k] = in[i + k * n];
    for (int k = 1; k < 16; k++) {
        float value = values[k];
        int at = k;
        while (at > 0 && values[at - 1] > value) {
            values[at] = values[at - 1];
            at--;
        }
        values[at] = value;
    }
    out[i] = values[7] + 2.0f * values[8];
}
