// A 3 x 3 convolution of one plane; the input has a margin of one element on each side.
extern "C" __global__ void __launch_bounds__(256)
    conv3x3(const float *__restrict__ in, const float *__restrict__ weights, float *__restrict__ out, unsigned width)
{
    unsigned column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0.0f;
#pragma unroll
    for (unsigned y = 0; y < 3; y++)
#pragma unroll
        for (unsigned x = 0; x < 3; x++) sum += weights[y * 3 + x] * in[(row + y) * (width + 2) + column + x];
    out[row * width + column] = sum;
}
