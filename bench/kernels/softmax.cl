kernel void softmax(global const float *in, global float *out, uint columns)
{
    local float part[256];
    uint row = get_group_id(0), t = get_local_id(0), threads = get_local_size(0);
    global const float *x = in + row * columns;
    global float *y = out + row * columns;

    float top = -INFINITY;
    for (uint i = t; i < columns; i += threads) top = fmax(top, x[i]);
    part[t] = top;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint s = threads / 2; s > 0; s /= 2) {
        if (t < s) part[t] = fmax(part[t], part[t + s]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    top = part[0];
    barrier(CLK_LOCAL_MEM_FENCE);

    float sum = 0.0f;
    for (uint i = t; i < columns; i += threads) {
        float e = exp(x[i] - top);
        y[i] = e;
        sum += e;
    }
    part[t] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint s = threads / 2; s > 0; s /= 2) {
        if (t < s) part[t] += part[t + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    float scale = 1.0f / part[0];
    for (uint i = t; i < columns; i += threads) y[i] *= scale;
}
