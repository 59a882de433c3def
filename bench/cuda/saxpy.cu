// y = alpha x + y: an element per thread, and four.
extern "C" __global__ void __launch_bounds__(256)
    saxpy(const float *__restrict__ x, float *__restrict__ y, float alpha, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = alpha * x[i] + y[i];
}

extern "C" __global__ void __launch_bounds__(256)
    saxpy4(const float4 *__restrict__ x, float4 *__restrict__ y, float alpha)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 a = x[i], b = y[i];
    y[i] = make_float4(alpha * a.x + b.x, alpha * a.y + b.y, alpha * a.z + b.z, alpha * a.w + b.w);
}
