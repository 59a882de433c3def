kernel void mandelbrot(global int *counts, float left, float top, float step, uint width, int limit)
{
    uint px = get_global_id(0), py = get_global_id(1);
    float cx = left + (float)px * step;
    float cy = top + (float)py * step;
    float x = 0.0f, y = 0.0f;
    int count = 0;
    while (count < limit && x * x + y * y < 4.0f) {
        float next = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = next;
        count++;
    }
    counts[py * width + px] = count;
}
