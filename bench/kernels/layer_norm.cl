#define SUM_OF_GROUP(x) \
    part[t] = x; \
    barrier(CLK_LOCAL_MEM_FENCE); \
    for (uint s = threads / 2; s > 0; s /= 2) { \
        if (t < s) part[t] += part[t + s]; \
        barrier(CLK_LOCAL_MEM_FENCE); \
    } \
    x = part[0]; \
    barrier(CLK_LOCAL_MEM_FENCE);

kernel void layer_norm(global const float *in, global const float *weights, global const float *biases, global float *out,
                       uint columns, float epsilon)
{
    local float part[256];
    uint row = get_group_id(0), t = get_local_id(0), threads = get_local_size(0);
    global const float *x = in + row * columns;
    global float *y = out + row * columns;

    float sum = 0.0f;
    for (uint i = t; i < columns; i += threads) sum += x[i];
    SUM_OF_GROUP(sum)
    float mean = sum / (float)columns;

    float square = 0.0f;
    for (uint i = t; i < columns; i += threads) square += (x[i] - mean) * (x[i] - mean);
    SUM_OF_GROUP(square)

    float scale = rsqrt(square / (float)columns + epsilon);
    for (uint i = t; i < columns; i += threads) y[i] = (x[i] - mean) * scale * weights[i] + biases[i];
}
