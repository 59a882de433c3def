kernel void scan(global const float *in, global float *out, uint columns)
{
    local float part[256];
    uint row = get_group_id(0), t = get_local_id(0);
    float carry = 0.0f;
    for (uint first = 0; first < columns; first += 256) {
        part[t] = in[row * columns + first + t];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint step = 1; step < 256; step *= 2) {
            float left = t >= step ? part[t - step] : 0.0f;
            barrier(CLK_LOCAL_MEM_FENCE);
            part[t] += left;
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        out[row * columns + first + t] = carry + part[t];
        carry += part[255];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
