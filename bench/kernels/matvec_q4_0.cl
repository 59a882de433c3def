kernel void matvec_q4_0(global const uchar *weights, global const float *x, global float *y, uint columns)
{
    local float part[4][128];
    uint t = get_local_id(0), lane = t % 32, first = (get_global_id(0) / 32) * 4, blocks = columns / 32;
    for (uint r = 0; r < 4; r++) {
        float sum = 0.0f;
        for (uint b = lane; b < blocks; b += 32) {
            global const uchar *w = weights + ((first + r) * blocks + b) * 18;
            float of_block = 0.0f;
            for (uint j = 0; j < 16; j++) {
                of_block += (float)((int)(w[2 + j] & 15) - 8) * x[b * 32 + j];
                of_block += (float)((int)(w[2 + j] >> 4) - 8) * x[b * 32 + 16 + j];
            }
            sum += vload_half(0, (global const half *)w) * of_block;
        }
        part[r][t] = sum;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < 4) {
        float sum = 0.0f;
        for (uint j = 0; j < 32; j++) sum += part[lane][t - lane + j];
        y[first + lane] = sum;
    }
}
