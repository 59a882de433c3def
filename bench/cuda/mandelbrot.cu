// Escape times.
extern "C" __global__ void __launch_bounds__(256)
    mandelbrot(int *__restrict__ counts, float left, float top, float step, unsigned width, int limit)
{
    unsigned column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    float cx = left + column * step, cy = top + row * step;
    float x = 0.0f, y = 0.0f;
    int count = 0;
    while (count < limit && x * x + y * y < 4.0f) {
        float next = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = next;
        count++;
    }
    counts[row * width + column] = count;
}
