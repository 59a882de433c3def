kernel void conv3x3(global const float *in, constant float *weights, global float *out, uint width)
{
    uint column = get_global_id(0), row = get_global_id(1);
    float sum = 0.0f;
    for (uint y = 0; y < 3; y++)
        for (uint x = 0; x < 3; x++) sum += weights[y * 3 + x] * in[(row + y) * (width + 2) + column + x];
    out[row * width + column] = sum;
}
