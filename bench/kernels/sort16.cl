kernel void sort16(global const float *in, global float *out, uint n)
{
    uint i = get_global_id(0);
    float values[16];
    for (uint k = 0; k < 16; k++) values[k] = in[i + k * n];
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
